package find_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/probe"
	"plumbline/probe/find"
	"plumbline/probe/watch"
	"plumbline/upf"
)

// TestMeasuredOverRestart measures a UPF that is killed and started again, with a TUN
// device or programs made anew: it goes on as the same UPF, and every packet is known
// again.
func TestMeasuredOverRestart(t *testing.T) {
	for _, datapath := range []string{upf.DatapathTUN, upf.DatapathXDP} {
		t.Run(datapath, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, kindOf(t, datapath), false)
			w, err := watch.Open(t.Context(), watch.Config{
				Selector: find.Selector{Netns: b.UPF.Name}, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			t.Cleanup(func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("run: %v", err)
				}
				if err := w.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			const datagrams = 20
			b.exchange(t, datagrams)
			first := b.upf.PID()
			b.restart(t)
			await(t, w, func(pid int) bool { return pid != first && pid == b.upf.PID() })
			b.exchange(t, datagrams)
			assertMatched(t, w, 2*datagrams)
		})
	}
}

// await waits until a program stands at every point of a process.
func await(t *testing.T, w *watch.Watch, is func(pid int) bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, u := range w.UPFs() {
			if is(u.PID) && u.Missing == "" {
				return
			}
		}
	}
	t.Fatalf("got %+v, want the process that was started again", w.UPFs())
}

// assertMatched wants one UPF with that many packets each way, all of them matched.
func assertMatched(t *testing.T, w *watch.Watch, want uint64) {
	t.Helper()
	snapshot, _, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	got, names := map[probe.Direction]uint64{}, []string{}
	for _, s := range snapshot.Series {
		got[s.Direction] += s.Matched
		names = append(names, s.UPF)
		if s.In != s.Matched {
			t.Errorf("account of %s: %+v, want all matched", s.UPF, s.Account)
		}
	}
	if diff := cmp.Diff(map[probe.Direction]uint64{probe.Uplink: want, probe.Downlink: want}, got); diff != "" {
		t.Errorf("matched packets by direction (-want +got):\n%s\nat %+v", diff, snapshot.Points)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != 1 {
		t.Errorf("UPFs: got %v, want one", names)
	}
}
