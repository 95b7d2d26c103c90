package n4load

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestCampaignKeeps wants what was measured before a UP function dies, or somebody ends the
// run, and why it ended.
func TestCampaignKeeps(t *testing.T) {
	for _, tc := range []struct {
		name    string
		end     func(*responder, context.CancelCauseFunc)
		phase   string // the last one
		figures bool
	}{
		{"the UP function dies", func(r *responder, _ context.CancelCauseFunc) { _ = r.conn.Close() }, phaseLoad, true},
		{"interrupted", func(_ *responder, cancel context.CancelCauseFunc) { cancel(context.Canceled) }, report.N4Interrupted, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newResponder(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r.before = func(number int) {
				if number == 200 {
					tc.end(r, cancel)
				}
			}
			c := &Campaign{
				Remote: r.start(t), Local: []netip.Addr{netip.MustParseAddr("127.0.0.2")}, T1: 20 * time.Millisecond, N1: 2, InFlight: 1024, Threads: 1,
				Sessions: 50, Template: Template{UE: netip.MustParseAddr("10.64.0.1"), GNB: netip.MustParseAddr("10.3.0.2"), DLTEID: 1},
				Loads: []Load{{Rate: 1000, Shares: [Operations]float64{0, 1, 0}, Duration: 500 * time.Millisecond, Seed: 1}},
				Host:  func() report.Host { return report.Host{} },
			}
			result, err := c.Do(ctx)
			if err == nil || !result.Any() || result.Ended != inOneLine(err) {
				t.Fatalf("got %+v, %v, want a result and why it ended", result, err)
			}
			last := result.Phases[len(result.Phases)-1]
			if n := last.Total.Accepted; last.Name != tc.phase || n < 100 || n > 200 {
				t.Errorf("last phase %q with %d accepted, want %q and about 150", last.Name, n, tc.phase)
			}
			if got := len(result.Loads()) > 0; got != tc.figures {
				t.Errorf("loads: %v, want %v", got, tc.figures)
			}
			var table bytes.Buffer
			if err := report.N4Table(&table, result.N4Result); err != nil || !strings.Contains(table.String(), "unfinished") {
				t.Errorf("%v, want why it ended in\n%s", err, &table)
			}
		})
	}
}
