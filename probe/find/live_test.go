package find_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/upf"
)

// kindOf is a kind of ours, of the program that the tests have built, or of others as it is
// installed: the test is skipped if it is not.
func kindOf(t *testing.T, name string) dut.Kind {
	t.Helper()
	if slices.Contains(dut.Datapaths, name) {
		// No reads, no parts: packets are read here as a UPF does unless it is told otherwise.
		k := dut.Plumbline(name, func(u *upf.Config) { u.TUN.Ring = false })
		path, err := plumb()
		if err != nil {
			t.Fatal(err)
		}
		k.Path = path
		return k
	}
	kinds, err := dut.Select([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	k := kinds[0]
	k.Path = os.Getenv(map[string]string{"eupf": "PLUMB_EUPF", "open5gs-tun": "PLUMB_OPEN5GS", "open5gs-tap": "PLUMB_OPEN5GS"}[name])
	if _, err := k.Find(); errors.Is(err, dut.ErrNotInstalled) {
		t.Skip(err)
	}
	return k
}

// place is a point with its namespace by role.
type place struct {
	Namespace, Device string
	Hook              probe.Hook
	Way               probe.Way
	Side              probe.Side
}

// straight and turned are the two points of a device.
func straight(namespace, device string, side probe.Side) []place {
	return []place{{namespace, device, probe.Ingress, probe.In, side}, {namespace, device, probe.Egress, probe.Out, side}}
}

func turned(namespace, device string, side probe.Side) []place {
	return []place{{namespace, device, probe.Egress, probe.In, side}, {namespace, device, probe.Ingress, probe.Out, side}}
}

// TestFindsUPFs finds UPFs that it has not been told of, and wants each packet to pass
// each of the points once.
func TestFindsUPFs(t *testing.T) {
	inner := slices.Concat(straight("upf", "n3", probe.Both), straight("upf", "n6", probe.Both))
	outer := slices.Concat(turned("gnb", "n3", probe.Both), turned("dn", "n6", probe.Both))
	behind := func(tun string) []place {
		return slices.Concat(straight("upf", "n3", probe.N3), turned("upf", tun, probe.N6))
	}
	for _, tc := range []struct {
		name     string
		onAStick bool
		datapath find.Datapath
		want     []place
	}{
		{upf.DatapathXDP, false, find.XDP, outer},
		{upf.DatapathXDP, true, find.XDP, turned("gnb", "n3", probe.Both)},
		{upf.DatapathTC, false, find.TC, inner},
		{upf.DatapathAFXDP, false, find.AFXDP, outer},
		{upf.DatapathTUN, false, find.TUN, behind("plumb0")},
		{upf.DatapathTAP, false, find.TAP, behind("plumb0")},
		{"eupf", false, find.XDP, outer},
		{"open5gs-tun", false, find.TUN, behind("ogstun")},
		{"open5gs-tap", false, find.TAP, behind("ogstap")},
	} {
		name := tc.name
		if tc.onAStick {
			name += " on a stick"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, kindOf(t, tc.name), tc.onAStick)
			target := b.find(t)
			if target.Datapath != tc.datapath || target.Missing != "" {
				t.Errorf("datapath: got %q because %q, missing %q, want %q", target.Datapath, target.Why, target.Missing, tc.datapath)
			}
			var got []place
			var counters []*counter
			for _, p := range target.Points {
				got = append(got, place{b.role(p.Namespace), p.Device, p.Hook, p.Way, p.Side})
				counters = append(counters, newCounter(t, p))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("points (-want +got):\n%s", diff)
			}
			const datagrams = 20
			want := uint64(datagrams)
			if tc.onAStick {
				want *= 2 // both ways through one device
			}
			b.exchange(t, datagrams)
			for _, c := range counters {
				if got := c.count(t); got != want {
					t.Errorf("packets at %+v: got %d, want %d", c.point, got, want)
				}
			}
			b.measure(t, &target)
			wide, err := find.Find(t.Context(), find.Selector{Netns: b.UPF.Name, HostWide: true})
			if err != nil {
				t.Fatal(err)
			}
			b.measure(t, &wide[0])
		})
	}
}

