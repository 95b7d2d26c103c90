package stages

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// sight is what can be said of whether a receiver takes a datagram.
type sight int

const (
	sightNone  sight = iota // it drops it
	sightDoubt              // some do
	sightWhole
)

// lookUDP is look of a packet with UDP. A flow is in the table from the first Initial
// packet of QUIC on; of others nothing is learnt.
func (n *Names) lookUDP(key NamedFlow, u user, p upper, uplink bool, nowNs uint64) (flowName, bool) {
	if len(p.payload) < inet.LenUDP {
		return flowName{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	flow := n.find(key, nowNs)
	datagram, seen := []byte(nil), sightNone
	if isLong(p.payload[inet.LenUDP:]) && (flow == nil || flow.said.heedsLong(uplink)) {
		datagram, seen = u.datagram(p)
	}
	if flow == nil {
		if seen == sightNone || seen == sightWhole && !hasInitial(datagram) {
			return flowName{}, false
		}
		flow = n.add(key, nowNs)
	}
	n.touch(flow, nowNs)
	before := flow.said
	switch {
	case seen == sightDoubt:
		n.lose(flow)
	case seen == sightWhole:
		n.learnLong(flow, datagram, uplink)
	}
	n.tell(flow, flow.said != before, nowNs)
	return flow.said.name, flow.said.Known
}

// datagram returns the payload of a UDP packet. Clients send no Initial in fragments,
// nor with IP options, extension headers, or octets behind the length in its header:
// who does may do so that one receiver takes it, and another does not.
//
// Source: RFC 9000, 14; RFC 768; RFC 8200, 8.1.
func (u user) datagram(p upper) ([]byte, sight) {
	if !p.plain {
		return nil, sightDoubt
	}
	length := int(binary.BigEndian.Uint16(p.payload[4:]))
	none := binary.BigEndian.Uint16(p.payload[6:]) == 0
	switch {
	case length < inet.LenUDP, length > len(p.payload), !u.isIPv6() && !u.sumRight(), u.isIPv6() && none:
		return nil, sightNone
	case length < len(p.payload):
		return nil, sightDoubt
	case !none && !u.upperSumRight(inet.ProtoUDP, len(u)-len(p.payload)):
		return nil, sightNone
	}
	return p.payload[inet.LenUDP:], sightWhole
}

// heedsLong reports whether a datagram with a long header may change what is known.
// The other side's tell nothing once it is known which one is the client's.
func (s Said) heedsLong(uplink bool) bool {
	return s.Shows() || s.Stream && s.Uplink == uplink
}

// learnLong takes from a datagram what it says of the name of its flow. All Initials
// of its client that are seen have to say the same: else which of them the server
// reads is not known, or there are several connections, and the flow has no name as
// long as it lasts. Each filter that asks for a name comes here with it.
func (n *Names) learnLong(flow *namedFlow, datagram []byte, uplink bool) {
	q := flow.quic
	if q == nil {
		q = &quicHello{}
		flow.quic = q
	}
	mark := maphash.Bytes(n.seed, datagram)
	if q.mark == mark {
		return
	}
	q.mark = mark
	if !q.read(datagram) {
		n.lose(flow)
		return
	}
	if len(q.ids) > 0 {
		flow.said.Stream, flow.said.Uplink = true, uplink
	}
	n.settle(flow)
}

// settleUDP is settle of a UDP flow.
func (n *Names) settleUDP(flow *namedFlow) {
	s, q := &flow.said, flow.quic
	if q.unsettled() {
		s.name, s.Known = flowName{}, false
		n.holdNoMore(flow)
		if flow.partial == nil {
			n.wait(flow)
		}
		return
	}
	n.waitNoMore(flow)
	s.name, s.Known = q.name, q.named
	if flow.held == nil && q.keys != nil {
		n.hold(flow)
	}
}

// hold keeps the ClientHello of a flow, to compare what comes with it, and makes room.
func (n *Names) hold(flow *namedFlow) {
	own := &flow.session.held
	full := n.held.Len() == maxHeldQUIC
	switch {
	case own.Len() == maxHeldQUICSession || full && own.Len() >= fairHeldQUIC:
		n.seal(own.Front().Value.(*namedFlow))
	case full:
		n.seal(unfair(&n.held, fairHeldQUIC, func(s *namedSession) *list.List { return &s.held }))
	}
	flow.held, flow.ownHeld = n.held.PushBack(flow), own.PushBack(flow)
}

// seal gives up the ClientHello of a flow. The flow keeps its name until more of one
// comes: then that has to say it from its first octet on.
func (n *Names) seal(flow *namedFlow) {
	n.holdNoMore(flow)
	flow.quic.forget()
	flow.quic.keys = nil
}

func (n *Names) holdNoMore(flow *namedFlow) {
	if flow.held != nil {
		n.held.Remove(flow.held)
		flow.session.held.Remove(flow.ownHeld)
		flow.held, flow.ownHeld = nil, nil
	}
}

// Teach tells the learner at once what is known of the UDP flows of a session, which
// is learnt under another number now: of those that it does not know it would say that
// they have no name. What it was told before holds until forget is called.
func (n *Names) Teach(seid uint64) (forget func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	own := n.own[seid]
	if own == nil || n.learner == nil {
		return func() {}
	}
	number := n.learner.Learns(seid)
	var flows []*namedFlow
	for e := own.all.Back(); e != nil; e = e.Prev() {
		if flow := e.Value.(*namedFlow); flow.key.UDP && flow.told != number {
			flows = append(flows, flow)
		}
	}
	type told struct {
		number uint64
		key    NamedFlow
	}
	var before []told
	for _, flow := range flows {
		n.used(flow) // else it would seem to be as old as it was seen here
		if flow.told != 0 {
			before = append(before, told{flow.told, flow.key})
		}
		flow.told = 0
		if number != 0 && flow.partial == nil && n.learner.Learn(number, flow.key, flow.said, flow.seenNs) {
			flow.told, flow.toldNs = number, flow.seenNs
		}
	}
	return func() {
		for _, t := range before {
			n.learner.Forget(t.number, t.key)
		}
	}
}
