package n4

import (
	"bytes"
	"iter"
	"net/netip"
	"slices"
	"unique"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
)

// Bounds of what is kept of sessions.
const (
	maxHeld       = 16 << 20 // octets of requests that wait for their response
	maxRules      = 512      // PDRs and Traffic Endpoints of a session, QERs as well
	maxKeysOfRule = 64
	keysOfSession = 4 // keys per session for which there is room in total

	// Rule memory per session for which there is room in total; see rule.size.
	keptOfSession = 32
)

// learner keeps sessions as accepted messages show them, and tells which keys they have.
type learner struct {
	names     *slicemap.Map
	upf       func(upf int) string
	learn     func(upf int, k probe.Key, s probe.Slice) error
	forget    func(upf int, k probe.Key) error
	bound     int // of sessions
	sessions  map[sessionKey]*session
	count     int // of sessions
	byPeers   map[association]map[*session]struct{}
	owners    map[ownerKey]*session // last session that learned a key
	held      int                   // octets
	kept      int                   // of all sessions
	accept    uint64
	undecoded uint64
	full      uint64
	refused   uint64

	// Decoded into again and again.
	establish   pfcp.SessionEstablishmentRequest
	established pfcp.SessionEstablishmentResponse
	modify      pfcp.SessionModificationRequest
	modified    pfcp.SessionModificationResponse
	deleteSets  pfcp.SessionSetDeletionRequest
	deletedSets pfcp.SessionSetDeletionResponse
	asked       []byte // IEs that matter
	answered    []byte
}

// ownerKey is a key of one UPF.
type ownerKey struct {
	upf int
	key probe.Key
}

// hold keeps the body of a request that is learnt from when it is accepted. Nil: it is
// not.
func (l *learner) hold(kind pfcp.MessageType, body []byte) []byte {
	switch kind {
	case pfcp.MsgSessionEstablishmentRequest, pfcp.MsgSessionModificationRequest, pfcp.MsgSessionSetDeletionRequest,
		pfcp.MsgAssociationSetupRequest:
	default:
		return nil
	}
	if l.held+len(body) > maxHeld {
		l.full++
		return nil
	}
	l.held += len(body)
	return bytes.Clone(body)
}

// release lets go of a body.
func (l *learner) release(body []byte) { l.held -= len(body) }

// accepted takes in a request that was accepted by the response.
func (l *learner) accepted(e *entry, response []byte) {
	switch e.key.kind {
	case pfcp.MsgSessionEstablishmentRequest:
		l.onEstablishment(e, response)
	case pfcp.MsgSessionModificationRequest:
		l.onModification(e, response)
	case pfcp.MsgSessionDeletionRequest:
		if s := l.sessions[e.session()]; s != nil {
			l.accept++
			l.end(s)
		}
	case pfcp.MsgSessionSetDeletionRequest:
		l.onSetDeletion(e, response)
	case pfcp.MsgAssociationSetupRequest, pfcp.MsgAssociationReleaseRequest:
		l.onAssociation(e)
	}
}

// session is the key of the session that a request's header names.
func (e *entry) session() sessionKey {
	return sessionKey{int(e.key.upf), e.key.responder.addr, e.seid}
}

// onEstablishment begins a session.
func (l *learner) onEstablishment(e *entry, response []byte) {
	if e.body == nil {
		return // counted when it was not held
	}
	request, answer := &l.establish, &l.established
	if !l.decode(request, answer, e.body, response) || !answer.UPFSEID.Present {
		l.undecoded++
		return
	}
	s := l.begin(e, answer.UPFSEID.Value)
	if s == nil {
		return
	}
	l.accept++
	s.snssai = request.SNSSAI
	s.dnn = nameOf(request.APNDNN)
	s.join(request.FQCSIDs)
	s.join(answer.FQCSIDs)
	s.create(request.CreatePDRs, request.CreateTEPs, request.CreateQERs)
	s.chosen(answer.CreatedPDRs, answer.CreatedTEPs)
	l.settle(s)
}

// onModification changes a session. A session established before the probe started is known only by
// its modifications.
func (l *learner) onModification(e *entry, response []byte) {
	if e.body == nil {
		return
	}
	request, answer := &l.modify, &l.modified
	if !l.decode(request, answer, e.body, response) {
		l.undecoded++
		return
	}
	s := l.sessions[e.session()]
	if s == nil {
		if s = l.begin(e, pfcp.FSEID{SEID: e.seid}); s == nil {
			return
		}
	}
	l.accept++
	s.modify(request)
	s.rejoin(request.FQCSIDs)
	s.chosen(answer.CreatedPDRs, answer.CreatedTEPs)
	s.chosen(answer.UpdatedPDRs, nil)
	l.settle(s)
}

// onAssociation ends all sessions of an association: it was released, or set up again without a
// request to retain them. Source: TS 29.244 V18.6.0, 6.2.6.2.2.
func (l *learner) onAssociation(e *entry) {
	if e.key.kind == pfcp.MsgAssociationSetupRequest && e.body == nil {
		return // counted when it was not held; it may ask to retain them
	}
	if find(e.body, pfcp.IEPFCPSessionRetentionInformation) != nil {
		return
	}
	for s := range l.between(e) {
		l.end(s)
	}
}

