package doctor

import (
	"fmt"
	"net"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// networkFeatureTable is tried in scratch namespaces.
var networkFeatureTable = []feature{
	{"namespaces and veth", "plumb bench, and all tests of paths", version{3, 0}, false, func() error { return nil }},
	{"native XDP on veth", "plumb bench at full speed", version{4, 19}, false, func() error { return attachTo("a", link.XDPDriverMode) }},
	{"generic XDP", "devices whose driver has no XDP", version{4, 12}, false, func() error { return attachTo("a", link.XDPGenericMode) }},
	{"tcx", "the tc datapath; without it clsact is taken", version{6, 6}, false, tryTCX},
	{"AF_XDP", "the afxdp datapath, AF_XDP senders of plumb lab", version{4, 18}, false, func() error { return trySocket(unix.AF_XDP, unix.SOCK_RAW, 0) }},
	{"TUN", "the tun and tap datapaths, plumb gnb", version{2, 4}, false, func() error { return tryTUN(0, 0) }},
	{
		"TUN TCP offload", "plumb gnb: super-packets cross in one call",
		version{2, 6},
		false,
		func() error {
			return tryTUN(unix.IFF_VNET_HDR, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6)
		},
	},
	{
		"TUN UDP offload", "plumb gnb: super-packets of UDP, too",
		version{6, 2},
		false,
		func() error {
			return tryTUN(unix.IFF_VNET_HDR, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO6|unix.TUN_F_USO4|unix.TUN_F_USO6)
		},
	},
	{"IPv6", "IPv6 user packets of plumb gnb", version{2, 2}, false, func() error { return trySocket(unix.AF_INET6, unix.SOCK_DGRAM, 0) }},
	{"VLAN devices", "N3 or N6 on a VLAN", version{2, 4}, false, tryVLAN},
	{"SCTP", "nFAPI P5 over the kernel's SCTP; plumb nfapi has one of its own", version{2, 6}, false, func() error { return trySocket(unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP) }},
	{"netem", "links with delay and loss beside the laboratory's own", version{2, 6}, false, tryNetem},
}

// network tries each feature in a network namespace of its own.
func network() []Check {
	checks := make([]Check, 0, len(networkFeatureTable))
	for _, f := range networkFeatureTable {
		inner := f.try
		f.try = func() error { return inScratchNamespace(inner) }
		checks = append(checks, f.check(AreaNetwork))
	}
	return checks
}

// attachTo attaches a program that passes every packet, and detaches it.
func attachTo(device string, mode link.XDPAttachFlags) error {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	prog, err := verdictProgram(xdpPass)
	if err != nil {
		return err
	}
	defer prog.Close()
	attached, err := link.AttachXDP(link.XDPOptions{Program: prog, Interface: iface.Index, Flags: mode})
	if err != nil {
		return err
	}
	return attached.Close()
}

func tryTCX() error {
	iface, err := net.InterfaceByName("a")
	if err != nil {
		return err
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "plumb_doctor",
		Type:         ebpf.SchedCLS,
		License:      "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}, // TC_ACT_OK
	})
	if err != nil {
		return err
	}
	defer prog.Close()
	attached, err := link.AttachTCX(link.TCXOptions{Program: prog, Interface: iface.Index, Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return err
	}
	return attached.Close()
}

func trySocket(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	return unix.Close(fd)
}

// tryTUN makes a TUN device with flags beside IFF_TUN, and offload (TUN_F_*).
func tryTUN(flags, offload int) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("plumb-doctor")
	if err != nil {
		return err
	}
	request.SetUint16(uint16(unix.IFF_TUN | unix.IFF_NO_PI | flags))
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return os.NewSyscallError("TUNSETIFF", err)
	}
	if flags&unix.IFF_VNET_HDR == 0 {
		return nil
	}
	return os.NewSyscallError("TUNSETOFFLOAD", unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offload))
}

func tryVLAN() error {
	parent, err := netlink.LinkByName("a")
	if err != nil {
		return err
	}
	return netlink.LinkAdd(&netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: "a.2", ParentIndex: parent.Attrs().Index}, VlanId: 2})
}

func tryNetem() error {
	device, err := netlink.LinkByName("a")
	if err != nil {
		return err
	}
	root := netlink.QdiscAttrs{LinkIndex: device.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0)}
	return netlink.QdiscAdd(netlink.NewNetem(root, netlink.NetemQdiscAttrs{Latency: 1000}))
}
