package watch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
)

func TestMissing(t *testing.T) {
	for _, tc := range []struct {
		name string
		upf  upf
		want string
	}{
		{"nothing", upf{}, ""},
		{"not understood", upf{target: find.Target{Missing: "DPDK"}}, "DPDK"},
		{"two devices", upf{failed: map[string]error{"n6": errors.New("gone"), "n3": errors.New("refused")}}, "n3: refused; n6: gone"},
		{"gone, and so its devices", upf{gone: true, failed: map[string]error{"n6": errors.New("gone")}}, "it has ended"},
	} {
		if got := tc.upf.missing(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestEntry: a device is one by which packets of the direction come in, if it is on that
// side, or on both, and a program stands there or did.
func TestEntry(t *testing.T) {
	at := []probe.Point{
		{Device: "n9", Way: probe.In, Side: probe.N3},
		{Device: "n3", Way: probe.In, Side: probe.N3},
		{Device: "n3", Way: probe.Out, Side: probe.N3},
		{Device: "none", Way: probe.In, Side: probe.N3},
		{Device: "tun", Way: probe.In, Side: probe.N6},
		{Device: "tun", Way: probe.Out, Side: probe.N6},
	}
	stick := []probe.Point{{Device: "eth0", Way: probe.In}, {Device: "eth0", Way: probe.Out}}
	w := &Watch{upfs: []*upf{
		{target: find.Target{Name: "a", Points: at}, failed: map[string]error{"none": errors.New("no program stands there")}},
		{target: find.Target{Name: "b", Points: stick}},
	}}
	// In the end samples are still on their way.
	if err := w.Leave(); err != nil {
		t.Fatal(err)
	}
	got := []string{
		w.Entry("a", probe.Uplink), w.Entry("a", probe.Downlink), w.Entry("b", probe.Uplink), w.Entry("b", probe.Downlink), w.Entry("c", probe.Uplink),
	}
	if diff := cmp.Diff([]string{"n3+n9", "tun", "eth0", "eth0", ""}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, w.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDescribedIsFitForATerminal: devices are named by whoever has their namespace.
func TestDescribedIsFitForATerminal(t *testing.T) {
	got := described(&find.Target{Name: "a", Why: "XDP at \x1b[2J"}, "\x1b]0;x\a: no such device\nsecond")
	if got.Why != "XDP at ?[2J" || got.Missing != "?]0;x?: no such device\nsecond" {
		t.Errorf("got %q, %q", got.Why, got.Missing)
	}
}
