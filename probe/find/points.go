package find

import (
	"net/netip"
	"strings"

	"github.com/plumbline-upf/plumbline/probe"
)

// placer collects the points of a target.
type placer struct {
	m        *machine
	target   *Target
	hostWide bool
	missing  []string
	seen     map[spot]bool
}

// spot is where a program stands, whatever path leads there.
type spot struct {
	space uint64
	index int
	hook  probe.Hook
	way   probe.Way
	side  probe.Side
}

// place fills in where a probe must stand to see what goes through the devices of a
// verdict.
func (m *machine) place(t *Target, n *namespace, v *verdict, hostWide bool) {
	c := &placer{m: m, target: t, hostWide: hostWide, seen: map[spot]bool{}}
	switch v.datapath {
	case XDP, AFXDP, Packet:
		for _, d := range v.at {
			c.outside(n, d, probe.Both)
		}
	case TC:
		for _, d := range v.at {
			c.straight(n, d, probe.Both)
		}
	case TUN, TAP, GTP:
		for _, d := range n3Devices(t.N3, n.devices, v.at) {
			c.straight(n, d, probe.N3)
		}
		for _, d := range v.at {
			c.turned(n, d, probe.N6)
		}
	case DPDK:
		c.missing = append(c.missing, "its devices are not the kernel's: measure at the devices before and behind it")
	case Sockets:
		for _, d := range n3Devices(nil, n.devices, nil) {
			c.straight(n, d, probe.Both)
		}
	}
	c.finish()
}

// placeGiven does the same for devices that the user has named.
func (m *machine) placeGiven(t *Target, n *namespace, given []Device, hostWide bool) {
	c := &placer{m: m, target: t, hostWide: hostWide, seen: map[spot]bool{}}
	for _, g := range given {
		d := n.device(g.Name)
		if d == nil {
			c.missing = append(c.missing, "no device "+g.Name+" in "+n.describe())
			continue
		}
		switch {
		case d.kind == "tuntap" || d.isTunnel():
			if g.Side == probe.Both {
				g.Side = probe.N6
			}
			c.turned(n, d, g.Side)
		case d.xdp != 0:
			c.outside(n, d, g.Side)
		default:
			c.straight(n, d, g.Side)
		}
	}
	c.finish()
}

func (c *placer) finish() {
	if len(c.target.Points) == 0 && len(c.missing) == 0 {
		c.missing = append(c.missing, "no device by which packets could come")
	}
	c.target.Missing = strings.Join(c.missing, "; ")
}

// straight: what the device receives goes to the UPF.
func (c *placer) straight(n *namespace, d *device, side probe.Side) {
	c.add(n, d, probe.Ingress, probe.In, side)
	c.add(n, d, probe.Egress, probe.Out, side)
}

// turned: what the device sends goes to the UPF.
func (c *placer) turned(n *namespace, d *device, side probe.Side) {
	c.add(n, d, probe.Egress, probe.In, side)
	c.add(n, d, probe.Ingress, probe.Out, side)
}

// outside stands on the other side of a device, since the UPF has the packets before any
// program in its namespace has.
func (c *placer) outside(n *namespace, d *device, side probe.Side) {
	there, below, err := c.m.deviceBelow(n, d)
	if err != nil {
		c.missing = append(c.missing, "the UPF takes packets of "+d.name+" before any other program sees them, and "+err.Error())
		return
	}
	if !d.isVeth() {
		c.straight(there, below, side)
		return
	}
	c.turned(there, below, side)
	if below.xdp != 0 {
		c.missing = append(c.missing, "what the program of XDP at "+below.name+", the other side of "+d.name+", takes is not seen")
	}
}

func (c *placer) add(n *namespace, d *device, hook probe.Hook, way probe.Way, side probe.Side) {
	if c.hostWide {
		hook = map[probe.Hook]probe.Hook{probe.Ingress: probe.HostIngress, probe.Egress: probe.HostEgress}[hook]
	}
	s := spot{space: n.inode, index: d.index, hook: hook, way: way, side: side}
	if c.seen[s] {
		return
	}
	c.seen[s] = true
	c.target.Points = append(c.target.Points, probe.Point{
		Namespace: n.where(), Device: d.name, Hook: hook, Way: way, Side: side,
	})
	c.target.spots = append(c.target.spots, s)
}

// n3Devices returns the devices by which GTP-U for the addresses comes; no addresses, or
// one that packets reach through other devices: all that may be.
func n3Devices(addresses []netip.Addr, devices []device, but []*device) []*device {
	var found []*device
	all := len(addresses) == 0
	for i := range devices {
		d := &devices[i]
		if !d.has(addresses) || contains(but, d) {
			continue
		}
		found = append(found, d)
		if d.loopback && !only127(addresses, d) || d.kind == "dummy" {
			all = true
		}
	}
	if !all && len(found) > 0 {
		return found
	}
	for i := range devices {
		if d := &devices[i]; carries(d, devices) && !contains(but, d) && !contains(found, d) {
			found = append(found, d)
		}
	}
	return found
}

// only127 reports whether those of the addresses that the device has are such that
// packets to them do not come from elsewhere.
func only127(addresses []netip.Addr, d *device) bool {
	for _, a := range addresses {
		if d.has([]netip.Addr{a}) && !a.IsLoopback() {
			return false
		}
	}
	return true
}

// carries reports whether packets come to the machine, or this namespace, by the device.
// Of those that are on one another it is the lowest, so that a packet is seen once.
func carries(d *device, devices []device) bool {
	if !d.up || d.loopback || d.kind == "dummy" || d.kind == "tuntap" || d.isTunnel() || isInner(d, devices) {
		return false
	}
	for i := range devices {
		other := &devices[i]
		if other.master == d.index {
			return false // its ports have the packets first
		}
		if !d.isVeth() && d.below == other.index && d.belowSpace < 0 && d.below != d.index {
			return false
		}
	}
	return true
}

func contains(devices []*device, d *device) bool {
	for _, other := range devices {
		if other == d {
			return true
		}
	}
	return false
}

// placeN4 fills in the devices by which PFCP for the target's addresses comes: from the
// same namespace it comes by the loopback device, wherever the address is.
func (t *Target) placeN4(n *namespace) {
	devices := n3Devices(t.N4, n.devices, nil)
	for i := range n.devices {
		if d := &n.devices[i]; d.loopback && !contains(devices, d) {
			devices = append(devices, d)
		}
	}
	for _, d := range devices {
		t.N4At = append(t.N4At, Place{Namespace: n.where(), Device: d.name})
		t.n4Spots = append(t.n4Spots, spot{space: n.inode, index: d.index})
	}
}

// device returns the one with that name; nil: there is none.
func (n *namespace) device(name string) *device {
	for i := range n.devices {
		if n.devices[i].name == name {
			return &n.devices[i]
		}
	}
	return nil
}

// describe names the namespace for users.
func (n *namespace) describe() string {
	switch {
	case n.name != "":
		return "namespace " + n.name
	case n.own:
		return "this namespace"
	}
	return "namespace " + n.path
}
