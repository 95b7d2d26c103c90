package find_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/watch"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestParts takes the delays of real UPFs apart, of which nothing is known but what was
// found: all packets are, where they are read from sockets and devices.
func TestParts(t *testing.T) {
	const datagrams, timeout = 100, 10 * time.Second
	for _, tc := range []struct {
		name  string
		parts bool
	}{
		{upf.DatapathTUN, true},
		{upf.DatapathTC, false},
		{"open5gs-tun", true},
		{"open5gs-tap", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, kindOf(t, tc.name), false)
			w := watched(t, watch.Config{
				Selector: find.Selector{PID: b.upf.PID()}, Probe: probe.Config{Timeout: timeout, Parts: true}, NoN4: true,
				Log: slog.New(slog.DiscardHandler),
			})
			b.exchange(t, datagrams)

			snapshot, _, err := w.Read()
			if err != nil {
				t.Fatal(err)
			}
			stages, err := w.Beyond()
			if err != nil {
				t.Fatal(err)
			}
			wantParts, wantStages := int64(0), 0
			if tc.parts {
				wantParts, wantStages = datagrams, 2
			}
			for _, s := range snapshot.Series {
				if p := s.Parts; s.Matched != datagrams || p.Queued.TotalCount() != wantParts || p.Inside.TotalCount() != wantParts {
					t.Errorf("%v: got %+v, %d in parts, %d unknown, want %d in parts", s.Direction, s.Account, p.Queued.TotalCount(), p.Unknown, wantParts)
				}
			}
			for _, s := range stages {
				if s.Matched != datagrams {
					t.Errorf("kernel, %v: got %+v, want %d matched", s.Direction, s.Account, datagrams)
				}
			}
			if len(snapshot.Series) != 2 || len(stages) != wantStages {
				t.Errorf("got %d series, %d stages beyond, want 2 and %d", len(snapshot.Series), len(stages), wantStages)
			}
		})
	}
}

// watched has a probe watch, which has looked once.
func watched(t *testing.T, c watch.Config) *watch.Watch {
	t.Helper()
	w, err := watch.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := w.Read(); err != nil {
		t.Fatal(err)
	}
	return w
}
