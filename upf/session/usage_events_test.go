package session

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReportMACs: what a datapath tells of MAC addresses is reported by the URR that
// asks for it, with its UR-SEQN, until it is acknowledged.
func TestReportMACs(t *testing.T) {
	m, _ := newManager(t, 8)
	e := establishment(IPv4{10, 45, 0, 1})
	ethernet(e)
	e.CreateURRs = []URR{{ID: 5, Triggers: ReportMACAR}, {ID: 6, Method: MeasureVolume}}
	e.CreatePDRs[1].URRIDs = []uint32{5, 6}
	s, err := establish(m, e)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 2}, MAC{2, 0, 0, 0, 0, 3}
	told := make(chan Notice, 4)
	events := make(chan Event, 4)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, eventSource(events), func(n Notice) { told <- n }) }()
	events <- Event{Kind: MACAddresses, SEID: s.SEID, RuleID: 6, MACs: &MACChange{Detected: []MAC{a}}} // nobody asked
	events <- Event{Kind: MACAddresses, SEID: s.SEID, RuleID: 5, MACs: &MACChange{Detected: []MAC{a, b}, Removed: []MAC{c}}}
	select {
	case n := <-told:
		if n.Kind != UsageEvent || n.SEID != s.SEID {
			t.Errorf("told %+v", n)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("nothing was told")
	}
	cancel()
	<-done
	var w Waiting
	if err := m.Waiting(t.Context(), s.SEID, &w); err != nil || len(w.Reports) != 1 {
		t.Fatalf("%+v, %v; want one report", w.Reports, err)
	}
	r := w.Reports[0]
	if d := cmp.Diff(UsageReport{URRID: 5, Trigger: TriggerMACAR, MACsDetected: []MAC{a, b}, MACsRemoved: []MAC{c}, Start: r.Start, End: r.End}, r); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	m.Acknowledge(s.SEID, w.Reports)
	if err := m.Waiting(t.Context(), s.SEID, &w); err != nil || len(w.Reports) != 0 {
		t.Errorf("%d reports after the acknowledgement, %v", len(w.Reports), err)
	}
}

// eventSource is a datapath's events.
type eventSource chan Event

func (s eventSource) Next(ctx context.Context) (Event, error) {
	select {
	case e := <-s:
		return e, nil
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
}
