package nexthop

import (
	"log/slog"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestWatchDevices: what a name stands for is another device when it was removed and made
// again, with another index or the same, or was in another namespace meanwhile; not when it
// was set down and up.
func TestWatchDevices(t *testing.T) {
	top, err := topology.New(topology.Config{Name: "plt-devices"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	var (
		w      *DeviceWatcher
		kernel *netlink.Handle
	)
	news := make(chan struct{}, 1000)
	err = top.UPF.Do(func() (err error) {
		if kernel, err = netlink.NewHandle(); err != nil {
			return err
		}
		w, err = WatchDevices([]string{"d0", "n3"}, slog.New(slog.DiscardHandler), func() { news <- struct{}{} })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	defer w.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(index int) func() {
		return func() {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.Index = "d0", index
			must(kernel.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "d1"}))
		}
	}
	d0 := func() netlink.Link {
		t.Helper()
		l, err := kernel.LinkByName("d0")
		must(err)
		return l
	}
	del := func() { must(kernel.LinkDel(d0())) }
	away := func() {
		there, err := netns.GetFromPath(top.DN.Path())
		must(err)
		defer there.Close()
		here, err := netns.GetFromPath(top.UPF.Path())
		must(err)
		defer here.Close()
		other, err := netlink.NewHandleAt(there)
		must(err)
		defer other.Close()
		must(kernel.LinkSetNsFd(d0(), int(there)))
		l, err := other.LinkByName("d0")
		must(err)
		must(other.LinkSetNsFd(l, int(here)))
	}
	if n3 := w.Devices()["n3"]; n3.Index != top.N3.UPF.Index {
		t.Errorf("n3 is %+v, want index %d", n3, top.N3.UPF.Index)
	}
	for _, step := range []struct {
		name  string
		do    func()
		index int // 0: none has the name
		other bool
	}{
		{"made", add(700), 700, true},
		{"removed", del, 0, true},
		{"made with another index", add(701), 701, true},
		{"removed, and made with the same index", func() { del(); add(701)() }, 701, true},
		{"set up", func() { must(kernel.LinkSetUp(d0())) }, 701, false},
		{"in another namespace, and back", away, 701, true},
	} {
		before := w.Devices()
		step.do()
		for end := time.After(10 * time.Second); ; {
			now := w.Devices()
			if now["n3"] != before["n3"] {
				t.Fatalf("%s: n3 is %+v, before %+v", step.name, now["n3"], before["n3"])
			}
			if is, was := now["d0"], before["d0"]; is.Index == step.index && (is != was) == step.other {
				break
			}
			select {
			case <-news:
			case <-end:
				t.Fatalf("%s: d0 is %+v, before %+v; want index %d, another one: %v", step.name, now["d0"], before["d0"], step.index, step.other)
			}
		}
		if !step.other {
			<-news // and nothing more comes of it
			if is := w.Devices()["d0"]; is != before["d0"] {
				t.Errorf("%s: d0 is %+v, before %+v", step.name, is, before["d0"])
			}
		}
	}
}
