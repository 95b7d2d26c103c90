package stages

import (
	"container/heap"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Bridge is the Ethernet data networks: which Ethernet PDU sessions are on each,
// and which stations, MAC addresses in a VLAN, are behind which session or on the
// data network. It is for several goroutines.
//
// A station is learnt from the source of frames, and forgotten when nothing has come
// from it for a while. Until then a UE cannot take it:
//
//   - One that was heard on the data network is no UE's.
//   - One that is behind a session moves to the data network with the first frame
//     from there, and to another session if an Ethernet Packet Filter of the PDR
//     that the frame matches has this address as its source: the SMF says that it
//     may be there.
//
// Source: IEEE 802.1Q-2022, 8.7 (learning), 8.8 (ageing); TS 29.244 V18.6.0,
// 5.13.5 (reporting).
type Bridge struct {
	mu       sync.Mutex
	sessions map[uint64]*bridged
	stations map[Station]*station
	ofUEs    stationHeap
	outside  stationHeap // on the data networks
	mirror   Mirror      // nil: nobody has one
	floods   floods
	proxies  proxies
}

// Station is a MAC address in a VLAN of a data network.
type Station struct {
	Network int // from 1 on
	VLAN    int // VID of the outer tag; 0: none
	MAC     [6]byte
}

// Mirror is a copy of the stations for a fast path, which notes there when it has
// heard of one. Its methods are called with the bridge locked.
type Mirror interface {
	Put(st Station, seid, seenNs uint64) // 0: it is on the data network
	Delete(st Station)
	Heard(st Station) (seenNs uint64) // 0: the station is not there
}

// bridged is an Ethernet PDU session.
type bridged struct {
	rules    []*Rule // downlink ones of bare frames, in Precedence order
	network  int     // number of its data network; 0: any
	urrs     []URR   // that report MAC addresses
	stations map[Station]*station
}

type station struct {
	Station
	seid   uint64 // 0: on the data network
	seenNs uint64
	at     int // in the heap
}

// What the bridge remembers: so many stations of a session, of all of them, and of the
// data networks, and each for so long. What it floods: so many copies in a second.
const (
	stationsPerSession = 64
	stationsOfUEs      = 1 << 16
	stationsOutside    = 1 << 14
	stationAge         = 300 * time.Second
	copiesPerSecond    = 20_000
)

// MaxStations is how many stations a bridge remembers in all.
const MaxStations = stationsOfUEs + stationsOutside

// NewBridge returns a bridge without sessions. The mirror may be nil.
func NewBridge(mirror Mirror) *Bridge {
	return &Bridge{
		sessions: map[uint64]*bridged{}, stations: map[Station]*station{}, mirror: mirror,
		floods: newFloods(), proxies: newProxies(),
	}
}

// Occupancy is how many MAC addresses of UEs are known.
func (b *Bridge) Occupancy() datapath.TableUse {
	b.mu.Lock()
	defer b.mu.Unlock()
	return datapath.TableUse{Name: "mac_addresses", Used: len(b.ofUEs), Max: stationsOfUEs}
}

// Bind makes rules those of an Ethernet PDU session; none: it is gone, and its
// stations with it. One without rules for bare frames is not on any network.
func (b *Bridge) Bind(seid uint64, rules []*Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.sessions[seid]
	if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Ethernet != nil }) {
		rules = nil // it may have been one of frames
	}
	if old == nil && len(rules) == 0 {
		return
	}
	b.proxies.bind(seid, rules)
	if len(rules) == 0 {
		for _, s := range old.stations {
			b.forget(s)
		}
		delete(b.sessions, seid)
		return
	}
	made := &bridged{stations: map[Station]*station{}, urrs: reporting(rules)}
	if old != nil {
		made.stations = old.stations
	}
	for _, r := range rules {
		if r.Ethernet != nil && r.Bare {
			made.rules, made.network = append(made.rules, r), r.Network
		}
	}
	b.sessions[seid] = made
}

