package watch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// TestGaps: each time that a UPF, or a device of it, is not there is noted once, and the
// latest are kept.
func TestGaps(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	n3 := []probe.Point{{Device: "n3", Way: probe.In}, {Device: "n3", Way: probe.Out}}
	u := &upf{target: find.Target{PID: 1}}
	for i, c := range []find.Change{
		{Target: find.Target{PID: 1}, N4: true},
		{Target: find.Target{PID: 1}, Gone: true, Detach: n3},
		{Target: find.Target{PID: 2}, Attach: n3},
		{Target: find.Target{PID: 3}, Detach: n3, Attach: n3},
		{Target: find.Target{PID: 3}, Detach: n3, Attach: n3},
		{Target: find.Target{PID: 3}, Gone: true, Detach: n3},
	} {
		u.interrupted(&c, at(i))
		u.target, u.gone = c.Target, c.Gone
	}
	want := []export.Gap{
		{From: at(1), Until: at(2), Why: "it had ended"},
		{From: at(3), Until: at(3), Why: "it was started again; n3 was another one or none"},
		{From: at(4), Until: at(4), Why: "n3 was another one or none"},
		{From: at(5), Why: "it had ended"},
	}
	if diff := cmp.Diff(want, u.gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	for range 2 * maxGaps {
		u.openGap(export.Gap{})
	}
	if len(u.gaps) != maxGaps {
		t.Errorf("%d gaps are kept, want %d", len(u.gaps), maxGaps)
	}
}
