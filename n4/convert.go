package n4

import (
	"unique"

	"plumbline/pfcp"
	"plumbline/session"
)

// converter turns decoded requests into those of package session. What it
// returns is valid until it converts the next one, and shares memory with the
// decoded request.
//
// What the model has no field for it lists as unsupported, so that the request
// is refused. It passes over what changes nothing for packets: 3GPP Interface
// Type, the S/D flag of a UE IP Address (the Source Interface says the same),
// Averaging Window (who keeps to a rate within a short time does so within a
// long one), End Markers (SNDEM: a CP function asks for them only if EMPU is
// advertised), and SMReq flags about buffers and measurements that there are
// not.
type converter struct {
	names       map[string]string // Network Instances by their octets
	est         session.Establishment
	mod         session.Modification
	unsupported []session.Unsupported
	result      session.Result
}

// maxNames bounds the memory of names; then they are forgotten.
const maxNames = 1024

// name returns the text of a Network Instance, the same string for the same
// octets.
func (c *converter) name(n pfcp.Name) string {
	if len(n) == 0 {
		return ""
	}
	if s, ok := c.names[string(n)]; ok { // without allocation
		return s
	}
	if c.names == nil || len(c.names) >= maxNames {
		c.names = make(map[string]string)
	}
	s := unique.Make(n.String()).Value() // one for all converters
	c.names[string(n)] = s
	return s
}

// refuseRule lists an IE of a rule as unsupported, if it is one.
func (c *converter) refuseRule(t session.RuleType, id uint32, ie pfcp.IEType) {
	if ie != 0 {
		c.unsupported = append(c.unsupported, session.Unsupported{
			HasRule: true, Rule: t, RuleID: id, IE: uint16(ie), What: ie.String(),
		})
	}
}

// refuse lists an IE of the request itself as unsupported, if it is one.
func (c *converter) refuse(ie pfcp.IEType) {
	if ie != 0 {
		c.unsupported = append(c.unsupported, session.Unsupported{IE: uint16(ie), What: ie.String()})
	}
}

// refuseRules lists rules of a kind that the model does not have.
func refuseRules[N ~uint8 | ~uint16 | ~uint32](c *converter, t session.RuleType, ie pfcp.IEType, ids []N) {
	for _, id := range ids {
		c.refuseRule(t, uint32(id), ie)
	}
}

// refuseIDs is [refuseRules] for rules that are decoded, by their IDs.
func refuseIDs[R any](c *converter, t session.RuleType, ie pfcp.IEType, rules []R, id func(*R) uint32) {
	for i := range rules {
		c.refuseRule(t, id(&rules[i]), ie)
	}
}

func barID(b *pfcp.BAR) uint32             { return uint32(b.BARID) }
func createURRID(u *pfcp.CreateURR) uint32 { return u.URRID }
func updateURRID(u *pfcp.UpdateURR) uint32 { return u.URRID }

