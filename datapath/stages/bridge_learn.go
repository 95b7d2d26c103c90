package stages

import (
	"container/heap"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// learn takes note of the source of a frame that goes out by r. It reports
// whether the frame may: not if the address is elsewhere and may not move, or if
// there is no room for it.
func (b *Bridge) learn(s *Stages, r *Rule, f *etherFrame) bool {
	if f.source.isGroup() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.Now()
	b.age(s, now)
	k := Station{r.LAN, r.vlan(f), f.source}
	had := b.stations[k]
	switch session := b.sessions[r.SEID]; {
	case had != nil && had.seid == r.SEID:
		b.again(had, now)
		return true
	case had != nil && (had.seid == 0 || !r.names(f.source)), session == nil || !b.room(session):
		return false
	}
	b.move(s, had, &station{Station: k, seid: r.SEID, seenNs: now})
	return true
}

// learnOutside takes note of the source of a frame from a data network.
func (b *Bridge) learnOutside(s *Stages, network int, f *etherFrame) {
	if f.source.isGroup() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.Now()
	b.age(s, now)
	k := Station{network, f.vlan(), f.source}
	had := b.stations[k]
	if had != nil && had.seid == 0 {
		b.again(had, now)
		return
	}
	if len(b.outside) >= stationsOutside {
		b.forget(b.outside[0]) // nothing waits for it
	}
	b.move(s, had, &station{Station: k, seenNs: now})
}

// move puts a station in the place of one elsewhere; nil: there was none. The caller
// holds mu.
func (b *Bridge) move(s *Stages, from, to *station) {
	if from != nil {
		b.forget(from)
		b.report(s, from, false)
	}
	b.add(to)
	b.report(s, to, true)
}

// again takes note that a station was heard where it is. The caller holds mu.
func (b *Bridge) again(st *station, now uint64) {
	b.seen(st, now)
	if b.mirror != nil && b.mirror.Heard(st.Station) != now {
		b.mirror.Put(st.Station, st.seid, now)
	}
}

func (b *Bridge) seen(st *station, ns uint64) {
	st.seenNs = ns
	heap.Fix(b.heap(st), st.at)
}

// age forgets what has not been seen for long, here or by who has the mirror. The
// caller holds mu.
func (b *Bridge) age(s *Stages, now uint64) {
	for _, all := range []*stationHeap{&b.ofUEs, &b.outside} {
		for len(*all) > 0 && aged((*all)[0].seenNs, now) {
			st := (*all)[0]
			if b.mirror != nil {
				if heard := b.mirror.Heard(st.Station); !aged(heard, now) {
					b.seen(st, heard)
					continue
				}
			}
			b.forget(st)
			b.report(s, st, false)
		}
	}
}

func aged(seenNs, now uint64) bool { return int64(now-seenNs) >= int64(stationAge) }

// Age forgets what has not been seen for long: a driver calls it now and then.
func (s *Stages) Age() {
	s.Bridge.mu.Lock()
	defer s.Bridge.mu.Unlock()
	s.Bridge.age(s, s.Now())
}

// report raises MAC_ADDRESSES for the URRs that ask for it, if the session has the
// address in no other VLAN.
func (b *Bridge) report(s *Stages, st *station, detected bool) {
	session := b.sessions[st.seid]
	if session == nil {
		return
	}
	for k := range session.stations {
		if k.MAC == st.MAC && k != st.Station {
			return
		}
	}
	for _, u := range session.urrs {
		e := &api.Event{Kind: api.EventKind_MAC_ADDRESSES, Seid: st.seid, RuleId: u.ID}
		if detected {
			e.MacsDetected = [][]byte{st.MAC[:]}
		} else {
			e.MacsRemoved = [][]byte{st.MAC[:]}
		}
		s.raise(e)
	}
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
