package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// open has a Watch of no UPF.
func open(t *testing.T, log *bytes.Buffer) *Watch {
	t.Helper()
	p, err := probe.Open(probe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{config: Config{Log: slog.New(slog.NewTextHandler(log, nil))}, probe: p, left: map[string]left{}}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *Watch) tell(t *testing.T, c find.Change) {
	t.Helper()
	if err := w.change(c); err != nil {
		t.Fatalf("%s: %v", c.Target.Name, err)
	}
}

// TestNoRoom has more UPFs come than a probe has room for: those that are too many are
// left out, which is said once, and the others measured on.
func TestNoRoom(t *testing.T) {
	const room, all = probe.MaxUPFs, probe.MaxUPFs + 2
	var log bytes.Buffer
	w := open(t, &log)
	upf := func(i int) find.Target { return find.Target{Name: fmt.Sprintf("upf-%02d", i), PID: i + 1} }
	for i := range all {
		w.tell(t, find.Change{Target: upf(i)})
		w.tell(t, find.Change{Target: upf(i)})
	}
	for i, u := range w.UPFs() {
		if isLeft := i >= room; u.Name != upf(i).Name || (u.Missing != "") != isLeft {
			t.Errorf("UPF %d: got %s, missing %q, want %s, left out: %v", i, u.Name, u.Missing, upf(i).Name, isLeft)
		}
	}
	if got := len(w.UPFs()); got != all || len(w.Names()) != room {
		t.Errorf("got %d UPFs, %d measured, want %d and %d", got, len(w.Names()), all, room)
	}
	if got := strings.Count(log.String(), "level=WARN"); got != all-room {
		t.Errorf("got %d warnings, want %d:\n%s", got, all-room, log.String())
	}
	w.tell(t, find.Change{Target: upf(room), Gone: true})
	if got := len(w.UPFs()); got != all-1 {
		t.Errorf("one that was left out has ended: got %d UPFs, want %d", got, all-1)
	}
}

// TestLeave takes no change up any more.
func TestLeave(t *testing.T) {
	var log bytes.Buffer
	w := open(t, &log)
	if err := w.Leave(); err != nil {
		t.Fatal(err)
	}
	w.tell(t, find.Change{Target: find.Target{Name: "upf"}})
	if got := w.UPFs(); len(got) != 0 {
		t.Errorf("got %+v, want none", got)
	}
}

// TestFailed: a point that cannot be had is missing, also where another one of a device of
// that name can be, until the UPF does not need it any more.
func TestFailed(t *testing.T) {
	var log bytes.Buffer
	w := open(t, &log)
	points := []probe.Point{
		{Namespace: "/run/netns/plt-watch-none", Device: "lo", Hook: probe.Egress, Way: probe.Out},
		{Device: "lo", Hook: probe.Ingress, Way: probe.In},
	}
	w.tell(t, find.Change{Target: find.Target{Name: "upf", Points: points}, Attach: points})
	if got := w.UPFs()[0].Missing; !strings.Contains(got, "plt-watch-none") {
		t.Errorf("a point that cannot be had: got missing %q", got)
	}
	w.tell(t, find.Change{Target: find.Target{Name: "upf", Points: points[1:]}, Detach: points[:1]})
	if got := w.UPFs()[0].Missing; got != "" || len(w.upfs[0].at) != 1 {
		t.Errorf("without that point: got missing %q, %d attached, want one", got, len(w.upfs[0].at))
	}
	w.tell(t, find.Change{Target: find.Target{Name: "upf", Points: points}, Attach: points[:1]})
	if err := w.Leave(); err != nil {
		t.Fatal(err)
	}
	if got := w.UPFs()[0].Missing; !strings.Contains(got, "plt-watch-none") {
		t.Errorf("in the end: got missing %q", got)
	}
}
