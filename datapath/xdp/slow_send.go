package xdp

import (
	"errors"
	"net/netip"
	"slices"

	"plumbline/datapath"
	"plumbline/datapath/rawip"
)

// rawSender sends through sockets that take whole IP packets, each bound to a
// device; what is too long for a tunnel's device goes through the endpoint's
// GTP-U socket, where the kernel fragments it.
type rawSender struct {
	gtpu   rawip.GTPU
	device map[netip.Addr]rawip.Sockets // by address of the endpoint
	out    []rawip.Sockets              // by way
	all    []rawip.Sockets
	ether  []*etherPort // by way; nil: of a network for packets
}

func newRawSender(conns rawip.GTPU, p *ports, n6 *datapath.N6) (*rawSender, error) {
	r := &rawSender{gtpu: conns, device: map[netip.Addr]rawip.Sockets{}}
	byName := map[string]rawip.Sockets{}
	for _, port := range slices.Concat(p.gtpu, p.n6) {
		s, ok := byName[port.name]
		if !ok {
			var err error
			if s, err = rawip.Open(port.name); err != nil {
				return nil, errors.Join(err, r.close())
			}
			byName[port.name] = s
			r.all = append(r.all, s)
		}
		r.device[port.Address], r.device[port.Address6] = s, s
	}
	r.ether = make([]*etherPort, n6.Ways())
	for way := range n6.Ways() {
		r.out = append(r.out, byName[p.n6[n6.Of(way)].name])
	}
	return r, nil
}

func (r *rawSender) tunnel(packet []byte, local netip.Addr) error {
	return r.gtpu.Send(r.device[local], packet, local)
}

func (r *rawSender) n6(packet []byte, way int, via netip.Addr) error {
	return r.out[way].Send(packet, via)
}

func (r *rawSender) close() error {
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
