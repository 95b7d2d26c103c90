package n4

import (
	"errors"
	"log/slog"
	"net/netip"

	"plumbline/pfcp"
	"plumbline/session"
)

// session answers a session request.
func (w *worker) session(src netip.AddrPort, h pfcp.Header, body []byte) {
	switch h.Type {
	case pfcp.MsgSessionEstablishmentRequest:
		w.establish(src, h, body)
	case pfcp.MsgSessionModificationRequest:
		w.modify(src, h, body)
	case pfcp.MsgSessionDeletionRequest:
		w.delete(src, h, body)
	default:
		w.e.counters.drop(DropUnknown)
	}
}

// establish answers a Session Establishment Request. The SEID in its header
// should be 0, and is not looked at: some CP functions put another one there.
// Source: TS 29.244 V18.6.0, 6.3.2 and 7.2.2.4.2.
func (w *worker) establish(src netip.AddrPort, h pfcp.Header, body []byte) {
	m := &w.establishmentRequest
	if err := m.Decode(body); err != nil {
		w.refuse(src, header(h, m.CPFSEID.SEID), err) // 0 if it did not come so far
		return
	}
	a := w.e.peers.node(m.NodeID)
	if a == nil || a.addr != src.Addr() {
		w.refuse(src, header(h, m.CPFSEID.SEID), errNoAssociation)
		return
	}
	if !a.open() {
		w.e.counters.drop(DropBusy)
		return
	}
	defer a.done()
	if err := w.e.sessions.Establish(w.e.run, w.establishment(m, a.owner), &w.result); err != nil {
		w.refuse(src, header(h, m.CPFSEID.SEID), err)
		return
	}
	s := w.result.Session
	a.sessions.Add(1)
	r := &w.establishmentResponse
	r.NodeID, r.Cause = w.e.nodeID, pfcp.CauseRequestAccepted
	r.OffendingIE.Present, r.FailedRuleID.Present = false, false
	r.UPFSEID = pfcp.Some(w.e.fseid(s.SEID))
	r.CreatedPDRs = createdPDRs(r.CreatedPDRs[:0], s, m.CreatePDRs)
	w.reply(h, s.CP.SEID, r, r.Cause)
}

// modify answers a Session Modification Request.
// Source: TS 29.244 V18.6.0, 6.3.3.
func (w *worker) modify(src netip.AddrPort, h pfcp.Header, body []byte) {
	a, seid := w.owner(src, h)
	if a == nil {
		return
	}
	defer a.done()
	m := &w.modificationRequest
	if err := m.Decode(body); err != nil {
		w.refuse(src, header(h, seid), err)
		return
	}
	if err := w.e.sessions.Modify(w.e.run, w.modification(m, h.SEID, a.owner), &w.result); err != nil {
		w.refuse(src, header(h, seid), err)
		return
	}
	s := w.result.Session
	r := &w.modificationResponse
	*r = pfcp.SessionModificationResponse{Cause: pfcp.CauseRequestAccepted, CreatedPDRs: r.CreatedPDRs}
	r.CreatedPDRs = createdPDRs(r.CreatedPDRs[:0], s, m.CreatePDRs)
	w.reply(h, s.CP.SEID, r, r.Cause)
}

// delete answers a Session Deletion Request.
// Source: TS 29.244 V18.6.0, 6.3.4.
func (w *worker) delete(src netip.AddrPort, h pfcp.Header, body []byte) {
	a, seid := w.owner(src, h)
	if a == nil {
		return
	}
	defer a.done()
	if err := w.deletionRequest.Decode(body); err != nil {
		w.refuse(src, header(h, seid), err)
		return
	}
	if err := w.e.sessions.Delete(w.e.run, h.SEID, a.owner, &w.result); err != nil {
		w.refuse(src, header(h, seid), err)
		return
	}
	a.sessions.Add(-1)
	w.deletionResponse = pfcp.SessionDeletionResponse{Cause: pfcp.CauseRequestAccepted}
	w.reply(h, seid, &w.deletionResponse, pfcp.CauseRequestAccepted)
}

// owner finds the association that owns the session of a request, opens it and
// returns the CP function's SEID for the response. If there is none at that
// address, it answers and returns nil: a peer does not learn which SEIDs others
// have.
func (w *worker) owner(src netip.AddrPort, h pfcp.Header) (*association, uint64) {
	if !w.e.peers.knows(src.Addr()) {
		w.refuse(src, header(h, 0), errNoAssociation)
		return nil, 0
	}
	s := w.e.sessions.Get(h.SEID)
	if s == nil {
		w.refuse(src, header(h, 0), errNoSession)
		return nil, 0
	}
	a := w.e.peers.owner(s.Owner)
	if a == nil || a.addr != src.Addr() {
		w.refuse(src, header(h, 0), errNoSession)
		return nil, 0
	}
	if !a.open() {
		w.e.counters.drop(DropBusy)
		return nil, 0
	}
	return a, s.CP.SEID
}

