package model

import (
	"container/heap"
	"maps"
	"slices"
	"sync"
	"time"

	"plumbline/api"
	"plumbline/datapath"
)

// Bridge is the Ethernet data networks: which Ethernet PDU sessions are on each,
// and which stations, MAC addresses of UEs, are behind which session. It is for
// several goroutines.
//
// A station is learnt from the source of uplink frames and forgotten when nothing
// has come from it for a while. One that is known behind a session stays there
// until then: a UE cannot take the address of another.
//
// Source: IEEE 802.1Q-2022, 8.7 (learning), 8.8 (ageing); TS 29.244 V18.6.0,
// 5.13.5 (reporting).
type Bridge struct {
	mu       sync.Mutex
	sessions map[uint64]*bridged
	stations map[stationKey]*station
	byAge    stationHeap
	mirror   Mirror  // nil: nobody has one
	copies   Limiter // of frames to groups
	proxies  proxies
}

// Mirror is a copy of the stations for a fast path, which notes there when it has
// heard of one. Its methods are called with the bridge locked.
type Mirror interface {
	Put(network int, mac [6]byte, seid, seenNs uint64)
	Delete(network int, mac [6]byte)
	Heard(network int, mac [6]byte) (seenNs uint64) // 0: the station is not there
}

// bridged is an Ethernet PDU session.
type bridged struct {
	rules    []*Rule // downlink ones of bare frames, in Precedence order
	network  int     // number of its data network; 0: any
	urrs     []URR   // that report MAC addresses
	stations map[stationKey]*station
}

type stationKey struct {
	network int
	mac     mac
}

type station struct {
	stationKey
	seid   uint64
	seenNs uint64
	at     int // in the heap
}

// What the bridge remembers: so many stations of a session and in all, and each for
// so long. What it floods: so many copies in a second.
const (
	stationsPerSession = 64
	stationsInAll      = 1 << 16
	stationAge         = 300 * time.Second
	copiesPerSecond    = 20_000
)

// MaxStations is how many stations a bridge remembers in all.
const MaxStations = stationsInAll

// NewBridge returns a bridge without sessions. The mirror may be nil.
func NewBridge(mirror Mirror) *Bridge {
	return &Bridge{
		sessions: map[uint64]*bridged{}, stations: map[stationKey]*station{}, mirror: mirror,
		copies: Limiter{PerSecond: copiesPerSecond}, proxies: newProxies(),
	}
}

// Occupancy is how many MAC addresses are known.
func (b *Bridge) Occupancy() datapath.TableUse {
	b.mu.Lock()
	defer b.mu.Unlock()
	return datapath.TableUse{Name: "mac_addresses", Used: len(b.stations), Max: stationsInAll}
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
	made := &bridged{stations: map[stationKey]*station{}, urrs: reporting(rules)}
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
		b.mirror.Put(st.network, st.mac, seid, max(st.seenNs, b.mirror.Heard(st.network, st.mac)))
	}
}

// Restore lets the bridge know a station of a session from before the start. It was
// reported then.
func (b *Bridge) Restore(seid uint64, network int, address [6]byte, seenNs uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := stationKey{network, mac(address)}
	if s := b.sessions[seid]; s != nil && b.stations[k] == nil && b.room(s) {
		b.add(s, &station{stationKey: k, seid: seid, seenNs: seenNs})
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
			seen = max(seen, from.mirror.Heard(st.network, st.mac))
		}
		b.Restore(st.seid, st.network, st.mac, now.at(seen))
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
	return len(s.stations) < stationsPerSession && len(b.stations) < stationsInAll
}

// add remembers a station. The caller holds mu.
func (b *Bridge) add(s *bridged, st *station) {
	b.stations[st.stationKey], s.stations[st.stationKey] = st, st
	heap.Push(&b.byAge, st)
	if b.mirror != nil {
		b.mirror.Put(st.network, st.mac, st.seid, st.seenNs)
	}
}

// forget takes a station away. The caller holds mu.
func (b *Bridge) forget(st *station) {
	heap.Remove(&b.byAge, st.at)
	delete(b.stations, st.stationKey)
	if s := b.sessions[st.seid]; s != nil {
		delete(s.stations, st.stationKey)
	}
	if b.mirror != nil {
		b.mirror.Delete(st.network, st.mac)
	}
}

