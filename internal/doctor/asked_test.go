package doctor

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// TestConfigured: about one UPF there are rows of its own devices, of what its datapath needs,
// and of nothing else. The device that a program holds (TUN) is not down.
func TestConfigured(t *testing.T) {
	const network = "network IPv6, "
	const every = "machine CPUs, machine memory, rights CAP_NET_ADMIN, rights CAP_NET_RAW, kernel Linux, "
	const ebpf = "machine CPUs, machine memory, rights CAP_NET_ADMIN, rights CAP_BPF, rights CAP_PERFMON, rights CAP_NET_RAW, "
	const files = "kernel Linux, kernel BTF, kernel eBPF JIT, kernel bpf mounted, "
	for _, tc := range []struct {
		options Options
		want    string // areas and names
		device  string // what is found of the first device
	}{
		{Options{Datapath: "tun", Devices: []string{"a", "nosuch"}},
			every + "network TUN, network TUN TCP offload, network TUN UDP offload, " + network + "network IPv4 forwarding, network IPv6 forwarding, " +
				"network UDP GRO, network UDP GSO, device a, device nosuch", "veth, MTU 1500"},
		{Options{Datapath: "tc", Devices: []string{"b"}},
			ebpf + files + "ebpf memory-mapped arrays, ebpf instruction set v3, ebpf ring buffer, ebpf per-CPU arrays, programs tc, network tcx, " + network + "device b",
			"veth, MTU 1500"},
		{Options{Datapath: "xdp", Devices: []string{"b"}},
			ebpf + files + "ebpf XDP programs, ebpf redirect between devices, ebpf memory-mapped arrays, ebpf instruction set v3, ebpf ring buffer, ebpf per-CPU arrays, " +
				"ebpf BTF tracepoints, programs xdp, network generic XDP, " + network + "device b",
			"veth, MTU 1500, XDP"},
	} {
		t.Run(tc.options.Datapath, func(t *testing.T) {
			tc.options.Configured = true
			for _, name := range []string{"xdp", "tc", "probe"} {
				tc.options.Objects = append(tc.options.Objects, verifier.Object{Name: name, Feature: name, Load: nothing})
			}
			var report *Report
			inHeld(t, func() { report = Examine(tc.options) })
			var got []string
			for _, c := range report.Checks {
				got = append(got, string(c.Area)+" "+c.Name)
				if c.Area != AreaDevice || c.Name != tc.options.Devices[0] {
					continue
				}
				plain, _, aboutXDP := strings.Cut(tc.device, ", XDP")
				if !strings.HasPrefix(c.Found, plain) || strings.Contains(c.Found, "XDP") != aboutXDP || c.Status != OK && !aboutXDP {
					t.Errorf("device: got %s, %q, want %q", c.Status, c.Found, tc.device)
				}
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSuffix(tc.want, ", "), ", "), got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			narrow(t, report)
		})
	}
}

// TestHeldDevice: a TUN device that a program holds is up, and its row says nothing about XDP.
func TestHeldDevice(t *testing.T) {
	inHeld(t, func() {
		report := Examine(Options{})
		if got := find(t, report, AreaDevice, "plumb0"); got.Status != OK || !strings.HasPrefix(got.Found, "tun, MTU 1500") ||
			strings.Contains(got.Found, "down") || strings.Contains(got.Found, "XDP") {
			t.Errorf("plumb0: %s, %q", got.Status, got.Found)
		}
		narrow(t, report)
		report = Examine(Options{Configured: true, Devices: []string{"idle"}})
		if got := find(t, report, AreaDevice, "idle"); got.Status != Warn || !strings.Contains(got.Found, ", down, ") ||
			!strings.HasPrefix(got.Advice, "ip link set idle up") {
			t.Errorf("idle: %s, %q, %q", got.Status, got.Found, got.Advice)
		}
	})
}

// nothing is an object without programs.
func nothing() (*ebpf.CollectionSpec, error) { return &ebpf.CollectionSpec{}, nil }

// inHeld calls a function in a namespace with the veth pair a and b, a device idle that is
// down, and plumb0, a TUN device that is held as a UPF does.
func inHeld(t *testing.T, do func()) {
	t.Helper()
	err := inScratchNamespace(func() error {
		tun := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "plumb0"}, Mode: netlink.TUNTAP_MODE_TUN, Queues: 1, NonPersist: true}
		if err := netlink.LinkAdd(tun); err != nil {
			return err
		}
		defer func() {
			for _, f := range tun.Fds {
				f.Close()
			}
		}()
		if err := netlink.LinkSetUp(tun); err != nil {
			return err
		}
		idle := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "idle"}, PeerName: "idler"}
		if err := netlink.LinkAdd(idle); err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return err
		}
		do()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// narrow: no line is wider than a terminal.
func narrow(t *testing.T, r *Report) {
	t.Helper()
	for line := range strings.Lines(r.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
