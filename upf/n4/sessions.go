package n4

import (
	"errors"
	"log/slog"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
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
	a := w.e.speaker(m.NodeID, src.Addr())
	if a == nil {
		w.refuse(src, header(h, m.CPFSEID.SEID), errNoAssociation)
		return
	}
	if !a.open() {
		w.e.counters.drop(DropBusy)
		return
	}
	defer a.done()
	if err := w.e.mayEstablish(a); err != nil {
		w.refuse(src, header(h, m.CPFSEID.SEID), err)
		return
	}
	r := &w.result
	err := w.e.sessions.Establish(w.e.run, w.establishment(m, a.owner), r)
	a.sessions.Add(-int64(len(r.Replaced)))
	w.e.lost(a, r.Lost)
	if err != nil {
		w.refuse(src, header(h, m.CPFSEID.SEID), err)
		return
	}
	a.sessions.Add(1)
	w.e.log.session("n4: session established", a, r)
	out := &w.establishmentResponse
	*out = pfcp.SessionEstablishmentResponse{
		NodeID: w.e.nodeID, Cause: pfcp.CauseRequestAccepted, UPFSEID: pfcp.Some(w.e.fseid(r.Session.SEID)),
		CreatedPDRs: createdPDRs(out.CreatedPDRs, r.Session, m.CreatePDRs),
		CreatedTEPs: createdTEPs(out.CreatedTEPs, r.Session, m.CreateTEPs, nil),
	}
	w.reply(h, r.Session.CP.SEID, out, out.Cause)
}

// modify answers a Session Modification Request. It may come from another CP
// function of the SMF Set, which takes the session over by giving its Node ID.
// Source: TS 29.244 V18.6.0, 5.22.3 and 6.3.3.
func (w *worker) modify(src netip.AddrPort, h pfcp.Header, body []byte) {
	x, ok := w.access(src, h)
	if !ok {
		return
	}
	m := &w.modificationRequest
	if !w.decodeFor(&x, src, h, body, m, &m.NodeID) {
		return
	}
	defer x.by.done()
	if w.e.storeDown.Load() {
		w.refuse(src, header(h, x.cpSEID), errStore)
		return
	}
	r, newOwner := &w.result, uint32(0)
	if x.by != x.of {
		newOwner = x.by.owner
	}
	if err := w.e.sessions.Modify(w.e.run, w.modification(m, h.SEID, x.of.owner, newOwner), r); err != nil {
		w.refuse(src, header(h, x.cpSEID), err)
		return
	}
	if x.by != x.of {
		x.of.sessions.Add(-1)
		x.by.sessions.Add(1)
	}
	w.e.log.session("n4: session modified", x.by, r)
	out := &w.modificationResponse
	*out = pfcp.SessionModificationResponse{
		Cause:        pfcp.CauseRequestAccepted,
		CreatedPDRs:  createdPDRs(out.CreatedPDRs, r.Session, m.CreatePDRs),
		UpdatedPDRs:  updatedPDRs(out.UpdatedPDRs, r.Session, m.UpdatePDRs),
		CreatedTEPs:  createdTEPs(out.CreatedTEPs, r.Session, m.CreateTEPs, m.UpdateTEPs),
		UsageReports: usageReports(out.UsageReports[:0], r.Reports, x.by.forms.leave()),
	}
	for i := range out.UsageReports {
		out.UsageReports[i].QueryURRReference = m.QueryURRReference
	}
	w.reply(h, r.Session.CP.SEID, out, out.Cause)
}

// delete answers a Session Deletion Request.
// Source: TS 29.244 V18.6.0, 6.3.4.
func (w *worker) delete(src netip.AddrPort, h pfcp.Header, body []byte) {
	x, ok := w.access(src, h)
	if !ok {
		return
	}
	m := &w.deletionRequest
	if !w.decodeFor(&x, src, h, body, m, &m.NodeID) {
		return
	}
	defer x.by.done()
	r := &w.result
	if err := w.e.sessions.Delete(w.e.run, h.SEID, x.of.owner, r); err != nil {
		w.refuse(src, header(h, x.cpSEID), err)
		return
	}
	if !r.Again {
		x.of.sessions.Add(-1)
	}
	w.e.log.session("n4: session deleted", x.by, r)
	out := &w.deletionResponse
	*out = pfcp.SessionDeletionResponse{
		Cause: pfcp.CauseRequestAccepted, UsageReports: usageReports(out.UsageReports[:0], r.Reports, x.by.forms.leave()),
	}
	seid := x.cpSEID
	if m.CPFSEID.Present { // of the CP function that has taken over
		seid = m.CPFSEID.Value.SEID
	}
	w.reply(h, seid, out, out.Cause)
}

// access is the right to a session.
type access struct {
	of     *association // whose the session is
	by     *association // who asks: it, or another of its SMF Set
	cpSEID uint64       // the CP function's SEID, for the response
}

// access finds the association that owns the session of a request. If it is not
// that which asks, but one of its SMF Set may, by is left open. Else it answers,
// before the request is even decoded: a peer does not learn which SEIDs others
// have, and costs no memory.
func (w *worker) access(src netip.AddrPort, h pfcp.Header) (x access, ok bool) {
	at := w.e.peers.at(src.Addr())
	if at == nil && !w.e.listed(src.Addr()) {
		w.refuse(src, header(h, 0), errNoAssociation)
		return x, false
	}
	owner, cpSEID, ok := w.e.sessions.Lookup(h.SEID)
	if ok {
		x = access{of: w.e.peers.owner(owner), cpSEID: cpSEID}
	}
	switch {
	case at == nil && x.of != nil && w.e.listed(x.of.addr): // its Node ID has to say so
		return x, true
	case at == nil:
		w.refuse(src, header(h, 0), errNoAssociation)
		return x, false
	case x.of == nil:
	case at.speaksFor(x.of):
		x.by = x.of
		return x, true
	case x.of.smfSet() != "":
		return x, true
	}
	w.refuse(src, header(h, 0), errNoSession)
	return x, false
}

// decodeFor decodes a request, and opens the association that asks. node is that
// IE of it. If it reports false the request is answered, or is to come again.
func (w *worker) decodeFor(x *access, src netip.AddrPort, h pfcp.Header, body []byte, m pfcp.Message, node *pfcp.Optional[pfcp.NodeID]) bool {
	err := m.Decode(body)
	if x.by == nil && err == nil && node.Present {
		by := w.e.speaker(node.Value, src.Addr())
		if by != nil && (by == x.of || w.e.inSetOf(by, x.of)) {
			x.by = by
		}
	}
	switch {
	case x.by == nil && w.e.peers.at(src.Addr()) == nil:
		w.refuse(src, header(h, 0), errNoAssociation)
		return false
	case x.by == nil:
		w.refuse(src, header(h, 0), errNoSession)
		return false
	case err != nil:
		w.refuse(src, header(h, x.cpSEID), err)
		return false
	case !x.by.open():
		w.e.counters.drop(DropBusy)
		return false
	}
	return true
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
		w.refuseNode(h, r)
	}
}
