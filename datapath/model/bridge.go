package model

import (
	"container/list"
	"maps"
	"slices"
	"sync"
	"time"

	"plumbline/api"
	"plumbline/datapath"
)

// Bridge is the Ethernet data networks: which Ethernet PDU sessions are on each,
// and which MAC addresses are behind which session. It is for several goroutines.
//
// A MAC address is learnt from the source of uplink frames and forgotten when
// nothing has come from it for a while. One that is known behind a session stays
// there until then: a UE cannot take the address of another.
//
// Source: IEEE 802.1Q-2022, 8.7 (learning), 8.8 (ageing); TS 29.244 V18.6.0,
// 5.13.5 (reporting).
type Bridge struct {
	mu       sync.Mutex
	sessions map[uint64]*bridged
	macs     map[macKey]*list.Element // of *learnt
	byAge    list.List                // last seen first
}

// bridged is an Ethernet PDU session.
type bridged struct {
	rules   []*Rule // downlink ones of bare frames, in Precedence order
	network int     // number of its data network; 0: any
	macs    int     // how many are behind it
}

type macKey struct {
	network int
	mac     mac
}

type learnt struct {
	macKey
	seid   uint64
	urrs   []URR // that report MAC addresses
	seenNs uint64
}

// What the bridge remembers: so many MAC addresses of a session and in all, and
// each for so long.
const (
	macsPerSession = 64
	macsInAll      = 1 << 16
	macAge         = 300 * time.Second
)

// NewBridge returns a bridge without sessions.
func NewBridge() *Bridge {
	return &Bridge{sessions: map[uint64]*bridged{}, macs: map[macKey]*list.Element{}}
}

// Occupancy is how many MAC addresses are known.
func (b *Bridge) Occupancy() datapath.TableUse {
	b.mu.Lock()
	defer b.mu.Unlock()
	return datapath.TableUse{Name: "mac_addresses", Used: len(b.macs), Max: macsInAll}
}

// Bind makes rules those of an Ethernet PDU session; none that take bare frames:
// it is not on any network.
func (b *Bridge) Bind(seid uint64, rules []*Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.sessions[seid]
	if old == nil && !slices.ContainsFunc(rules, func(r *Rule) bool { return r.Ethernet != nil }) {
		return
	}
	made := &bridged{}
	for _, r := range rules {
		if r.Ethernet != nil && r.Bare {
			made.rules, made.network = append(made.rules, r), r.Network
		}
	}
	if old != nil {
		made.macs = old.macs
	}
	if len(rules) > 0 {
		b.sessions[seid] = made
		return
	}
	delete(b.sessions, seid)
	for e := b.byAge.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*learnt).seid == seid {
			b.forget(e)
		}
		e = next
	}
}

// forget takes a MAC address away. The caller holds mu.
func (b *Bridge) forget(e *list.Element) *learnt {
	l := b.byAge.Remove(e).(*learnt)
	delete(b.macs, l.macKey)
	if s := b.sessions[l.seid]; s != nil {
		s.macs--
	}
	return l
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
	k := macKey{r.network(), source}
	if e := b.macs[k]; e != nil {
		l := e.Value.(*learnt)
		if l.seid != r.SEID {
			return false
		}
		l.seenNs = now
		b.byAge.MoveToFront(e)
		return true
	}
	session := b.sessions[r.SEID]
	if session == nil || session.macs >= macsPerSession || len(b.macs) >= macsInAll {
		return false
	}
	session.macs++
	l := &learnt{macKey: k, seid: r.SEID, seenNs: now}
	for _, u := range r.URRs {
		if u.has(FlagMACs) {
			l.urrs = append(l.urrs, u)
		}
	}
	b.macs[k] = b.byAge.PushFront(l)
	l.report(s, true)
	return true
}

// network is the number of the data network of frames that go out by r: of those
// without a name it is the first one's.
func (r *Rule) network() int { return max(r.Way, 1) }

// age forgets what has not been seen for long. The caller holds mu.
func (b *Bridge) age(s *Stages, now uint64) {
	for {
		e := b.byAge.Back()
		if e == nil || now-e.Value.(*learnt).seenNs < uint64(macAge) {
			return
		}
		b.forget(e).report(s, false)
	}
}

// Age forgets what has not been seen for long: a driver calls it now and then.
func (s *Stages) Age() {
	s.Bridge.mu.Lock()
	defer s.Bridge.mu.Unlock()
	s.Bridge.age(s, s.Now())
}

// report raises MAC_ADDRESSES for the URRs that ask for it.
func (l *learnt) report(s *Stages, detected bool) {
	for _, u := range l.urrs {
		e := &api.Event{Kind: api.EventKind_MAC_ADDRESSES, Seid: l.seid, RuleId: u.ID}
		if detected {
			e.MacsDetected = [][]byte{l.mac[:]}
		} else {
			e.MacsRemoved = [][]byte{l.mac[:]}
		}
		s.raise(e)
	}
}

// towards returns the rules of each session to which frames to this address go.
func (b *Bridge) towards(network int, to mac, now uint64) [][]*Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !to.isGroup() {
		e := b.macs[macKey{network, to}]
		if e == nil || now-e.Value.(*learnt).seenNs >= uint64(macAge) {
			return nil
		}
		if s := b.sessions[e.Value.(*learnt).seid]; s != nil && len(s.rules) > 0 {
			return [][]*Rule{s.rules}
		}
		return nil
	}
	var all [][]*Rule
	for _, seid := range slices.Sorted(maps.Keys(b.sessions)) {
		s := b.sessions[seid]
		if len(s.rules) > 0 && (s.network == 0 && network == 1 || s.network == network) {
			all = append(all, s.rules)
		}
	}
	return all
}
