package topology

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// link makes the veth pairs, each straight in its two namespaces.
func (t *Topology) link() error {
	t.N3 = Link{
		UPF:  Port{Namespace: t.UPF, Device: "n3", MAC: mac(3, 1), Address: t.Config.N3UPF},
		Peer: Port{Namespace: t.GNB, Device: "n3", MAC: mac(3, 2), Address: t.Config.N3GNB},
	}
	if err := t.N3.make(t.Config); err != nil {
		return err
	}
	t.N6 = Link{
		UPF:  Port{Namespace: t.UPF, Device: "n6", MAC: mac(6, 1)},
		Peer: Port{Namespace: t.DN, Device: "n6", MAC: mac(6, 2)},
	}
	if t.Config.OnAStick {
		t.N6 = t.N3
	} else if err := t.N6.make(t.Config); err != nil {
		return err
	}
	t.N6.UPF.Address, t.N6.UPF.Address6 = t.Config.N6UPF, t.Config.N6UPF6
	t.N6.Peer.Address, t.N6.Peer.Address6 = t.Config.N6DN, t.Config.N6DN6
	return nil
}

// mac is a locally administered address: reference point, then 1 for the UPF's
// end and 2 for the other.
func mac(referencePoint, end byte) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0, 0, 0, referencePoint, end}
}

// make creates the pair, notes the interface indices, sets offloads and brings
// both ends up.
func (l *Link) make(c Config) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = l.UPF.Device, c.MTU, l.UPF.MAC
	pair := &netlink.Veth{
		LinkAttrs:        attrs,
		PeerName:         l.Peer.Device,
		PeerHardwareAddr: l.Peer.MAC,
		PeerMTU:          uint32(c.MTU),
		PeerNamespace:    netlink.NsFd(l.Peer.Namespace.handle),
	}
	err := l.UPF.Namespace.links.LinkAdd(pair)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("create veth %s: needs CAP_NET_ADMIN: %w", l.UPF.Device, err)
	}
	if err != nil {
		return fmt.Errorf("create veth %s: %w", l.UPF.Device, err)
	}
	// Features of both ends first: when an end comes up, the kernel looks at
	// the other one's GRO to see whether XDP may redirect frames to it.
	if err := l.UPF.prepare(map[string]bool{"rx-gro": true}); err != nil {
		return err
	}
	if err := l.Peer.prepare(map[string]bool{"rx-gro": true, "tx-checksum-ip-generic": c.Offload}); err != nil {
		return err
	}
	return errors.Join(l.UPF.raise(), l.Peer.raise())
}

