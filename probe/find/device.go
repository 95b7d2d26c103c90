package find

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
)

// device is a network device, and what is attached to it.
type device struct {
	name     string
	index    int
	kind     string // as netlink has it: "veth", "tuntap", "gtp5g", ...; "device": hardware
	up       bool
	loopback bool
	ethernet bool
	master   int // index of the bridge or bond; 0: none
	addrs    []netip.Addr

	// The device at the other end of a veth, or the one that a MACVLAN, IPVLAN or VLAN
	// is on: its index, 0 for none, and the number of its namespace as this one has it,
	// -1 for the same one.
	below      int
	belowSpace int32

	xdp     uint32          // program of XDP; 0: none
	ingress map[uint32]bool // programs of tcx and clsact, if asked for
}

// has reports whether the device has one of the addresses.
func (d *device) has(addresses []netip.Addr) bool {
	for _, a := range addresses {
		for _, own := range d.addrs {
			if a == own {
				return true
			}
		}
	}
	return false
}

// isVeth reports whether what the device sends comes out of the one below.
func (d *device) isVeth() bool { return d.kind == "veth" || d.kind == "netkit" }

// isTunnel reports whether the kernel's GTP-U ends at the device.
func (d *device) isTunnel() bool { return d.kind == "gtp" || d.kind == "gtp5g" }

// errGone is in the error of a namespace that cannot be entered any more.
var errGone = errors.New("no such network namespace")

// devicesOf reads the devices of a namespace, once.
func (m *machine) devicesOf(n *namespace) ([]device, error) {
	if n.devices != nil {
		return n.devices, nil
	}
	if err := n.netlink(); err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	links, err := n.links.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("devices of namespace %s: %w", n.path, err)
	}
	addrs, err := n.links.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("addresses of namespace %s: %w", n.path, err)
	}
	byIndex := map[int][]netip.Addr{}
	for _, a := range addrs {
		if addr, ok := netip.AddrFromSlice(a.IP); ok {
			byIndex[a.LinkIndex] = append(byIndex[a.LinkIndex], addr.Unmap())
		}
	}
	n.devices = make([]device, 0, len(links))
	for _, l := range links {
		d := newDevice(l)
		d.addrs = byIndex[d.index]
		n.devices = append(n.devices, d)
	}
	return n.devices, nil
}

func newDevice(l netlink.Link) device {
	a := l.Attrs()
	d := device{
		name: a.Name, index: a.Index, kind: l.Type(), master: a.MasterIndex,
		up: a.Flags&net.FlagUp != 0, loopback: a.Flags&net.FlagLoopback != 0, ethernet: a.EncapType == "ether",
		below: a.ParentIndex, belowSpace: int32(a.NetNsID),
	}
	if a.Xdp != nil && a.Xdp.Attached {
		d.xdp = a.Xdp.ProgId
	}
	return d
}

// readPrograms notes the programs of tcx and clsact at what each device receives, once.
func (n *namespace) readPrograms() error {
	if len(n.devices) == 0 || n.devices[0].ingress != nil {
		return nil
	}
	for i := range n.devices {
		n.devices[i].ingress = map[uint32]bool{}
	}
	n.readFilters()
	return n.do(func() error {
		for i := range n.devices {
			d := &n.devices[i]
			result, err := link.QueryPrograms(link.QueryOptions{Target: d.index, Attach: ebpf.AttachTCXIngress})
			if errors.Is(err, ebpf.ErrNotSupported) {
				return nil // before Linux 6.6
			}
			if err != nil {
				continue // gone since
			}
			for _, p := range result.Programs {
				d.ingress[uint32(p.ID)] = true
			}
		}
		return nil
	})
}

// readFilters notes those of clsact. A device without one has nothing to tell.
func (n *namespace) readFilters() {
	for i := range n.devices {
		d := &n.devices[i]
		attrs := netlink.LinkAttrs{Index: d.index}
		filters, err := n.links.FilterList(&netlink.Dummy{LinkAttrs: attrs}, netlink.HANDLE_MIN_INGRESS)
		if err != nil {
			continue
		}
		for _, f := range filters {
			if b, ok := f.(*netlink.BpfFilter); ok && b.Id > 0 {
				d.ingress[uint32(b.Id)] = true
			}
		}
	}
}

// spaceOf returns the namespace that n gives a number; nil: nobody can enter it.
func (m *machine) spaceOf(n *namespace, number int32) *namespace {
	if number < 0 {
		return n
	}
	if n.others == nil {
		n.others = map[int32]uint64{}
		for _, other := range m.namespaces() {
			if id, ok := n.numberOf(other); ok {
				n.others[id] = other.inode
			}
		}
	}
	inode, ok := n.others[number]
	if !ok {
		return nil
	}
	return m.spaces[inode]
}

// numberOf returns the number that n gives another namespace.
func (n *namespace) numberOf(other *namespace) (int32, bool) {
	if n.netlink() != nil || other.open() != nil {
		return 0, false
	}
	id, err := n.links.GetNetNsIdByFd(int(other.handle))
	if err != nil || id < 0 {
		return 0, false
	}
	return int32(id), true
}

// deviceBelow returns the other end of a veth, or what a device is on, and where that is.
//
// Errors: what is in the way, for the user.
func (m *machine) deviceBelow(n *namespace, d *device) (*namespace, *device, error) {
	if d.below == 0 {
		return nil, nil, fmt.Errorf("%s has no other side on this machine", d.name)
	}
	there := m.spaceOf(n, d.belowSpace)
	if there == nil {
		return nil, nil, fmt.Errorf("the other side of %s is in a network namespace of no process and no name", d.name)
	}
	devices, err := m.devicesOf(there)
	if err != nil {
		return nil, nil, err
	}
	for i := range devices {
		if devices[i].index == d.below {
			return there, &devices[i], nil
		}
	}
	return nil, nil, fmt.Errorf("the other side of %s, device %d of %s, is gone", d.name, d.below, there.path)
}
