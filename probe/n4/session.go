package n4

import (
	"slices"
	"unique"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
)

// session is a PFCP session as far as N4 has shown it.
type session struct {
	upf    int
	at     []sessionKey // one for each address of the UP function
	peers  association
	snssai pfcp.Optional[pfcp.SNSSAI]
	dnn    string // of the session; empty: see network
	rules  []rule
	qfis   []qerQFI
	sets   []set
	learnt []learntKey
	kept   int // what rules, QFIs and sets take of the room of all
}

// sessionKey is where a UP function has a session: at the address where it was
// established, and at those of the UP F-SEID.
type sessionKey struct {
	upf  int
	addr endpointAddr
	seid uint64 // of the UP function
}

// association is two functions that have sessions with each other.
type association struct {
	upf    int
	cp, up endpointAddr
}

type qerQFI struct {
	id  uint32
	qfi pfcp.QFI
}

type learntKey struct {
	key   probe.Key
	slice unique.Handle[probe.Slice]
}

// put replaces a rule, or adds it.
func (s *session) put(r rule) {
	if old := s.rule(r.id); old != nil {
		*old = r
		return
	}
	s.rules = append(s.rules, r)
}

// rule returns the rule of an ID, or nil.
func (s *session) rule(id ruleID) *rule {
	for i := range s.rules {
		if s.rules[i].id == id {
			return &s.rules[i]
		}
	}
	return nil
}

// grow returns the rule of an ID, an empty one if there is none.
func (s *session) grow(id ruleID) *rule {
	if r := s.rule(id); r != nil {
		return r
	}
	s.rules = append(s.rules, rule{id: id})
	return &s.rules[len(s.rules)-1]
}

func (s *session) drop(endpoint bool, id uint16) {
	s.rules = slices.DeleteFunc(s.rules, func(r rule) bool { return r.id == ruleID{endpoint, id} })
}

// setQFI keeps the QFI of a QER.
func (s *session) setQFI(id uint32, qfi pfcp.Optional[pfcp.QFI]) {
	if !qfi.Present {
		return
	}
	s.dropQER(id)
	s.qfis = append(s.qfis, qerQFI{id, qfi.Value})
}

func (s *session) dropQER(id uint32) {
	s.qfis = slices.DeleteFunc(s.qfis, func(q qerQFI) bool { return q.id == id })
}

// network is the DNN if the session has said none: the Network Instance of a rule towards
// N6, or else of any.
func (s *session) network() string {
	any := ""
	for _, r := range s.rules {
		if r.network != "" && r.core {
			return r.network
		}
		if any == "" {
			any = r.network
		}
	}
	return any
}

// qfisOf is the QFIs that packets of a rule have.
func (s *session) qfisOf(r *rule) pfcp.QFISet {
	set := r.qfis
	for _, q := range s.qfis {
		if slices.Contains(r.qers, q.id) {
			set |= pfcp.NewQFISet(q.qfi)
		}
	}
	return set
}

// keys is all keys of the session, each with the QFIs of its packets.
func (s *session) keys() map[probe.Key]pfcp.QFISet {
	all := make(map[probe.Key]pfcp.QFISet, 4)
	for i := range s.rules {
		qfis := s.qfisOf(&s.rules[i])
		for _, k := range s.rules[i].keys {
			all[k] |= qfis
		}
	}
	return all
}

// about is the lookup key of the slice map.
func (s *session) about(qfis pfcp.QFISet) slicemap.Session {
	about := slicemap.Session{DNN: s.dnn, QFIs: uint64(qfis), SD: slicemap.NoSD}
	if about.DNN == "" {
		about.DNN = s.network()
	}
	if s.snssai.Present {
		about.HasSNSSAI, about.SST, about.SD = true, s.snssai.Value.SST, s.snssai.Value.SD
	}
	return about
}

// create takes the rules that a request makes.
func (s *session) create(pdrs []pfcp.CreatePDR, teps []pfcp.TrafficEndpoint, qers []pfcp.CreateQER) {
	for i := range pdrs {
		s.put(createRule(&pdrs[i]))
	}
	for i := range teps {
		s.put(endpointRule(&teps[i]))
	}
	for i := range qers {
		s.setQFI(qers[i].QERID, qers[i].QFI)
	}
}

// chosen takes what the UP function chose.
func (s *session) chosen(pdrs []pfcp.CreatedPDR, teps []pfcp.CreatedTrafficEndpoint) {
	for i := range pdrs {
		s.grow(ruleID{id: pdrs[i].PDRID}).chosen(pdrs[i].LocalFTEIDs, pdrs[i].UEIPAddresses)
	}
	for i := range teps {
		s.grow(ruleID{endpoint: true, id: uint16(teps[i].TrafficEndpointID)}).chosen(teps[i].LocalFTEIDs, teps[i].UEIPAddresses)
	}
}

// modify takes what a Session Modification Request changes.
func (s *session) modify(m *pfcp.SessionModificationRequest) {
	for _, id := range m.RemovePDRs {
		s.drop(false, id)
	}
	for _, id := range m.RemoveTEPs {
		s.drop(true, uint16(id))
	}
	for _, id := range m.RemoveQERs {
		s.dropQER(id)
	}
	s.create(m.CreatePDRs, m.CreateTEPs, m.CreateQERs)
	for i := range m.UpdatePDRs {
		s.update(&m.UpdatePDRs[i])
	}
	for i := range m.UpdateTEPs {
		s.grow(ruleID{endpoint: true, id: uint16(m.UpdateTEPs[i].TrafficEndpointID)}).endpoint(&m.UpdateTEPs[i])
	}
	for i := range m.UpdateQERs {
		s.setQFI(m.UpdateQERs[i].QERID, m.UpdateQERs[i].QFI)
	}
	if m.SNSSAI.Present {
		s.snssai = m.SNSSAI
	}
}

// update takes an Update PDR. A PDI replaces the whole one; where it asks again for a
// choice, the F-TEID that was chosen stays until the response says another.
func (s *session) update(p *pfcp.UpdatePDR) {
	r := s.grow(ruleID{id: p.PDRID})
	if len(p.QERIDs) > 0 {
		r.qers = slices.Clone(p.QERIDs)
	}
	if !p.PDI.Present {
		return
	}
	before := r.keys
	r.keys = nil
	if f := p.PDI.Value.FTEID; f.Present && f.Value.CH {
		r.keys = slices.DeleteFunc(before, func(k probe.Key) bool { return k.TEID == 0 })
	}
	r.detect(&p.PDI.Value)
}