// header returns h with the SEID that a response to it has to have.
func header(h pfcp.Header, seid uint64) pfcp.Header {
	h.SEID = seid
	return h
}

// fseid is the F-SEID of a session of ours.
func (e *Endpoint) fseid(seid uint64) pfcp.FSEID {
	if a := e.addr.Addr(); a.Is4() {
		return pfcp.FSEID{SEID: seid, IPv4: a}
	}
	return pfcp.FSEID{SEID: seid, IPv6: e.addr.Addr()}
}

// createdPDRs appends a Created PDR for each new PDR whose F-TEID we chose.
func createdPDRs(list []pfcp.CreatedPDR, s *session.Session, created []pfcp.CreatePDR) []pfcp.CreatedPDR {
	for i := range created {
		p := s.PDR(created[i].PDRID)
		if p == nil || !p.PDI.Choose.CH {
			continue
		}
		f := p.PDI.FTEID
		c := next(&list)
		c.PDRID, c.UEIPAddresses = p.ID, c.UEIPAddresses[:0]
		c.LocalFTEIDs = append(c.LocalFTEIDs[:0], pfcp.FTEID{V4: true, TEID: f.TEID, IPv4: netip.AddrFrom4(f.IPv4)})
	}
	return list
}

// Errors that have a Cause of their own.
var (
	errNoAssociation = &pfcp.Error{Cause: pfcp.CauseNoEstablishedPFCPAssociation, Err: errors.New("no association with this peer")}
	errNoSession     = &pfcp.Error{Cause: pfcp.CauseSessionContextNotFound, Err: errors.New("no such session of this peer")}
)

// refusal is an error in the terms of a response.
type refusal struct {
	cause       pfcp.Cause
	offendingIE pfcp.Optional[pfcp.IEType]
	failedRule  pfcp.Optional[pfcp.FailedRuleID]
}

// newRefusal says what an error of package pfcp or session means.
func newRefusal(err error) (r refusal) {
	var decode *pfcp.Error
	var rule *session.Error
	switch {
	case errors.As(err, &decode):
		r.cause = decode.Cause
		if decode.OffendingIE != 0 {
			r.offendingIE = pfcp.Some(decode.OffendingIE)
		}
	case errors.As(err, &rule):
		r.cause = pfcp.Cause(rule.Cause)
		if rule.OffendingIE != 0 {
			r.offendingIE = pfcp.Some(pfcp.IEType(rule.OffendingIE))
		}
		if rule.HasRule {
			r.failedRule = pfcp.Some(pfcp.FailedRuleID{Type: pfcp.RuleType(rule.Rule), ID: rule.RuleID})
		}
	default:
		r.cause = pfcp.CauseSystemFailure
	}
	return r
}

// refuse answers a request with what is wrong with it. h is the request's
// header but for the SEID, which is that of the response: the CP function's,
// or 0 if it is not known.
func (w *worker) refuse(src netip.AddrPort, h pfcp.Header, err error) {
	r := newRefusal(err)
	k := kindRefused
	if errors.Is(err, pfcp.ErrLength) || errors.Is(err, pfcp.ErrMissing) || errors.Is(err, pfcp.ErrIncorrect) {
		k = kindMalformed
	}
	w.e.log.event(k, slog.LevelWarn, "n4: request refused", "request", h.Type, "from", src,
		"sequence", h.Sequence, "cause", r.cause, "error", err)
	switch h.Type {
	case pfcp.MsgSessionEstablishmentRequest:
		w.reply(h, h.SEID, &pfcp.SessionEstablishmentResponse{
			NodeID: w.e.nodeID, Cause: r.cause, OffendingIE: r.offendingIE, FailedRuleID: r.failedRule,
		}, r.cause)
	case pfcp.MsgSessionModificationRequest:
		w.reply(h, h.SEID, &pfcp.SessionModificationResponse{
			Cause: r.cause, OffendingIE: r.offendingIE, FailedRuleID: r.failedRule,
		}, r.cause)
	case pfcp.MsgSessionDeletionRequest:
		w.reply(h, h.SEID, &pfcp.SessionDeletionResponse{Cause: r.cause, OffendingIE: r.offendingIE}, r.cause)
	default:
		w.refuseNode(h, r.cause)
	}
}
