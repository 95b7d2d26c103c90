package n4

import (
	"unique"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// converter turns decoded requests into those of package session. What it
// returns is valid until it converts the next one, and shares memory with the
// decoded request.
//
// What the model has no field for it lists as unsupported, so that the request
// is refused. It passes over what changes nothing for packets: the S/D flag of a UE
// IP Address (the Source Interface says the same), and Averaging Window (who keeps to
// a rate within a short time does so within a long one).
type converter struct {
	names       map[string]string // Network Instances and DNNs by their octets
	texts       map[string]string // other names
	est         session.Establishment
	mod         session.Modification
	unsupported []session.Unsupported
	result      session.Result
}

// maxNames bounds the memory of names; then they are forgotten.
const maxNames = 1024

// name returns the text of a Network Instance or DNN, the same string for the
// same octets.
func (c *converter) name(n pfcp.Name) string {
	return known(&c.names, n, func() string { return n.String() })
}

// text returns octets as they are, the same string for the same octets.
func (c *converter) text(b []byte) string {
	return known(&c.texts, b, func() string { return string(b) })
}

// known returns what was made of b before, or makes it.
func known(m *map[string]string, b []byte, makeText func() string) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := (*m)[string(b)]; ok { // without allocation
		return s
	}
	if *m == nil || len(*m) >= maxNames {
		*m = make(map[string]string)
	}
	s := unique.Make(makeText()).Value() // one for all converters
	(*m)[string(b)] = s
	return s
}

// refuseRule lists an IE of a rule as unsupported, if it is one.
func (c *converter) refuseRule(t session.RuleType, id uint32, ie pfcp.IEType) {
	c.refuseRuleFor(t, id, ie, nil)
}

// refuseRuleFor says why, too.
func (c *converter) refuseRuleFor(t session.RuleType, id uint32, ie pfcp.IEType, err error) {
	if ie != 0 {
		c.unsupported = append(c.unsupported, session.Unsupported{
			HasRule: true, Rule: t, RuleID: id, IE: uint16(ie), What: ie.String(), Err: err,
		})
	}
}

// refuse lists an IE of the request itself as unsupported, if it is one.
func (c *converter) refuse(ie pfcp.IEType) { c.refuseFor(ie, nil) }

// refuseFor says why, too.
func (c *converter) refuseFor(ie pfcp.IEType, err error) {
	if ie != 0 {
		c.unsupported = append(c.unsupported, session.Unsupported{IE: uint16(ie), What: ie.String(), Err: err})
	}
}

// refuseRules lists rules of a kind that the model does not have.
func refuseRules[N ~uint8 | ~uint16 | ~uint32](c *converter, t session.RuleType, ie pfcp.IEType, ids []N) {
	for _, id := range ids {
		c.refuseRule(t, uint32(id), ie)
	}
}

// ruleMAR is the Rule ID Type of a MAR. Source: TS 29.244 V18.6.0, 8.2.80.
const ruleMAR = session.RuleType(pfcp.RuleMAR)

// next lengthens a list by one element with what it had from earlier use.
func next[T any](list *[]T) *T {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, *new(T))
	}
	return &(*list)[len(*list)-1]
}

// each converts the elements of from, one by one, into the memory of to.
func each[F, T any](to []T, from []F, convert func(*T, *F)) []T {
	to = to[:0]
	for i := range from {
		convert(next(&to), &from[i])
	}
	return to
}

// optional is an optional IE as package session has it.
func optional[T any](o pfcp.Optional[T]) session.Optional[T] { return session.Optional[T](o) }

// establishment converts a Session Establishment Request.
func (c *converter) establishment(m *pfcp.SessionEstablishmentRequest, owner uint32) *session.Establishment {
	c.unsupported = c.unsupported[:0]
	e := &c.est
	*e = session.Establishment{
		Owner: owner, CP: fseid(&m.CPFSEID), PDNType: session.PDNType(m.PDNType.Value),
		SNSSAI: c.snssai(m.SNSSAI), DNN: c.name(m.APNDNN), InactivityTimer: m.InactivityTimerS.Value,
		CSIDs:           e.CSIDs[:0],
		CreatePDRs:      each(e.CreatePDRs, m.CreatePDRs, c.createPDR),
		CreateFARs:      each(e.CreateFARs, m.CreateFARs, c.createFAR),
		CreateQERs:      each(e.CreateQERs, m.CreateQERs, c.createQER),
		CreateURRs:      each(e.CreateURRs, m.CreateURRs, c.createURR),
		CreateBARs:      each(e.CreateBARs, m.CreateBARs, c.createBAR),
		CreateEndpoints: each(e.CreateEndpoints, m.CreateTEPs, c.createEndpoint),
	}
	for i := range m.FQCSIDs {
		e.CSIDs = appendFQCSIDs(e.CSIDs, &m.FQCSIDs[i])
	}
	refuseRules(c, ruleMAR, pfcp.IECreateMAR, m.CreateMARs)
	if m.SEReqFlags&(pfcp.SEReqSUMPC|pfcp.SEReqHRSBOM) != 0 {
		c.refuse(pfcp.IEPFCPSEReqFlags)
	}
	c.refuse(m.Noted)
	e.Unsupported = c.unsupported
	return e
}

