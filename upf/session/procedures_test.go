package session

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// must establishes a session.
func must(t *testing.T, m *Manager, req *Establishment) *Session {
	t.Helper()
	s, err := establish(m, req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mustModify modifies a session of owner 1.
func mustModify(t *testing.T, m *Manager, seid uint64, req Modification) *Session {
	t.Helper()
	req.SEID, req.Owner = seid, 1
	s, err := modify(m, &req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTrafficEndpoint: PDIs have what their Traffic Endpoint has, also when that
// changes, and go with it.
func TestTrafficEndpoint(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreateEndpoints = []TrafficEndpoint{{
		ID: 5, Choose: Choose{CH: true}, NetworkInstance: "access", UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 9}}, QFIs: 1 << 4,
	}}
	req.CreatePDRs[0].PDI.UEAddress.IPv4 = IPv4{10, 45, 0, 9}
	req.CreatePDRs[1].PDI = PDI{SourceInterface: Access, Endpoint: Some(uint8(5))}
	another := req.CreatePDRs[1]
	another.ID, another.Precedence = 3, 1
	req.CreatePDRs = append(req.CreatePDRs, another)
	s := must(t, m, req)
	e := s.Endpoint(5)
	if e.FTEID.TEID == 0 || e.FTEID.IPv4 != n3 || m.ByFTEID(e.FTEID) == nil {
		t.Errorf("F-TEID of the Traffic Endpoint: %+v", e.FTEID)
	}
	check := func(s *Session, want PDI) {
		t.Helper()
		for _, id := range []uint16{2, 3} {
			if d := cmp.Diff(want, s.PDR(id).PDI, equal); d != "" {
				t.Errorf("PDI of PDR %d (-want +got):\n%s", id, d)
			}
		}
	}
	want := PDI{
		SourceInterface: Access, Endpoint: Some(uint8(5)), FTEID: e.FTEID, NetworkInstance: "access",
		UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 9}}, QFIs: 1 << 4,
	}
	check(s, want)
	moved := s.PDR(1).PDI
	moved.UEAddress.IPv4 = IPv4{10, 45, 0, 8}
	s = mustModify(t, m, s.SEID, Modification{UpdatePDRs: []UpdatePDR{{ID: 1, PDI: Some(moved)}}, UpdateEndpoints: []UpdateTrafficEndpoint{{
		ID: 5, NetworkInstance: Some("other"), UEAddress: Some(UEAddress{IPv4: IPv4{10, 45, 0, 8}}), QFIs: Some(QFISet(0)),
	}}})
	want.NetworkInstance, want.UEAddress, want.QFIs = "other", UEAddress{IPv4: IPv4{10, 45, 0, 8}}, 0
	check(s, want)
	s = mustModify(t, m, s.SEID, Modification{UpdateEndpoints: []UpdateTrafficEndpoint{{ID: 5, Choose: Choose{CH: true}}}})
	if now := s.Endpoint(5).FTEID; now == e.FTEID || m.ByFTEID(e.FTEID) != nil || m.ByFTEID(now) == nil {
		t.Errorf("F-TEID chosen again: %+v, before %+v", now, e.FTEID)
	}
	want.FTEID = s.Endpoint(5).FTEID
	check(s, want)
	s = mustModify(t, m, s.SEID, Modification{RemoveEndpoints: []uint8{5}})
	if len(s.PDRs) != 1 || s.PDRs[0].ID != 1 || len(s.Endpoints) != 0 || m.claims.teids.slots.taken != 0 {
		t.Errorf("without the Traffic Endpoint: PDRs %+v, %d TEIDs", s.PDRs, m.claims.teids.slots.taken)
	}
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

// TestFilterID: an SDF filter that is an ID alone is that of another PDR, and a
// new definition holds for all that have the ID.
func TestFilterID(t *testing.T) {
	m, _ := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	filter := func(port uint16) SDFFilter {
		return SDFFilter{ID: Some(uint32(7)), Protocol: Some(uint8(17)), RemotePorts: []PortRange{{port, port}}}
	}
	reference := SDFFilter{ID: Some(uint32(7)), Reference: true}
	req.CreatePDRs[0].PDI.Filters = []SDFFilter{filter(53)}
	req.CreatePDRs[1].PDI.Filters = []SDFFilter{{Protocol: Some(uint8(6))}, reference}
	s := must(t, m, req)
	if d := cmp.Diff([]SDFFilter{{Protocol: Some(uint8(6))}, filter(53)}, s.PDR(2).PDI.Filters, equal); d != "" {
		t.Errorf("PDR 2 (-want +got):\n%s", d)
	}
	down := s.PDR(1).PDI
	down.Filters = []SDFFilter{filter(853)}
	s = mustModify(t, m, s.SEID, Modification{UpdatePDRs: []UpdatePDR{{ID: 1, PDI: Some(down)}}})
	for _, id := range []uint16{1, 2} {
		f := s.PDR(id).PDI.Filters
		if d := cmp.Diff(filter(853), f[len(f)-1], equal); d != "" {
			t.Errorf("PDR %d after the new definition (-want +got):\n%s", id, d)
		}
	}
	third := req.CreatePDRs[0]
	third.ID, third.PDI.Filters = 3, []SDFFilter{reference}
	s = mustModify(t, m, s.SEID, Modification{CreatePDRs: []PDR{third}})
	if d := cmp.Diff(filter(853), s.PDR(3).PDI.Filters[0], equal); d != "" {
		t.Errorf("PDR 3, which refers to it later (-want +got):\n%s", d)
	}
}

// TestApplications: sessions that name an application are given to the datapath
// again when its flows change.
func TestApplications(t *testing.T) {
	m, dp := newManager(t, 8)
	flow := func(port uint16) []SDFFilter {
		return []SDFFilter{{Protocol: Some(uint8(17)), RemotePorts: []PortRange{{port, port}}}}
	}
	if err := m.SetPFDs(t.Context(), "dns", flow(53)); err != nil || m.Applications() != 1 {
		t.Fatal(err)
	}
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreatePDRs[0].PDI.ApplicationID = "dns"
	s := must(t, m, req)
	other := must(t, m, establishment(IPv4{10, 45, 0, 3}))
	change := &Change{Session: s, tables: &m.tables}
	clear(dp.sessions)
	if err := m.SetPFDs(t.Context(), "dns", flow(853)); err != nil {
		t.Fatal(err)
	}
	if dp.sessions[s.SEID] == nil || dp.sessions[other.SEID] != nil {
		t.Error("want the session that names it given to the datapath again, and no other")
	}
	if got, ok := change.Flows("dns"); !ok || cmp.Diff(flow(853), got, equal) != "" {
		t.Errorf("flows %+v, %v", got, ok)
	}
	// Without flows nothing matches, but the session can still be modified.
	if err := m.SetPFDs(t.Context(), "dns", nil); err != nil || m.Applications() != 0 {
		t.Fatal(err)
	}
	if _, ok := change.Flows("dns"); ok {
		t.Error("flows of an application that is not known any more")
	}
	mustModify(t, m, s.SEID, Modification{UpdatePDRs: []UpdatePDR{{ID: 1, Precedence: Some(uint32(3))}}})
	req = establishment(IPv4{10, 45, 0, 4})
	req.CreatePDRs[0].PDI.ApplicationID = "dns"
	if _, err := establish(m, req); cause(err) != CauseUnknownApplication {
		t.Errorf("a new session of it: %v, want cause %d", err, CauseUnknownApplication)
	}
	dp.fail = func() error { return errFake }
	if err := m.SetPFDs(t.Context(), "dns", flow(53)); !errors.Is(err, errFake) {
		t.Errorf("a datapath that fails: %v, want %v", err, errFake)
	}
}

// TestPredefined: predefined rules are activated and deactivated by their names.
func TestPredefined(t *testing.T) {
	m, _ := newManagerOf(t, Config{
		MaxSessions: 8, Endpoints: []Endpoint{{IPv4: n3}},
		Predefined: []PredefinedRule{{Name: "video", Precedence: 5}, {Name: "block", Drop: true}},
	})
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreatePDRs[0].Predefined = []string{"video"}
	s := must(t, m, req)
	s = mustModify(t, m, s.SEID, Modification{UpdatePDRs: []UpdatePDR{
		{ID: 1, Deactivate: []string{"video"}, Activate: []string{"block"}}, {ID: 2, Activate: []string{"video", "video"}},
	}})
	if a, b := s.PDR(1).Predefined, s.PDR(2).Predefined; !slices.Equal(a, []string{"block"}) || !slices.Equal(b, []string{"video"}) {
		t.Errorf("active for PDR 1: %q, for PDR 2: %q", a, b)
	}
	if _, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdatePDRs: []UpdatePDR{{ID: 1, Activate: []string{"x"}}}}); cause(err) != CauseUnknownPredefinedRule {
		t.Errorf("unknown rule: %v, want cause %d", err, CauseUnknownPredefinedRule)
	}
	for _, rules := range [][]PredefinedRule{{{}}, {{Name: "a"}, {Name: "a"}}} {
		if _, err := NewManager(Config{MaxSessions: 1, Endpoints: []Endpoint{{}}, Predefined: rules}, nowhere{}); err == nil {
			t.Errorf("predefined rules %+v: no error", rules)
		}
	}
}

