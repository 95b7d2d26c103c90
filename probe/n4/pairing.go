package n4

import (
	"errors"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// datagram is one that was seen, or the first fragment of one.
type datagram struct {
	tap      *tap
	ns       uint64
	from, to endpoint
	payload  []byte
	fragment bool
}

// pairing makes transactions of datagrams. One goroutine at a time.
type pairing struct {
	timeoutNs uint64
	table     *table
	roles     *roles
	series    map[seriesKey]*series
	learner   *learner
	done      func(Transaction)
}

// requests are the types of requests; each one's response has the next number.
// Source: TS 29.244 V18.6.0, table 7.3-1.
var requests = []pfcp.MessageType{
	pfcp.MsgHeartbeatRequest, pfcp.MsgPFDManagementRequest,
	pfcp.MsgAssociationSetupRequest, pfcp.MsgAssociationUpdateRequest, pfcp.MsgAssociationReleaseRequest,
	pfcp.MsgNodeReportRequest, pfcp.MsgSessionSetDeletionRequest, pfcp.MsgSessionSetModifyRequest,
	pfcp.MsgSessionEstablishmentRequest, pfcp.MsgSessionModificationRequest, pfcp.MsgSessionDeletionRequest,
	pfcp.MsgSessionReportRequest,
}

// requestOf is the request that a type is, or answers; 0: neither.
var requestOf = func() (table [256]pfcp.MessageType) {
	for _, t := range requests {
		table[t], table[t+1] = t, t
	}
	return table
}()

// take counts a datagram and takes in its messages.
func (p *pairing) take(d *datagram) {
	p.expire(d.ns)
	c := &d.tap.count
	c.Datagrams++
	c.Octets += uint64(len(d.payload))
	if d.fragment {
		c.Fragments++
	}
	malformed := false
	for rest, n := d.payload, 0; len(rest) > 0; n++ {
		if n == 1 {
			c.Bundles++
		}
		h, body, more, err := pfcp.Parse(rest)
		if errors.Is(err, pfcp.ErrShort) {
			malformed = true
			break
		}
		// Otherwise the header is complete, and there may be a response.
		known := p.message(d, h, body)
		malformed = malformed || !known || err != nil && !d.fragment
		rest = more
	}
	if malformed {
		c.Malformed++
	}
}

// message takes in one message, unless its type is none of PFCP. Its body is empty if the
// message is not whole.
func (p *pairing) message(d *datagram, h pfcp.Header, body []byte) (known bool) {
	d.tap.count.Messages++
	switch request := requestOf[h.Type]; {
	case h.Type == pfcp.MsgVersionNotSupportedResponse:
		p.refusal(d, h)
	case request == 0:
		return false
	case request == h.Type:
		p.request(d, h, body)
	default:
		p.response(d, h, body, request)
	}
	return true
}

// key is that of a transaction; the requester comes first.
func (d *datagram) key(h pfcp.Header, requester, responder endpoint, kind pfcp.MessageType) transactionKey {
	return transactionKey{requester, responder, h.Sequence, uint16(d.tap.UPF), kind}
}

// request begins a transaction, or counts one more transmission.
func (p *pairing) request(d *datagram, h pfcp.Header, body []byte) {
	key := d.key(h, d.from, d.to, h.Type)
	content := p.table.content(h, body)
	if e := p.table.find(key); e != nil {
		if e.content == content {
			e.retransmissions++
			e.series.Retransmissions++
			return
		}
		p.giveUp(e) // its number means something else now
	}
	s := p.seriesOf(d, h, p.roles.of(d, h, body))
	s.Requests++
	s.Outstanding++
	e, evicted := p.table.add(key)
	if evicted != nil {
		evicted.series.Evicted++
		evicted.series.Outstanding--
		p.learner.release(evicted.body)
	}
	e.series, e.requestNs, e.content, e.seid = s, d.ns, content, h.SEID
	e.body = p.learner.hold(h.Type, body)
}

// response ends a transaction.
func (p *pairing) response(d *datagram, h pfcp.Header, body []byte, kind pfcp.MessageType) {
	e := p.table.find(d.key(h, d.to, d.from, kind))
	switch {
	case e == nil:
		d.tap.count.Orphans++
	case e.answerNs != 0:
		e.series.Repeated++
	default:
		p.answer(d, e, body)
	}
}

// refusal ends the transaction of a Version Not Supported Response, which says nothing of
// the type that it answers. Source: TS 29.244 V18.6.0, 7.4.5.1.
func (p *pairing) refusal(d *datagram, h pfcp.Header) {
	for _, kind := range requests {
		if e := p.table.find(d.key(h, d.to, d.from, kind)); e != nil {
			p.response(d, h, nil, kind)
			return
		}
	}
	d.tap.count.Orphans++
}

// answer ends a transaction with its response.
func (p *pairing) answer(d *datagram, e *entry, body []byte) {
	s := e.series
	s.Outstanding--
	s.Answered++
	delay := uint64(0)
	if d.ns > e.requestNs {
		delay = d.ns - e.requestNs
	}
	s.record(delay)
	cause := causeOf(body)
	if cause != 0 {
		s.causes[cause]++
		if !cause.Accepted() {
			s.Rejected++
		}
	}
	if cause.Accepted() {
		p.learner.accepted(e, body)
	}
	p.learner.release(e.body)
	p.tell(e, d.ns, cause)
	p.table.answered(e, d.ns)
}

// giveUp ends a transaction that waits, and forgets one that does not.
func (p *pairing) giveUp(e *entry) {
	if e.answerNs == 0 {
		e.series.Outstanding--
		e.series.Unanswered++
		p.learner.release(e.body)
		p.tell(e, 0, 0)
	}
	p.table.remove(e)
}

// expire ends requests that have waited too long, and forgets transactions answered as long ago.
func (p *pairing) expire(ns uint64) {
	if ns < p.timeoutNs {
		return
	}
	since := ns - p.timeoutNs
	for _, l := range []*fifo{&p.table.waiting, &p.table.done} {
		for e := p.table.oldest(l, since); e != nil; e = p.table.oldest(l, since) {
			p.giveUp(e)
		}
	}
}

// tell tells of a transaction that has ended.
func (p *pairing) tell(e *entry, ns uint64, cause pfcp.Cause) {
	if p.done == nil {
		return
	}
	p.done(Transaction{
		UPF: int(e.key.upf), Role: e.series.role, Type: e.key.kind,
		Requester: e.key.requester.addrPort(), Responder: e.key.responder.addrPort(),
		Sequence: e.key.sequence, SEID: e.seid,
		RequestNs: e.requestNs, ResponseNs: ns, Cause: cause, Retransmissions: e.retransmissions,
	})
}
