package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/tun"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// TUN is how the datapaths tun and tap stand between sockets and the kernel's routes.
type TUN struct {
	// Device begins the names of the devices that are made: the index of the data
	// network follows.
	Device string `yaml:"device" json:"device"`
	MTU    int    `yaml:"mtu" json:"mtu"` // of the devices, octets of IP packet
	// Workers is how many goroutines share what comes from N3, and from each data
	// network; 0: as many as there are CPUs.
	Workers int `yaml:"workers" json:"workers"`
	// Ring has what comes from a data network's device come by memory that the kernel
	// shares. The device counts it as dropped.
	Ring bool `yaml:"ring" json:"ring"`
	// Addresses are those of the first data network's device; none are needed.
	Addresses []netip.Prefix `yaml:"addresses" json:"addresses"`
	// Routes are led to that device beside the pools: UE addresses that CP functions
	// choose. What is beside them gets a route for each session.
	Routes []netip.Prefix `yaml:"routes" json:"routes"`
}

// openTUN opens the datapath on UDP sockets and a TUN or TAP device.
func openTUN(o opening) (datapath.Driver, error) {
	c := o.Config
	if key := c.tagged(); key != "" { // a move, or "auto", has come here
		return nil, fmt.Errorf("datapath %s: %s: tags are what datapaths %s and %s do: %w", c.Datapath, key, DatapathXDP, DatapathTC, errors.ErrUnsupported)
	}
	d, err := tun.New(c.tunConfig(o))
	switch {
	case err == nil:
		return d, nil
	case errors.Is(err, unix.EADDRINUSE):
		return nil, explainListen("n3.address", netip.AddrPortFrom(c.N3.Address, gtpu.Port), unix.EADDRINUSE)
	}
	return nil, explainTUN(c.Datapath, err)
}

func explainTUN(name string, err error) error { return fmt.Errorf("datapath %s: %w", name, err) }

func (c *Config) tunConfig(o opening) tun.Config {
	cfg := tun.Config{
		TAP: c.Datapath == DatapathTAP, Endpoints: endpoints(c), N6: dataNetworks(c), MaxSessions: c.Sessions.Max,
		Prefix: c.TUN.Device, MTU: c.TUN.MTU, Workers: c.TUN.Workers, Ring: c.TUN.Ring, Addresses: c.TUN.Addresses, Pools: c.TUN.Routes,
		EchoInterval: time.Duration(c.N3.EchoInterval), Buffer: c.Buffer.limits(), Advertise: c.RouterAdvertisement.advertise(),
		MeterBurst: time.Duration(c.MeterBurst), Log: o.log, Paused: o.paused, Quiet: o.quiet,
	}
	for _, p := range c.Pools {
		cfg.Pools = append(cfg.Pools, p.Prefixes...)
	}
	return cfg
}

// checkTUNLive checks what the kernel is to do for the datapaths tun and tap: forward, and
// reach gateways.
func (c *Config) checkTUNLive() error {
	if c.Datapath != DatapathTUN && c.Datapath != DatapathTAP {
		return nil
	}
	var errs []error
	cfg := c.tunConfig(opening{Config: c})
	if err := tun.CheckForwarding(cfg); err != nil {
		errs = append(errs, explainTUN(c.Datapath, err))
	}
	for i, n := range cfg.N6.Networks {
		key := "n6"
		if i > 0 {
			key = fmt.Sprintf("data_networks[%d]", i-1)
		}
		errs = append(errs, checkGateways(key, n.Device, n.Gateways))
	}
	for i, p := range cfg.N6.Policies {
		over := cfg.N6.Of(cfg.N6.Way("", p.Name))
		errs = append(errs, checkGateways(fmt.Sprintf("forwarding_policies[%d]", i), cfg.N6.Networks[over].Device, p.Gateways))
	}
	return errors.Join(errs...)
}

// checkGateways checks that the kernel would take them as next hops by a device.
func checkGateways(key, device string, gateways []netip.Addr) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return nil //nolint:nilerr // none is named, or findDevice says so
	}
	routes, err := netlink.RouteList(link, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("%s: routes of %s: %w", key, device, err)
	}
	var errs []error
	for _, g := range gateways {
		reached := slices.ContainsFunc(routes, func(r netlink.Route) bool {
			return r.Gw == nil && r.Via == nil && len(r.MultiPath) == 0 && (r.Dst == nil || r.Dst.Contains(g.AsSlice()))
		})
		if g.IsValid() && !reached {
			errs = append(errs, fmt.Errorf("%s: gateway %v is not reached by %s itself: add an address with its prefix to the device, or a route (ip route add %v dev %s)",
				key, g, device, g, device))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) checkTUN(m *checks) {
	t := &c.TUN
	m.Want(netdev.IsNewName(t.Device+"0") && len(t.Device) <= tun.MaxPrefix, "tun.device", t.Device,
		fmt.Sprintf("the beginning of the name of a network device, at most %d octets", tun.MaxPrefix))
	m.Want(t.MTU >= tun.MinMTU && t.MTU <= tun.MaxMTU, "tun.mtu", t.MTU, fmt.Sprintf("%d to %d", tun.MinMTU, tun.MaxMTU))
	m.Want(t.Workers >= 0 && t.Workers <= tun.MaxWorkers, "tun.workers", t.Workers, fmt.Sprintf("0 to %d", tun.MaxWorkers))
	for i, a := range t.Addresses {
		m.Want(a.IsValid() && isHost(a.Addr()), fmt.Sprintf("tun.addresses[%d]", i), a, "an address with the length of its prefix")
	}
	for i, p := range t.Routes {
		m.Want(p.IsValid() && p == p.Masked(), fmt.Sprintf("tun.routes[%d]", i), p, "a prefix")
	}
}