// removed returns the first of the IEs that ask, by a null length, to remove a
// parameter (TS 29.244, 5.6.3), or 0.
func removed(list []pfcp.IEType) pfcp.IEType {
	if len(list) == 0 {
		return 0
	}
	return list[0]
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

// establishment converts a Session Establishment Request.
func (c *converter) establishment(m *pfcp.SessionEstablishmentRequest, owner uint32) *session.Establishment {
	c.unsupported = c.unsupported[:0]
	e := &c.est
	*e = session.Establishment{
		Owner: owner, CP: fseid(&m.CPFSEID),
		CreatePDRs: e.CreatePDRs[:0], CreateFARs: e.CreateFARs[:0], CreateQERs: e.CreateQERs[:0],
	}
	for i := range m.CreatePDRs {
		c.createPDR(next(&e.CreatePDRs), &m.CreatePDRs[i])
	}
	for i := range m.CreateFARs {
		c.createFAR(next(&e.CreateFARs), &m.CreateFARs[i])
	}
	for i := range m.CreateQERs {
		c.createQER(next(&e.CreateQERs), &m.CreateQERs[i])
	}
	refuseIDs(c, session.RuleURR, pfcp.IECreateURR, m.CreateURRs, createURRID)
	refuseIDs(c, session.RuleBAR, pfcp.IECreateBAR, m.CreateBARs, barID)
	refuseRules(c, ruleMAR, pfcp.IECreateMAR, m.CreateMARs)
	if len(m.CreateTEPs) > 0 {
		c.refuse(pfcp.IECreateTrafficEndpoint)
	}
	if t := m.PDNType; t.Present && (t.Value == pfcp.PDNTypeNonIP || t.Value == pfcp.PDNTypeEthernet) {
		c.refuse(pfcp.IEPDNType)
	}
	if m.InactivityTimerS.Present {
		c.refuse(pfcp.IEUserPlaneInactivityTimer)
	}
	c.refuse(m.Noted)
	e.Unsupported = c.unsupported
	return e
}

// modification converts a Session Modification Request.
func (c *converter) modification(m *pfcp.SessionModificationRequest, seid uint64, owner uint32) *session.Modification {
	c.unsupported = c.unsupported[:0]
	o := &c.mod
	*o = session.Modification{
		SEID: seid, Owner: owner,
		RemovePDRs: m.RemovePDRs, RemoveFARs: m.RemoveFARs, RemoveQERs: m.RemoveQERs,
		UpdatePDRs: o.UpdatePDRs[:0], UpdateFARs: o.UpdateFARs[:0], UpdateQERs: o.UpdateQERs[:0],
		CreatePDRs: o.CreatePDRs[:0], CreateFARs: o.CreateFARs[:0], CreateQERs: o.CreateQERs[:0],
	}
	if m.CPFSEID.Present {
		o.CP = session.Some(fseid(&m.CPFSEID.Value))
	}
	for i := range m.UpdatePDRs {
		c.updatePDR(next(&o.UpdatePDRs), &m.UpdatePDRs[i])
	}
	for i := range m.UpdateFARs {
		c.updateFAR(next(&o.UpdateFARs), &m.UpdateFARs[i])
	}
	for i := range m.UpdateQERs {
		c.updateQER(next(&o.UpdateQERs), &m.UpdateQERs[i])
	}
	for i := range m.CreatePDRs {
		c.createPDR(next(&o.CreatePDRs), &m.CreatePDRs[i])
	}
	for i := range m.CreateFARs {
		c.createFAR(next(&o.CreateFARs), &m.CreateFARs[i])
	}
	for i := range m.CreateQERs {
		c.createQER(next(&o.CreateQERs), &m.CreateQERs[i])
	}
	c.refuseInModification(m)
	o.Unsupported = c.unsupported
	return o
}

// refuseInModification lists what the model does not have.
func (c *converter) refuseInModification(m *pfcp.SessionModificationRequest) {
	refuseIDs(c, session.RuleURR, pfcp.IECreateURR, m.CreateURRs, createURRID)
	refuseIDs(c, session.RuleURR, pfcp.IEUpdateURR, m.UpdateURRs, updateURRID)
	refuseRules(c, session.RuleURR, pfcp.IERemoveURR, m.RemoveURRs)
	refuseRules(c, session.RuleURR, pfcp.IEQueryURR, m.QueryURRs)
	refuseIDs(c, session.RuleBAR, pfcp.IECreateBAR, m.CreateBARs, barID)
	refuseIDs(c, session.RuleBAR, pfcp.IEUpdateBAR, m.UpdateBARs, barID)
	refuseRules(c, session.RuleBAR, pfcp.IERemoveBAR, m.RemoveBARs)
	refuseRules(c, ruleMAR, pfcp.IECreateMAR, m.CreateMARs)
	refuseRules(c, ruleMAR, pfcp.IEUpdateMAR, m.UpdateMARs)
	refuseRules(c, ruleMAR, pfcp.IERemoveMAR, m.RemoveMARs)
	switch {
	case len(m.CreateTEPs) > 0:
		c.refuse(pfcp.IECreateTrafficEndpoint)
	case len(m.UpdateTEPs) > 0:
		c.refuse(pfcp.IEUpdateTrafficEndpoint)
	case len(m.RemoveTEPs) > 0:
		c.refuse(pfcp.IERemoveTrafficEndpoint)
	}
	c.refuse(removed(m.Removed))
	if m.SMReqFlags&(pfcp.SMReqDETEID|pfcp.SMReqHRSBOM) != 0 {
		c.refuse(pfcp.IEPFCPSMReqFlags)
	}
	if m.NodeID.Present { // another SMF takes the session over: SSET is not advertised
		c.refuse(pfcp.IENodeID)
	}
	if m.InactivityTimerS.Present {
		c.refuse(pfcp.IEUserPlaneInactivityTimer)
	}
	c.refuse(m.Noted)
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
