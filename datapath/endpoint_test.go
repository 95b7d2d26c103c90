package datapath

import (
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

func TestLocal(t *testing.T) {
	addr := netip.MustParseAddr
	endpoints := []Endpoint{
		{Name: "s5", Address6: addr("2001:db8::1"), Interfaces: []api.Interface{api.Interface_CORE}},
		{Name: "n3", Address: addr("10.3.0.1"), Address6: addr("2001:db8:3::1"), NetworkInstances: []string{"access"}},
		{Name: "n9", Address: addr("10.9.0.1"), NetworkInstances: []string{"core", "roaming"}, Interfaces: []api.Interface{api.Interface_CORE}, InterfaceTypes: []uint8{15}},
	}
	n9, s5s8 := uint32(15), uint32(1)
	const access, core, lan = api.Interface_ACCESS, api.Interface_CORE, api.Interface_SGI_LAN
	peer4, peer6 := addr("192.0.2.1"), addr("2001:db8:9::1")
	for _, tc := range []struct {
		name     string
		instance string
		to       api.Interface
		kind     *uint32
		peer     netip.Addr
		want     netip.Addr
	}{
		{"any for access is n3", "", access, nil, peer4, addr("10.3.0.1")},
		{"core is n9", "", core, nil, peer4, addr("10.9.0.1")},
		{"core over IPv6 is s5", "", core, nil, peer6, addr("2001:db8::1")},
		{"neither is one for any", "", lan, nil, peer6, addr("2001:db8:3::1")},
		{"instance", "access", core, nil, peer4, addr("10.3.0.1")},
		{"instance before interface", "roaming", access, nil, peer4, addr("10.9.0.1")},
		{"instance without IPv6: one for any", "roaming", access, nil, peer6, addr("2001:db8::1")},
		{"unknown instance", "other", core, nil, peer4, addr("10.9.0.1")},
		{"interface type before instance", "access", access, &n9, peer4, addr("10.9.0.1")},
		{"a type that no endpoint has is no worse than none", "", core, &s5s8, peer6, addr("2001:db8::1")},
		{"one without types before one of others", "", core, &s5s8, peer4, addr("10.3.0.1")},
	} {
		if got := Local(endpoints, Direction{tc.instance, tc.to, tc.kind}, tc.peer); got != tc.want {
			t.Errorf("%s: Local(%q, %v, %v) = %v, want %v", tc.name, tc.instance, tc.to, tc.peer, got, tc.want)
		}
	}
	ims := []Endpoint{
		{Name: "ims", Address: addr("10.3.0.1"), NetworkInstances: []string{"ims"}}, {Name: "any", Address: addr("10.9.0.1")},
	}
	if got, want := Local(ims, Direction{NetworkInstance: "internet"}, peer4), addr("10.9.0.1"); got != want {
		t.Errorf("Local with one of another instance first = %v, want that of any: %v", got, want)
	}
	if got := Local(endpoints[:1], Direction{Interface: core}, peer4); got.IsValid() {
		t.Errorf("Local without IPv4 = %v, want none", got)
	}
}