// TestSets: sessions are deleted by the connection sets that they belong to, and
// taken over by another CP function.
func TestSets(t *testing.T) {
	m, dp := newManager(t, 8)
	set := func(n byte, csid uint16) FQCSID { return FQCSID{Node: [16]byte{10, 4, 0, n}, CSID: csid} }
	var seids []uint64
	for i, sets := range [][]FQCSID{{set(1, 7)}, {set(1, 8), set(2, 7)}, nil, {set(1, 7)}} {
		req := establishment(IPv4{10, 45, 0, byte(i)})
		req.CSIDs, req.CP.IPv4 = sets, IPv4{10, 4, 0, byte(i)}
		if i == 3 {
			req.Owner = 2
		}
		seids = append(seids, must(t, m, req).SEID)
	}
	typed := set(1, 8)
	typed.NodeType = 2 // it names the same set
	s := mustModify(t, m, seids[2], Modification{DropCSIDs: 1, CSIDs: []FQCSID{set(3, 1)}})
	if !slices.Equal(s.CSIDs, []FQCSID{set(3, 1)}) {
		t.Errorf("sets after a modification: %v", s.CSIDs)
	}
	if n := m.MoveOwner(Selector{Owner: 1, CP: FSEID{IPv4: IPv4{10, 4, 0, 1}}}, Move{Owner: 5, IPv4: IPv4{10, 4, 9, 9}}); n != 1 {
		t.Errorf("MoveOwner of one address = %d, want 1", n)
	}
	if s := m.Get(seids[1]); s.Owner != 5 || s.CP.IPv4 != (IPv4{10, 4, 9, 9}) || m.CountOwned()[5] != 1 || m.CountOwned()[1] != 2 {
		t.Errorf("owner %d, F-SEID %v, sessions by owner %v", s.Owner, s.CP, m.CountOwned())
	}
	if n, err := m.DeleteSet(t.Context(), Selector{Owner: 5, CSIDs: []FQCSID{set(9, 9), typed}}); n != 1 || err != nil || m.Get(seids[1]) != nil {
		t.Errorf("DeleteSet of owner 5 = %d, %v; want 1", n, err)
	}
	if n, err := m.DeleteSet(t.Context(), Selector{CSIDs: []FQCSID{set(1, 7)}}); n != 2 || err != nil || m.Get(seids[2]) == nil {
		t.Errorf("DeleteSet of anybody = %d, %v; want 2", n, err)
	}
	if n, err := m.DeleteOwned(t.Context(), 1); n != 1 || err != nil {
		t.Errorf("DeleteOwned = %d, %v; want 1", n, err)
	}
	checkEmpty(t, m, dp)
}

