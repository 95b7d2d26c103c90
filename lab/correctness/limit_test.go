package correctness

import (
	"errors"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestLimitSilent: a UPF that sends no Session Report Request is silent if the limit passed,
// and one that lost most of the frames has lost them. Neither keeps the session: this UPF has
// room for one.
func TestLimitSilent(t *testing.T) {
	for name, tc := range map[string]struct {
		faults faulty.Faults
		want   error
	}{
		"silent": {faulty.Faults{Sessions: 1}, errSilent},
		"losing": {faulty.Faults{Sessions: 1, PPS: 50}, errLost},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bed{Config: Config{Kind: faulty.Kind(tc.faults), Duration: 400 * time.Millisecond}, result: &report.Correctness{}}
			defer func() {
				if err := b.close(); err != nil {
					t.Error(err)
				}
			}()
			if err := b.build(t.Context()); err != nil {
				t.Fatal(err)
			}
			for kind, d := range map[string]report.Direction{"threshold": report.Uplink, "quota": report.Downlink} {
				if err := b.limit(t.Context(), d, 1000, kind); !errors.Is(err, tc.want) {
					t.Errorf("%s %s: got %v, want %v", kind, d, err, tc.want)
				}
			}
			s, err := b.establish(t.Context(), b.nextUE(), shape{urr: true})
			if err != nil {
				t.Fatalf("a session is left at the UPF: %v", err)
			}
			s.abandon(t.Context())
			if len(b.result.Limits) != 0 {
				t.Errorf("got %+v, want no figure", b.result.Limits)
			}
		})
	}
}
