package n4load

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
)

func monotonic(t *testing.T) int64 {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		t.Fatal(err)
	}
	return at.Nano()
}

// TestPage wants a service request for each session that data is reported for, once, and
// to know when the report came.
func TestPage(t *testing.T) {
	r := newResponder(t)
	c := dial(t, Config{Remote: r.start(t)})
	sessions := template.Sessions(40, 4)
	if _, err := c.Establish(deadline(t), &template, sessions); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Idle(deadline(t), sessions, 2); err != nil || got.Accepted != 4 {
		t.Fatalf("idle: got %+v, %v, want 4 accepted", got, err)
	}
	sessions[2].RemoteSEID += 1000 // the UP function does not know it any more
	p, err := c.Page(deadline(t), sessions)
	if err != nil {
		t.Fatal(err)
	}
	before := monotonic(t)
	data := &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeDLDR, DownlinkData: pfcp.Some(pfcp.DownlinkDataReport{PDRIDs: []uint16{2}})}
	for i, m := range []struct {
		seid    uint64
		message *pfcp.SessionReportRequest
	}{
		{41, data}, {41, data}, {43, data}, {44, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUISR}}, {99, data}, {42, data},
	} {
		ask(t, r, c, pfcp.Header{Sequence: uint32(100 + i), SEID: m.seid}, m.message)
	}
	for until := time.Now().Add(10 * time.Second); p.Served() < 3 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	after := monotonic(t)
	got, active, err := p.End()
	if err != nil || got.Intended != 3 || got.Accepted != 2 || got.RefusedTotal() != 1 || got.Latency.TotalCount() != 3 {
		t.Errorf("got %+v, %v, want 3 requests, of which one is refused", got, err)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(active, want) {
		t.Errorf("active: got %v, want %v", active, want)
	}
	for i, want := range []bool{true, true, true, false} {
		if at := p.Reported(i); (at != 0) != want || want && (at < before || at > after) {
			t.Errorf("session %d: reported at %d, want %v, from %d to %d", i, at, want, before, after)
		}
	}
	if got, err := c.Activate(deadline(t), sessions[3:], 1); err != nil || got.Accepted != 1 {
		t.Errorf("activate: got %+v, %v", got, err)
	}
}

// TestPageEnds: without a report it ends when it is told to, or with its context.
func TestPageEnds(t *testing.T) {
	r := newResponder(t)
	c := dial(t, Config{Remote: r.start(t)})
	p, err := c.Page(deadline(t), template.Sessions(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := p.End(); err != nil || got.Intended != 0 {
		t.Errorf("got %+v, %v, want nothing", got, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Page(deadline(t), template.Sessions(0, 1)); err == nil {
		t.Error("paging by a closed client: want an error")
	}
}
