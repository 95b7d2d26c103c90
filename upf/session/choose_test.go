package session

import "testing"

// TestChooseAnother: an F-TEID that is to be chosen for the only rule that has one by its
// CHOOSE ID is another one, as without CHOOSE ID; the old one is free.
func TestChooseAnother(t *testing.T) {
	endpoint := func(c Choose) *Establishment {
		req := establishment(IPv4{10, 45, 0, 2})
		req.CreateEndpoints = []TrafficEndpoint{{ID: 5, Choose: c}}
		req.CreatePDRs[1].PDI = PDI{SourceInterface: Access, Endpoint: Some(uint8(5))}
		return req
	}
	pdr := func(c Choose) *Establishment {
		req := establishment(IPv4{10, 45, 0, 2})
		req.CreatePDRs[1].PDI.Choose = c
		return req
	}
	for _, tc := range []struct {
		name   string
		first  func(Choose) *Establishment
		change func(c Choose, pdr PDR) Modification // pdr asks for an F-TEID
	}{
		{"Update Traffic Endpoint", endpoint, func(c Choose, _ PDR) Modification {
			return Modification{UpdateEndpoints: []UpdateTrafficEndpoint{{ID: 5, Choose: c}}}
		}},
		{"Update PDR", pdr, func(_ Choose, r PDR) Modification {
			return Modification{UpdatePDRs: []UpdatePDR{{ID: r.ID, PDI: Some(r.PDI)}}}
		}},
		{"Remove PDR and Create PDR", pdr, func(_ Choose, r PDR) Modification {
			return Modification{RemovePDRs: []uint16{r.ID}, CreatePDRs: []PDR{r}}
		}},
	} {
		for name, c := range map[string]Choose{"": {CH: true}, " of a CHOOSE ID": {CH: true, CHID: true, ID: 5}} {
			t.Run(tc.name+name, func(t *testing.T) {
				m, dp := newManager(t, 8)
				req := tc.first(c)
				s := must(t, m, req)
				seid, was := s.SEID, s.PDR(2).PDI.FTEID
				s = mustModify(t, m, seid, tc.change(c, req.CreatePDRs[1]))
				if f := s.PDR(2).PDI.FTEID; f.TEID == 0 || f.TEID == was.TEID || m.claims.teids.slots.taken != 1 {
					t.Errorf("F-TEID %v after %v, %d taken; want another one, and 1", f, was, m.claims.teids.slots.taken)
				}
				if err := remove(m, seid, 1); err != nil {
					t.Fatal(err)
				}
				checkEmpty(t, m, dp)
			})
		}
	}
}

// TestChooseOneOfRequest: a CHOOSE ID means one F-TEID in a request, also where the session
// has one by it at the GTP-U endpoint of but one of the PDRs.
func TestChooseOneOfRequest(t *testing.T) {
	c := Choose{CH: true, CHID: true, ID: 5}
	for _, first := range []Interface{Access, Core} { // whose PDR has the lower Precedence
		m, dp := newManagerOf(t, Config{MaxSessions: 8, Endpoints: []Endpoint{
			{Name: "n3", IPv4: n3, Interfaces: []Interface{Access}}, {Name: "n9", IPv4: IPv4{10, 9, 0, 1}, Interfaces: []Interface{Core}},
		}})
		req := establishment(IPv4{10, 45, 0, 2})
		req.CreatePDRs[1].PDI.Choose = c
		s := must(t, m, req)
		pdr := func(id uint16, precedence uint32, from Interface) PDR {
			return PDR{ID: id, Precedence: precedence, FARID: 2, OuterHeaderRemoval: true, PDI: PDI{SourceInterface: from, Choose: c}}
		}
		s = mustModify(t, m, s.SEID, Modification{CreatePDRs: []PDR{pdr(5, 1, first), pdr(6, 2, Access+Core-first)}})
		if a, b := s.PDR(5).PDI.FTEID, s.PDR(6).PDI.FTEID; a.TEID == 0 || a != b {
			t.Errorf("%v first: F-TEIDs %v and %v, want one", first, a, b)
		}
		if err := remove(m, s.SEID, 1); err != nil {
			t.Fatal(err)
		}
		checkEmpty(t, m, dp)
	}
}

// TestEndpointOf: an F-TEID is chosen at the endpoint that has its 3GPP Interface Type, then
// its Network Instance, then its Source Interface; one for any comes before one for others.
func TestEndpointOf(t *testing.T) {
	const s5s8, n9 = InterfaceType(1), InterfaceType(15)
	c := Config{Endpoints: []Endpoint{
		{Name: "ims", Interfaces: []Interface{Access}, NetworkInstances: []string{"ims"}},
		{Name: "n3", Interfaces: []Interface{Access}},
		{Name: "n9", Interfaces: []Interface{Core}, InterfaceTypes: []InterfaceType{n9}},
		{Name: "other", Agent: 1},
	}}
	for _, tc := range []struct {
		agent    uint8
		instance string
		from     Interface
		kind     Optional[InterfaceType]
		want     string
	}{
		{0, "ims", Access, Optional[InterfaceType]{}, "ims"},
		{0, "internet", Access, Optional[InterfaceType]{}, "n3"},
		{0, "", Access, Optional[InterfaceType]{}, "ims"}, // the first one
		{0, "internet", Core, Optional[InterfaceType]{}, "n9"},
		{0, "ims", Core, Optional[InterfaceType]{}, "ims"},
		{0, "ims", Access, Some(n9), "n9"},
		{0, "internet", Core, Some(s5s8), "n3"},
		{1, "ims", Access, Some(n9), "other"},
	} {
		if e := c.endpoint(tc.agent, tc.instance, tc.from, tc.kind); e.Name != tc.want {
			t.Errorf("agent %d, %q, %v, %v: %s, want %s", tc.agent, tc.instance, tc.from, tc.kind, e.Name, tc.want)
		}
	}
	if e := c.endpoint(2, "", Access, Optional[InterfaceType]{}); e != nil {
		t.Errorf("agent without endpoint: %s", e.Name)
	}
}
