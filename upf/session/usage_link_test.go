package session

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinked: a URR reports whenever one that it is linked to does, through any
// number of links, and once. TS 29.244, 5.2.2.4.
func TestLinked(t *testing.T) {
	s := &Session{URRs: []URR{
		{ID: 1, Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(100)},
		{ID: 2, Method: MeasureVolume, Triggers: ReportLIUSA, LinkedURRs: []uint32{1, 3}},
		{ID: 3, Method: MeasureVolume, Triggers: ReportLIUSA, LinkedURRs: []uint32{2}},
		{ID: 4, Method: MeasureVolume, Triggers: ReportVOLTH, LinkedURRs: []uint32{1}},
		{ID: 5, Method: MeasureEvent, Triggers: ReportSTART | ReportLIUSA, LinkedURRs: []uint32{9}},
	}}
	for i := range s.URRs {
		s.URRs[i].provision(0, Counts{})
	}
	counts := &Usage{URRs: []URRCounts{{URRID: 1, Counts: octets(100, 0)}, {URRID: 2, Counts: octets(100, 0)}, {URRID: 3, Counts: octets(0, 0)}, {URRID: 4, Counts: octets(50, 0)}, {URRID: 5, Counts: octets(100, 0)}}}
	s.look(second, counts, Optional[uint32]{})
	want := "#0 VOLTH 100/0 1s, #0 LIUSA 100/0 1s, #0 LIUSA 0/0 1s, #0 START"
	if got := reportText(s.Reports); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestFull: when no more reports may wait, usage is left where it is, and told
// when there is room: all of it, and each reason.
func TestReportsFull(t *testing.T) {
	s := &Session{URRs: []URR{{
		ID: 1, Method: MeasureVolume, Triggers: ReportVOLTH | ReportSTOPT | ReportVOLQU,
		VolumeThreshold: total(100), VolumeQuota: total(100 * (maxReports + 2)),
	}}}
	s.URRs[0].provision(0, Counts{})
	var sum uint64
	tell := func() {
		for _, r := range s.Reports {
			sum += r.Usage.UplinkOctets
		}
		s.Reports = nil
	}
	for i := range uint64(maxReports + 5) {
		s.look(int64(i)*second, &Usage{URRs: []URRCounts{{URRID: 1, Counts: octets(100*(i+1), 0)}}}, Optional[uint32]{})
	}
	if len(s.Reports) != maxReports || s.next(0) != 0 {
		t.Errorf("%d reports wait, next look at %d; want %d and none", len(s.Reports), s.next(0), maxReports)
	}
	if !s.URRs[0].State.Exhausted {
		t.Error("the quota is not exhausted though it is used up")
	}
	tell()
	last := octets(100*(maxReports+5), 0)
	s.look(100*second, &Usage{URRs: []URRCounts{{URRID: 1, Counts: last}}}, Optional[uint32]{})
	want := fmt.Sprintf("#%d STOPT, #%d VOLTH+VOLQU 500/0 85s", maxReports, maxReports+1)
	if got := reportText(s.Reports); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if tell(); sum != last.UplinkOctets {
		t.Errorf("%d octets reported, %d counted", sum, last.UplinkOctets)
	}
}

// TestIdle: the User Plane Inactivity Timer runs out once, and again after
// packets.
func TestIdle(t *testing.T) {
	s := &Session{InactivityTimer: 20}
	var got []int64
	packets := []uint64{5, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7} // every 10 s
	for i, n := range packets {
		if s.idle(int64(i+1)*10*second, n) {
			got = append(got, int64(i+1)*10)
		}
	}
	if diff := cmp.Diff([]int64{30, 60, 110}, got); diff != "" {
		t.Errorf("inactive at (-want +got):\n%s", diff)
	}
}
