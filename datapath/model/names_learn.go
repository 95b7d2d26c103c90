package model

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Learner is told what [Names] learns, for programs that classify the packets of a
// flow by themselves. Its methods are called with the Names locked, and with
// whatever the caller of the stages has locked.
type Learner interface {
	// Learns returns under what number flows of a session are learnt now; 0: they
	// are not. A number never comes back with another meaning.
	Learns(seid uint64) (number uint64)
	// Learn says what is known of a flow, and reports whether it was learnt. It
	// holds until the next Learn or Forget with this number.
	Learn(number uint64, f NamedFlow, s Said, nowNs uint64) bool
	Forget(number uint64, f NamedFlow)
	// UsedNs returns when a packet of the flow last came, as far as is known; 0: it
	// is not. It is in the time of nowNs.
	UsedNs(number uint64, f NamedFlow) uint64
}

// Said is what is known of the name of a flow.
type Said struct {
	name   flowName
	Known  bool
	Uplink bool // the side that has said it, or says it now, if it is known which

	// What that side says is read as a stream: of its segments only those with
	// octets behind Until may change what is known.
	Stream bool
	Until  uint32 // sequence number
	// Nothing changes it any more.
	final bool
	begun bool // something of the stream has come
}

// Match reports whether a filter with this host and path means the flow.
func (s Said) Match(host, path string) bool { return s.Known && s.name.match(host, path) }

// Shows says which packets of a flow may change what is known of it, beside those
// with SYN or RST and those of the stream: all that may be the beginning of a
// ClientHello, or of a request in one of the directions.
func (s Said) Shows() (hello, uplinkRequest, downlinkRequest bool) {
	any := !s.final && !s.begun
	return any, any, any
}

// tcpSegment is what matters of one here.
type tcpSegment struct {
	flags byte
	seq   uint32 // of the first octet of data
	ack   uint32
	data  []byte
}

// readTCP reports false if p is no TCP segment, or does not have its header.
func readTCP(p upper) (t tcpSegment, ok bool) {
	if p.protocol != protoTCP || len(p.payload) < lenTCP {
		return t, false
	}
	header := 4 * int(p.payload[12]>>4)
	if header < lenTCP || header > len(p.payload) {
		return t, false
	}
	t = tcpSegment{p.payload[13], binary.BigEndian.Uint32(p.payload[4:]), binary.BigEndian.Uint32(p.payload[8:]), p.payload[header:]}
	if t.flags&tcpSYN != 0 {
		t.seq++
	}
	return t, true
}

// learn takes from a segment what it says of the name of its flow. Of a connection
// that is seen from its SYN on it is known where the first octet is; of others the
// first segment that looks like a beginning is one.
func (n *Names) learn(flow *namedFlow, t tcpSegment, uplink bool) {
	s := &flow.said
	switch {
	case t.flags&(tcpSYN|tcpACK) == tcpSYN:
		*s = Said{Uplink: uplink, Stream: true, Until: t.seq}
		flow.next, flow.early = t.seq, bytes.Clone(t.data)
	case len(flow.early) > 0 && t.flags&tcpSYN != 0 && uplink != s.Uplink:
		n.opened(flow, t.ack)
	case len(t.data) == 0 || s.final:
	case s.Stream && uplink == s.Uplink:
		flow.early = nil
		n.extend(flow, t)
	case !s.begun && showsName(t.data):
		n.lose(flow)
		*s = Said{Uplink: uplink, Stream: true}
		flow.next = t.seq
		n.extend(flow, t)
	}
	n.settle(flow)
}

// opened reads what came with a SYN if the other side has taken it: else something
// else may come in its place. Source: RFC 7413, 3.
func (n *Names) opened(flow *namedFlow, ack uint32) {
	t := tcpSegment{seq: flow.next, data: flow.early}
	flow.early = nil
	if ack == t.seq+uint32(len(t.data)) {
		n.read(flow, t)
	}
}

// extend adds a segment to a stream. What is beyond a gap is kept until that is
// filled, as far as there is room: TCP does not send it again.
func (n *Names) extend(flow *namedFlow, t tcpSegment) {
	if gap := int32(t.seq - flow.next); gap > 0 && !flow.pass(uint32(gap)) {
		if gap > maxGap { // what is missing does not come
			n.lose(flow)
		} else {
			flow.keep(t)
		}
		return
	}
	n.read(flow, t)
	for i := 0; i < len(flow.beyond) && flow.said.Stream; {
		b := flow.beyond[i]
		if gap := int32(b.seq - flow.next); gap > 0 && !flow.pass(uint32(gap)) {
			i++
			continue
		}
		flow.drop(i)
		n.read(flow, b)
		i = 0
	}
}

// pass steps over octets of a body that do not come by.
func (f *namedFlow) pass(gap uint32) bool {
	if f.requests == nil || f.requests.ahead() < uint64(gap) {
		return false
	}
	f.requests.pass(uint64(gap))
	f.next += gap
	return true
}

// keep keeps a segment that is beyond a gap, if there is room.
func (f *namedFlow) keep(t tcpSegment) {
	if len(f.beyond) < maxBeyond && f.beyondOctets+len(t.data) <= maxPartialSize {
		f.beyond = append(f.beyond, tcpSegment{seq: t.seq, data: bytes.Clone(t.data)})
		f.beyondOctets += len(t.data)
	}
}

