package afxdp

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// arrive makes a packet of a frame that the program of a device has given us: p.Buf
// from p.Start to p.End. It returns why it is none. What is no GTP-U message to one
// of our addresses came from N6.
func (w *worker) arrive(d *device, p *vector.Packet) datapath.Reason {
	p.Network = d.network
	if d.ethernet {
		return datapath.ReasonNone
	}
	if p.End-p.Start < inet.LenEthernet {
		return datapath.DropIPShort
	}
	p.Start += inet.LenEthernet
	if len(d.locals) == 0 {
		return datapath.ReasonNone
	}
	reason := w.m.d.TakeOuter(p)
	if reason == datapath.PassHost && d.network != 0 {
		return datapath.ReasonNone
	}
	return reason
}
