package topology

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// External describes a test bed that is there already: a UPF somewhere, and devices of
// this machine that lead to its N3 and N6. They are in the network namespace of the
// thread that calls [NewExternal], and have addresses: the gNB's on N3, that of a
// host behind the UPF on N6. The kernel answers for them.
//
//	 this machine                          the UPF
//	┌──────────────────┐                 ┌────────────────┐
//	│ N3, address: gNB ├─── N3 device ───┤ N3UPF          │
//	│ N6, address: DN  ├─── N6 device ───┤ N6UPF          │
//	│ N4SMF            ├─── any way ─────┤ N4UPF          │
//	└──────────────────┘                 └────────────────┘
//
// N3 and N6 may be one device. The UPF must route the address on N6 to this machine;
// frames to UEs are sent to its Ethernet address, whatever the routes of this machine
// are.
type External struct {
	N3, N6       string         // devices
	N3UPF        netip.Addr     // of the UPF, IPv4
	N6UPF        netip.Addr     // of the UPF towards UEs, or of a router before it
	N4UPF, N4SMF netip.Addr     // IPv4; N4SMF zero: the address that the kernel uses towards N4UPF
	UEPools      []netip.Prefix // of UE addresses
}

const resolveTime = 3 * time.Second // for ARP or Neighbour Discovery

// NewExternal makes a topology of what is there. It changes nothing but the kernel's
// neighbour tables. Its namespaces are all that of the calling thread, and the UPF's
// ends of its links have no device.
func NewExternal(e External) (*Topology, error) {
	home, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("topology: current namespace: %w", err)
	}
	here := &Namespace{handle: home}
	t := &Topology{GNB: here, UPF: here, DN: here}
	if here.links, err = netlink.NewHandleAt(home, unix.NETLINK_ROUTE); err == nil {
		err = t.find(e)
	}
	if err != nil {
		return nil, fmt.Errorf("topology: %w", errors.Join(err, t.Close()))
	}
	return t, nil
}

// find looks for devices and addresses.
func (t *Topology) find(e External) error {
	if !e.N3UPF.Is4() || !e.N4UPF.Is4() {
		return fmt.Errorf("addresses of the UPF: N3 %v, N4 %v: want IPv4", e.N3UPF, e.N4UPF)
	}
	if len(e.UEPools) == 0 {
		return errors.New("no pool of UE addresses")
	}
	var err error
	if t.N3, err = t.leads(e.N3, e.N3UPF); err != nil {
		return fmt.Errorf("N3: %w", err)
	}
	if t.N6, err = t.leads(e.N6, e.N6UPF); err != nil {
		return fmt.Errorf("N6: %w", err)
	}
	if !t.N3.Peer.Address.IsValid() {
		return fmt.Errorf("N3: %s has no IPv4 address", e.N3)
	}
	if !e.N4SMF.IsValid() {
		err := t.GNB.Do(func() (err error) {
			e.N4SMF, err = sourceTowards(e.N4UPF)
			return err
		})
		if err != nil {
			return fmt.Errorf("N4: %w", err)
		}
	}
	mtu, err := t.mtu()
	t.Config = Config{
		MTU: mtu, N4UPF: e.N4UPF, N4SMF: e.N4SMF, N3GNB: t.N3.Peer.Address, N3UPF: t.N3.UPF.Address,
		N6DN: t.N6.Peer.Address, N6DN6: t.N6.Peer.Address6, UEPools: e.UEPools,
	}
	return err
}

// leads returns the link over a device to an address of the UPF.
func (t *Topology) leads(device string, upf netip.Addr) (Link, error) {
	l := Link{Peer: Port{Namespace: t.GNB, Device: device}, UPF: Port{Device: "of " + upf.String()}}
	found, err := t.GNB.links.LinkByName(device)
	if err != nil {
		return l, fmt.Errorf("device %q: %w", device, err)
	}
	a := found.Attrs()
	l.Peer.Index, l.Peer.Queues, l.Peer.MAC = a.Index, a.NumRxQueues, a.HardwareAddr
	if a.Flags&net.FlagUp == 0 || len(a.HardwareAddr) != 6 {
		return l, fmt.Errorf("device %s: is down, or no Ethernet device", device)
	}
	if err := l.Peer.findAddresses(found, upf); err != nil {
		return l, err
	}
	if l.UPF.MAC, err = t.GNB.resolve(a.Index, upf); err != nil {
		return l, fmt.Errorf("device %s: %w", device, err)
	}
	if upf.Is4() {
		l.UPF.Address = netip.PrefixFrom(upf, upf.BitLen())
	} else {
		l.UPF.Address6 = netip.PrefixFrom(upf, upf.BitLen())
	}
	return l, nil
}

