package xdp

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// signal does what a GTP-U message asks for that is no G-PDU, or that the stages
// refused with reason. The driver's lock is held for reading.
func (s *slowPath) signal(m stages.Datagram, reason datapath.Reason) {
	if reason == datapath.PassSignalling {
		switch h, err := gtpu.Parse(m.Payload); {
		case err != nil:
			return
		case h.Type() == gtpu.ErrorIndication:
			s.d.errored.Add(m)
			return
		case h.Type() == gtpu.EchoResponse:
			s.d.paths.Answered(m)
			return
		}
	} else if !s.d.restart.MayAnswer(reason) {
		return // the session may yet come back
	}
	for _, answer := range s.stages.Signal(m, reason) {
		if s.allow(m, reason) {
			s.sendSignal(answer)
			s.d.tracer.answered(m, answer)
		}
	}
}

// allow bounds what is sent to whom we do not send packets anyway, and all that
// a packet to nobody causes.
func (s *slowPath) allow(m stages.Datagram, reason datapath.Reason) bool {
	if reason == datapath.PassSignalling && s.d.hops.isPeer(s.d.ports, m.From.Addr()) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reason == datapath.PassSignalling {
		return s.strangers.Allow(s.d.cfg.now())
	}
	return s.answers.Allow(s.d.cfg.now())
}

// sendSignal sends a message. One that cannot be sent is one that got lost: the
// peer asks again, or another packet causes another. The driver's lock is held.
func (s *slowPath) sendSignal(m stages.Datagram) {
	if !datapath.Has(s.d.cfg.Endpoints, m.To.Addr()) {
		_ = s.send.tunnel(m.Packet(), m.From.Addr())
		return
	}
	if m.Pass() == datapath.ReasonNone {
		s.signal(m, datapath.PassSignalling)
	}
}