// learn takes note of the source of a frame that goes out by r. It reports
// whether the frame may: not if the address is behind another session, or if
// there is no room for it.
func (b *Bridge) learn(s *Stages, r *Rule, source mac) bool {
	if source.isGroup() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.Now()
	b.age(s, now)
	k := stationKey{r.LAN, source}
	if st := b.stations[k]; st != nil {
		if st.seid != r.SEID {
			return false
		}
		b.seen(st, now)
		if b.mirror != nil && b.mirror.Heard(k.network, k.mac) != now {
			b.mirror.Put(k.network, k.mac, st.seid, now)
		}
		return true
	}
	session := b.sessions[r.SEID]
	if session == nil || !b.room(session) {
		return false
	}
	st := &station{stationKey: k, seid: r.SEID, seenNs: now}
	b.add(session, st)
	b.report(s, st, true)
	return true
}

func (b *Bridge) seen(st *station, ns uint64) {
	st.seenNs = ns
	heap.Fix(&b.byAge, st.at)
}

// age forgets what has not been seen for long, here or by who has the mirror. The
// caller holds mu.
func (b *Bridge) age(s *Stages, now uint64) {
	for len(b.byAge) > 0 {
		st := b.byAge[0]
		if !aged(st.seenNs, now) {
			return
		}
		if b.mirror != nil {
			if heard := b.mirror.Heard(st.network, st.mac); !aged(heard, now) {
				b.seen(st, heard)
				continue
			}
		}
		b.forget(st)
		b.report(s, st, false)
	}
}

func aged(seenNs, now uint64) bool { return int64(now-seenNs) >= int64(stationAge) }

// Age forgets what has not been seen for long: a driver calls it now and then.
func (s *Stages) Age() {
	s.Bridge.mu.Lock()
	defer s.Bridge.mu.Unlock()
	s.Bridge.age(s, s.Now())
}

// report raises MAC_ADDRESSES for the URRs that ask for it.
func (b *Bridge) report(s *Stages, st *station, detected bool) {
	session := b.sessions[st.seid]
	if session == nil {
		return
	}
	for _, u := range session.urrs {
		e := &api.Event{Kind: api.EventKind_MAC_ADDRESSES, Seid: st.seid, RuleId: u.ID}
		if detected {
			e.MacsDetected = [][]byte{st.mac[:]}
		} else {
			e.MacsRemoved = [][]byte{st.mac[:]}
		}
		s.raise(e)
	}
}

// behind returns the SEID of the session behind which a station is; 0: none.
func (b *Bridge) behind(s *Stages, network int, to mac) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.age(s, s.Now())
	if st := b.stations[stationKey{network, to}]; st != nil {
		return st.seid
	}
	return 0
}

// towards returns the rules of each session to which frames to this address go, but
// for the one from which it comes. It reports false if these are more than are
// flooded.
func (b *Bridge) towards(s *Stages, network int, to mac, from uint64) (sessions [][]*Rule, all bool) {
	if !to.isGroup() {
		seid := b.behind(s, network, to)
		if rules := b.rulesOf(seid); seid != from && len(rules) > 0 {
			return [][]*Rule{rules}, true
		}
		return nil, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.Now()
	for _, seid := range slices.Sorted(maps.Keys(b.sessions)) {
		on := b.sessions[seid]
		if seid == from || len(on.rules) == 0 || on.network != network && (on.network != 0 || network != 1) {
			continue
		}
		if !b.copies.Allow(now) {
			return sessions, false
		}
		sessions = append(sessions, on.rules)
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

// stationHeap has the station first that was not seen for longest.
type stationHeap []*station

// Len implements [heap.Interface].
func (h stationHeap) Len() int { return len(h) }

// Less implements [heap.Interface].
func (h stationHeap) Less(i, j int) bool { return h[i].seenNs < h[j].seenNs }

// Swap implements [heap.Interface].
func (h stationHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements [heap.Interface].
func (h *stationHeap) Push(x any) {
	st := x.(*station)
	st.at = len(*h)
	*h = append(*h, st)
}

// Pop implements [heap.Interface].
func (h *stationHeap) Pop() any {
	last := len(*h) - 1
	st := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return st
}
