package doctor

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

func TestTable(t *testing.T) {
	r := &Report{Checks: []Check{
		{Area: AreaMachine, Name: "CPUs", Status: OK, Found: "2 online", NeededFor: "speed"},
		{Area: AreaRights, Name: "CAP_BPF", Status: Missing, Found: "not effective", NeededFor: "loading", Advice: "run as root", Required: true},
		{Area: AreaRights, Name: "CAP_NET_RAW", Status: Warn, Found: "not effective", NeededFor: "sockets that need a line which is longer than the terminal is wide", Advice: "run as root"},
	}}
	want := `machine
  ok       CPUs         2 online
rights
  missing  CAP_BPF      not effective
                        for: loading
                        > run as root
  warn     CAP_NET_RAW  not effective
                        for: sockets that need a line which is longer than the
                        terminal is wide
                        > run as root

the UPF does not run here: missing CAP_BPF
`
	if diff := cmp.Diff(want, r.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestFirstLine(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"operation not permitted", "operation not permitted"},
		{"load program: operation not permitted (MEMLOCK may be too low, consider rlimit.RemoveMemlock)", "load program: operation not permitted"},
		{"detect support for FnRedirect: detect support for XDP: load program: invalid argument", "load program: invalid argument"},
		{"load program: permission denied: 0: R1=ctx()\n; R0=3", "load program: permission denied: 0: R1=ctx()"},
	} {
		if got := firstLine(errors.New(tc.in)); got != tc.want {
			t.Errorf("firstLine(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestDevice(t *testing.T) {
	const all = netdev.Basic | netdev.Redirect | netdev.Transmit
	for _, tc := range []struct {
		name   string
		in     device
		status Status
		found  string
	}{
		{
			"a network card",
			device{ethernet: true, name: "eth1", driver: "mlx5_core", mtu: 1500, queues: 8, up: true, announced: true, features: all},
			OK, "mlx5_core, MTU 1500, 8 rx queue(s), native XDP (redirect, redirect target)",
		},
		{
			"no native XDP",
			device{ethernet: true, name: "eth1", driver: "e1000", mtu: 1500, queues: 1, up: true, announced: true},
			Warn, "e1000, MTU 1500, 1 rx queue(s), no native XDP",
		},
		{
			"down, and so of no interest",
			device{ethernet: true, name: "ifb0", driver: "ifb", mtu: 1500, queues: 1, announced: true},
			OK, "ifb, MTU 1500, 1 rx queue(s), down, no native XDP",
		},
		{
			"no Ethernet",
			device{name: "wg0", driver: "wireguard", mtu: 1420, queues: 1, up: true, announced: true},
			Warn, "wireguard, MTU 1420, 1 rx queue(s), no native XDP",
		},
		{
			"no redirect",
			device{ethernet: true, name: "eth1", driver: "x", mtu: 1500, queues: 1, up: true, announced: true, features: netdev.Basic},
			Warn, "x, MTU 1500, 1 rx queue(s), native XDP without redirect",
		},
		{
			"before Linux 6.3",
			device{ethernet: true, name: "eth1", driver: "ixgbe", mtu: 1500, queues: 4, up: true},
			Warn, "ixgbe, MTU 1500, 4 rx queue(s), XDP support not announced by this kernel",
		},
		{
			"veth whose far end has no GRO",
			device{ethernet: true, name: "v0", driver: "veth", mtu: 1500, queues: 1, up: true, announced: true, features: netdev.Basic | netdev.Redirect},
			Warn, "veth, MTU 1500, 1 rx queue(s), native XDP (redirect), its far end takes no redirected frames",
		},
		{
			"veth whose far end has GRO, down",
			device{ethernet: true, name: "v0", driver: "veth", mtu: 9000, queues: 1, announced: true, features: all},
			OK, "veth, MTU 9000, 1 rx queue(s), down, native XDP (redirect, redirect target)",
		},
		{
			"taken",
			device{
				ethernet: true, name: "eth1", driver: "ice", mtu: 1500, queues: 2, up: true, announced: true, features: all,
				xdp: netlink.LinkXdp{Attached: true, ProgId: 41},
			},
			Warn, "ice, MTU 1500, 2 rx queue(s), native XDP (redirect, redirect target), XDP program 41 attached",
		},
		{
			"LRO",
			device{ethernet: true, name: "eth1", driver: "ice", mtu: 1500, queues: 2, up: true, announced: true, features: all, lro: true},
			Warn, "ice, MTU 1500, 2 rx queue(s), native XDP (redirect, redirect target), LRO on",
		},
	} {
		expect(t, tc.name, tc.in.check(asking{}), tc.status, tc.found)
	}
}

// TestDeviceWithoutNativeXDP: what to do depends on whether there are Ethernet headers.
func TestDeviceWithoutNativeXDP(t *testing.T) {
	for _, tc := range []struct {
		in     device
		advice string
	}{
		{device{name: "eth1", ethernet: true, up: true, announced: true}, "datapath xdp runs in generic mode here, which is slower; auto takes tc"},
		{device{name: "wg0", up: true, announced: true}, "no Ethernet device: take datapath tun or tap"},
		{device{name: "wg0", announced: true}, ""},
	} {
		if got := tc.in.check(asking{}).Advice; got != tc.advice {
			t.Errorf("%+v: got advice %q, want %q", tc.in, got, tc.advice)
		}
	}
}
