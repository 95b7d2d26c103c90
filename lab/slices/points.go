package slices

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
)

// points are where packets come to the UPF and leave it. A UPF that has N6 on a TUN or
// TAP device is watched inside its namespace: from its N3 device to that one, as in the
// study. Programs of XDP and AF_XDP are before any other program of their devices; they,
// and all others, are watched at the outer ends of their links.
func (b *bed) points(upf int) ([]probe.Point, error) {
	device, err := tunnelDevice(b.top.UPF)
	if err != nil {
		return nil, err
	}
	if device == "" || b.upf.Kind.External {
		n3, n6 := b.top.N3.Peer, b.top.N6.Peer
		if n3.Device == n6.Device {
			return outer(upf, n3, probe.Both), nil
		}
		return append(outer(upf, n3, probe.N3), outer(upf, n6, probe.N6)...), nil
	}
	at := func(device string, h probe.Hook, w probe.Way, s probe.Side) probe.Point {
		return probe.Point{UPF: upf, Namespace: b.top.UPF.Path(), Device: device, Hook: h, Way: w, Side: s}
	}
	n3 := b.top.N3.UPF.Device
	return []probe.Point{
		at(n3, probe.Ingress, probe.In, probe.N3), at(n3, probe.Egress, probe.Out, probe.N3),
		at(device, probe.Egress, probe.In, probe.N6), at(device, probe.Ingress, probe.Out, probe.N6),
	}, nil
}

// outer is both ways of the other end of a UPF's link.
func outer(upf int, p topology.Port, s probe.Side) []probe.Point {
	path := ""
	if p.Namespace.Name != "" {
		path = p.Namespace.Path()
	}
	return []probe.Point{
		{UPF: upf, Namespace: path, Device: p.Device, Hook: probe.Egress, Way: probe.In, Side: s},
		{UPF: upf, Namespace: path, Device: p.Device, Hook: probe.Ingress, Way: probe.Out, Side: s},
	}
}

// tunnelDevice is the TUN or TAP device of a namespace; empty: there is none.
func tunnelDevice(ns *topology.Namespace) (name string, err error) {
	err = ns.Do(func() error {
		links, err := netlink.LinkList()
		for _, l := range links {
			if _, ok := l.(*netlink.Tuntap); ok {
				name = l.Attrs().Name
			}
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("devices of %s: %w", ns.Name, err)
	}
	return name, nil
}

// describe is a point in words.
func describe(p probe.Point) string {
	way := map[probe.Way]string{probe.In: "in", probe.Out: "out"}[p.Way]
	side := map[probe.Side]string{probe.N3: "N3", probe.N6: "N6", probe.Both: "N3 and N6"}[p.Side]
	hook := map[probe.Hook]string{probe.Ingress: "ingress", probe.Egress: "egress", probe.HostIngress: "ingress, host-wide", probe.HostEgress: "egress, host-wide"}[p.Hook]
	return fmt.Sprintf("%s %s: %s of %s", side, way, hook, p.Device)
}
