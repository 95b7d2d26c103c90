package find_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/probe/watch"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestMeasuredOverRestart measures a UPF that is killed and started again, with a TUN
// device or programs made anew: it goes on as the same UPF, and every packet is known
// again.
func TestMeasuredOverRestart(t *testing.T) {
	for _, datapath := range []string{upf.DatapathTUN, upf.DatapathXDP} {
		t.Run(datapath, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, kindOf(t, datapath), false)
			w := b.watch(t, find.Selector{Netns: b.UPF.Name}, probe.Config{})
			const datagrams = 20
			b.exchange(t, datagrams)
			first := b.upf.PID()
			b.restart(t)
			await(t, w, func(u *export.UPF) bool { return u.PID != first && u.PID == b.upf.PID() })
			b.exchange(t, datagrams)
			assertMatched(t, w, 2*datagrams)
		})
	}
}

// TestMeasuredAtNewAddresses measures a UPF that is started again with other addresses at
// N3 and N4, and other UEs: it goes on as before, and so does what is beyond it.
func TestMeasuredAtNewAddresses(t *testing.T) {
	for _, tc := range []struct {
		datapath string
		hostWide bool
	}{{upf.DatapathTUN, false}, {upf.DatapathTUN, true}, {upf.DatapathTC, false}, {upf.DatapathXDP, false}} {
		t.Run(fmt.Sprintf("%s, host-wide %v", tc.datapath, tc.hostWide), func(t *testing.T) {
			t.Parallel()
			b := newBed(t, kindOf(t, tc.datapath), false)
			tun := tc.datapath == upf.DatapathTUN
			w := b.watch(t, find.Selector{Netns: b.UPF.Name, HostWide: tc.hostWide}, probe.Config{Parts: tun})
			const datagrams = 20
			b.exchange(t, datagrams)
			b.move(t)
			b.restart(t)
			await(t, w, func(u *export.UPF) bool {
				return u.PID == b.upf.PID() && slices.Contains(u.N4, b.Config.N4UPF.String())
			})
			want := uint64(2 * datagrams)
			b.exchange(t, datagrams)
			assertMatched(t, w, want)
			if !tun {
				return
			}
			was := beyondUE(t, w)
			for deadline := time.Now().Add(20 * time.Second); beyondUE(t, w) == was; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("beyond the UPF no packet for its UEs is seen any more, of %d", was)
				}
				b.exchange(t, 1) // routes may come after the device, and are looked for now and then
			}
			was = beyondUE(t, w)
			b.exchange(t, datagrams)
			if got := beyondUE(t, w) - was; got != datagrams {
				t.Errorf("beyond the UPF: got %d packets for its UEs, want %d", got, datagrams)
			}
		})
	}
}

// beyondUE is how many packets for UEs the kernel has handed to a UPF.
func beyondUE(t *testing.T, w *watch.Watch) uint64 {
	t.Helper()
	_, _, err := w.Read()
	if err != nil {
		t.Fatal(err)
	}
	stages, err := w.Beyond()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stages {
		if s.Direction == probe.Downlink {
			return s.Matched
		}
	}
	return 0
}

// watch measures the bed's UPF for as long as the test runs.
func (b *bed) watch(t *testing.T, s find.Selector, c probe.Config) *watch.Watch {
	t.Helper()
	w, err := watch.Open(t.Context(), watch.Config{Selector: s, Probe: c, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
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
	return w
}

// await waits until a program stands at every point of a UPF.
func await(t *testing.T, w *watch.Watch, is func(*export.UPF) bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, u := range w.UPFs() {
			if is(&u) && u.Missing == "" {
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