// findAddresses notes an IPv4 and an IPv6 address of the device: one of the UPF's
// network, or else the first.
func (p *Port) findAddresses(device netlink.Link, upf netip.Addr) error {
	list, err := p.Namespace.links.AddrList(device, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("addresses of %s: %w", p.Device, err)
	}
	for _, a := range list {
		addr, ok := netip.AddrFromSlice(a.IP)
		bits, _ := a.Mask.Size()
		if addr = addr.Unmap(); !ok || addr.IsLinkLocalUnicast() {
			continue
		}
		prefix, at := netip.PrefixFrom(addr, bits), &p.Address
		if addr.Is6() {
			at = &p.Address6
		}
		if !at.IsValid() || prefix.Contains(upf) && !at.Contains(upf) {
			*at = prefix
		}
	}
	if !p.Address.IsValid() && !p.Address6.IsValid() {
		return fmt.Errorf("%s has no address", p.Device)
	}
	return nil
}

// resolve returns the Ethernet address to which packets for an address are sent by a
// device. The kernel asks for it by ARP or Neighbour Discovery.
func (n *Namespace) resolve(device int, to netip.Addr) (net.HardwareAddr, error) {
	routes, err := n.links.RouteGet(to.AsSlice())
	if err != nil {
		return nil, fmt.Errorf("route to %v: %w", to, err)
	}
	if len(routes) == 0 || routes[0].LinkIndex != device {
		return nil, fmt.Errorf("route to %v: leads over another device", to)
	}
	hop := to
	if gateway, ok := netip.AddrFromSlice(routes[0].Gw); ok {
		hop = gateway.Unmap()
	}
	deadline := time.Now().Add(resolveTime)
	for {
		if mac, err := n.neighbour(device, hop); mac != nil || err != nil {
			return mac, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%v: nobody answers ARP or Neighbour Discovery within %v", hop, resolveTime)
		}
		if err := n.knock(to); err != nil {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// neighbour returns what the kernel knows of a neighbour, nil if it does not.
func (n *Namespace) neighbour(device int, hop netip.Addr) (net.HardwareAddr, error) {
	list, err := n.links.NeighList(device, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	const known = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_PROBE | netlink.NUD_STALE | netlink.NUD_DELAY
	for _, entry := range list {
		addr, ok := netip.AddrFromSlice(entry.IP)
		if ok && addr.Unmap() == hop && entry.State&known != 0 && len(entry.HardwareAddr) == 6 {
			return entry.HardwareAddr, nil
		}
	}
	return nil, nil
}

// knock sends a datagram to the discard port of a host (RFC 863), so that the kernel
// looks for its Ethernet address.
func (n *Namespace) knock(to netip.Addr) error {
	const discard = 9
	return n.Do(func() error {
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, discard)))
		if err != nil {
			return fmt.Errorf("socket to %v: %w", to, err)
		}
		_, _ = conn.Write([]byte{0}) // refused or unreachable: it has been looked for nevertheless
		return conn.Close()
	})
}

// sourceTowards returns the address that the kernel uses towards another, from the
// namespace of the calling thread.
func sourceTowards(to netip.Addr) (netip.Addr, error) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 1)))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("way to %v: %w", to, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// mtu is the lower one of both devices.
func (t *Topology) mtu() (int, error) {
	lowest := 0
	for _, p := range []Port{t.N3.Peer, t.N6.Peer} {
		device, err := p.Namespace.links.LinkByIndex(p.Index)
		if err != nil {
			return 0, fmt.Errorf("device %s: %w", p.Device, err)
		}
		if mtu := device.Attrs().MTU; lowest == 0 || mtu < lowest {
			lowest = mtu
		}
	}
	return lowest, nil
}

// UnmarshalText reads "n3=eth1@10.3.0.1,n6=eth2@10.6.0.1,n4=10.4.0.1,ue=10.64.0.0/10":
// for N3 and N6 the device here and the address of the UPF behind it, for N4 the
// address of the UPF, and the pools of UE addresses. An address of the CP function
// follows that of the UPF after @, a second pool the first one after +.
func (e *External) UnmarshalText(text []byte) error {
	*e = External{}
	given := map[string]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(part, "=")
		if given[name] {
			return fmt.Errorf("external UPF: %s is given twice", name)
		}
		given[name] = true
		if err := e.set(name, value); err != nil {
			return fmt.Errorf("external UPF: %q: %w", part, err)
		}
	}
	for _, name := range []string{"n3", "n6", "n4", "ue"} {
		if !given[name] {
			return fmt.Errorf("external UPF: %s is missing: want n3=DEVICE@ADDRESS,n6=DEVICE@ADDRESS,n4=ADDRESS,ue=PREFIX", name)
		}
	}
	return nil
}

// set takes one of the parts.
func (e *External) set(name, value string) (err error) {
	first, second, at := strings.Cut(value, "@")
	switch name {
	case "n3":
		e.N3 = first
		e.N3UPF, err = netip.ParseAddr(second)
	case "n6":
		e.N6 = first
		e.N6UPF, err = netip.ParseAddr(second)
	case "n4":
		if e.N4UPF, err = netip.ParseAddr(first); err == nil && at {
			e.N4SMF, err = netip.ParseAddr(second)
		}
	case "ue":
		for pool := range strings.SplitSeq(value, "+") {
			prefix, err := netip.ParsePrefix(pool)
			if err != nil {
				return err
			}
			e.UEPools = append(e.UEPools, prefix.Masked())
		}
	default:
		return errors.New("want n3, n6, n4 or ue")
	}
	return err
}
