package system

import (
	"testing"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestIdle has sessions go idle and come back as data comes: each is reported, none of
// their frames is lost, and all stand afterwards. The second time is with other sessions
// and faster.
func TestIdle(t *testing.T) {
	s := newSystem(t, Config{Name: "idle", Kind: dut.Plumbline(upf.DatapathXDP, nil)})
	for _, tc := range []struct {
		n    int
		rate uint64
	}{{40, 200}, {120, 2000}} {
		got, err := s.Idle(t.Context(), tc.n, Rules{}, tc.rate)
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(tc.n)
		if got.Reported != tc.n || got.Offered != n || got.Received != n || got.Wrong != 0 || got.Service.Accepted != tc.n || got.Release.Accepted != tc.n {
			t.Errorf("%d sessions: got %d reported, %d frames of %d, %d wrong, %d of %d requests accepted", tc.n, got.Reported, got.Received, got.Offered,
				got.Wrong, got.Service.Accepted, got.Release.Accepted)
		}
		// The report is on its way before the frame is: a frame waits for the request.
		if report, frame := got.Report.ValueAtPercentile(50), got.Frames.P50; report <= 1 || frame < report {
			t.Errorf("%d sessions: reports after %d ns, frames after %d ns", tc.n, report, frame)
		}
		for _, f := range got.Figures {
			if f.Value != 0 {
				t.Errorf("%d sessions: %s: %v, want 0", tc.n, f.Name, f.Value)
			}
		}
	}
}

// TestIdleOfBed: a bed has no sessions that could be idle.
func TestIdleOfBed(t *testing.T) {
	s := newSystem(t, Config{Name: "bed", Bed: BedXDP})
	if _, err := s.Idle(t.Context(), 1, Rules{}, 100); err == nil {
		t.Error("want an error")
	}
}
