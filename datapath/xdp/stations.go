package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// stationTable is stations, the MAC addresses that the programs know. It is the
// [stages.Mirror] of the slow path's bridge.
type stationTable struct {
	d *Driver
	m *ebpf.Map
	// Stations of sessions from before the start that were not applied yet.
	orphans map[uint64][]orphanStation
}

type orphanStation struct {
	key  upfStationKey
	seen uint64
}

func newStationTable(d *Driver) *stationTable {
	return &stationTable{d: d, m: d.objs.Stations}
}

// vlanShift is STATION_VLAN_SHIFT.
const vlanShift = 16

func (t *stationTable) key(st stages.Station) upfStationKey {
	return upfStationKey{Mac: st.MAC, Lan: t.d.networks[st.Network-1].number() | uint32(st.VLAN)<<vlanShift}
}

// Put implements [stages.Mirror]. The driver's lock is held. A station whose session
// has no rule for frames is left out: the programs would have no use for it.
func (t *stationTable) Put(st stages.Station, seid, seenNs uint64) {
	value := upfStation{SeenNs: seenNs, Seid: seid}
	if seid != 0 {
		value.Key = routesKey(seid)
		slot, ok := t.d.ues.find(value.Key)
		if !ok {
			t.Delete(st)
			return
		}
		value.Slot = slot + 1
	}
	if err := t.m.Put(t.key(st), value); err != nil {
		t.d.log.Warn("frames of a station go through the slow path", "mac", fmt.Sprintf("%x", st.MAC), "err", err)
	}
}

// Delete implements [stages.Mirror].
func (t *stationTable) Delete(st stages.Station) { t.remove(t.key(st)) }

func (t *stationTable) remove(key upfStationKey) {
	if err := t.m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		t.d.log.Warn("station stays", "mac", fmt.Sprintf("%x", key.Mac), "err", err)
	}
}

// Heard implements [stages.Mirror].
func (t *stationTable) Heard(st stages.Station) uint64 {
	var s upfStation
	if t.m.Lookup(t.key(st), &s) != nil {
		return 0
	}
	return s.SeenNs
}

// adopt finds the stations that a process before this one has left.
func (t *stationTable) adopt() {
	t.orphans = map[uint64][]orphanStation{}
	var (
		key upfStationKey
		s   upfStation
	)
	for all := t.m.Iterate(); all.Next(&key, &s); {
		t.orphans[s.Seid] = append(t.orphans[s.Seid], orphanStation{key, s.SeenNs})
	}
}

// restore lets the bridge know the stations of a session that is applied again, or
// those of the data networks (0).
func (t *stationTable) restore(seid uint64) {
	for _, o := range t.orphans[seid] {
		if network := t.d.numbered(o.key.Lan & (1<<vlanShift - 1)); network != 0 {
			st := stages.Station{Network: network, VLAN: int(o.key.Lan >> vlanShift), MAC: o.key.Mac}
			t.d.slow.stages.Bridge.Restore(seid, st, o.seen)
		}
	}
	delete(t.orphans, seid)
}

// settle forgets what is of no session.
func (t *stationTable) settle() {
	if t.d.slow != nil {
		t.restore(0)
	}
	for seid, all := range t.orphans {
		for _, o := range all {
			var s upfStation
			if t.m.Lookup(o.key, &s) == nil && s.Seid == seid { // nobody else has it by now
				t.remove(o.key)
			}
		}
	}
	t.orphans = nil
}

// bindFrames lets bridge and programs know the stations of an Ethernet PDU session
// whose rules have changed.
func (d *Driver) bindFrames(seid uint64) {
	if d.slow == nil {
		return
	}
	d.stations.restore(0)
	d.stations.restore(seid)
	d.slow.stages.Bridge.Mirrored(seid)
}
