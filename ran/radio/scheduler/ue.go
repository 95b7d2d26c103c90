package scheduler

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
)

// ue is what the gNB keeps of one UE.
type ue struct {
	radio.UE
	index int
	known bool
	// confirmed says that something came from it since its preamble: it knows that it
	// is known.
	confirmed bool
	// preambled is the slot of its last preamble.
	preambled    slot.Number
	hasPreambled bool
	// bearer is taken from the core by other goroutines while open is set.
	bearer *bearer.Bearer
	open   atomic.Bool

	downlink, uplink [radio.MaxHARQ]process

	request bool // it wants a grant, of a size that it did not tell
	backlog int  // octets that it has and no grant yet
	// reported is the slot of the transport block that backlog is from.
	reported    slot.Number
	hasReported bool
}

func (s *Scheduler) addUEs() error {
	s.ues = make([]ue, len(s.config.UEs))
	for i := range s.ues {
		u := &s.ues[i]
		u.UE, u.index = s.config.UEs[i], i
		s.byRNTI[u.RNTI], s.byRACH[u.Preamble] = u, u
		if err := s.newBearer(u); err != nil {
			return err
		}
		for p := range u.downlink {
			u.downlink[p].room = make([]byte, s.largest())
		}
	}
	return nil
}

// largest is the size of the largest transport block, in octets.
func (s *Scheduler) largest() int {
	n := 0
	for _, z := range s.downlinks {
		n = max(n, z.octets[s.config.PRBs])
	}
	return n
}

func (s *Scheduler) newBearer(u *ue) (err error) {
	down, up := s.rrc.Bound()
	u.bearer, err = bearer.New(bearer.Config{Mode: s.config.RLC, Numerology: s.mu, Downlink: down, Uplink: up}, func(qfi uint8, packet []byte) {
		s.delivered = true
		s.count.Uplink.Packets.Add(1)
		s.core.Uplink(u.index, qfi, packet)
	})
	return err
}

// preamble handles the preamble of a UE in slot n, which restarts the UE.
//
// A known UE that was never heard repeats it because it got no answer: it received nothing, so the
// bearer may continue. A preamble that is not newer than the last one was reported twice, or late:
// the UE has been answered since.
func (s *Scheduler) preamble(u *ue, n slot.Number) {
	if u.hasPreambled && s.mu.Distance(n, u.preambled) <= 0 {
		s.count.Stale.Add(1)
		return
	}
	s.count.Preambles.Add(1)
	if !u.known || u.confirmed {
		u.forget()
		u.bearer.Reset()
		u.known = true
		u.open.Store(true)
	}
	u.hasPreambled, u.preambled = true, n
	u.request = true
}

func (u *ue) forget() {
	u.known, u.confirmed, u.request, u.backlog = false, false, false, 0
	u.hasReported, u.hasPreambled = false, false
	u.open.Store(false)
	for i := range u.downlink {
		u.downlink[i].state, u.uplink[i].state = free, free
	}
}

// processes are its HARQ processes of a direction.
func (u *ue) processes(direction int) *[radio.MaxHARQ]process {
	if direction == turnDownlink {
		return &u.downlink
	}
	return &u.uplink
}

const (
	// reportMost is the largest value of a short report: above it, there may be any amount.
	reportMost = 150_000
	// plenty is what is taken for that, in octets: enough for all slots that are granted
	// until the next report comes.
	plenty = 4 << 20
	// reportAge is for how many slots reports and preambles of before may come late: more
	// than all transmissions of a block take.
	reportAge = 1024
)

// report is a buffer status report in the transport block of a PUSCH in slot built:
// what the UE has left behind it. Older ones than the last come late, with a
// transmission again.
//
// Source: TS 38.321 V18, 5.4.5, table 6.1.3.1-1.
func (s *Scheduler) report(u *ue, built slot.Number, octets int) {
	if u.hasReported && s.mu.Distance(built, u.reported) <= 0 {
		return
	}
	u.hasReported, u.reported = true, built
	if octets > reportMost {
		u.backlog = max(octets, plenty)
		return
	}
	for i := range u.uplink {
		// What was granted since takes something of it away.
		if p := &u.uplink[i]; p.state != free && s.mu.Distance(p.built, built) > 0 {
			octets -= p.size
		}
	}
	u.backlog = max(0, octets)
}