// prepare notes the device's index and sets its features.
func (p *Port) prepare(features map[string]bool) error {
	link, err := p.Namespace.links.LinkByName(p.Device)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	p.Index, p.Queues = link.Attrs().Index, link.Attrs().NumRxQueues
	if err := p.Namespace.Do(func() error { return SetFeatures(p.Device, features) }); err != nil {
		return fmt.Errorf("features of %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	return nil
}

// raise brings the device up.
func (p *Port) raise() error {
	link, err := p.Namespace.links.LinkByIndex(p.Index)
	if err == nil {
		err = p.Namespace.links.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("bring up %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	return nil
}

// LeaveUDPWhole lets the UPF's devices take runs of UDP datagrams whole, as a veth does,
// or has the kernel cut them first, as a device with an XDP program at its other end does.
func (t *Topology) LeaveUDPWhole(whole bool) error {
	for _, p := range []Port{t.N3.UPF, t.N6.UPF} {
		err := p.Namespace.Do(func() error { return SetFeatures(p.Device, map[string]bool{"tx-udp-segmentation": whole}) })
		if err != nil {
			return fmt.Errorf("segmentation of UDP on %s of %s: %w", p.Device, p.Namespace.Name, err)
		}
	}
	return nil
}

// SetFeatures sets features of a device of the thread's namespace, named as ethtool -k does.
func SetFeatures(device string, features map[string]bool) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer tool.Close()
	return tool.Change(device, features)
}

// refusals are the ends of the names of counters of frames that were redirected to a
// device and that it had no room for. Source: Linux drivers/net/veth.c, virtio_net.c.
var refusals = []string{"xdp_xmit_errors", "xdp_tx_drops"}

// Refused returns how many frames that were redirected to the port its device has not
// taken so far. ok is false if its driver does not say.
func (p Port) Refused() (frames uint64, ok bool, err error) {
	var stats map[string]uint64
	err = p.Namespace.Do(func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		stats, err = tool.Stats(p.Device)
		return err
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("counters of %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	for name, n := range stats {
		if strings.HasPrefix(name, "tx") && slices.ContainsFunc(refusals, func(end string) bool { return strings.HasSuffix(name, end) }) {
			frames, ok = frames+n, true
		}
	}
	return frames, ok, nil
}

// removeLink deletes the pair that p is an end of, so that traffic stops at
// once and not when the last reference to a namespace goes.
func removeLink(p Port) error {
	if p.Namespace == nil || p.Index == 0 || !p.Namespace.handle.IsOpen() {
		return nil
	}
	link, err := p.Namespace.links.LinkByIndex(p.Index)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil // on a stick both reference points are this device
	}
	if err == nil {
		err = p.Namespace.links.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("delete %s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	return nil
}

// Replace removes N3 or N6, which is l, and makes it again: other devices with the same
// names and addresses.
func (t *Topology) Replace(l *Link) error {
	if err := removeLink(l.UPF); err != nil {
		return err
	}
	if err := l.make(t.Config); err != nil {
		return err
	}
	if err := l.address(); err != nil {
		return err
	}
	if err := t.introduce(); err != nil || l != &t.N6 {
		return err
	}
	return errors.Join(t.route(), t.await())
}

// address gives both ends their addresses.
func (l *Link) address() error {
	for _, p := range []Port{l.UPF, l.Peer} {
		if err := p.addAddress(p.Address); err != nil {
			return err
		}
		if !p.Address6.IsValid() {
			continue
		}
		if err := p.addAddress(p.Address6); err != nil {
			return err
		}
	}
	return nil
}

// address gives every port its addresses, and the UPF's loopback those of N4.
func (t *Topology) address() error {
	if err := errors.Join(t.N3.address(), t.N6.address()); err != nil {
		return err
	}
	if err := t.introduce(); err != nil {
		return err
	}
	lo := Port{Namespace: t.UPF, Device: "lo"}
	for _, a := range []netip.Addr{t.Config.N4UPF, t.Config.N4SMF} {
		if err := lo.addAddress(netip.PrefixFrom(a, a.BitLen())); err != nil {
			return err
		}
	}
	return nil
}

// introduce tells both ends of each link the other's Ethernet address for good,
// so that no neighbour discovery is on the links while something is measured.
func (t *Topology) introduce() error {
	for _, l := range []Link{t.N3, t.N6} {
		err := errors.Join(l.UPF.addNeighbour(l.Peer), l.Peer.addNeighbour(l.UPF))
		if err != nil {
			return err
		}
	}
	return nil
}

func (p Port) addNeighbour(other Port) error {
	for _, a := range []netip.Prefix{other.Address, other.Address6} {
		if !a.IsValid() {
			continue
		}
		err := p.Namespace.links.NeighSet(&netlink.Neigh{
			LinkIndex:    p.Index,
			State:        netlink.NUD_PERMANENT,
			IP:           a.Addr().AsSlice(),
			HardwareAddr: other.MAC,
		})
		if err != nil {
			return fmt.Errorf("neighbour %v on %s of %s: %w", a.Addr(), p.Device, p.Namespace.Name, err)
		}
	}
	return nil
}

func (p Port) addAddress(prefix netip.Prefix) error {
	link, err := p.Namespace.links.LinkByName(p.Device)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	addr := &netlink.Addr{IPNet: ipNet(prefix)}
	if prefix.Addr().Is6() {
		addr.Flags = unix.IFA_F_NODAD // usable at once: nobody else is on the link
	}
	if err := p.Namespace.links.AddrAdd(link, addr); err != nil {
		return fmt.Errorf("address %v on %s of %s: %w", prefix, p.Device, p.Namespace.Name, err)
	}
	return nil
}

// await returns when packets to every address are delivered. The kernel begins to
// use an IPv6 address some time after it was added, from a work queue.
func (t *Topology) await() error {
	deadline := time.Now().Add(10 * time.Second)
	for _, p := range []Port{t.N6.UPF, t.N6.Peer} {
		address := p.Address6.Addr()
		for {
			routes, err := p.Namespace.links.RouteGet(address.AsSlice())
			if err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL {
				break
			}
			if time.Now().After(deadline) {
				return errors.Join(fmt.Errorf("address %v on %s of %s: not in use yet, routes %v",
					address, p.Device, p.Namespace.Name, routes), err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// route leads the UE pools from the data network to the UPF.
func (t *Topology) route() error {
	for _, pool := range t.Config.UEPools {
		via := t.N6.UPF.Address
		if pool.Addr().Is6() {
			via = t.N6.UPF.Address6
		}
		err := t.DN.links.RouteAdd(&netlink.Route{
			LinkIndex: t.N6.Peer.Index,
			Dst:       ipNet(pool.Masked()),
			Gw:        via.Addr().AsSlice(),
		})
		if err != nil {
			return fmt.Errorf("route %v via %v in %s: %w", pool, via.Addr(), t.DN.Name, err)
		}
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// configure sets the kernel's switches: the UPF forwards, nobody filters reverse
// paths. IPv6 is kept from talking by itself: no link-local addresses, no router
// solicitations, multicast reports at once and not seconds later. It comes before
// the links, which inherit the switches.
func (t *Topology) configure() error {
	all := []string{
		"ipv4/conf/all/rp_filter=0", "ipv4/conf/default/rp_filter=0",
		"ipv6/conf/default/addr_gen_mode=1", "ipv6/conf/default/router_solicitations=0",
		"ipv6/conf/default/mldv2_unsolicited_report_interval=1",
	}
	for _, ns := range []*Namespace{t.GNB, t.UPF, t.DN} {
		if err := ns.setSysctls(all); err != nil {
			return err
		}
	}
	return t.UPF.setSysctls([]string{"ipv4/ip_forward=1", "ipv6/conf/all/forwarding=1"})
}
