package model

import "encoding/binary"

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
	Uplink bool // the side that has said it
}

// Match reports whether a filter with this host and path means the flow.
func (s Said) Match(host, path string) bool { return s.Known && s.name.match(host, path) }

// Shows says which packets of a flow may change what is known of it, beside those
// with SYN or RST: all that may be the beginning of a ClientHello, or of a request
// in one of the directions.
func (s Said) Shows() (hello, uplinkRequest, downlinkRequest bool) {
	switch {
	case !s.Known:
		return true, true, true
	case s.name.path == "": // the name of a TLS connection does not change
		return false, false, false
	}
	return false, s.Uplink, !s.Uplink
}

// tcpSegment is what matters of one here.
type tcpSegment struct {
	flags byte
	seq   uint32 // of the first octet of data
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
	t = tcpSegment{p.payload[13], binary.BigEndian.Uint32(p.payload[4:]), p.payload[header:]}
	if t.flags&tcpSYN != 0 {
		t.seq++
	}
	return t, true
}

// learn takes from a segment what it says of the name of its flow. Another
// request of the same connection may be to another host, or path.
func (n *Names) learn(flow *namedFlow, t tcpSegment, uplink bool) {
	switch {
	case len(t.data) == 0:
	case flow.said.Known:
		if flow.said.name.path == "" || uplink != flow.said.Uplink || !isRequest(t.data) {
			return
		}
		if name, v := requestName(t.data); v == nameFound {
			flow.said.name = name
		}
	case flow.partial == nil && showsName(t.data):
		n.begin(flow, t.seq, uplink)
		n.extend(flow, t)
	case flow.partial != nil && uplink == flow.said.Uplink:
		n.extend(flow, t)
	}
}

// begin says that a name begins at a sequence number.
func (n *Names) begin(flow *namedFlow, seq uint32, uplink bool) {
	if n.partial.Len() == maxPartial {
		n.giveUp(n.partial.Front().Value.(*namedFlow))
	}
	flow.said.Uplink, flow.next = uplink, seq
	flow.partial = n.partial.PushBack(flow)
}

// extend adds to a name that is not complete.
func (n *Names) extend(flow *namedFlow, t tcpSegment) {
	if gap := int32(t.seq - flow.next); gap > 0 {
		if gap > maxGap { // what is missing does not come
			n.giveUp(flow)
		}
		return
	}
	had := flow.next - t.seq // octets that have come before
	if had >= uint32(len(t.data)) {
		return
	}
	data := t.data[had:]
	flow.part = append(flow.part, data[:min(len(data), maxPartialSize-len(flow.part))]...)
	flow.next += uint32(len(data))
	name, v := readName(flow.part)
	switch {
	case v == nameFound:
		n.giveUp(flow)
		flow.said.name, flow.said.Known = name, true
	case v == nameNone || len(flow.part) == maxPartialSize:
		n.giveUp(flow)
	}
}

// giveUp forgets what there is of a name that is not complete.
func (n *Names) giveUp(flow *namedFlow) {
	if flow.partial != nil {
		n.partial.Remove(flow.partial)
		flow.part, flow.partial = nil, nil
	}
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
	flow.said = was.said
	if was.partial != nil {
		n.begin(flow, was.next, was.said.Uplink)
		flow.part = was.part
	}
	n.tell(flow, true, seenNs)
}
