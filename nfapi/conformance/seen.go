package conformance

import (
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// tick is a SLOT.indication, or the slot of another indication.
type tick struct {
	sfn, slot uint16
	at        time.Time
}

// report is a TIMING_INFO.
type timingReport struct {
	nfapi.TimingInfo
	at time.Time
}

// syncAnswer is an UL_NODE_SYNC.
type syncAnswer struct {
	t2, t3 uint32
	at     time.Time
}

// seen is what a PNF under test has said over P7.
type seen struct {
	mu      sync.Mutex
	from    netip.AddrPort
	list    []tick            // SLOT.indications
	count   int               // of all
	crcs    map[uint32][]tick // by handle
	syncs   map[uint32]syncAnswer
	timings []timingReport
}

// maxSeen is how many entries of each kind are kept.
const maxSeen = 1 << 15

func (s *seen) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.count, s.timings = nil, 0, nil
	s.crcs, s.syncs = map[uint32][]tick{}, map[uint32]syncAnswer{}
}

// take takes a message in.
func (s *seen) take(h *nfapi.Header, m nfapi.Message, from netip.AddrPort, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.PhyID != phyID && h.Generation != nfapi.GenFAPI {
		return
	}
	switch m := m.(type) {
	case *nfapi.SlotIndication:
		s.from = from
		s.count++
		if len(s.list) == maxSeen {
			s.list = append(s.list[:0], s.list[maxSeen/2:]...)
		}
		s.list = append(s.list, tick{m.SFN, m.Slot, at})
	case *nfapi.CRCIndication:
		for i := range m.CRCs {
			if h := m.CRCs[i].Handle; len(s.crcs) < maxSeen && len(s.crcs[h]) < maxSeen {
				s.crcs[h] = append(s.crcs[h], tick{m.SFN, m.Slot, at})
			}
		}
	case *nfapi.ULNodeSync:
		if len(s.syncs) < maxSeen {
			s.syncs[m.T1] = syncAnswer{m.T2, m.T3, at}
		}
	case *nfapi.TimingInfo:
		if len(s.timings) < maxSeen {
			s.timings = append(s.timings, timingReport{*m, at})
		}
	}
}

// ticks is how many SLOT.indications have come.
func (s *seen) ticks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// recent are the SLOT.indications that are kept, and TIMING_INFOs.
func (s *seen) recent() []tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]tick(nil), s.list...)
}

func (s *seen) reports() []timingReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]timingReport(nil), s.timings...)
}

// forget forgets SLOT.indications and TIMING_INFOs.
func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.timings = nil, nil
}

func (s *seen) crc(handle uint32) []tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]tick(nil), s.crcs[handle]...)
}

func (s *seen) sync(t1 uint32) (syncAnswer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.syncs[t1]
	return a, ok
}
