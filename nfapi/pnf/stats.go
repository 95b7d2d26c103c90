package pnf

import (
	"fmt"
	"io"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// counters are those of a PHY.
type counters struct {
	requests   [stopwatch.Unpaired + 1]atomic.Uint64
	unexpected atomic.Uint64
	notRunning atomic.Uint64
	missed     atomic.Uint64
	nodeSyncs  atomic.Uint64
	notSent    atomic.Uint64

	slots, late, stalls, skipped atomic.Uint64
	latest                       atomic.Int64
}

// add adds what a clock has done.
func (c *counters) add(s clock.Stats) {
	c.slots.Add(s.Ticks)
	c.late.Add(s.Late)
	c.stalls.Add(s.Stalls)
	c.skipped.Add(s.Skipped)
	if int64(s.MaxLate) > c.latest.Load() {
		c.latest.Store(int64(s.MaxLate))
	}
}

// Stats is what a PNF has done since it was made.
type Stats struct {
	State       string              `json:"state"`
	Connections uint64              `json:"connections"` // to a VNF
	Errors      uint64              `json:"errors"`      // ERROR.indications that were sent
	Suppressed  uint64              `json:"suppressed"`  // and that were not, to send no more than 100 per second
	NoPHY       uint64              `json:"no_phy"`      // messages of P7 for a phy_id that there is not
	PHYs        []PHYStats          `json:"phys"`
	P7          []transport.P7Stats `json:"p7"` // one for each socket
}

// PHYStats is one PHY. Slots, LateSlots, Stalls, Skipped and LatestNs are of clocks that
// have been stopped.
type PHYStats struct {
	ID         uint16 `json:"id"`
	OnTime     uint64 `json:"on_time"` // requests
	Late       uint64 `json:"late"`
	Early      uint64 `json:"early"`
	Duplicate  uint64 `json:"duplicate"`
	Invalid    uint64 `json:"invalid"`
	Unpaired   uint64 `json:"unpaired"`    // half of DL_TTI and TX_DATA, of those on time
	Missed     uint64 `json:"missed"`      // on time for a slot that the clock left out
	NotRunning uint64 `json:"not_running"` // requests while the PHY was not running
	Unexpected uint64 `json:"unexpected"`  // messages that a PNF does not get
	NodeSyncs  uint64 `json:"node_syncs"`
	NotSent    uint64 `json:"not_sent"` // messages

	Slots     uint64 `json:"slots"`
	LateSlots uint64 `json:"late_slots"` // over when they were run
	Stalls    uint64 `json:"stalls"`
	Skipped   uint64 `json:"skipped"` // slots that were left out
	LatestNs  int64  `json:"latest_ns"`
}

func (p *phy) stats() PHYStats {
	c := &p.counts
	of := func(v stopwatch.Verdict) uint64 { return c.requests[v].Load() }
	return PHYStats{
		ID: p.config.ID, OnTime: of(stopwatch.OnTime), Late: of(stopwatch.Late), Early: of(stopwatch.Early),
		Duplicate: of(stopwatch.Duplicate), Invalid: of(stopwatch.Invalid), Unpaired: of(stopwatch.Unpaired),
		Missed: c.missed.Load(), NotRunning: c.notRunning.Load(), Unexpected: c.unexpected.Load(),
		NodeSyncs: c.nodeSyncs.Load(), NotSent: c.notSent.Load(),
		Slots: c.slots.Load(), LateSlots: c.late.Load(), Stalls: c.stalls.Load(), Skipped: c.skipped.Load(),
		LatestNs: int64(time.Duration(c.latest.Load())),
	}
}

// Stats returns the counters.
func (p *PNF) Stats() Stats {
	s := Stats{
		State: state(p.state.Load()).String(), Connections: p.connections.Load(),
		Errors: p.errorsSent.Load(), Suppressed: p.suppressed.Load(),
	}
	for _, phy := range p.phys {
		s.PHYs = append(s.PHYs, phy.stats())
	}
	for _, e := range p.endpoints {
		s.NoPHY += e.strays.Load()
		if p7 := e.p7.Load(); p7 != nil {
			s.P7 = append(s.P7, p7.Stats())
		}
	}
	return s
}

// Print writes the counters as text.
func (s *Stats) Print(w io.Writer) error {
	fmt.Fprintf(w, "PNF: %s, %d connections, %d ERROR.indications", s.State, s.Connections, s.Errors)
	if s.Suppressed > 0 {
		fmt.Fprintf(w, ", %d held back", s.Suppressed)
	}
	if s.NoPHY > 0 {
		fmt.Fprintf(w, ", %d messages of P7 for no PHY", s.NoPHY)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range s.PHYs {
		s.PHYs[i].print(t)
	}
	return t.Flush()
}

func (s *PHYStats) print(w io.Writer) {
	fmt.Fprintf(w, "  PHY %d\n", s.ID)
	for _, row := range []struct {
		name  string
		value uint64
	}{
		{"slots", s.Slots}, {"  over when they were run", s.LateSlots}, {"  left out", s.Skipped},
		{"requests on time", s.OnTime}, {"  without the other half of their pair", s.Unpaired}, {"  for slots that were left out", s.Missed},
		{"requests late", s.Late}, {"  early", s.Early}, {"  twice", s.Duplicate}, {"  not understood", s.Invalid},
		{"  while not running", s.NotRunning}, {"ignored", s.Unexpected}, {"node sync", s.NodeSyncs}, {"not sent", s.NotSent},
	} {
		fmt.Fprintf(w, "    %s\t%d\n", row.name, row.value)
	}
}
