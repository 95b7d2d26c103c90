package afxdp

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// device is a network device of endpoints, of a data network, or of both.
type device struct {
	number   int // in the list of devices
	name     string
	index    int
	queues   int    // that receive and send
	receives int    // queues that receive, at least as many
	mode     string // of the program: native, generic

	locals   []netip.Addr // at which GTP-U is terminated here
	network  int          // number of the data network whose packets come here, from 1 on; 0: none
	ethernet bool         // of an Ethernet data network

	veth      bool
	redirects atomic.Bool  // a veth device that now sends what XDP redirects to it
	refused   atomic.Int32 // the kernel did not after all: for how many more looks it is left alone

	mac atomic.Uint64 // see putEthernet
	mtu atomic.Int32  // octets of IP packet
}

// maxEndpoints is ENDPOINT_MAX of bpf/upf/afxdp.bpf.c, and of those of package xdp.
const maxEndpoints = 16

// findDevices returns those of the configuration, each once.
//
// Errors: [errors.ErrUnsupported] is wrapped for tagged ports, and for what a device
// cannot be at once.
func findDevices(cfg *Config) ([]*device, error) {
	if len(cfg.Endpoints) == 0 || len(cfg.Endpoints) > maxEndpoints {
		return nil, fmt.Errorf("afxdp: %d GTP-U endpoints: want 1 to %d", len(cfg.Endpoints), maxEndpoints)
	}
	if n := cfg.N6.Ways() - 1; len(cfg.N6.Networks) == 0 || n > datapath.MaxWays {
		return nil, fmt.Errorf("afxdp: %d data networks and %d forwarding policies: want 1 to %d in all",
			len(cfg.N6.Networks), len(cfg.N6.Policies), datapath.MaxWays)
	}
	var all []*device
	for i := range cfg.Endpoints {
		e := &cfg.Endpoints[i]
		if !e.Address.Is4() && !e.Address6.Is6() {
			return nil, fmt.Errorf("afxdp: GTP-U endpoint %s has no address", e.Name)
		}
		dev, err := find(&all, e.Name, e.Device, e.VLAN)
		if err != nil {
			return nil, err
		}
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if a.IsValid() && !slices.Contains(dev.locals, a) {
				dev.locals = append(dev.locals, a)
			}
		}
	}
	for i := range cfg.N6.Networks {
		n := &cfg.N6.Networks[i]
		dev, err := find(&all, n.Name, n.Device, n.VLAN)
		if err != nil {
			return nil, err
		}
		if dev.network != 0 || n.Ethernet && len(dev.locals) > 0 {
			return nil, fmt.Errorf("afxdp: data network %s: device %s has another use: want one of its own: %w", n.Name, dev.name, errors.ErrUnsupported)
		}
		dev.network, dev.ethernet = i+1, n.Ethernet
	}
	return all, nil
}

// find returns the device with the name, which it adds if it is new.
func find(all *[]*device, port, name string, vlan uint16) (*device, error) {
	if vlan != 0 {
		return nil, fmt.Errorf("afxdp: %s has VLAN %d: tags are what datapaths xdp and tc do: %w", port, vlan, errors.ErrUnsupported)
	}
	for _, d := range *all {
		if d.name == name {
			return d, nil
		}
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("afxdp: %s: device %q: %w", port, name, err)
	}
	a := link.Attrs()
	if len(a.HardwareAddr) != 6 {
		return nil, fmt.Errorf("afxdp: %s: device %q has no Ethernet address: %w", port, name, errors.ErrUnsupported)
	}
	d := &device{number: len(*all), name: name, index: a.Index, veth: link.Type() == "veth"}
	d.set([6]byte(a.HardwareAddr), a.MTU)
	if d.receives, d.queues = netdev.Queues(a); d.receives > maxQueues {
		return nil, fmt.Errorf("afxdp: device %s has %d queues: want %d at most (`ethtool -L`): %w", name, d.receives, maxQueues, errors.ErrUnsupported)
	}
	*all = append(*all, d)
	return d, nil
}

// set notes the device's address and MTU.
func (d *device) set(mac [6]byte, mtu int) {
	d.mac.Store(macWord(mac))
	d.mtu.Store(int32(mtu))
}

// maxQueues is QUEUE_MAX of bpf/afxdp.bpf.c.
const maxQueues = 256

// MaxMTU is that of devices, octets: a frame is in one page, behind XDP's headroom.
const MaxMTU = 4096 - unix.XDP_PACKET_HEADROOM - inet.LenEthernet - inet.LenTag

// frameOctets returns how long a frame is: what arrives has 256 octets before it, for
// headers.
func frameOctets(devices []*device) (int, error) {
	longest := 0
	for _, d := range devices {
		longest = max(longest, int(d.mtu.Load()))
	}
	for _, octets := range []int{2048, 4096} {
		if unix.XDP_PACKET_HEADROOM+inet.LenEthernet+inet.LenTag+longest <= octets {
			return octets, nil
		}
	}
	return 0, fmt.Errorf("afxdp: MTU of %d octets: want %d at most: %w", longest, MaxMTU, errors.ErrUnsupported)
}
