package session

import (
	"slices"
	"testing"
)

// TestEndMarkers: they go to the old tunnel, when it changes and if it is asked for.
func TestEndMarkers(t *testing.T) {
	old := OuterHeaderCreation{TEID: 2, IPv4: IPv4{10, 3, 0, 2}}
	moved := OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}
	update := func(to OuterHeaderCreation, ask bool) UpdateFAR {
		return UpdateFAR{ID: 1, HasForwarding: true, OuterHeaderCreation: Some(to), SendEndMarkers: ask}
	}
	for _, tc := range []struct {
		name string
		req  Modification
		want []EndMarker
	}{
		{"asked for by the FAR", Modification{UpdateFARs: []UpdateFAR{update(moved, true)}}, []EndMarker{{Tunnel: old}}},
		{"asked for by the request", Modification{SendEndMarkers: true, UpdateFARs: []UpdateFAR{update(moved, false)}}, []EndMarker{{Tunnel: old}}},
		{"not asked for", Modification{UpdateFARs: []UpdateFAR{update(moved, false)}}, nil},
		{"the same tunnel", Modification{UpdateFARs: []UpdateFAR{update(old, true)}}, nil},
		{"no tunnel before", Modification{UpdateFARs: []UpdateFAR{{ID: 2, HasForwarding: true, OuterHeaderCreation: Some(moved), SendEndMarkers: true}}}, nil},
	} {
		m, dp := newManager(t, 8)
		s := must(t, m, establishment(IPv4{10, 45, 0, 2}))
		mustModify(t, m, s.SEID, tc.req)
		if !slices.Equal(dp.markers, tc.want) {
			t.Errorf("%s: End Markers to %v, want %v", tc.name, dp.markers, tc.want)
		}
		mustModify(t, m, s.SEID, Modification{DropBuffered: true})
		if dp.dropped != 1 || len(dp.markers) != len(tc.want) {
			t.Errorf("%s: DROBU: %d times, End Markers %v", tc.name, dp.dropped, dp.markers)
		}
	}
}

// TestEndMarkersOfFlows: a tunnel into which other rules still send gets an End Marker for
// each QoS flow that has left it, and one without QFI when the last has.
func TestEndMarkersOfFlows(t *testing.T) {
	tunnel := OuterHeaderCreation{TEID: 2, IPv4: IPv4{10, 3, 0, 2}}
	moved := OuterHeaderCreation{TEID: 9, IPv4: IPv4{10, 3, 0, 9}}
	all, flow := EndMarker{Tunnel: tunnel}, func(qfi uint8) EndMarker { return EndMarker{Tunnel: tunnel, QFI: qfi} }
	move := func(fars ...uint32) (m Modification) {
		for _, id := range fars {
			m.UpdateFARs = append(m.UpdateFARs, UpdateFAR{ID: id, HasForwarding: true, OuterHeaderCreation: Some(moved), SendEndMarkers: true})
		}
		return m
	}
	removed := move(1)
	removed.RemovePDRs = []uint16{3}
	for _, tc := range []struct {
		name  string
		other QER // of PDR 3; PDR 1 has QFI 9
		qfis  QFISet
		reqs  []Modification
		want  []EndMarker
	}{
		{"one flow", QER{QFI: 5}, 0, []Modification{move(1)}, []EndMarker{flow(9)}},
		{"the other", QER{QFI: 5}, 0, []Modification{move(3)}, []EndMarker{flow(5)}},
		{"one, then the other", QER{QFI: 5}, 0, []Modification{move(1), move(3)}, []EndMarker{flow(9), all}},
		{"both at once", QER{QFI: 5}, 0, []Modification{move(1, 3)}, []EndMarker{all}},
		{"the other rule goes with the request", QER{QFI: 5}, 0, []Modification{removed}, []EndMarker{all}},
		{"two rules of one flow", QER{QFI: 9}, 0, []Modification{move(1)}, nil},
		{"two rules of one flow, one by one", QER{QFI: 9}, 0, []Modification{move(1), move(3)}, []EndMarker{all}},
		{"others without QFI", QER{}, 0, []Modification{move(1)}, []EndMarker{flow(9)}},
		{"those without QFI", QER{}, 0, []Modification{move(3)}, nil},
		{"flows that a relay passes on", QER{}, 1<<5 | 1<<9 | 1<<63, []Modification{move(3)}, []EndMarker{flow(5), flow(63)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, dp := newManager(t, 8)
			req := establishment(IPv4{10, 45, 0, 2})
			tc.other.ID = 2
			req.CreateQERs = append(req.CreateQERs, tc.other)
			far := req.CreateFARs[0]
			far.ID = 3
			req.CreateFARs = append(req.CreateFARs, far)
			pdr := PDR{ID: 3, Precedence: 100, FARID: 3, QERIDs: []uint32{2}, PDI: req.CreatePDRs[0].PDI}
			if tc.qfis != 0 {
				pdr.OuterHeaderRemoval = true
				pdr.PDI = PDI{SourceInterface: Core, Choose: Choose{CH: true}, QFIs: tc.qfis}
			}
			req.CreatePDRs = append(req.CreatePDRs, pdr)
			s := must(t, m, req)
			for _, req := range tc.reqs {
				mustModify(t, m, s.SEID, req)
			}
			if !slices.Equal(dp.markers, tc.want) {
				t.Errorf("End Markers %+v, want %+v", dp.markers, tc.want)
			}
		})
	}
}
