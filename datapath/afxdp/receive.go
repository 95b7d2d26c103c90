package afxdp

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// Octets of headers.
const (
	lenIPv4 = 20
	lenIPv6 = 40
	lenUDP  = 8
)

// arrive makes a packet of a frame that the program of a device has given us: p.Buf
// from p.Start to p.End. It returns why it is none. What is no GTP-U message to one
// of our addresses came from N6.
func (w *worker) arrive(d *device, p *vector.Packet) datapath.Reason {
	p.Network = d.network
	if d.ethernet {
		return datapath.ReasonNone
	}
	if p.End-p.Start < lenEthernet {
		return datapath.DropIPShort
	}
	p.Start += lenEthernet
	if len(d.locals) == 0 {
		return datapath.ReasonNone
	}
	reason := w.m.d.TakeOuter(p)
	if reason == datapath.PassHost && d.network != 0 {
		return datapath.ReasonNone
	}
	return reason
}
