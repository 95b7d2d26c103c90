package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// stationTable is stations, the MAC addresses that the programs know. It is the
// [model.Mirror] of the slow path's bridge.
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

func (t *stationTable) key(network int, mac [6]byte) upfStationKey {
	return upfStationKey{Mac: mac, Network: uint16(t.d.networks[network-1].number())}
}

// Put implements [model.Mirror]. The driver's lock is held. A station whose session
// has no rule for frames is left out: the programs would have no use for it.
func (t *stationTable) Put(network int, mac [6]byte, seid, seenNs uint64) {
	key := routesKey(seid)
	slot, ok := t.d.ues.find(key)
	if !ok {
		t.Delete(network, mac)
		return
	}
	if err := t.m.Put(t.key(network, mac), upfStation{Key: key, SeenNs: seenNs, Seid: seid, Slot: slot + 1}); err != nil {
		t.d.log.Warn("frames of a station go through the slow path", "mac", fmt.Sprintf("%x", mac), "err", err)
	}
}

// Delete implements [model.Mirror].
func (t *stationTable) Delete(network int, mac [6]byte) { t.remove(t.key(network, mac)) }

func (t *stationTable) remove(key upfStationKey) {
	if err := t.m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		t.d.log.Warn("station stays", "mac", fmt.Sprintf("%x", key.Mac), "err", err)
	}
}

// Heard implements [model.Mirror].
func (t *stationTable) Heard(network int, mac [6]byte) uint64 {
	var s upfStation
	if t.m.Lookup(t.key(network, mac), &s) != nil {
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

// restore lets the bridge know the stations of a session that is applied again.
func (t *stationTable) restore(seid uint64) {
	for _, o := range t.orphans[seid] {
		if network := t.d.numbered(uint32(o.key.Network)); network != 0 {
			t.d.slow.stages.Bridge.Restore(seid, network, o.key.Mac, o.seen)
		}
	}
	delete(t.orphans, seid)
}

// settle forgets what is of no session.
func (t *stationTable) settle() {
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
	d.stations.restore(seid)
	d.slow.stages.Bridge.Mirrored(seid)
}
