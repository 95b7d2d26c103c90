package pnf

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// endpoint is a socket of P7 and the PHYs that it is for.
type endpoint struct {
	address netip.AddrPort // of the configuration
	all     []*phy
	at      netip.AddrPort // where it listens
	p7      atomic.Pointer[transport.P7]
	routes  atomic.Pointer[[]route]
	strays  atomic.Uint64 // messages for a phy_id that there is not
}

// route is a PHY that PNF_CONFIG has named, by the VNF's number.
type route struct {
	id  uint16
	phy *phy
}

// endpoints are the sockets that PHYs need: one for each address, except port 0, which means a
// separate one for each PHY.
func endpoints(phys []*phy) []*endpoint {
	var all []*endpoint
	for _, p := range phys {
		at := slices.IndexFunc(all, func(e *endpoint) bool { return e.address == p.config.P7 && e.address.Port() != 0 })
		if at < 0 {
			at = len(all)
			all = append(all, &endpoint{address: p.config.P7})
		}
		all[at].all = append(all[at].all, p)
		p.socket = all[at]
	}
	return all
}

// open opens the socket.
func (e *endpoint) open(profile nfapi.Profile, c P7) error {
	p7, err := transport.ListenP7(transport.P7Config{
		Profile: profile, Local: e.address, SegmentSize: c.SegmentSize, NoChecksum: c.NoChecksum,
	})
	if err != nil {
		return err
	}
	e.p7.Store(p7)
	e.at = p7.LocalAddr()
	for _, p := range e.all {
		p.p7 = p7
	}
	return nil
}

// receive hands messages on until the socket is closed.
func (e *endpoint) receive() error {
	defer clock.Urgent()()
	return e.p7.Load().Receive(func(d *transport.Datagram) {
		for _, to := range *e.routes.Load() {
			if to.id == d.Header.PhyID {
				to.phy.receive(d)
				return
			}
		}
		e.strays.Add(1)
	})
}

// assign says which of the PHYs of P5 get messages: those that this socket is for.
func (e *endpoint) assign(phys []*phy) {
	var routes []route
	for _, p := range phys {
		if p.socket == e {
			routes = append(routes, route{p.id, p})
		}
	}
	e.routes.Store(&routes)
	e.admit()
}

// admit has only the VNF's messages heard: from where its P7 is, or, as long as that is
// not known, from the address of its P5.
func (e *endpoint) admit() {
	var from []netip.AddrPort
	for _, to := range *e.routes.Load() {
		if to.phy.vnf.IsValid() {
			from = append(from, to.phy.vnf)
			e.p7.Load().Expect(to.phy.vnf, to.phy.profile)
		} else {
			from = append(from, netip.AddrPortFrom(to.phy.vnfAddr, 0))
		}
	}
	if len(from) == 0 {
		from = append(from, transport.Nobody)
	}
	e.p7.Load().Admit(from...)
}

// endpoint is the PHY's P7 address as reported to the VNF; own is the local address of P5.
func (p *phy) endpoint(own netip.Addr) netip.AddrPort {
	at := p.socket.at
	if at.Addr().IsUnspecified() {
		return netip.AddrPortFrom(own.Unmap(), at.Port())
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}
