package n4load

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestAdapt says the request of a template in dialects: what is named changes,
// all else is as without.
func TestAdapt(t *testing.T) {
	node, local := pfcp.NodeID{}, netip.MustParseAddr("192.0.2.1")
	template := Template{UE: netip.MustParseAddr("10.0.0.1"), GNB: netip.MustParseAddr("192.0.2.2"), QFI: 9, PDRs: 4}
	n3, n6 := pfcp.Some(pfcp.InterfaceTypeN33GPPAccess), pfcp.Some(pfcp.InterfaceTypeN6)
	for _, tc := range []struct {
		name    string
		dialect Dialect
		with    func(*pfcp.SessionEstablishmentRequest)
	}{
		{"none", Dialect{}, func(*pfcp.SessionEstablishmentRequest) {}},
		{"interface types", Dialect{InterfaceTypes: true}, func(m *pfcp.SessionEstablishmentRequest) {
			for i := range m.CreatePDRs {
				m.CreatePDRs[i].PDI.InterfaceType = n3
				if i%2 == 1 {
					m.CreatePDRs[i].PDI.InterfaceType = n6
				}
			}
			m.CreateFARs[0].ForwardingParameters.Value.InterfaceType = n6
			m.CreateFARs[1].ForwardingParameters.Value.InterfaceType = n3
		}},
		{"instances", Dialect{AccessInstance: "access", CoreInstance: "core", DNN: "dnn"}, func(m *pfcp.SessionEstablishmentRequest) {
			for i := range m.CreatePDRs {
				m.CreatePDRs[i].PDI.NetworkInstance = pfcp.NewName([]string{"access", "core"}[i%2])
			}
			m.CreateFARs[0].ForwardingParameters.Value.NetworkInstance = pfcp.NewName("core")
			m.CreateFARs[1].ForwardingParameters.Value.NetworkInstance = pfcp.NewName("access")
			m.APNDNN = pfcp.NewName("dnn")
		}},
		{"GBR", Dialect{GBR: true}, func(m *pfcp.SessionEstablishmentRequest) {
			m.CreateQERs[0].GBR = pfcp.Some(pfcp.BitRates{})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plain, spoken := template, template
			spoken.Dialect = tc.dialect
			want, got := plain.establishment(node, local), spoken.establishment(node, local)
			tc.with(&want)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}), cmpopts.IgnoreUnexported(pfcp.CreatePDR{}, pfcp.CreateFAR{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAdaptKeeps wants what the template itself says not to be overwritten.
func TestAdaptKeeps(t *testing.T) {
	template := Template{NetworkInstance: "own", DNN: "own", Dialect: Dialect{AccessInstance: "access", CoreInstance: "core", DNN: "dnn"}}
	m := template.establishment(pfcp.NodeID{}, netip.Addr{})
	own := pfcp.NewName("own")
	got := []pfcp.Name{m.APNDNN, m.CreatePDRs[0].PDI.NetworkInstance, m.CreateFARs[0].ForwardingParameters.Value.NetworkInstance}
	if diff := cmp.Diff([]pfcp.Name{own, own, own}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDialectLimits(t *testing.T) {
	n3 := netip.MustParseAddr("192.0.2.3")
	for _, tc := range []struct {
		name string
		in   Template
		want string
	}{
		{"no limit", Template{PDRs: MaxPDRs}, ""},
		{"as many PDRs", Template{PDRs: 2, Dialect: Dialect{PDRs: 2}}, ""},
		{"too many PDRs", Template{PDRs: 4, Dialect: Dialect{PDRs: 2}}, "4 PDRs: this UP function tells no more than 2 of a session apart"},
		{"F-TEIDs are given", Template{ULTEID: 1, N3: n3, Dialect: Dialect{CPFTEID: true}}, ""},
		{"no TEID", Template{N3: n3, Dialect: Dialect{CPFTEID: true}}, "this UP function chooses no F-TEIDs"},
		{"no N3", Template{ULTEID: 1, Dialect: Dialect{CPFTEID: true}}, "this UP function chooses no F-TEIDs"},
	} {
		err := tc.in.Validate()
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}
