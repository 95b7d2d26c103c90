package n4load

import (
	"math"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/search"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestRamp has requests come faster and faster, and counts them by the tenth.
func TestRamp(t *testing.T) {
	r := newResponder(t)
	p := populate(t, r, Config{Window: 1000}, 100, 100, 1, 1)
	load := Load{Rate: 500, RateTo: 4500, WarmUp: 50 * time.Millisecond, Duration: 400 * time.Millisecond}
	load.Shares[OpModify] = 1
	report, err := p.Run(deadline(t), load, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Total.Intended; n < 950 || n > 1050 || report.Total.Duration.Round(time.Millisecond) != load.Duration {
		t.Errorf("%d requests in %v, want about 1000 in %v", n, report.Total.Duration, load.Duration)
	}
	sum, phases := 0, report.Phases("load")
	for i, part := range report.Ramp {
		consistent(t, part)
		sum += part.Intended
		rate := 500 + 4000*(float64(i)+0.5)/rampParts
		if want := rate * load.Duration.Seconds() / rampParts; math.Abs(float64(part.Intended)-want) > 3 {
			t.Errorf("part %d: %d requests, want %.0f", i, part.Intended, want)
		}
		if phases[i].Rate != rate {
			t.Errorf("part %d: %v per second, want %v", i, phases[i].Rate, rate)
		}
	}
	if len(report.Ramp) != rampParts || sum != report.Total.Intended {
		t.Errorf("%d parts with %d requests, want %d with %d", len(report.Ramp), sum, rampParts, report.Total.Intended)
	}
}

// TestStanding follows what is known of a session from request to request.
func TestStanding(t *testing.T) {
	const refused, none = pfcp.CauseRequestRejected, 0
	for _, tc := range []struct {
		name  string
		from  standing
		op    int
		cause pfcp.Cause
		want  standing
	}{
		{"established", absent, OpEstablish, pfcp.CauseRequestAccepted, stands},
		{"refused", absent, OpEstablish, refused, absent},
		{"no answer", absent, OpEstablish, none, doubtful},
		{"again", ended, OpEstablish, pfcp.CauseRequestAccepted, stands},
		{"refused again", ended, OpEstablish, refused, ended},
		{"moved", stands, OpModify, pfcp.CauseRequestAccepted, stands},
		{"not moved", stands, OpModify, refused, doubtful},
		{"moved after all", doubtful, OpModify, pfcp.CauseRequestAccepted, stands},
		{"deleted", stands, OpDelete, pfcp.CauseRequestAccepted, ended},
		{"perhaps deleted", stands, OpDelete, none, doubtful},
	} {
		if got := tc.from.after(tc.op, tc.cause); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// TestWithin counts requests that were accepted in time: refusals are none.
func TestWithin(t *testing.T) {
	r := newReport()
	for i := range 100 {
		record(r.Latency, time.Duration(i+1)*time.Millisecond)
	}
	r.Accepted, r.Refused[pfcp.CauseRequestRejected] = 97, 3
	if got := r.within(50 * time.Millisecond); got < 46 || got > 47 {
		t.Errorf("%d within 50 ms, want 47", got)
	}
	s := Search{Load: Load{Shares: [Operations]float64{1, 2, 1}}, Within: 5 * time.Millisecond}
	got := s.figures(search.GoalResult{Lower: 1000, Upper: 1010}, 4*time.Millisecond)
	if len(got) != 2 || got[0].Value != 1000 || got[1].Value != 250 || got[1].High != 252.5 || got[0].Note == "" || got[1].Name != "sessions/s at p99 ≤ 5ms" {
		t.Errorf("figures %+v", got)
	}
}