// modification converts a Session Modification Request.
func (c *converter) modification(m *pfcp.SessionModificationRequest, seid uint64, owner, newOwner uint32) *session.Modification {
	c.unsupported = c.unsupported[:0]
	o := &c.mod
	*o = session.Modification{
		SEID: seid, Owner: owner, NewOwner: newOwner,
		InactivityTimer: optional(m.InactivityTimerS), SNSSAI: c.snssai(m.SNSSAI), CSIDs: o.CSIDs[:0],
		RemovePDRs: m.RemovePDRs, RemoveFARs: m.RemoveFARs, RemoveQERs: m.RemoveQERs,
		RemoveURRs: m.RemoveURRs, RemoveBARs: m.RemoveBARs, RemoveEndpoints: m.RemoveTEPs,
		UpdatePDRs:      each(o.UpdatePDRs, m.UpdatePDRs, c.updatePDR),
		UpdateFARs:      each(o.UpdateFARs, m.UpdateFARs, c.updateFAR),
		UpdateQERs:      each(o.UpdateQERs, m.UpdateQERs, c.updateQER),
		UpdateURRs:      each(o.UpdateURRs, m.UpdateURRs, c.updateURR),
		UpdateBARs:      each(o.UpdateBARs, m.UpdateBARs, c.updateBAR),
		UpdateEndpoints: each(o.UpdateEndpoints, m.UpdateTEPs, c.updateEndpoint),
		CreatePDRs:      each(o.CreatePDRs, m.CreatePDRs, c.createPDR),
		CreateFARs:      each(o.CreateFARs, m.CreateFARs, c.createFAR),
		CreateQERs:      each(o.CreateQERs, m.CreateQERs, c.createQER),
		CreateURRs:      each(o.CreateURRs, m.CreateURRs, c.createURR),
		CreateBARs:      each(o.CreateBARs, m.CreateBARs, c.createBAR),
		CreateEndpoints: each(o.CreateEndpoints, m.CreateTEPs, c.createEndpoint),
		QueryURRs:       m.QueryURRs,
		QueryAll:        m.SMReqFlags&pfcp.SMReqQAURR != 0,
		SendEndMarkers:  m.SMReqFlags&pfcp.SMReqSNDEM != 0,
		DropBuffered:    m.SMReqFlags&pfcp.SMReqDROBU != 0,
	}
	if m.CPFSEID.Present {
		o.CP = session.Some(fseid(&m.CPFSEID.Value))
	}
	for i := range m.FQCSIDs {
		o.DropCSIDs |= csidNodeTypes(&m.FQCSIDs[i])
		o.CSIDs = appendFQCSIDs(o.CSIDs, &m.FQCSIDs[i])
	}
	c.refuseInModification(m)
	o.Unsupported = c.unsupported
	return o
}

// refuseInModification lists what the model does not have. An IE of null length
// "removes" the parameter (5.6.3): so the inactivity timer.
func (c *converter) refuseInModification(m *pfcp.SessionModificationRequest) {
	refuseRules(c, ruleMAR, pfcp.IECreateMAR, m.CreateMARs)
	refuseRules(c, ruleMAR, pfcp.IEUpdateMAR, m.UpdateMARs)
	refuseRules(c, ruleMAR, pfcp.IERemoveMAR, m.RemoveMARs)
	for _, ie := range m.Removed {
		if ie != pfcp.IEUserPlaneInactivityTimer {
			c.refuse(ie)
			continue
		}
		c.mod.InactivityTimer = session.Some(uint32(0))
	}
	if m.SMReqFlags&(pfcp.SMReqSUMPC|pfcp.SMReqRUMUC|pfcp.SMReqDETEID|pfcp.SMReqHRSBOM) != 0 {
		c.refuse(pfcp.IEPFCPSMReqFlags)
	}
	c.refuse(m.Noted)
}

func (c *converter) snssai(o pfcp.Optional[pfcp.SNSSAI]) session.Optional[session.SNSSAI] {
	return session.Optional[session.SNSSAI]{Value: session.SNSSAI(o.Value), Present: o.Present}
}

// fseid converts the CP function's F-SEID.
func fseid(f *pfcp.FSEID) session.FSEID {
	out := session.FSEID{SEID: f.SEID}
	if f.IPv4.IsValid() {
		out.IPv4 = f.IPv4.As4()
	}
	if f.IPv6.IsValid() {
		out.IPv6 = f.IPv6.As16()
	}
	return out
}

// csidNodeTypes has the bits of the node types whose FQ-CSIDs this one replaces.
func csidNodeTypes(f *pfcp.FQCSID) uint16 {
	if f.All {
		return 0xffff
	}
	return 1 << (f.NodeType & 0xf)
}
