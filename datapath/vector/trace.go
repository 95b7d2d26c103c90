package vector

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/trace"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Tracing: what becomes of chosen packets, for a person to read. Who does not trace pays
// for one word that is tested for each vector, and an octet noted of each GTP-U message:
// while there are traces, a vector goes through finishTraced, which keeps each packet that a trace may want before it is changed,
// one after the other, in memory of the worker, and chooses when it is known what became
// of it.
//
// Frames are IP packets. Where sockets take the outer headers off and make them, those
// that are shown are as the kernel is told to make them.

// tracing is what a worker keeps of the packet that is treated.
type tracing struct {
	w      *Worker
	now    uint64
	at     time.Time
	chosen []*trace.Trace
	about  trace.About
	came   datapath.TraceFrame
	may    bool // a trace may want it
	told   bool // what became of the packet itself
	waited bool // no packet came: what leaves was in the buffer
	key    datapath.Key
	room   []byte // of came
	left   []byte // of what leaves
}

// Trace implements [datapath.Tracer]. What devices and rings drop, before the stages and
// behind them, is counted by the I/O and not seen here.
func (e *Engine) Trace(f datapath.TraceFilter) (datapath.Trace, error) {
	unseen := func(r datapath.Reason) bool { return r == datapath.DropRxFull || r == datapath.DropTxFull }
	if len(f.Reasons) > 0 && !f.All && len(f.TEIDs)+len(f.UEs) == 0 && !slices.ContainsFunc(f.Reasons, func(r datapath.Reason) bool { return !unseen(r) }) {
		return nil, fmt.Errorf("%s: packets that are dropped for %v are counted and not seen: %w", e.cfg.Name, f.Reasons, errors.ErrUnsupported)
	}
	x, err := e.traces.Start(f, e.cfg.Now)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// trace returns what the worker keeps of a packet; nil: nobody traces. It is there as long
// as [Worker.untrace] has not been called.
func (w *Worker) trace() *tracing {
	if !w.e.traces.On() {
		return nil
	}
	if w.kept == nil {
		w.kept = &tracing{w: w}
	}
	w.tracing = w.kept
	return w.tracing
}

func (w *Worker) untrace() { w.tracing = nil }

// finishTraced is finishOne for each packet of a vector, with a record of it.
func (w *Worker) finishTraced(n int) {
	t := w.trace()
	if t == nil { // the last trace has ended just now
		for i := range n {
			w.finishOne(&w.works[i])
		}
		return
	}
	defer w.untrace()
	for i := range n {
		k := &w.works[i]
		if len(w.out) >= cap(w.out)-1 { // so that what leaves is still here when it is looked at
			w.flush()
		}
		t.arrived(k.packet)
		slow := w.slow
		w.finishOne(k)
		if w.slow == slow {
			t.fast(k)
		}
	}
}

// arrived begins the record of a packet.
func (t *tracing) arrived(p *Packet) {
	*t = tracing{w: t.w, now: t.w.e.cfg.Now(), at: time.Now(), chosen: t.chosen[:0], room: t.room, left: t.left}
	if p == nil {
		t.may, t.waited = true, true
		return
	}
	b := p.Octets()
	e := t.w.e
	switch {
	case p.Network != 0 && e.isEthernet(p.Network):
		t.came.IP = false
	case p.Network != 0:
		t.came.IP = true
		t.about.Ends = trace.Ends(b)
		if t.about.Ends[1].IsValid() {
			t.key = trace.KeyOf(t.about.Ends[1])
		}
	default:
		t.came.IP = true
		if h, err := gtpu.ParseRelayed(b); err == nil {
			t.about.TEID, t.about.Ends = h.TEID(), trace.Ends(b[len(h):])
			t.key.TEID, t.key.Local = t.about.TEID, p.To
		}
	}
	if t.may = e.traces.May(&t.about); !t.may {
		return
	}
	t.came.Device = e.deviceAt(p)
	t.came.Octets, t.came.Data = t.whole(p, b)
}

// whole keeps the packet as it came: with the outer header that was taken off.
func (t *tracing) whole(p *Packet, b []byte) (octets int, data []byte) {
	switch {
	case p.Network != 0:
		t.room = append(t.room[:0], b...)
	case p.Outside > 0:
		t.room = append(t.room[:0], p.Buf[p.Start-int(p.Outside):p.End]...)
	default:
		q := Packet{Outer: &stages.Outer{Local: p.From.Addr(), Peer: p.To}, Source: p.From.Port(), Port: gtpu.Port, DSCP: p.DSCP, Flow: p.Flow}
		t.room = q.alone(t.room, b)
	}
	return len(t.room), t.room
}

// alone returns the packet with payload b behind its outer header, in the memory of room.
func (p *Packet) alone(room, b []byte) []byte {
	const most = inet.LenIPv6 + inet.LenUDP
	p.Buf = append(append(room[:0], make([]byte, most)...), b...)
	p.Start, p.End = most, len(p.Buf)
	if p.PutOuter() {
		copy(p.Buf, p.Octets())
		return p.Buf[:p.End-p.Start]
	}
	copy(p.Buf, b)
	return p.Buf[:len(b)]
}

// fast ends the record of a packet that the stages have treated here: if it leaves, it is
// the last one that does.
func (t *tracing) fast(k *work) {
	p := k.packet
	x := datapath.TracePacket{Reason: p.Reason}
	if k.rule != nil {
		x.SEID, x.PDRID = k.rule.model[0].SEID, k.rule.model[0].PDRID
	}
	if !t.choose(p.Reason) {
		return
	}
	if p.Reason == datapath.ReasonNone {
		x.Left = t.leaving(p)
	}
	t.tell(&x)
}

// finished ends the record of what the model has treated: the packet itself first, and
// then what leaves beside it. left is what the model made of it, before that was sent.
func (t *tracing) finished(r *stages.Rule, sent *stages.Sent, reason datapath.Reason) {
	x := datapath.TracePacket{Reason: reason, Slow: t.told || t.waited}
	t.told = true
	if r != nil {
		x.SEID, x.PDRID = r.SEID, r.PDRID
	}
	if !t.may {
		return
	}
	if sent != nil && t.waited {
		t.about.Ends = trace.Ends(userPacket(sent))
	}
	if !t.choose(reason) {
		return
	}
	if sent != nil && reason == datapath.ReasonNone {
		x.Left = datapath.TraceFrame{IP: !sent.Ethernet, Device: t.w.e.deviceOf(sent.Outer, sent.Way), Octets: len(sent.Packet), Data: sent.Packet}
	}
	t.tell(&x)
}

// beside tells of what leaves beside the packet: if answer, what its sender is told.
func (t *tracing) beside(sent *stages.Sent, answer bool) {
	if !t.may || !t.choose(datapath.ReasonNone) {
		return
	}
	t.tell(&datapath.TracePacket{Slow: true, Answer: answer, Left: datapath.TraceFrame{
		IP: !sent.Ethernet, Device: t.w.e.deviceOf(sent.Outer, sent.Way), Octets: len(sent.Packet), Data: sent.Packet,
	}})
}

func (t *tracing) choose(reason datapath.Reason) bool {
	t.about.Reason = reason
	t.chosen = t.w.e.traces.Choose(t.chosen[:0], &t.about)
	return len(t.chosen) > 0
}

// tell gives the record to those who want it.
func (t *tracing) tell(x *datapath.TracePacket) {
	x.At, x.Took, x.CPU = t.at, time.Duration(t.w.e.cfg.Now()-t.now), -1
	x.TEID, x.Key, x.Arrived = t.about.TEID, t.key, t.came
	trace.Deliver(t.chosen, x)
}

// leaving returns the frame of a packet that leaves.
func (t *tracing) leaving(p *Packet) datapath.TraceFrame {
	f := datapath.TraceFrame{IP: !p.Frame, Device: t.w.e.deviceOf(p.Outer, p.Way)}
	if p.Outer == nil {
		t.left = append(t.left[:0], p.Octets()...)
	} else {
		q := Packet{Outer: p.Outer, Source: p.Source, Port: p.Port, DSCP: p.DSCP, Flow: p.Flow}
		if t.w.e.cfg.Sockets {
			q.Source = gtpu.Port
		}
		t.left = q.alone(t.left, p.Octets())
	}
	f.Octets, f.Data = len(t.left), t.left
	return f
}

// deviceAt names the device on which a packet came.
func (e *Engine) deviceAt(p *Packet) string {
	if p.Network != 0 {
		return e.cfg.Device(p.Network)
	}
	return e.endpointDevice(p.To)
}

// deviceOf names the device by which a packet leaves.
func (e *Engine) deviceOf(o *stages.Outer, way int) string {
	if o == nil {
		return e.cfg.Device(way)
	}
	if f := e.cfg.PeerDevice; f != nil {
		if name := f(o); name != "" {
			return name
		}
	}
	return e.endpointDevice(o.Local)
}

// endpointDevice names the device of an endpoint, or the endpoint, if the kernel picks
// devices.
func (e *Engine) endpointDevice(local netip.Addr) string {
	for i := range e.cfg.Endpoints {
		if p := &e.cfg.Endpoints[i]; p.Address == local || p.Address6 == local {
			if p.Device != "" {
				return p.Device
			}
			return p.Name
		}
	}
	return ""
}

// userPacket returns the packet inside one that is sent.
func userPacket(s *stages.Sent) []byte {
	if s.Outer == nil {
		return s.Packet
	}
	outer := inet.LenIPv4 + inet.LenUDP
	if s.Packet[0]>>4 == 6 {
		outer = inet.LenIPv6 + inet.LenUDP
	}
	h, err := gtpu.ParseRelayed(s.Packet[min(outer, len(s.Packet)):])
	if err != nil {
		return nil
	}
	return s.Packet[outer+len(h):]
}
