package xdp

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	traces "github.com/plumbline-upf/plumbline/datapath/trace"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// came is how a packet came into the slow path; zero: out of the buffer.
type came struct {
	message *stages.Datagram
	packet  []byte // bare
	device  int    // index of that on which it came
}

// slowly tells the traces what became of a packet in the slow path.
func (t *tracer) slowly(c came, o stages.Out, reason datapath.Reason) {
	if !t.runs() {
		return
	}
	var sent *stages.Sent
	if o.Reason == datapath.ReasonNone {
		sent = &stages.Sent{Packet: o.Packet, Outer: o.Rule.Outer, Way: o.Rule.Way}
	}
	t.offer(t.slowPacket(c, o.Rule, sent, reason))
}

// besides tells them what else left because of the packet: further fragments, or
// what its sender is told.
func (t *tracer) besides(c came, o stages.Out, other stages.Sent, reason datapath.Reason) {
	if !t.runs() {
		return
	}
	p, ends := t.slowPacket(c, o.Rule, &other, reason)
	p.Answer = o.Reason != datapath.ReasonNone
	t.offer(p, ends)
}

// answered tells them what the sender of a GTP-U message is told.
func (t *tracer) answered(m, answer stages.Datagram) {
	if !t.runs() {
		return
	}
	sent := stages.Sent{Packet: answer.Packet(), Outer: &stages.Outer{Local: answer.From.Addr()}}
	p, ends := t.slowPacket(came{message: &m}, nil, &sent, datapath.ReasonNone)
	p.Answer = true
	t.offer(p, ends)
}

// runs reports whether there are traces. Beds of tests have no tracer.
func (t *tracer) runs() bool { return t != nil && t.on.Load() != 0 }

// offer gives a packet of the slow path to the traces that want it.
func (t *tracer) offer(p *datapath.TracePacket, ends [2]netip.Addr) {
	about := traces.About{Reason: p.Reason, TEID: p.TEID, Ends: ends}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.traces {
		if x == nil || !traces.Wants(&x.filter, &about) {
			continue
		}
		x.wanted.Add(1)
		if x.filter.Sample > 1 && rand.IntN(x.filter.Sample) != 0 {
			continue
		}
		if !x.rate.Allow(monotonic()) {
			x.limited.Add(1)
			continue
		}
		own := *p
		own.Arrived.Data, own.Left.Data = x.clip(p.Arrived.Data), x.clip(p.Left.Data)
		x.put(&own)
	}
}

// slowPacket returns what is known of a packet of the slow path, and between
// whom it is. It shares the memory of the packet.
func (t *tracer) slowPacket(c came, r *stages.Rule, sent *stages.Sent, reason datapath.Reason) (*datapath.TracePacket, [2]netip.Addr) {
	p := &datapath.TracePacket{At: time.Now(), CPU: -1, Slow: true, Reason: reason}
	user := c.packet
	if r != nil {
		p.PDRID, p.SEID = r.PDRID, r.SEID
	}
	switch {
	case c.message != nil:
		p.Arrived = datapath.TraceFrame{IP: true, Data: c.message.Packet(), Device: t.deviceOf(c.message.To.Addr())}
		if h, err := gtpu.ParseRelayed(c.message.Payload); err == nil {
			p.TEID, user = h.TEID(), c.message.Payload[len(h):]
			p.Key.TEID, p.Key.Local = p.TEID, c.message.To.Addr()
		}
	case c.packet != nil:
		p.Arrived = datapath.TraceFrame{IP: true, Data: c.packet, Device: t.deviceName(uint32(c.device))}
	}
	if sent != nil && user == nil {
		user = userPacket(sent)
	}
	if sent != nil && reason == datapath.ReasonNone {
		p.Left = datapath.TraceFrame{IP: !sent.Ethernet, Data: sent.Packet, Device: t.d.ports.n6[t.d.cfg.N6.Of(sent.Way)].name}
		if sent.Outer != nil {
			p.Left.Device = t.deviceTo(sent.Outer)
		}
	}
	p.Arrived.Octets, p.Left.Octets = len(p.Arrived.Data), len(p.Left.Data)
	ends := traces.Ends(user)
	if c.message == nil && ends[1].IsValid() {
		p.Key = traces.KeyOf(ends[1])
	}
	return p, ends
}

// userPacket returns the packet inside one that is sent.
func userPacket(s *stages.Sent) []byte {
	if s.Outer == nil {
		return s.Packet
	}
	outer := 20 + inet.LenUDP
	if s.Packet[0]>>4 == 6 {
		outer = 40 + inet.LenUDP
	}
	if len(s.Packet) < outer {
		return nil
	}
	h, err := gtpu.ParseRelayed(s.Packet[outer:])
	if err != nil {
		return nil
	}
	return s.Packet[outer+len(h):]
}

// deviceTo names the device by which the host's routes lead to a peer; of one that no
// rule sends to, that of the endpoint.
func (t *tracer) deviceTo(o *stages.Outer) string {
	for i := range t.d.ports.gtpu {
		key := hopKey{i, o.Peer}
		if t.d.ports.peer(key) == (nexthop.Peer{Local: o.Local, Addr: o.Peer}) {
			if name, known := t.d.hops.deviceOf(key); known {
				return name
			}
		}
	}
	return t.deviceOf(o.Local)
}

// deviceOf names the device of an endpoint.
func (t *tracer) deviceOf(local netip.Addr) string {
	for i := range t.d.ports.gtpu {
		if p := &t.d.ports.gtpu[i]; p.Address == local || p.Address6 == local {
			return p.name
		}
	}
	return ""
}
