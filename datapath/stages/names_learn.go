package stages

import (
	"bytes"
	"container/list"
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
	// octets behind Until may change what is known; of its datagrams, those with a
	// long header of QUIC.
	Stream bool
	Until  uint32 // sequence number
	// Nothing but a SYN changes it any more.
	final   bool
	fromSYN bool // where the stream begins is known
	begun   bool // something of the stream has come
}

// Match reports whether a filter with this host and path means the flow.
func (s Said) Match(host, path string) bool { return s.Known && s.name.match(host, path) }

// Shows reports whether a packet of the flow in any direction that may be the
// beginning of a ClientHello, or of a request, or has a long header of QUIC, may change
// what is known of it. Those with SYN or RST and those of the stream may in any case.
func (s Said) Shows() bool { return !s.final && !s.Stream }

// heeds reports whether a segment may change what is known of a flow.
func (f *namedFlow) heeds(t tcpSegment, uplink bool) bool {
	s := &f.said
	switch {
	case t.flags&(tcpSYN|tcpRST) != 0:
		return true
	case len(t.data) == 0 || s.final:
		return false
	case s.Stream:
		return uplink == s.Uplink && (f.partial != nil || int32(t.seq+uint32(len(t.data))-s.Until) > 0)
	}
	return showsName(t.data)
}

// learn takes from a segment what it says of the name of its flow. Of a connection
// that is seen from its SYN on it is known where the first octet is, and that side
// is read alone; of others the first segment that looks like a beginning is one.
func (n *Names) learn(flow *namedFlow, t tcpSegment, uplink bool) {
	s := &flow.said
	switch {
	case t.flags&tcpRST != 0:
		flow.ended = true // and all filters see that it has the name that it had
	case t.flags&(tcpSYN|tcpACK) == tcpSYN:
		n.open(flow, t, uplink)
	case t.flags&tcpSYN != 0:
		n.opened(flow, t, uplink)
	case len(t.data) == 0 || s.final || t.flags&(tcpACK|tcpURG) != tcpACK:
		// RFC 9293, 3.10.7.4: without ACK it is dropped. An urgent octet is taken
		// out of the stream by some receivers, and left in by others.
	case flow.stream.doubt:
		if uplink == s.Uplink {
			n.lose(flow)
		}
	case s.Stream:
		if uplink == s.Uplink {
			flow.stream.early = nil
			n.extend(flow, t)
		}
	case showsName(t.data):
		*s = Said{Uplink: uplink, Stream: true}
		flow.stream = stream{next: t.seq}
		n.extend(flow, t)
	}
	flow.seen = true
	n.settle(flow)
}

// open takes a SYN. Of a flow that is known another connection may begin with it, or
// the other side ignores it and goes on with the one that there is: nothing is read
// until the other side has answered.
//
// Source: RFC 5961, 4.
func (n *Names) open(flow *namedFlow, t tcpSegment, uplink bool) {
	s := &flow.said
	again := s.fromSYN && !s.begun && !s.final && s.Uplink == uplink && flow.stream.next == t.seq
	doubt := flow.stream.doubt || flow.seen && !again
	n.giveUp(flow)
	*s = Said{Uplink: uplink, Stream: true, Until: t.seq, fromSYN: true}
	flow.stream = stream{next: t.seq, doubt: doubt}
	if len(t.data) <= maxPartialSize {
		flow.stream.early = bytes.Clone(t.data)
	}
}

// opened takes the answer to a SYN. What came with the SYN is read if the other side
// has taken it: else something else may come in its place. Source: RFC 7413, 3.
func (n *Names) opened(flow *namedFlow, t tcpSegment, uplink bool) {
	f, s := &flow.stream, &flow.said
	early := tcpSegment{seq: f.next, data: f.early}
	taken := t.ack - f.next
	if !s.fromSYN || s.final || s.begun || uplink == s.Uplink || taken != 0 && taken != uint32(len(early.data)) {
		return
	}
	f.doubt, f.early = false, nil
	if taken != 0 {
		n.read(flow, early)
	}
}

// end is the end of a connection: what comes behind it has no name.
func (n *Names) end(flow *namedFlow) {
	n.giveUp(flow)
	flow.ended = false
	flow.said = Said{final: true}
}

// settle says whether a packet has to be waited for to know the name of a flow, and
// which one may change it. While it is waited for the flow has no name: not that of
// the request before.
func (n *Names) settle(flow *namedFlow) {
	s := &flow.said
	if !s.Stream {
		return
	}
	if flow.key.UDP {
		n.settleUDP(flow)
		return
	}
	if !flow.stream.settled() {
		s.name, s.Known = flowName{}, false
		if flow.partial == nil {
			n.wait(flow)
		}
		return
	}
	n.waitNoMore(flow)
	s.Until = flow.stream.next
	if r := flow.stream.requests; r != nil {
		s.name, s.Known = r.known()
		s.Until += uint32(min(r.ahead(), maxAhead))
	}
}

// wait makes a flow one whose name is not complete, and room for it.
func (n *Names) wait(flow *namedFlow) {
	own := &flow.session.partial
	full := n.partial.Len() == maxPartial
	switch {
	case own.Len() == maxPartialSession || full && own.Len() >= fairPartial:
		n.lose(own.Front().Value.(*namedFlow))
	case full:
		n.lose(unfair(&n.partial, fairPartial, func(s *namedSession) *list.List { return &s.partial }))
	}
	flow.partial, flow.ownPartial = n.partial.PushBack(flow), own.PushBack(flow)
}

// unfair returns the first of some flows that is of a session that has more of them
// than its share; if there is none, the first of all.
func unfair(flows *list.List, fair int, own func(*namedSession) *list.List) *namedFlow {
	for e := flows.Front(); e != nil; e = e.Next() {
		if flow := e.Value.(*namedFlow); own(flow.session).Len() > fair {
			return flow
		}
	}
	return flows.Front().Value.(*namedFlow)
}

func (n *Names) waitNoMore(flow *namedFlow) {
	if flow.partial != nil {
		n.partial.Remove(flow.partial)
		flow.session.partial.Remove(flow.ownPartial)
		flow.partial, flow.ownPartial = nil, nil
	}
}

// lose gives up a stream: for good, if its first octet is known not to be one of a
// name, or if it had requests, as which of its octets begin one cannot be told. Else
// it may have begun before. A UDP flow is given up for good.
func (n *Names) lose(flow *namedFlow) {
	r := flow.stream.requests
	final := flow.key.UDP || flow.said.fromSYN || r != nil && r.some
	n.giveUp(flow)
	flow.said = Said{final: final}
}

// giveUp forgets what there is of a stream.
func (n *Names) giveUp(flow *namedFlow) {
	n.waitNoMore(flow)
	n.holdNoMore(flow)
	flow.stream, flow.quic = stream{}, nil
}

// tell tells the learner of a flow, if that is not what it was told. While a name
// is not complete, and behind RST, each packet is to be seen here.
func (n *Names) tell(flow *namedFlow, changed bool, nowNs uint64) {
	if n.learner == nil {
		return
	}
	number := n.learner.Learns(flow.key.SEID)
	unsure := flow.partial != nil || flow.ended
	if flow.told != number || unsure {
		n.untell(flow)
	}
	if number == 0 || unsure || flow.told != 0 && !changed && nowNs-flow.toldNs < learntFresh {
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
	flow.said, flow.seen, flow.ended, flow.stream, flow.quic = was.said, was.seen, was.ended, was.stream, was.quic
	n.settle(flow)
	n.tell(flow, true, seenNs)
}