// between are the sessions that the two functions of a transaction have with each other.
// They may be ended meanwhile.
func (l *learner) between(e *entry) iter.Seq[*session] {
	upf, a, b := int(e.key.upf), e.key.requester.addr, e.key.responder.addr
	return func(yield func(*session) bool) {
		for _, peers := range []association{{upf, a, b}, {upf, b, a}} {
			for s := range l.byPeers[peers] {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// begin makes a session, in place of one that had its SEID before. Nil: there is no room.
func (l *learner) begin(e *entry, f pfcp.FSEID) *session {
	s := &session{upf: int(e.key.upf), peers: association{int(e.key.upf), e.key.requester.addr, e.key.responder.addr}}
	s.at = append(s.at, sessionKey{s.upf, e.key.responder.addr, f.SEID})
	for _, addr := range []netip.Addr{f.IPv4, f.IPv6} {
		key := sessionKey{s.upf, addr16(addr), f.SEID}
		if addr.IsValid() && !addr.IsUnspecified() && !slices.Contains(s.at, key) {
			s.at = append(s.at, key)
		}
	}
	for _, key := range s.at {
		if old := l.sessions[key]; old != nil {
			l.end(old)
		}
	}
	if l.count >= l.bound {
		l.full++
		return nil
	}
	l.count++
	for _, key := range s.at {
		l.sessions[key] = s
	}
	if l.byPeers[s.peers] == nil {
		l.byPeers[s.peers] = map[*session]struct{}{}
	}
	l.byPeers[s.peers][s] = struct{}{}
	return s
}

// end forgets a session and its keys.
func (l *learner) end(s *session) {
	for _, k := range s.learnt {
		l.forgetKey(s, k.key)
	}
	for _, key := range s.at {
		delete(l.sessions, key)
	}
	l.count--
	l.kept -= s.kept
	delete(l.byPeers[s.peers], s)
	if len(l.byPeers[s.peers]) == 0 {
		delete(l.byPeers, s.peers)
	}
}

// leave ends the sessions of a UPF at other addresses than those.
func (l *learner) leave(upf int, n4 []endpointAddr) {
	for peers, sessions := range l.byPeers {
		if peers.upf != upf || slices.Contains(n4, peers.cp) || slices.Contains(n4, peers.up) {
			continue
		}
		for s := range sessions {
			l.end(s)
		}
	}
}

// settle learns the keys that a session has come to have, or that have another slice now,
// and forgets those that it has no more.
func (l *learner) settle(s *session) {
	l.trim(s)
	want := s.keys()
	kept := s.learnt[:0]
	for _, old := range s.learnt {
		qfis, ok := want[old.key]
		if !ok || l.owners[ownerKey{s.upf, old.key}] != s {
			l.forgetKey(s, old.key)
			continue
		}
		delete(want, old.key)
		slice := unique.Make(l.names.Slice(l.upf(s.upf), s.about(qfis)))
		if slice != old.slice {
			l.tell(s.upf, old.key, slice.Value())
		}
		kept = append(kept, learntKey{old.key, slice})
	}
	s.learnt = kept
	for k, qfis := range want {
		l.learnKey(s, k, qfis)
	}
}

// trim drops what is beyond the bounds of one session, and of all together.
func (l *learner) trim(s *session) {
	if len(s.rules) > maxRules || len(s.qfis) > maxRules {
		l.full++
		s.rules = slices.Clone(s.rules[:min(len(s.rules), maxRules)])
		s.qfis = slices.Clone(s.qfis[:min(len(s.qfis), maxRules)])
	}
	for i := range s.rules {
		if r := &s.rules[i]; len(r.keys) > maxKeysOfRule {
			l.full++
			r.keys = slices.Clone(r.keys[:maxKeysOfRule])
		}
	}
	l.kept -= s.kept
	room := keptOfSession*l.bound - l.kept
	if s.kept = len(s.qfis) / qfisOfUnit; s.kept > room {
		l.full++
		s.qfis, s.kept = nil, 0
	}
	if size := len(s.sets) / setsOfUnit; s.kept+size > room {
		l.full++
		s.sets = nil
	} else {
		s.kept += size
	}
	for i := range s.rules {
		size := s.rules[i].size()
		if s.kept+size > room {
			l.full += uint64(len(s.rules) - i)
			s.rules = slices.Clone(s.rules[:i])
			break
		}
		s.kept += size
	}
	l.kept += s.kept
}

// learnKey learns a key of a session. What the file says of packets comes before it.
func (l *learner) learnKey(s *session, k probe.Key, qfis pfcp.QFISet) {
	name := l.upf(s.upf)
	if l.names.Has(name, k) {
		return
	}
	owner := ownerKey{s.upf, k}
	if l.owners[owner] == nil && len(l.owners) >= keysOfSession*l.bound {
		l.full++
		return
	}
	l.owners[owner] = s
	slice := unique.Make(l.names.Slice(name, s.about(qfis)))
	s.learnt = append(s.learnt, learntKey{k, slice})
	l.tell(s.upf, k, slice.Value())
}

func (l *learner) tell(upf int, k probe.Key, s probe.Slice) {
	if l.learn != nil && l.learn(upf, k, s) != nil {
		l.refused++
	}
}

// forgetKey forgets a key, unless another session has it now: a UP function may give a
// TEID or an address away before its answer that it is free has passed.
func (l *learner) forgetKey(s *session, k probe.Key) {
	owner := ownerKey{s.upf, k}
	if l.owners[owner] != s {
		return
	}
	delete(l.owners, owner)
	if l.forget != nil && l.forget(s.upf, k) != nil {
		l.refused++
	}
}

// snapshot is how much is known.
func (l *learner) snapshot() Learnt {
	return Learnt{
		Sessions: uint64(l.count), Keys: uint64(len(l.owners)),
		Accepted: l.accept, Undecoded: l.undecoded, Full: l.full, Refused: l.refused,
	}
}
