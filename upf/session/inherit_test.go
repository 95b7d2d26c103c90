package session

import (
	"net/netip"
	"slices"
	"testing"
)

// qosFlow is a modification that adds a QoS flow as Open5GS's SMF does: the PDR from
// Core has SDF filters alone, that from Access the CHOOSE ID of the default flow.
func qosFlow(seid uint64) Modification {
	filter := SDFFilter{Remote: netip.MustParsePrefix("10.6.0.2/32"), RemotePorts: []PortRange{{5001, 5001}}}
	return Modification{
		SEID: seid, Owner: 1,
		CreatePDRs: []PDR{
			{ID: 5, Precedence: 1, FARID: 4, QERIDs: []uint32{2}, PDI: PDI{SourceInterface: Core, NetworkInstance: "internet", Filters: []SDFFilter{filter}}},
			{ID: 6, Precedence: 1, FARID: 2, QERIDs: []uint32{2}, OuterHeaderRemoval: true, PDI: PDI{
				SourceInterface: Access, Choose: Choose{CH: true, CHID: true, ID: 5}, QFIs: 1 << 2, Filters: []SDFFilter{filter},
			}},
		},
		CreateFARs: []FAR{{ID: 4, ApplyAction: Forward, HasForwarding: true, Forwarding: ForwardingParameters{DestinationInterface: Access}}},
		CreateQERs: []QER{{ID: 2, QFI: 2}},
	}
}

