package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// TestExamine runs the whole on this machine, as root, in a namespace with a
// veth pair, so that the devices are known.
func TestExamine(t *testing.T) {
	var report *Report
	before := deviceNames(t)
	err := inScratchNamespace(func() error {
		// A new namespace forwards as the machine does: on, where containers run.
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
			return err
		}
		report = Examine(Options{Attach: []string{"a", "nosuch"}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Check{
		{Area: AreaEBPF, Name: "XDP programs", Status: OK, Found: "works"},
		{Area: AreaEBPF, Name: "memory-mapped arrays", Status: OK, Found: "works"},
		{Area: AreaEBPF, Name: "live frames", Status: OK, Found: "works"},
		{Area: AreaNetwork, Name: "native XDP on veth", Status: OK, Found: "works"},
		{Area: AreaNetwork, Name: "generic XDP", Status: OK, Found: "works"},
		{Area: AreaNetwork, Name: "TUN UDP offload", Status: OK, Found: "works"},
		{Area: AreaNetwork, Name: "IPv4 forwarding", Status: Warn, Found: "off"},
		{Area: AreaNetwork, Name: "UDP GRO", Status: OK, Found: "works"},
		{Area: AreaNetwork, Name: "UDP GSO", Status: OK, Found: "works"},
		{Area: AreaDevice, Name: "nosuch", Status: Missing, Found: "no such device in this network namespace"},
	} {
		got := find(t, report, want.Area, want.Name)
		if got.Status != want.Status || got.Found != want.Found {
			t.Errorf("%s: got %s %q, want %s %q", want.Name, got.Status, got.Found, want.Status, want.Found)
		}
	}
	attached := find(t, report, AreaDevice, "a")
	for _, want := range []string{"veth, MTU 1500", "native XDP (redirect", "native attach works", "far end takes"} {
		if !strings.Contains(attached.Found, want) {
			t.Errorf("device a: got %q, want %q in it", attached.Found, want)
		}
	}
	if report.UPFRunsHere || !strings.Contains(report.Summary(), "nosuch") {
		t.Errorf("a device asked for and absent: got UPFRunsHere %t, %q", report.UPFRunsHere, report.Summary())
	}
	if diff := cmp.Diff(before, deviceNames(t)); diff != "" {
		t.Errorf("devices of the machine changed (-before +after):\n%s", diff)
	}
}

// TestEveryCheckIsWhole holds the promise of the table: what is not ok says
// what to do, and everything says what it is for.
func TestEveryCheckIsWhole(t *testing.T) {
	for _, c := range Examine(Options{}).Checks {
		if c.Area == "" || c.Name == "" || c.Found == "" || c.NeededFor == "" || (c.Status == OK) != (c.Advice == "") {
			t.Errorf("not whole: %+v", c)
		}
	}
}

func TestScratchNamespacePassesErrorsOn(t *testing.T) {
	want := errors.New("x")
	if got := inScratchNamespace(func() error { return want }); !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func find(t *testing.T, r *Report, area Area, name string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Area == area && c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %s %s in\n%s", area, name, r)
	return Check{}
}

func deviceNames(t *testing.T) []string {
	t.Helper()
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names
}
