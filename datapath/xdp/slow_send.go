package xdp

import (
	"errors"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
)

// rawSender sends through sockets that take whole IP packets: to data networks through
// those of their devices, into tunnels through those of the endpoints' addresses, from
// where the host's routes lead. What is too long for a tunnel's device the kernel
// fragments.
type rawSender struct {
	gtpu  rawip.GTPU
	out   []rawip.Sockets // by way
	all   []rawip.Sockets
	ether []*etherPort // by way; nil: of a network for packets
}

// newRawSender opens the sockets beside those of GTP-U, which it has from then on.
func newRawSender(conns rawip.GTPU, p *ports, n6 *datapath.N6) (*rawSender, error) {
	r := &rawSender{gtpu: conns}
	byName := map[string]rawip.Sockets{}
	for _, port := range p.n6 {
		if _, ok := byName[port.name]; ok {
			continue
		}
		s, err := rawip.Open(port.name)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		byName[port.name] = s
		r.all = append(r.all, s)
	}
	r.ether = make([]*etherPort, n6.Ways())
	for way := range n6.Ways() {
		r.out = append(r.out, byName[p.n6[n6.Of(way)].name])
	}
	return r, nil
}

func (r *rawSender) tunnel(packet []byte, local netip.Addr) error { return r.gtpu.Send(packet, local) }

func (r *rawSender) n6(packet []byte, way int, via netip.Addr) error {
	return r.out[way].Send(packet, via)
}

func (r *rawSender) close() error {
	errs := []error{r.gtpu.CloseRaw()}
	for _, s := range r.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