// Mirrored writes the session's stations into the mirror again: its rules have got
// another place.
func (b *Bridge) Mirrored(seid uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[seid]
	if s == nil || b.mirror == nil {
		return
	}
	for _, st := range s.stations {
		b.mirror.Put(st.Station, seid, max(st.seenNs, b.mirror.Heard(st.Station)))
	}
}

// Restore lets the bridge know a station of a session, or of the data network (0),
// from before the start. It was reported then.
func (b *Bridge) Restore(seid uint64, k Station, seenNs uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s := b.sessions[seid]; {
	case b.stations[k] != nil:
	case seid == 0 && len(b.outside) < stationsOutside, s != nil && b.room(s):
		b.add(&station{Station: k, seid: seid, seenNs: seenNs})
	}
}

// inherit lets the bridge know the stations of one that is not in use any more. They
// were reported there.
func (b *Bridge) inherit(from *Bridge, now clocks) {
	from.mu.Lock()
	defer from.mu.Unlock()
	for _, st := range from.stations {
		seen := st.seenNs
		if from.mirror != nil {
			seen = max(seen, from.mirror.Heard(st.Station))
		}
		b.Restore(st.seid, st.Station, now.at(seen))
	}
}

// reporting returns the URRs of uplink rules that report MAC addresses.
func reporting(rules []*Rule) []URR {
	var urrs []URR
	for _, r := range rules {
		for _, u := range r.URRs {
			if r.Uplink && u.has(FlagMACs) && !slices.Contains(urrs, u) {
				urrs = append(urrs, u)
			}
		}
	}
	return urrs
}

func (b *Bridge) room(s *bridged) bool {
	return len(s.stations) < stationsPerSession && len(b.ofUEs) < stationsOfUEs
}

// heap returns the one in which a station is.
func (b *Bridge) heap(st *station) *stationHeap {
	if st.seid == 0 {
		return &b.outside
	}
	return &b.ofUEs
}

// add remembers a station. The caller holds mu.
func (b *Bridge) add(st *station) {
	b.stations[st.Station] = st
	if s := b.sessions[st.seid]; s != nil {
		s.stations[st.Station] = st
	}
	heap.Push(b.heap(st), st)
	if b.mirror != nil {
		b.mirror.Put(st.Station, st.seid, st.seenNs)
	}
}

// forget takes a station away. The caller holds mu.
func (b *Bridge) forget(st *station) {
	heap.Remove(b.heap(st), st.at)
	delete(b.stations, st.Station)
	if s := b.sessions[st.seid]; s != nil {
		delete(s.stations, st.Station)
	}
	if b.mirror != nil {
		b.mirror.Delete(st.Station)
	}
}

// behind returns the SEID of the session behind which a station is; 0: none.
func (b *Bridge) behind(s *Stages, k Station) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.age(s, s.Now())
	if st := b.stations[k]; st != nil {
		return st.seid
	}
	return 0
}

// towards returns the rules of each session to which a frame on a data network goes,
// but for the one from which it comes. It reports false, and returns none, if these
// are more than are flooded.
func (b *Bridge) towards(s *Stages, network int, f *etherFrame, from uint64) (sessions [][]*Rule, all bool) {
	if !f.destination.isGroup() {
		seid := b.behind(s, f.to(network))
		if rules := b.rulesOf(seid); seid != from && len(rules) > 0 {
			return [][]*Rule{rules}, true
		}
		return nil, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, seid := range slices.Sorted(maps.Keys(b.sessions)) {
		on := b.sessions[seid]
		if seid == from || len(on.rules) == 0 || on.network != network && (on.network != 0 || network != 1) {
			continue
		}
		sessions = append(sessions, on.rules)
	}
	share, who := &b.floods.ofUEs, from
	if from == 0 {
		share, who = &b.floods.outside, uint64(network)
	}
	if len(sessions) > 0 && !share.allow(who, len(sessions), s.Now()) {
		return nil, false
	}
	return sessions, true
}

// rulesOf returns the rules of a session for bare frames.
func (b *Bridge) rulesOf(seid uint64) []*Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sessions[seid]; s != nil {
		return s.rules
	}
	return nil
}
