package find

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/probe"
)

const upfSpace, hostSpace = 4026532001, 4026532002

// bed is a machine with a UPF's namespace that has these devices, and a host's.
//
//	upf: lo 127.0.0.1   n3 10.3.0.1 ─┐  n6 10.6.0.1 ─┐
//	host:               veth3 ───────┘  veth6 ───────┘  eth0
func bed(upf ...device) (*machine, *namespace) {
	n := &namespace{inode: upfSpace, path: "/run/netns/upf", name: "upf", devices: upf, others: map[int32]uint64{5: hostSpace}}
	host := &namespace{inode: hostSpace, path: "/proc/1/ns/net", own: true, devices: []device{
		{name: "veth3", index: 30, kind: "veth", up: true, ethernet: true, below: 3, belowSpace: 0},
		{name: "veth6", index: 60, kind: "veth", up: true, ethernet: true, below: 6, belowSpace: 0, xdp: 99},
		{name: "eth0", index: 2, kind: "device", up: true, ethernet: true},
	}}
	return &machine{own: hostSpace, spaces: map[uint64]*namespace{upfSpace: n, hostSpace: host}}, n
}

func addrs(list ...string) []netip.Addr {
	var found []netip.Addr
	for _, a := range list {
		found = append(found, netip.MustParseAddr(a))
	}
	return found
}

var (
	lo     = device{name: "lo", index: 1, kind: "device", up: true, loopback: true, addrs: addrs("127.0.0.1"), belowSpace: -1}
	n3     = device{name: "n3", index: 3, kind: "veth", up: true, ethernet: true, addrs: addrs("10.3.0.1"), below: 30, belowSpace: 5}
	n6     = device{name: "n6", index: 6, kind: "veth", up: true, ethernet: true, addrs: addrs("10.6.0.1"), below: 60, belowSpace: 5}
	ogstun = device{name: "ogstun", index: 9, kind: "tuntap", up: true, addrs: addrs("10.45.0.1"), belowSpace: -1}
	ogstap = device{name: "ogstap", index: 9, kind: "tuntap", up: true, ethernet: true, belowSpace: -1}
)

// with changes a copy of a device.
func with(d device, change func(*device)) device {
	change(&d)
	return d
}

func gtpuAt(a string) socket {
	return socket{kind: gtpuSocket, local: netip.MustParseAddr(a), space: upfSpace}
}

var pfcpAny = socket{kind: pfcpSocket, local: netip.IPv4Unspecified(), space: upfSpace}

// at writes points as "path device hook way side".
func at(points []probe.Point) []string {
	var list []string
	for _, p := range points {
		list = append(list, strings.Join([]string{
			p.Namespace, p.Device,
			[]string{"ingress", "egress", "host ingress", "host egress"}[p.Hook], []string{"in", "out"}[p.Way], []string{"both", "N3", "N6"}[p.Side],
		}, " "))
	}
	return list
}

