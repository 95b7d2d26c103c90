package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// device is a network device as it was at the start.
type device struct {
	name     string
	index    int
	mac      [8]byte // 6 octets and 2 of 0
	mtu      int
	noTarget string // why XDP is not to redirect frames to it; empty: it may
}

// port is where packets leave: an endpoint of GTP-U on its device, or N6, which
// has no addresses.
type port struct {
	datapath.Endpoint
	device
}

type ports struct {
	gtpu []port
	n6   []port // by data network
}

// maxEndpoints is ENDPOINT_MAX in bpf/maps.h.
const maxEndpoints = 16

func findPorts(cfg Config) (*ports, error) {
	if len(cfg.Endpoints) == 0 || len(cfg.Endpoints) > maxEndpoints {
		return nil, fmt.Errorf("xdp: %d GTP-U endpoints: want 1 to %d", len(cfg.Endpoints), maxEndpoints)
	}
	var p ports
	for _, e := range cfg.Endpoints {
		if !e.Address.Is4() && !e.Address6.Is6() {
			return nil, fmt.Errorf("xdp: GTP-U endpoint %s has no address", e.Name)
		}
		dev, err := findDevice(e.Device)
		if err != nil {
			return nil, fmt.Errorf("xdp: %s: %w", e.Name, err)
		}
		p.gtpu = append(p.gtpu, port{e, dev})
	}
	if n := cfg.N6.Ways() - 1; len(cfg.N6.Networks) == 0 || n > datapath.MaxWays {
		return nil, fmt.Errorf("xdp: %d data networks and %d forwarding policies: want 1 to %d in all",
			len(cfg.N6.Networks), len(cfg.N6.Policies), datapath.MaxWays)
	}
	for i := range cfg.N6.Networks {
		n := &cfg.N6.Networks[i]
		dev, err := findDevice(n.Device)
		if err != nil {
			return nil, fmt.Errorf("xdp: N6 of %s: %w", n.Name, err)
		}
		p.n6 = append(p.n6, port{datapath.Endpoint{Name: n.Name, Device: n.Device, VLAN: n.VLAN}, dev})
	}
	return &p, errors.Join(p.checkVLANs(), p.checkEthernet(&cfg.N6))
}

// checkEthernet: an Ethernet data network has a device of its own, of which it takes
// all frames.
func (p *ports) checkEthernet(n6 *datapath.N6) error {
	for i := range p.n6 {
		if !n6.Networks[i].Ethernet {
			continue
		}
		for j, q := range p.all() {
			if q.index == p.n6[i].index && j != len(p.gtpu)+i || p.n6[i].VLAN != 0 {
				return fmt.Errorf("xdp: Ethernet data network %s on %s, VLAN %d: want a device of its own: %w",
					p.n6[i].Name, p.n6[i].name, p.n6[i].VLAN, errors.ErrUnsupported)
			}
		}
	}
	return nil
}

func findDevice(name string) (device, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return device{}, fmt.Errorf("device %q: %w", name, err)
	}
	a := link.Attrs()
	if len(a.HardwareAddr) != 6 {
		return device{}, fmt.Errorf("device %q has no Ethernet address: %w", name, errors.ErrUnsupported)
	}
	features, err := netdev.Announced(a.Index)
	d := device{name: name, index: a.Index, mtu: a.MTU, noTarget: netdev.NoTarget(link.Type(), features, err == nil)}
	copy(d.mac[:], a.HardwareAddr)
	return d, nil
}

// devices returns those on which GTP-U is terminated, each once.
func (p *ports) devices() []device { return devicesOf(p.gtpu) }

// n6Devices returns those of the data networks, each once.
func (p *ports) n6Devices() []device { return devicesOf(p.n6) }

func devicesOf(ports []port) []device {
	var all []device
	for i := range ports {
		if !onDevice(all, ports[i].index) {
			all = append(all, ports[i].device)
		}
	}
	return all
}

func onDevice(devices []device, index int) bool {
	return slices.ContainsFunc(devices, func(d device) bool { return d.index == index })
}

// index returns that of a device.
func (p *ports) index(device string) (int, bool) {
	for _, d := range p.all() {
		if d.name == device {
			return d.device.index, true
		}
	}
	return 0, false
}

// names returns those of all devices.
func (p *ports) names() []string {
	var all []string
	for _, d := range append(p.n6Devices(), p.devices()...) {
		all = append(all, d.name)
	}
	return all
}

// local4 returns the IPv4 addresses at which GTP-U is terminated, as the programs
// have them: in wire order, 0 behind the last.
func (p *ports) local4() [maxEndpoints]uint32 {
	var all [maxEndpoints]uint32
	n := 0
	for i := range p.gtpu {
		if a := p.gtpu[i].Address; a.Is4() {
			all[n] = networkOrder(a)[3]
			n++
		}
	}
	return all
}

// local6 returns the IPv6 addresses likewise.
func (p *ports) local6() [maxEndpoints][4]uint32 {
	var all [maxEndpoints][4]uint32
	n := 0
	for i := range p.gtpu {
		if a := p.gtpu[i].Address6; a.Is6() {
			all[n] = networkOrder(a)
			n++
		}
	}
	return all
}

// localOf returns the address from which packets go to a hop. That of an endpoint
// which is not there any more has none, until its rules are applied again.
func (p *ports) localOf(hop hopKey) netip.Addr {
	if hop.port < 0 {
		return netip.Addr{}
	}
	if hop.addr.Is6() {
		return p.gtpu[hop.port].Address6
	}
	return p.gtpu[hop.port].Address
}

// toward returns the index of the endpoint from which packets go to peer.
func (p *ports) toward(endpoints []datapath.Endpoint, to datapath.Direction, peer netip.Addr) (int, error) {
	local := datapath.Local(endpoints, to, peer)
	for i := range p.gtpu {
		if local.IsValid() && (p.gtpu[i].Address == local || p.gtpu[i].Address6 == local) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no GTP-U endpoint towards %v: %w", peer, datapath.ErrUnsupported)
}

// ipv4 is an IPv4 address of package api.
func ipv4(a uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a)))
}
