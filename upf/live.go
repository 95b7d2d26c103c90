package upf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// CheckLive checks c against the machine and network namespace it runs in:
// that the devices exist and are up, that the addresses are on them, and that those
// of NATs are not, that XDP in native mode can redirect to the devices, and that the kernel
// forwards for the datapaths tun and tap, and reaches their gateways. It changes nothing and
// needs no privilege.
//
// Errors: [ErrNoDevice], [ErrNoAddress], addresses of NATs that are this machine's,
// devices that lose what XDP redirects to them, and what the kernel does not forward;
// joined, one line each.
func (c *Config) CheckLive() error {
	var errs []error
	devices := map[string]netlink.Link{}
	type device struct{ key, name string }
	list := []device{{"n3.device", c.N3.Device}, {"n6.device", c.N6.Device}}
	for i, g := range c.GTPU {
		list = append(list, device{fmt.Sprintf("gtpu[%d].device", i), g.Device})
	}
	for i, n := range c.DataNetworks {
		list = append(list, device{fmt.Sprintf("data_networks[%d].device", i), n.Device})
	}
	for _, d := range list {
		if d.name == "" {
			continue
		}
		link, err := findDevice(d.key, d.name)
		if err != nil {
			errs = append(errs, err)
		} else if c.Datapath == DatapathXDP && c.XDP.Mode == ModeNative {
			errs = append(errs, checkTarget(d.key, link))
		} else if c.Datapath == DatapathAFXDP || c.Datapath == DatapathP4 {
			errs = append(errs, checkMTU(d.key, link, c.Datapath))
		}
		devices[d.key] = link
	}
	errs = append(errs, checkAddress("n4.address", c.N4.Address, nil))
	errs = append(errs, checkAddress("n3.address", c.N3.Address, devices["n3.device"]))
	errs = append(errs, checkAddress("n3.address6", c.N3.Address6, devices["n3.device"]))
	for i, g := range c.GTPU {
		key := fmt.Sprintf("gtpu[%d]", i)
		errs = append(errs, checkAddress(key+".address", g.Address, devices[key+".device"]))
		errs = append(errs, checkAddress(key+".address6", g.Address6, devices[key+".device"]))
	}
	own, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		errs = append(errs, fmt.Errorf("addresses of this machine: %w", err))
	}
	errs = append(errs, checkNAT("n6", c.N6.Device, &c.N6.NAT, own))
	for i := range c.DataNetworks {
		errs = append(errs, checkNAT(fmt.Sprintf("data_networks[%d]", i), c.DataNetworks[i].Device, &c.DataNetworks[i].NAT, own))
	}
	errs = append(errs, c.checkTUNLive())
	return errors.Join(errs...)
}

// checkNAT checks that no address of a NAT is one of this machine's own: the packets of
// both would go to one of them, depending on the datapath.
func checkNAT(key, device string, nat *NAT, own []netlink.Addr) error {
	var errs []error
	for i, p := range nat.Addresses {
		for _, a := range own {
			ip, ok := netip.AddrFromSlice(a.IP)
			if ip = ip.Unmap(); !ok || !p.Contains(ip) {
				continue
			}
			errs = append(errs, fmt.Errorf("%s.nat.addresses[%d]: %s is an address of this machine: want addresses that the NAT has for itself, "+
				"routed to here, or of N6's subnet (ip route add ADDRESS/32 dev lo metric 1000; ip neigh add proxy ADDRESS dev %s)", key, i, ip, device))
		}
	}
	return errors.Join(errs...)
}

// findDevice returns the network device name, which must be up.
func findDevice(key, name string) (netlink.Link, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		if !errors.As(err, &netlink.LinkNotFoundError{}) {
			return nil, fmt.Errorf("%s: %q: %w", key, name, err)
		}
		return nil, fmt.Errorf("%s: %q: %w: create it or use one of %s", key, name, ErrNoDevice, deviceNames())
	}
	if link.Attrs().Flags&net.FlagUp == 0 {
		return nil, fmt.Errorf("%s: %q is down: ip link set %s up", key, name, name)
	}
	return link, nil
}

// checkTarget checks that what XDP redirects to the device in native mode is sent. A kernel
// before Linux 6.3 does not say: then it may be.
func checkTarget(key string, link netlink.Link) error {
	features, err := netdev.Announced(link.Attrs().Index)
	if err != nil {
		return nil //nolint:nilerr // the datapath warns of it
	}
	if why := netdev.NoTarget(link.Type(), features, true); why != "" {
		return fmt.Errorf("%s: %q: %s, so packets that xdp.mode native sends there get lost: "+
			"ethtool -K DEVICE gro on at the far end, or xdp.mode auto, or datapath tc", key, link.Attrs().Name, why)
	}
	return nil
}

// checkMTU checks that frames of a device fit into those of AF_XDP.
func checkMTU(key string, link netlink.Link, datapath string) error {
	if mtu := link.Attrs().MTU; mtu > afxdp.MaxMTU {
		name := link.Attrs().Name
		return fmt.Errorf("%s: MTU of %q is %d: datapath %s wants %d at most: ip link set %s mtu %d",
			key, name, mtu, datapath, afxdp.MaxMTU, name, afxdp.MaxMTU)
	}
	return nil
}

// deviceNames lists the devices there are, for a message.
func deviceNames() string {
	links, err := netlink.LinkList()
	if err != nil {
		return "those that exist"
	}
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.Attrs().Name
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}

// checkAddress checks that addr is one of this machine's, and on device unless
// that is nil: or else on a loopback or dummy device, where addresses live that
// are routed to the machine. An address that is not set is nowhere.
func checkAddress(key string, addr netip.Addr, device netlink.Link) error {
	if !addr.IsValid() || addr.IsLoopback() {
		return nil
	}
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	for _, a := range list {
		if ip, ok := netip.AddrFromSlice(a.IP); !ok || ip.Unmap() != addr.WithZone("") {
			continue
		}
		if device == nil || a.LinkIndex == device.Attrs().Index {
			return nil
		}
		holder, err := netlink.LinkByIndex(a.LinkIndex)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if holder.Type() == "dummy" || holder.Attrs().Flags&net.FlagLoopback != 0 {
			return nil
		}
		return fmt.Errorf("%s: %s is on %s, not on %s: %w", key, addr,
			holder.Attrs().Name, device.Attrs().Name, ErrNoAddress)
	}
	if device == nil {
		return fmt.Errorf("%s: %s: %w: add it to a device (ip address add)", key, addr, ErrNoAddress)
	}
	name := device.Attrs().Name
	return fmt.Errorf("%s: %s: %w: ip address add %s/PREFIX dev %s", key, addr, ErrNoAddress, addr, name)
}