// TestPoints judges processes and places the points of each datapath.
func TestPoints(t *testing.T) {
	const upf = "/run/netns/upf"
	onN3 := []string{upf + " n3 ingress in N3", upf + " n3 egress out N3"}
	for _, tc := range []struct {
		name     string
		process  process
		devices  []device
		hostWide bool
		datapath Datapath
		auto     bool
		want     []string
		missing  string
	}{
		{
			name:    "TUN",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), pfcpAny}, tuns: []string{"ogstun"}},
			devices: []device{lo, n3, n6, ogstun}, datapath: TUN, auto: true,
			want: append(onN3, upf+" ogstun egress in N6", upf+" ogstun ingress out N6"),
		},
		{
			name:    "TUN without PFCP: a gNB, perhaps",
			process: process{sockets: []socket{gtpuAt("10.3.0.1")}, tuns: []string{"ogstun"}},
			devices: []device{lo, n3, ogstun}, datapath: TUN,
			want: append(onN3, upf+" ogstun egress in N6", upf+" ogstun ingress out N6"),
		},
		{
			name:    "TUN, and PFCP elsewhere: a gNB and an SMF in one",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), {kind: pfcpSocket, local: netip.IPv4Unspecified(), space: hostSpace}}, tuns: []string{"ogstun"}},
			devices: []device{lo, n3, ogstun}, datapath: TUN,
			want: append(onN3, upf+" ogstun egress in N6", upf+" ogstun ingress out N6"),
		},
		{
			name:     "TAP, GTP-U at any address",
			process:  process{sockets: []socket{gtpuAt("::"), pfcpAny}, tuns: []string{"ogstap"}},
			devices:  []device{lo, n3, n6, ogstap, {name: "dummy0", kind: "dummy", index: 12, up: true, belowSpace: -1}, {name: "down", kind: "device", index: 13, belowSpace: -1}},
			datapath: TAP, auto: true,
			want: append(onN3, upf+" n6 ingress in N3", upf+" n6 egress out N3", upf+" ogstap egress in N6", upf+" ogstap ingress out N6"),
		},
		{
			name:    "everything on one machine, N3 on the loopback device",
			process: process{sockets: []socket{gtpuAt("127.0.0.1"), pfcpAny}, tuns: []string{"ogstun"}},
			devices: []device{lo, n3, ogstun}, datapath: TUN, auto: true,
			want: []string{upf + " lo ingress in N3", upf + " lo egress out N3", upf + " ogstun egress in N6", upf + " ogstun ingress out N6"},
		},
		{
			name:    "N3 address on the loopback device, reached through others; VLAN and bond seen once",
			process: process{sockets: []socket{gtpuAt("192.0.2.1"), pfcpAny}, tuns: []string{"ogstun"}},
			devices: []device{
				with(lo, func(d *device) { d.addrs = addrs("192.0.2.1") }), ogstun,
				{name: "eth0", index: 20, kind: "device", up: true, master: 22, belowSpace: -1},
				{name: "bond0", index: 22, kind: "bond", up: true, belowSpace: -1},
				{name: "bond0.7", index: 23, kind: "vlan", up: true, below: 22, belowSpace: -1},
			},
			datapath: TUN, auto: true,
			want: []string{
				upf + " lo ingress in N3", upf + " lo egress out N3", upf + " eth0 ingress in N3", upf + " eth0 egress out N3",
				upf + " ogstun egress in N6", upf + " ogstun ingress out N6",
			},
		},
		{
			name:    "TC, with a helper pair of its own",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{
				lo,
				with(n3, func(d *device) { d.ingress = map[uint32]bool{7: true} }),
				with(n6, func(d *device) { d.ingress = map[uint32]bool{8: true, 7: true} }),
				{name: "cut3", index: 40, kind: "veth", up: true, below: 41, belowSpace: -1},
				{name: "whole3", index: 41, kind: "veth", up: true, below: 40, belowSpace: -1, ingress: map[uint32]bool{7: true}},
			},
			datapath: TC, auto: true,
			want: []string{upf + " n3 ingress in both", upf + " n3 egress out both", upf + " n6 ingress in both", upf + " n6 egress out both"},
		},
		{
			name:    "a probe and an SMF in one",
			process: process{space: hostSpace, sockets: []socket{pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{
				with(n3, func(d *device) { d.xdp = 7 }),
				with(n6, func(d *device) { d.ingress = map[uint32]bool{7: true} }),
			},
			missing: "no device",
		},
		{
			name:    "XDP: the other ends of its devices",
			process: process{sockets: []socket{pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{lo, with(n3, func(d *device) { d.xdp = 7 }), with(n6, func(d *device) { d.xdp = 7 })}, datapath: XDP, auto: true,
			want:    []string{" veth3 egress in both", " veth3 ingress out both", " veth6 egress in both", " veth6 ingress out both"},
			missing: "XDP at veth6",
		},
		{
			name:    "AF_XDP, by tracepoints",
			process: process{sockets: []socket{gtpuAt("10.3.0.1")}, programs: map[uint32]bool{7: true}, xsks: true},
			devices: []device{lo, with(n3, func(d *device) { d.xdp = 7 })}, datapath: AFXDP, auto: true, hostWide: true,
			want: []string{" veth3 host egress in both", " veth3 host ingress out both"},
		},
		{
			name:    "XDP of hardware",
			process: process{sockets: []socket{pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{lo, {name: "eth1", index: 2, kind: "device", up: true, xdp: 7, belowSpace: -1}}, datapath: XDP, auto: true,
			missing: "eth1 has no other side",
		},
		{
			name:    "XDP, the other end in a namespace that cannot be entered",
			process: process{sockets: []socket{pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{lo, with(n3, func(d *device) { d.xdp, d.belowSpace = 7, 6 })}, datapath: XDP, auto: true,
			missing: "namespace of no process",
		},
		{
			name:    "XDP on MACVLANs of one device",
			process: process{sockets: []socket{pfcpAny}, programs: map[uint32]bool{7: true}},
			devices: []device{
				{name: "net1", index: 3, kind: "macvlan", up: true, xdp: 7, below: 2, belowSpace: 5},
				{name: "net2", index: 4, kind: "macvlan", up: true, xdp: 7, below: 2, belowSpace: 5},
			},
			datapath: XDP, auto: true,
			want: []string{" eth0 ingress in both", " eth0 egress out both"},
		},
		{
			name:    "XDP of another's, and a TUN device",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), pfcpAny}, tuns: []string{"ogstun"}},
			devices: []device{with(n3, func(d *device) { d.xdp = 7 }), ogstun}, datapath: TUN, auto: true,
			want: append(onN3, upf+" ogstun egress in N6", upf+" ogstun ingress out N6"),
		},
		{
			name:    "XDP that was pinned",
			process: process{sockets: []socket{pfcpAny}},
			devices: []device{with(n3, func(d *device) { d.xdp = 8 })}, datapath: XDP, auto: true,
			want: []string{" veth3 egress in both", " veth3 ingress out both"},
		},
		{
			name:    "XDP of a firewall, and an SMF",
			process: process{sockets: []socket{pfcpAny}},
			devices: []device{with(n3, func(d *device) { d.xdp = 77 })},
			missing: "no device",
		},
		{
			name:    "gtp5g",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), pfcpAny}},
			devices: []device{n3, n6, {name: "upfgtp", index: 12, kind: "gtp5g", up: true, belowSpace: -1}}, datapath: GTP, auto: true,
			want: append(onN3, upf+" upfgtp egress in N6", upf+" upfgtp ingress out N6"),
		},
		{
			name:    "AF_PACKET",
			process: process{sockets: []socket{pfcpAny, {kind: packetSocket, device: 3, space: upfSpace}, {kind: packetSocket, device: 6, space: hostSpace}}},
			devices: []device{n3, n6}, datapath: Packet, auto: true,
			want: []string{" veth3 egress in both", " veth3 ingress out both"},
		},
		{
			name:    "DPDK",
			process: process{sockets: []socket{pfcpAny}, bypass: "/dev/vfio/12"},
			devices: []device{n3}, datapath: DPDK, auto: true,
			missing: "not the kernel's",
		},
		{
			name:    "sockets alone: an SMF, or who knows",
			process: process{sockets: []socket{gtpuAt("10.3.0.1"), pfcpAny}},
			devices: []device{lo, n3}, datapath: Sockets,
			want: []string{upf + " n3 ingress in both", upf + " n3 egress out both"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, n := bed(tc.devices...)
			tc.process.pid = 42
			if tc.process.space == 0 {
				tc.process.space = upfSpace
			}
			v := judge(&tc.process, upfSpace, n.devices, map[uint32]bool{7: true, 77: true})
			if v.datapath != tc.datapath {
				t.Errorf("datapath: got %q because %q, want %q", v.datapath, v.why, tc.datapath)
			}
			if got := tc.process.isUPF(&v, upfSpace); got != tc.auto {
				t.Errorf("taken for a UPF: got %v, want %v", got, tc.auto)
			}
			target := Target{N3: tc.process.addresses(gtpuSocket)}
			m.place(&target, n, &v, tc.hostWide)
			if diff := cmp.Diff(tc.want, at(target.Points)); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
			if len(target.spots) != len(target.Points) {
				t.Errorf("%d spots of %d points", len(target.spots), len(target.Points))
			}
			if tc.missing == "" && target.Missing != "" || !strings.Contains(target.Missing, tc.missing) {
				t.Errorf("missing: got %q, want %q", target.Missing, tc.missing)
			}
		})
	}
}

