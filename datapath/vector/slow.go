package vector

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// slowly treats a packet by the model.
func (w *Worker) slowly(p *Packet) {
	w.slow++
	switch stages := &w.e.stages; {
	case p.Network == 0:
		w.tunnelled(p)
	case w.e.isEthernet(p.Network):
		for i, o := range stages.Ethernet(p.Network, p.Octets()) {
			if reason := w.finished(o, p); i == 0 {
				p.Reason = reason
			}
		}
	default:
		p.Reason = w.finished(stages.Bare(p.Network, p.Octets()), p)
	}
}

// tunnelled treats a GTP-U message.
func (w *Worker) tunnelled(p *Packet) {
	m := stages.Datagram{From: p.From, To: netip.AddrPortFrom(p.To, gtpu.Port), Payload: p.Octets()}
	out := w.e.stages.Tunnelled(m)
	if w.passes > 0 && out.Reason == datapath.PassSignalling { // our own: none has come
		w.answer(m, out.Reason)
		return
	}
	p.Reason = w.finished(out, p)
	if out.Reason == datapath.ReasonNone {
		return
	}
	w.answer(m, out.Reason)
}

// finish lets leave what the model made of a packet, or counts why it does not.
func (w *Worker) finish(o stages.Out) { w.finished(o, nil) }

// finished is finish, and returns what became of the packet itself, which was made of
// one that came, or nil.
func (w *Worker) finished(o stages.Out, came *Packet) datapath.Reason {
	reason := o.Reason
	if reason == datapath.ReasonNone {
		s := o.Sent()
		if reason = w.leavable(&s); w.tracing != nil {
			w.tracing.finished(o.Rule, &s, reason)
		}
		if reason == datapath.ReasonNone {
			w.leave(s, came)
		}
	} else if w.tracing != nil {
		w.tracing.finished(o.Rule, nil, reason)
	}
	w.count(reason)
	for _, s := range o.Others {
		w.count(w.other(&s, o.Reason != datapath.ReasonNone))
	}
	for _, s := range o.Copies {
		w.count(w.other(&s, false))
	}
	w.countMany(datapath.DropCopy, o.Lost)
	for _, b := range o.Bridged {
		w.finish(b)
	}
	return reason
}

// other lets leave what leaves beside a packet: if answer, what its sender is told.
func (w *Worker) other(s *stages.Sent, answer bool) datapath.Reason {
	reason := w.leavable(s)
	if reason != datapath.ReasonNone {
		return reason
	}
	if w.tracing != nil {
		w.tracing.beside(s, answer)
	}
	w.leave(*s, nil)
	return reason
}

// leavable says why a packet that the model made does not leave.
func (w *Worker) leavable(s *stages.Sent) datapath.Reason {
	if w.e.stages.IsOwn(s.Outer) {
		return w.mayPass()
	}
	if s.Outer == nil && !s.Ethernet && w.e.cfg.Hosts.Has(destination(s.Packet)) {
		return datapath.DropLocal
	}
	return datapath.ReasonNone
}

// leave lets a packet leave that the model made of one that came, or of none: nil.
func (w *Worker) leave(s stages.Sent, came *Packet) {
	p := w.fresh()
	p.Buf, p.End = s.Packet, len(s.Packet)
	if s.Outer != nil {
		p.Outer = s.Outer
		p.takeOuter()
		if w.e.stages.IsOwn(s.Outer) {
			if p.first = came; came != nil && came.first != nil {
				p.first = came.first
			}
			w.again(p)
			return
		}
	} else {
		p.Way, p.Flow, p.Frame = s.Way, s.Flow, s.Ethernet
	}
	w.add(p)
}

// takeOuter takes the outer header off a packet of the model, and notes what it says.
func (p *Packet) takeOuter() {
	udp := inet.LenIPv4
	p.DSCP = p.Buf[1] >> 2
	if p.Buf[0]>>4 == 6 {
		udp = inet.LenIPv6
		p.DSCP = byte(binary.BigEndian.Uint16(p.Buf)>>6) & 0x3f
	}
	p.Source, p.Port = binary.BigEndian.Uint16(p.Buf[udp:]), binary.BigEndian.Uint16(p.Buf[udp+2:])
	p.Flow = uint32(p.Source) << 18 // as much of it as there is
	if udp == inet.LenIPv6 {
		p.Flow = binary.BigEndian.Uint32(p.Buf) << 12
	}
	p.Start = udp + inet.LenUDP
}

func destination(packet []byte) netip.Addr {
	if packet[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(packet[24:40]))
	}
	return netip.AddrFrom4([4]byte(packet[16:20]))
}

func source(packet []byte) netip.Addr {
	if packet[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(packet[8:24]))
	}
	return netip.AddrFrom4([4]byte(packet[12:16]))
}