func (f *namedFlow) drop(i int) {
	f.beyondOctets -= len(f.beyond[i].data)
	f.beyond = slices.Delete(f.beyond, i, i+1)
}

// read reads a segment that begins no later than what is missing.
func (n *Names) read(flow *namedFlow, t tcpSegment) {
	had := flow.next - t.seq // octets that have come before
	if had >= uint32(len(t.data)) {
		return
	}
	data := t.data[had:]
	flow.next += uint32(len(data))
	flow.said.begun = true
	if flow.requests != nil {
		n.readRequests(flow, data)
		return
	}
	flow.part = append(flow.part, data[:min(len(data), maxPartialSize-len(flow.part))]...)
	switch {
	case isHello(flow.part):
		name, v := helloName(flow.part)
		switch {
		case v == nameFound:
			n.giveUp(flow)
			flow.said = Said{name: name, Known: true, Uplink: flow.said.Uplink, final: true}
		case v == nameNone || len(flow.part) == maxPartialSize:
			n.lose(flow)
		}
	case mayBeRequest(flow.part):
		data, flow.part = flow.part, nil
		flow.requests = &requests{}
		n.readRequests(flow, data)
	default:
		n.lose(flow)
	}
}

func (n *Names) readRequests(flow *namedFlow, data []byte) {
	r := flow.requests
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

// settle says whether a packet has to be waited for to know the name of a flow, and
// which one may change it. While it is waited for the flow has no name: not that of
// the request before.
func (n *Names) settle(flow *namedFlow) {
	s := &flow.said
	if !s.Stream {
		return
	}
	r := flow.requests
	if len(flow.early) > 0 || len(flow.part) > 0 || len(flow.beyond) > 0 || r != nil && !r.settled() {
		s.name, s.Known = flowName{}, false
		if flow.partial == nil {
			if n.partial.Len() == maxPartial {
				n.lose(n.partial.Front().Value.(*namedFlow))
			}
			flow.partial = n.partial.PushBack(flow)
		}
		return
	}
	if flow.partial != nil {
		n.partial.Remove(flow.partial)
		flow.partial = nil
	}
	s.Until = flow.next
	if r != nil {
		s.name, s.Known = r.known()
		s.Until += uint32(min(r.ahead(), maxAhead))
	}
}

// lose gives up a stream. If it had requests nothing is known of it any more: which
// of its octets begin one cannot be told. Else it may have begun before.
func (n *Names) lose(flow *namedFlow) {
	final := flow.requests != nil && flow.requests.some
	n.giveUp(flow)
	flow.said = Said{final: final}
}

// giveUp forgets what there is of a stream.
func (n *Names) giveUp(flow *namedFlow) {
	if flow.partial != nil {
		n.partial.Remove(flow.partial)
		flow.partial = nil
	}
	flow.early, flow.part, flow.requests, flow.beyond, flow.beyondOctets = nil, nil, nil, nil, 0
}

// tell tells the learner of a flow, if that is not what it was told. While a name
// is not complete each packet is to be seen here.
func (n *Names) tell(flow *namedFlow, changed bool, nowNs uint64) {
	if n.learner == nil {
		return
	}
	number := n.learner.Learns(flow.key.SEID)
	if flow.told != number || flow.partial != nil {
		n.untell(flow)
	}
	if number == 0 || flow.partial != nil || flow.told != 0 && !changed && nowNs-flow.toldNs < learntFresh {
		return
	}
	if !n.learner.Learn(number, flow.key, flow.said, nowNs) {
		n.untell(flow)
		return
	}
	flow.told, flow.toldNs = number, nowNs
}

// untell lets the learner forget a flow.
func (n *Names) untell(flow *namedFlow) {
	if flow.told != 0 {
		n.learner.Forget(flow.told, flow.key)
		flow.told = 0
	}
}

// used reports whether the learner has seen a packet of the flow later than it was
// seen here. That counts as seen.
func (n *Names) used(flow *namedFlow) bool {
	if flow.told == 0 {
		return false
	}
	at := n.learner.UsedNs(flow.told, flow.key)
	if at <= flow.seenNs {
		return false
	}
	n.touch(flow, at)
	return true
}

// inherit lets n know the flows of one that is not in use any more, in the order in
// which they were used.
func (n *Names) inherit(from *Names, now clocks) {
	from.mu.Lock()
	defer from.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*namedFlow
	for e := from.all.Back(); e != nil; e = e.Prev() {
		all = append(all, e.Value.(*namedFlow))
	}
	for _, flow := range all {
		from.used(flow) // and is moved, perhaps
	}
	for e := from.all.Back(); e != nil; e = e.Prev() {
		if was := e.Value.(*namedFlow); n.flows[was.key] == nil {
			n.take(was, now.at(was.seenNs))
		}
	}
}

// take adds a flow of another one.
func (n *Names) take(was *namedFlow, seenNs uint64) {
	flow := n.add(was.key, seenNs)
	flow.said, flow.next, flow.part, flow.requests = was.said, was.next, was.part, was.requests
	flow.early, flow.beyond, flow.beyondOctets = was.early, was.beyond, was.beyondOctets
	n.settle(flow)
	n.tell(flow, true, seenNs)
}
