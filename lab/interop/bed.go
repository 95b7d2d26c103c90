package interop

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// ue is a UE as it is.
type ue struct {
	UE
	name      string // in the result
	number    int    // from 1
	namespace *topology.Namespace
	index     int // of the device
	mtu       int
	addresses []netip.Addr // one of each IP version at most
}

// path is a UE and the data network, over one IP version.
type path struct {
	*ue
	version int
	address netip.Addr // of the UE
	dn      netip.Addr
}

// bed is what the steps work with.
type bed struct {
	Config
	ues     []*ue
	dn      *topology.Namespace // nil: not known
	binds   bool                // iperf3 can be bound to a device
	result  *report.Interop
	tasks   []task
	opened  []*topology.Namespace
	content content
}

// open finds the UEs' devices and the data network.
func (b *bed) open() error {
	for i, u := range b.UEs {
		found, err := b.find(u)
		if err != nil {
			return err
		}
		found.number = i + 1
		for _, other := range b.ues {
			if other.Device == u.Device {
				found.name = u.Namespace + ":" + u.Device
			}
		}
		b.ues = append(b.ues, found)
		about := report.InteropUE{Name: found.name, Namespace: u.Namespace, Device: u.Device, MTU: found.mtu}
		for _, a := range found.addresses {
			about.Addresses = append(about.Addresses, a.String())
		}
		b.result.UEs = append(b.result.UEs, about)
	}
	if !b.Servers {
		return nil
	}
	var err error
	b.dn, err = b.enter(b.DNNamespace)
	return err
}

// enter opens a namespace, which [bed.close] closes.
func (b *bed) enter(name string) (*topology.Namespace, error) {
	ns, err := topology.OpenNamespace(name)
	if err != nil {
		return nil, fmt.Errorf("interop: %w", err)
	}
	b.opened = append(b.opened, ns)
	return ns, nil
}

// find looks for the device of a UE and its addresses.
func (b *bed) find(u UE) (*ue, error) {
	ns, err := b.enter(u.Namespace)
	if err != nil {
		return nil, err
	}
	found := &ue{UE: u, name: u.Device, namespace: ns}
	err = ns.Do(func() error {
		device, err := net.InterfaceByName(u.Device)
		if err != nil {
			return err
		}
		found.index, found.mtu = device.Index, device.MTU
		addresses, err := device.Addrs()
		if err != nil {
			return err
		}
		found.addresses = usable(addresses)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("interop: UE %s: %w", u.Device, err)
	}
	if len(found.addresses) == 0 {
		return nil, fmt.Errorf("interop: UE %s has no IP address: it has no PDU session", u.Device)
	}
	return found, nil
}

// usable are the first IPv4 and the first IPv6 address that are not of the link alone.
func usable(addresses []net.Addr) []netip.Addr {
	var first [2]netip.Addr
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		addr := p.Addr().Unmap()
		if err != nil || addr.IsLinkLocalUnicast() {
			continue
		}
		at := &first[0]
		if addr.Is6() {
			at = &first[1]
		}
		if !at.IsValid() {
			*at = addr
		}
	}
	var list []netip.Addr
	for _, a := range first {
		if a.IsValid() {
			list = append(list, a)
		}
	}
	return list
}

// paths are those of a UE over which the data network can be reached.
func (b *bed) paths(u *ue) []path {
	var list []path
	for _, a := range u.addresses {
		p := path{ue: u, version: 4, address: a, dn: b.DN}
		if a.Is6() {
			p.version, p.dn = 6, b.DN6
		}
		if p.dn.IsValid() {
			list = append(list, p)
		}
	}
	return list
}

// uplink is echo requests of the UE to the data network.
func (p path) uplink() series {
	return series{from: p.namespace, device: p.Device, source: p.address, to: p.dn, size: pingOctets, interval: pingEvery, patience: answerTime}
}

// downlink is echo requests of the data network to the UE.
func (b *bed) downlink(p path) series {
	return series{from: b.dn, source: p.dn, to: p.address, size: pingOctets, interval: pingEvery, patience: answerTime}
}

func (b *bed) close() error {
	var errs []error
	for _, ns := range b.opened {
		errs = append(errs, ns.Close())
	}
	return errors.Join(errs...)
}