// TestGivenDevices places points at devices that a user has named.
func TestGivenDevices(t *testing.T) {
	const upf = "/run/netns/upf"
	m, n := bed(lo, n3, with(n6, func(d *device) { d.xdp = 7 }), ogstun)
	for _, tc := range []struct {
		name    string
		given   []Device
		want    []string
		missing string
	}{
		{"N3 and TUN", []Device{{"n3", probe.N3}, {"ogstun", probe.Both}}, []string{
			upf + " n3 ingress in N3", upf + " n3 egress out N3", upf + " ogstun egress in N6", upf + " ogstun ingress out N6",
		}, ""},
		{"XDP", []Device{{"n6", probe.N6}}, []string{" veth6 egress in N6", " veth6 ingress out N6"}, "XDP at veth6"},
		{"one that is not there", []Device{{"n3", probe.Both}, {"n9", probe.N6}}, []string{upf + " n3 ingress in both", upf + " n3 egress out both"}, "no device n9 in namespace upf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			targets, err := m.given(n, nil, Selector{Devices: tc.given})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, at(targets[0].Points)); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
			if !strings.Contains(targets[0].Missing, tc.missing) || tc.missing == "" && targets[0].Missing != "" {
				t.Errorf("missing: got %q, want %q", targets[0].Missing, tc.missing)
			}
		})
	}
}

// TestSettleGone: a namespace that ends while it is looked at keeps nothing from being
// found elsewhere.
func TestSettleGone(t *testing.T) {
	m, n := bed(lo)
	n.path, n.links = "/run/netns/plt-find-none", &netlink.Handle{}
	c := &candidate{process: &process{pid: 10, space: hostSpace, sockets: []socket{gtpuAt("10.3.0.1")}, programs: map[uint32]bool{7: true}}}
	m.spaces[hostSpace].links, m.spaces[hostSpace].devices = &netlink.Handle{}, []device{lo}
	if err := m.settle(c, nil); err != nil || c.space != m.spaces[hostSpace] {
		t.Errorf("got %v in %+v, want it in its own namespace", err, c.space)
	}
}