// measure puts a probe where the target says, and wants it to know each packet again.
func (b *bed) measure(t *testing.T, target *find.Target) {
	t.Helper()
	p, err := probe.Open(probe.Config{UPFs: []probe.UPF{target.UPF()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, at := range target.At(0) {
		if _, err := p.Attach(at); err != nil {
			t.Fatal(err)
		}
	}
	const datagrams = 20
	b.exchange(t, datagrams)
	snapshot, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[probe.Direction]uint64{}
	for _, s := range snapshot.Series {
		got[s.Direction] += s.Matched
		if s.In != s.Matched {
			t.Errorf("account: %+v, want all matched", s.Account)
		}
	}
	want := map[probe.Direction]uint64{probe.Uplink: datagrams, probe.Downlink: datagrams}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("matched packets by direction (-want +got):\n%s\nat %+v", diff, snapshot.Points)
	}
}

// role is which of the bed's namespaces a path leads to.
func (b *bed) role(path string) string {
	switch path {
	case b.UPF.Path():
		return "upf"
	case b.GNB.Path():
		return "gnb"
	case b.DN.Path():
		return "dn"
	}
	return path
}

// find finds the bed's UPF among all of the machine.
func (b *bed) find(t *testing.T) find.Target {
	t.Helper()
	targets, err := find.Find(t.Context(), find.Selector{Auto: true})
	if err != nil {
		t.Fatal(err)
	}
	var found []find.Target
	for i, one := range targets {
		for _, p := range one.Points {
			if p.UPF != i {
				t.Errorf("point of target %d: has UPF %d", i, p.UPF)
			}
		}
		if one.Namespace == b.UPF.Path() {
			found = append(found, one)
		}
	}
	if len(found) != 1 || found[0].PID != b.upf.PID() {
		t.Fatalf("got %+v, want one target, process %d, of %+v", found, b.upf.PID(), targets)
	}
	return found[0]
}

// TestSelectors finds one and the same UPF by what users know of it.
func TestSelectors(t *testing.T) {
	b := newBed(t, kindOf(t, upf.DatapathTUN), false)
	want := b.find(t)
	for _, tc := range []struct {
		name string
		s    find.Selector
	}{
		{"process", find.Selector{PID: b.upf.PID()}},
		{"path of the namespace", find.Selector{Netns: b.UPF.Path()}},
		{"name of the namespace", find.Selector{Netns: b.UPF.Name}},
		{"number of the namespace", find.Selector{Netns: strconv.FormatUint(want.Inode, 10)}},
		{"process of the namespace", find.Selector{Netns: "/proc/" + strconv.Itoa(b.upf.PID()) + "/ns/net"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := find.Find(t.Context(), tc.s)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].PID != want.PID || !slices.Equal(got[0].At(0), want.At(0)) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	if want.Name != "plumb."+b.UPF.Name {
		t.Errorf("name: got %q, want that of the program and of the namespace", want.Name)
	}
	if n3 := b.N3.UPF.Address.Addr(); !slices.Contains(want.N3, n3) || !slices.Contains(want.UPF().N3, n3) {
		t.Errorf("N3: got %v, want %v", want.N3, n3)
	}
	if n4 := (find.Place{Namespace: b.UPF.Path(), Device: "lo"}); !slices.Contains(want.N4, b.Config.N4UPF) || !slices.Contains(want.N4At, n4) {
		t.Errorf("N4: got %v at %v, want %v at %v", want.N4, want.N4At, b.Config.N4UPF, n4)
	}
	devices := []find.Device{{Name: "n3", Side: probe.N3}, {Name: "plumb0", Side: probe.N6}}
	got, err := find.Find(t.Context(), find.Selector{Netns: b.UPF.Name, Devices: devices, HostWide: true})
	if err != nil {
		t.Fatal(err)
	}
	hooks := map[probe.Hook]probe.Hook{probe.Ingress: probe.HostIngress, probe.Egress: probe.HostEgress}
	for i, p := range want.At(0) {
		p.Hook = hooks[p.Hook]
		if got[0].Points[i] != p {
			t.Errorf("point at a device by name, host-wide: got %+v, want %+v", got[0].Points[i], p)
		}
	}
}

// changes collects what Watch tells about the bed's UPF.
func (b *bed) changes(t *testing.T, known []find.Target) chan find.Change {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	changes, done := make(chan find.Change, 100), make(chan error)
	go func() {
		done <- find.Watch(ctx, find.Selector{Auto: true}, known, func(c find.Change) error {
			if c.Target.Namespace == b.UPF.Path() {
				changes <- c
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return changes
}

// next returns the next change.
func next(t *testing.T, changes chan find.Change) find.Change {
	t.Helper()
	select {
	case c := <-changes:
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("no change within 30 s")
		panic("not reached")
	}
}

// TestWatch wants a UPF that was started to be told of, gone when it was killed, and back
// under its name when it was started again, with a TUN device made anew.
func TestWatch(t *testing.T) {
	kind := kindOf(t, upf.DatapathTUN)
	b := newBed(t, kind, false)
	changes := b.changes(t, nil)
	first := next(t, changes)
	if first.Gone || first.Target.PID != b.upf.PID() || len(first.Attach) != 4 || len(first.Detach) != 0 {
		t.Fatalf("at first: got %+v, want 4 points of process %d to attach to", first, b.upf.PID())
	}
	if err := b.upf.Kill(); err != nil {
		t.Fatal(err)
	}
	gone := next(t, changes)
	if !gone.Gone || gone.Target.Name != first.Target.Name || !slices.Equal(gone.Detach, first.Target.Points) {
		t.Fatalf("after kill: got %+v, want %s gone", gone, first.Target.Name)
	}
	again, err := dut.Start(t.Context(), kind, dut.At(b.Topology))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := again.Stop(); err != nil {
			t.Error(err)
		}
	})
	back := next(t, changes)
	if back.Gone || back.Target.Name != first.Target.Name || back.Target.PID != again.PID() || len(back.Attach) != 4 {
		t.Errorf("started again: got %+v, want 4 points of %s", back, first.Target.Name)
	}
}

// TestWatchDevice wants a device that was deleted and made anew, under the same name, to
// be left and attached to again.
func TestWatchDevice(t *testing.T) {
	b := newBed(t, kindOf(t, upf.DatapathTUN), false)
	known := b.find(t)
	changes := b.changes(t, []find.Target{known})
	held := map[probe.Point]int{}
	for _, p := range known.At(0) {
		held[p]++
	}
	b.remakeN3(t)
	for attached := 0; attached < 2 || !maps.Equal(held, points(known)); {
		c := next(t, changes)
		for _, p := range c.Detach {
			p.UPF = 0
			if held[p]--; held[p] == 0 {
				delete(held, p)
			}
		}
		for _, p := range c.Attach {
			p.UPF = 0
			held[p]++
			if p.Device == "n3" {
				attached++
			}
		}
		if c.Gone || c.Target.Name != known.Name {
			t.Fatalf("got %+v, want changes of %s", c, known.Name)
		}
	}
}

// points are those of a target, each once.
func points(target find.Target) map[probe.Point]int {
	list := map[probe.Point]int{}
	for _, p := range target.At(0) {
		list[p]++
	}
	return list
}

// remakeN3 deletes the UPF's end of N3, and the other one with it, and makes them anew.
func (b *bed) remakeN3(t *testing.T) {
	t.Helper()
	inside(t, b.UPF.Path(), func() error {
		old, err := netlink.LinkByName("n3")
		if err != nil {
			return err
		}
		if err := netlink.LinkDel(old); err != nil {
			return err
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "n3"
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "n3-peer"}); err != nil {
			return err
		}
		link, err := netlink.LinkByName("n3")
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		prefix := b.N3.UPF.Address
		return netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}})
	})
}