// TestNewOwner: another CP function of the SMF Set takes a session over.
func TestNewOwner(t *testing.T) {
	m, _ := newManager(t, 8)
	s := must(t, m, establishment(IPv4{10, 45, 0, 2}))
	cp := FSEID{SEID: 77, IPv4: IPv4{10, 4, 0, 7}}
	s = mustModify(t, m, s.SEID, Modification{NewOwner: 6, CP: Some(cp)})
	owner, seid, ok := m.Lookup(s.SEID)
	if s.CP != cp || owner != 6 || seid != 77 || !ok {
		t.Errorf("owner %d, SEID %d, %v; session %+v", owner, seid, ok, s)
	}
	if err := remove(m, s.SEID, 1); cause(err) != CauseSessionContextNotFound {
		t.Errorf("Delete by the old owner: %v", err)
	}
}

// TestSlices: a session is of the first slice whose conditions it meets, its UE
// addresses come from there, and it counts there.
func TestSlices(t *testing.T) {
	prefix := func(p ...string) (list []netip.Prefix) {
		for _, s := range p {
			list = append(list, netip.MustParsePrefix(s))
		}
		return list
	}
	gold := SNSSAI{SST: 1, SD: 0x0a0b0c}
	m, dp := newManagerOf(t, Config{
		MaxSessions: 8,
		Endpoints: []Endpoint{
			{Name: "a", Agent: 0, IPv4: n3}, {Name: "b", Agent: 1, IPv4: IPv4{10, 3, 1, 1}},
			{Name: "c", Agent: 2, IPv4: IPv4{10, 3, 2, 1}},
		},
		Pools: []Pool{{Name: "internet", Prefixes: prefix("10.60.0.0/24")}, {Name: "gold", Prefixes: prefix("10.61.0.0/30")}},
		Slices: []Slice{
			{Number: 7, SNSSAI: Some(gold), DNNs: []string{"video"}, Pools: []string{"gold"}, Agents: []uint8{1}, UplinkMBR: 5, MaxSessions: 2},
			{Number: 8, SNSSAI: Some(gold)},
			{Number: 9, NetworkInstances: []string{"corporate"}, Agents: []uint8{2}},
		},
		AgentUp: func(agent uint8) bool { return agent != 2 },
	})
	request := func(change func(*Establishment)) *Establishment {
		req := establishment(IPv4{})
		req.CreatePDRs[0].PDI.ChooseUE = ChooseUE{V4: true}
		change(req)
		return req
	}
	video := func(e *Establishment) { e.SNSSAI, e.DNN = Some(gold), "video" }
	s := must(t, m, request(video))
	if a := s.PDR(1).PDI.UEAddress.IPv4; s.Slice != 7 || a[1] != 61 || Agent(s.SEID) != 1 || s.PDR(2).PDI.FTEID.IPv4 != (IPv4{10, 3, 1, 1}) {
		t.Errorf("slice %d, UE address %v, agent %d, F-TEID %v", s.Slice, a, Agent(s.SEID), s.PDR(2).PDI.FTEID)
	}
	if up, down := (&Change{Session: s, tables: &m.tables}).SliceMeter(); up != 5 || down != 0 {
		t.Errorf("rates %d, %d; want 5, 0", up, down)
	}
	must(t, m, request(video))
	if _, err := establish(m, request(video)); cause(err) != CauseNoResources || m.SliceLen(7) != 2 {
		t.Errorf("the third of 2: %v; %d in the slice", err, m.SliceLen(7))
	}
	if s := must(t, m, request(func(e *Establishment) { e.SNSSAI, e.DNN = Some(gold), "x" })); s.Slice != 8 || s.PDR(1).PDI.UEAddress.IPv4[1] != 60 {
		t.Errorf("slice %d, UE address %v", s.Slice, s.PDR(1).PDI.UEAddress)
	}
	if s := must(t, m, request(func(*Establishment) {})); s.Slice != 0 || Agent(s.SEID) != 0 && Agent(s.SEID) != 1 {
		t.Errorf("slice %d, agent %d", s.Slice, Agent(s.SEID))
	}
	if _, err := establish(m, request(func(e *Establishment) { e.CreatePDRs[0].PDI.NetworkInstance = "corporate" })); cause(err) != CauseSystemFailure {
		t.Errorf("a slice whose only datapath is away: %v", err)
	}
	if m.agentLen(0) != 2 || m.agentLen(1) != 2 {
		t.Errorf("%d and %d sessions on the datapaths, want 2 and 2: the one with the fewest gets the next", m.agentLen(0), m.agentLen(1))
	}
	given := func(last ...byte) *Establishment {
		return request(func(e *Establishment) {
			for i, n := range last {
				r := e.CreatePDRs[1]
				r.ID, r.PDI.Choose, r.PDI.FTEID = uint16(10+i), Choose{}, FTEID{TEID: uint32(1000 + i), IPv4: IPv4{10, 3, n, 1}}
				e.CreatePDRs = append(e.CreatePDRs, r)
			}
		})
	}
	if s := must(t, m, given(1)); Agent(s.SEID) != 1 || s.PDR(2).PDI.FTEID.IPv4 != (IPv4{10, 3, 1, 1}) {
		t.Errorf("F-TEID given at datapath 1: session on %d, other F-TEID %v", Agent(s.SEID), s.PDR(2).PDI.FTEID)
	}
	if _, err := establish(m, given(0, 1)); cause(err) != CauseRuleFailure || !errors.Is(err, ErrUnsupported) {
		t.Errorf("F-TEIDs given at two datapaths: %v", err)
	}
	if n, err := m.DeleteOwned(t.Context(), 1); n != 5 || err != nil {
		t.Errorf("DeleteOwned = %d, %v; want 5", n, err)
	}
	checkEmpty(t, m, dp)
}

// agentLen is how many sessions a datapath has.
func (m *Manager) agentLen(agent uint8) int { return int(m.tables.slices.agents[agent].Load()) }
