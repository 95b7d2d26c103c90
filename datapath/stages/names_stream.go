package stages

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

const tcpURG = 0x20

// tcpSegment is what matters of one here.
type tcpSegment struct {
	flags byte
	seq   uint32 // of the first octet of data
	ack   uint32
	data  []byte
}

func (t tcpSegment) end() uint32 { return t.seq + uint32(len(t.data)) }

// readTCP reports false if p is no TCP segment, or does not have its header.
func readTCP(p upper) (t tcpSegment, ok bool) {
	if p.protocol != inet.ProtoTCP || len(p.payload) < inet.LenTCP {
		return t, false
	}
	header := 4 * int(p.payload[12]>>4)
	if header < inet.LenTCP || header > len(p.payload) {
		return t, false
	}
	t = tcpSegment{p.payload[13], binary.BigEndian.Uint32(p.payload[4:]), binary.BigEndian.Uint32(p.payload[8:]), p.payload[header:]}
	if t.flags&tcpSYN != 0 {
		t.seq++
	}
	return t, true
}

// arrives reports whether a receiver takes u, with the TCP segment p, as far as can be
// seen here: else a user could show a name that the server never sees. Of a fragment it
// is not known whether the others come; routers and hosts drop packets with IP options
// or extension headers (RFC 7126, RFC 7872). Checksums are whole here: where they may
// be left to a device they are finished before (bpf/upf/split.h, package vnet), and what
// is left in a tunnel by mistake, or to a device by XDP, its receiver drops.
func (u user) arrives(p upper) bool {
	return p.plain && (u.isIPv6() || u.sumRight()) && u.upperSumRight(p.protocol, len(u)-len(p.payload))
}

// stream is what one side of a connection says, as far as it has to be kept.
type stream struct {
	next     uint32       // sequence number behind what was read
	early    []byte       // what came with the SYN, until it is known whether it was taken
	doubt    bool         // it begins with a SYN that the other side may ignore
	part     []byte       // what has been said of a ClientHello that is not complete
	requests *requests    // nil: it is no HTTP, or not known yet
	beyond   []tcpSegment // what came beyond a gap
	octets   int          // of beyond
	// What came beyond a gap and had no room. The receiver has it, perhaps, so that
	// what is sent again there need not be what it reads.
	lost             bool
	lostFrom, lostTo uint32
}

// settled reports whether nothing is waited for.
func (f *stream) settled() bool {
	return !f.doubt && !f.lost && len(f.early) == 0 && len(f.part) == 0 && len(f.beyond) == 0 && (f.requests == nil || f.requests.settled())
}

// extend adds a segment to a stream. What is beyond a gap is kept until that is
// filled, as far as there is room: TCP does not send it again.
func (n *Names) extend(flow *namedFlow, t tcpSegment) {
	f := &flow.stream
	if f.conflicts(t) {
		n.lose(flow)
		return
	}
	if gap := int32(t.seq - f.next); gap > 0 && !f.pass(uint32(gap)) {
		if gap > maxGap { // what is missing does not come
			n.lose(flow)
		} else {
			f.keep(t)
		}
		return
	}
	n.read(flow, t)
	for i := 0; i < len(f.beyond) && flow.said.Stream; {
		b := f.beyond[i]
		if gap := int32(b.seq - f.next); gap > 0 && !f.pass(uint32(gap)) {
			i++
			continue
		}
		f.octets -= len(b.data)
		f.beyond = slices.Delete(f.beyond, i, i+1)
		n.read(flow, b)
		i = 0
	}
	f.find()
}

// conflicts reports whether a segment says other octets than what was kept where they
// overlap. Receivers differ in which of them they take.
func (f *stream) conflicts(t tcpSegment) bool {
	part := tcpSegment{seq: f.next - uint32(len(f.part)), data: f.part}
	return part.differs(t) || slices.ContainsFunc(f.beyond, t.differs)
}

// differs reports whether two segments overlap and are not the same there.
func (t tcpSegment) differs(o tcpSegment) bool {
	if int32(o.seq-t.seq) < 0 {
		t, o = o, t
	}
	skip := o.seq - t.seq
	if skip >= uint32(len(t.data)) {
		return false
	}
	same := t.data[skip:]
	size := min(len(same), len(o.data))
	return !bytes.Equal(same[:size], o.data[:size])
}

// within reports whether all of t is in o.
func (t tcpSegment) within(o tcpSegment) bool {
	return int32(t.seq-o.seq) >= 0 && int32(o.end()-t.end()) >= 0
}

// pass steps over octets of a body that do not come by.
func (f *stream) pass(gap uint32) bool {
	if f.requests == nil || f.requests.ahead() < uint64(gap) {
		return false
	}
	f.requests.pass(uint64(gap))
	f.next += gap
	return true
}

// keep keeps a segment that is beyond a gap, if there is room. Each filter that asks
// for a name comes here with it.
func (f *stream) keep(t tcpSegment) {
	switch {
	case slices.ContainsFunc(f.beyond, t.within):
	case len(f.beyond) < maxBeyond && f.octets+len(t.data) <= maxPartialSize:
		f.beyond = append(f.beyond, tcpSegment{seq: t.seq, data: bytes.Clone(t.data)})
		f.octets += len(t.data)
	case !f.lost:
		f.lost, f.lostFrom, f.lostTo = true, t.seq, t.end()
	default:
		if int32(t.seq-f.lostFrom) < 0 {
			f.lostFrom = t.seq
		}
		if int32(t.end()-f.lostTo) > 0 {
			f.lostTo = t.end()
		}
	}
}

// find forgets that something had no room, if that is in a body, or behind.
func (f *stream) find() {
	left := int32(f.lostTo - f.next)
	if f.lost && (left <= 0 || f.requests != nil && f.requests.ahead() >= uint64(left)) {
		f.lost = false
	}
}

// read reads a segment that begins no later than what is missing.
func (n *Names) read(flow *namedFlow, t tcpSegment) {
	f := &flow.stream
	if f.lost && int32(t.end()-f.lostFrom) > 0 {
		before := t
		before.data = t.data[:max(0, int32(f.lostFrom-t.seq))]
		n.readOctets(flow, before)
		if f.find(); f.lost {
			n.lose(flow)
			return
		}
	}
	n.readOctets(flow, t)
}

func (n *Names) readOctets(flow *namedFlow, t tcpSegment) {
	f := &flow.stream
	had := f.next - t.seq // octets that have come before: they stay
	if had >= uint32(len(t.data)) || !flow.said.Stream {
		return
	}
	data := t.data[had:]
	f.next += uint32(len(data))
	flow.said.begun = true
	if f.requests != nil {
		n.readRequests(flow, data)
		return
	}
	f.part = append(f.part, data[:min(len(data), maxPartialSize-len(f.part))]...)
	switch {
	case isHello(f.part):
		name, v := helloName(f.part)
		switch {
		case v == nameFound:
			n.giveUp(flow)
			flow.said = Said{name: name, Known: true, Uplink: flow.said.Uplink, final: true}
		case v == nameNone || len(f.part) == maxPartialSize:
			n.lose(flow)
		}
	case mayBeRequest(f.part):
		f.part = nil
		f.requests = &requests{}
		n.readRequests(flow, data)
	default:
		n.lose(flow)
	}
}

func (n *Names) readRequests(flow *namedFlow, data []byte) {
	r := flow.stream.requests
	r.read(data)
	if r.at == partInvalid {
		n.lose(flow)
		return
	}
	flow.said.name, flow.said.Known = r.known()
	if r.at == partTunnel {
		n.giveUp(flow)
		flow.said.final, flow.said.Stream = true, false
	}
}