// TestQoSFlow: a PDR from Core without UE IP Address has that of its session, also when
// the session gets another one, and one from Access the F-TEID of its CHOOSE ID.
func TestQoSFlow(t *testing.T) {
	m, dp := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreatePDRs[1].PDI.Choose = Choose{CH: true, CHID: true, ID: 5}
	s := must(t, m, req)
	seid, teid := s.SEID, s.PDR(2).PDI.FTEID
	s = mustModify(t, m, seid, qosFlow(seid))
	if d := s.PDR(5).PDI; d.UEAddress.IPv4 != (IPv4{10, 45, 0, 2}) || d.FTEID.TEID != 0 || !d.Inherits {
		t.Errorf("PDR 5: %+v, want the UE IP Address of the session", d)
	}
	if f := s.PDR(6).PDI.FTEID; f != teid {
		t.Errorf("F-TEID of PDR 6: %v, want that of PDR 2: %v", f, teid)
	}
	moved := func(id uint16) UpdatePDR {
		d := s.PDR(id).PDI
		d.UEAddress.IPv4 = IPv4{10, 45, 0, 3}
		return UpdatePDR{ID: id, PDI: Some(d)}
	}
	s = mustModify(t, m, seid, Modification{UpdatePDRs: []UpdatePDR{moved(1), moved(2)}})
	if a := s.PDR(5).PDI.UEAddress.IPv4; a != (IPv4{10, 45, 0, 3}) {
		t.Errorf("UE IP Address of PDR 5: %v, want the session's new one", a)
	}
	filters := s.PDR(5).PDI
	filters.UEAddress, filters.Inherits, filters.Filters = UEAddress{}, false, nil
	s = mustModify(t, m, seid, Modification{UpdatePDRs: []UpdatePDR{{ID: 5, PDI: Some(filters)}}})
	if d := s.PDR(5).PDI; d.UEAddress.IPv4 != (IPv4{10, 45, 0, 3}) || len(d.Filters) != 0 {
		t.Errorf("PDR 5 with other filters: %+v, want the UE IP Address of the session", d)
	}
	s = mustModify(t, m, seid, Modification{RemovePDRs: []uint16{5, 6}, RemoveFARs: []uint32{4}, RemoveQERs: []uint32{2}})
	if len(s.PDRs) != 2 || s.PDR(2).PDI.FTEID != teid {
		t.Errorf("after the flow was removed: %d PDRs, F-TEID %v; want 2 and %v", len(s.PDRs), s.PDR(2).PDI.FTEID, teid)
	}
	if err := remove(m, seid, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

// TestInheritTunnel: a PDR without F-TEID has that of the PDRs from its interface, and
// the UE addresses with it.
func TestInheritTunnel(t *testing.T) {
	from := func(source Interface, instance string, id uint16, choose Choose) PDR {
		return PDR{ID: id, FARID: 1, OuterHeaderRemoval: true, PDI: PDI{SourceInterface: source, NetworkInstance: instance, Choose: choose}}
	}
	ch := Choose{CH: true}
	of := func(p PDR, ue UEAddress, framed ...string) PDR {
		p.PDI.UEAddress, p.PDI.Framed = ue, prefixes(framed...)
		return p
	}
	ue := UEAddress{IPv4: IPv4{10, 45, 0, 2}}
	typed := func(p PDR, kind InterfaceType) PDR {
		p.PDI.InterfaceType = Some(kind)
		return p
	}
	for _, tc := range []struct {
		name string
		pdrs []PDR // the last one inherits
		of   uint16
	}{
		{"from Access", []PDR{from(Access, "", 7, ch), from(Access, "", 8, Choose{})}, 7},
		{"the Network Instance decides", []PDR{from(Access, "n3", 7, ch), from(Access, "n9", 8, ch), from(Access, "n9", 9, Choose{})}, 8},
		{"the 3GPP Interface Type decides", []PDR{typed(from(Access, "", 7, ch), 0), typed(from(Access, "", 8, ch), 15), typed(from(Access, "", 9, Choose{}), 15)}, 8},
		{"from Core, where there are tunnels alone", []PDR{from(Access, "", 7, ch), from(Core, "", 8, ch), from(Core, "", 9, Choose{})}, 8},
		{"of one CHOOSE ID", []PDR{
			from(Access, "", 7, Choose{CH: true, CHID: true, ID: 1}), from(Access, "", 8, Choose{CH: true, CHID: true, ID: 1}), from(Access, "", 9, Choose{}),
		}, 7},
		{"a UE with framed routes", []PDR{of(from(Access, "", 7, ch), ue, "10.60.0.0/16", "2001:db8:60::/48"), from(Access, "", 8, Choose{})}, 7},
		{"a UE with a delegated prefix alone", []PDR{of(from(Access, "", 7, ch), UEAddress{}, "2001:db8::/56"), from(Access, "", 8, Choose{})}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			req.CreatePDRs = tc.pdrs
			s := must(t, m, req)
			last := tc.pdrs[len(tc.pdrs)-1].ID
			if f := s.PDR(last).PDI.FTEID; f.TEID == 0 || f != s.PDR(tc.of).PDI.FTEID {
				t.Errorf("F-TEID %v, want that of PDR %d: %v", f, tc.of, s.PDR(tc.of).PDI.FTEID)
			}
			got, want := &s.PDR(last).PDI, &s.PDR(tc.of).PDI
			if got.UEAddress != want.UEAddress || !slices.Equal(got.Framed, want.Framed) {
				t.Errorf("UE %v, %v; want that of PDR %d: %v, %v", got.UEAddress, got.Framed, tc.of, want.UEAddress, want.Framed)
			}
			if err := remove(m, s.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

// TestInheritOfRemoved: a PDR does not go with the Traffic Endpoint whose F-TEID it
// inherits; it inherits that of another one.
func TestInheritOfRemoved(t *testing.T) {
	m, dp := newManager(t, 8)
	endpoint := func(id uint8) TrafficEndpoint {
		return TrafficEndpoint{ID: id, Choose: Choose{CH: true}, UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 2}}}
	}
	pdr := func(id uint16, endpoint Optional[uint8]) PDR {
		return PDR{ID: id, FARID: 2, OuterHeaderRemoval: true, PDI: PDI{SourceInterface: Access, Endpoint: endpoint}}
	}
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreateEndpoints = []TrafficEndpoint{endpoint(5)}
	req.CreatePDRs = []PDR{req.CreatePDRs[0], pdr(2, Some(uint8(5))), pdr(3, Optional[uint8]{})}
	s := must(t, m, req)
	if d := s.PDR(3).PDI; d.FTEID != s.Endpoint(5).FTEID || d.UEAddress != s.Endpoint(5).UEAddress {
		t.Errorf("PDR 3: %+v, want the F-TEID and UE IP Address of Traffic Endpoint 5", d)
	}
	s = mustModify(t, m, s.SEID, Modification{
		RemoveEndpoints: []uint8{5}, CreateEndpoints: []TrafficEndpoint{endpoint(6)}, CreatePDRs: []PDR{pdr(4, Some(uint8(6)))},
	})
	if s.PDR(2) != nil || s.PDR(3) == nil {
		t.Fatalf("PDR 2 %v, PDR 3 %v; want the first alone gone", s.PDR(2), s.PDR(3))
	}
	if d := s.PDR(3).PDI; d.FTEID.TEID == 0 || d.FTEID != s.Endpoint(6).FTEID {
		t.Errorf("F-TEID of PDR 3: %v, want that of Traffic Endpoint 6: %v", d.FTEID, s.Endpoint(6).FTEID)
	}
	if err := remove(m, s.SEID, 1); err != nil {
		t.Fatal(err)
	}
	checkEmpty(t, m, dp)
}

// TestUpdateFilters: a PDI that comes with SDF filters alone is found as before, if only
// its Network Instance or its 3GPP Interface Type told it which F-TEID to inherit.
func TestUpdateFilters(t *testing.T) {
	const s1u, n9 = InterfaceType(0), InterfaceType(15)
	for _, tc := range []struct {
		name string
		a, b PDI // with an F-TEID each; the PDR that inherits is like b
	}{
		{"Network Instance", PDI{NetworkInstance: "n3"}, PDI{NetworkInstance: "n9"}},
		{"3GPP Interface Type", PDI{InterfaceType: Some(s1u)}, PDI{InterfaceType: Some(n9)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			pdr := func(id uint16, d PDI, choose Choose, remote ...string) PDR {
				d.SourceInterface, d.Choose = Access, choose
				for _, p := range prefixes(remote...) {
					d.Filters = append(d.Filters, SDFFilter{Remote: p})
				}
				return PDR{ID: id, FARID: 2, OuterHeaderRemoval: true, PDI: d}
			}
			req.CreatePDRs = []PDR{
				req.CreatePDRs[0], pdr(2, tc.a, Choose{CH: true}), pdr(3, tc.b, Choose{CH: true}), pdr(4, tc.b, Choose{}, "10.6.0.2/32"),
			}
			s := must(t, m, req)
			s = mustModify(t, m, s.SEID, Modification{UpdatePDRs: []UpdatePDR{{ID: 4, PDI: Some(pdr(4, PDI{}, Choose{}, "10.6.0.3/32").PDI)}}})
			d, of := s.PDR(4).PDI, s.PDR(3).PDI
			if d.FTEID.TEID == 0 || d.FTEID != of.FTEID || d.NetworkInstance != of.NetworkInstance || d.InterfaceType != of.InterfaceType {
				t.Errorf("PDR 4: %+v, want the F-TEID, Network Instance and 3GPP Interface Type of PDR 3: %+v", d, of)
			}
			if err := remove(m, s.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

// TestIncomplete: a FAR without its tunnel and a PDR without FAR are held, until an
// update completes them; what is wrong then is refused then.
func TestIncomplete(t *testing.T) {
	tunnel := OuterHeaderCreation{TEID: 2, IPv4: IPv4{10, 3, 0, 2}}
	for _, tc := range []struct {
		name string
		far  ForwardingParameters
	}{
		{"towards Access without Outer Header Creation", ForwardingParameters{DestinationInterface: Access}},
		{"towards the CP function", ForwardingParameters{DestinationInterface: CPFunction}},
		{"TEID 0", ForwardingParameters{DestinationInterface: Access, OuterHeaderCreation: OuterHeaderCreation{IPv4: IPv4{10, 3, 0, 2}}}},
		{"no address", ForwardingParameters{DestinationInterface: Core, OuterHeaderCreation: OuterHeaderCreation{TEID: 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			req.CreateFARs[0].Forwarding = tc.far
			req.CreatePDRs[1].NoFAR, req.CreatePDRs[1].FARID = true, 0
			s := must(t, m, req)
			if !s.FAR(1).Incomplete() || s.FAR(2).Incomplete() || !s.PDR(2).NoFAR {
				t.Errorf("FAR 1 incomplete %v, FAR 2 %v, PDR 2 without FAR %v; want true, false, true",
					s.FAR(1).Incomplete(), s.FAR(2).Incomplete(), s.PDR(2).NoFAR)
			}
			s = mustModify(t, m, s.SEID, Modification{
				UpdateFARs: []UpdateFAR{{ID: 1, HasForwarding: true, OuterHeaderCreation: Some(tunnel)}},
				UpdatePDRs: []UpdatePDR{{ID: 2, FARID: Some(uint32(2))}},
			})
			if s.FAR(1).Incomplete() || s.PDR(2).NoFAR || s.PDR(2).FARID != 2 || len(dp.markers) != 0 {
				t.Errorf("completed: FAR 1 incomplete %v, PDR 2 %+v, End Markers %v", s.FAR(1).Incomplete(), s.PDR(2), dp.markers)
			}
			if err := remove(m, s.SEID, 1); err != nil {
				t.Fatal(err)
			}
			checkEmpty(t, m, dp)
		})
	}
}

// TestCompletedWrong: a rule is checked whole when it has become complete.
func TestCompletedWrong(t *testing.T) {
	m, _ := newManager(t, 8)
	req := establishment(IPv4{10, 45, 0, 2})
	req.CreateFARs[0].Forwarding.OuterHeaderCreation = OuterHeaderCreation{}
	req.CreatePDRs = append(req.CreatePDRs, PDR{ID: 3, FARID: 1, PDI: PDI{SourceInterface: Access, Choose: Choose{CH: true}}})
	s := must(t, m, req)
	_, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, UpdateFARs: []UpdateFAR{{
		ID: 1, HasForwarding: true, OuterHeaderCreation: Some(OuterHeaderCreation{TEID: 2, IPv4: IPv4{10, 3, 0, 2}}),
	}}})
	checkError(t, err, Error{CauseRuleFailure, 0, true, RulePDR, 3, ErrIncomplete})
}
