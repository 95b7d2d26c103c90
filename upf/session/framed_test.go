package session

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseFramedRoute: the text of RFC 2865 and RFC 3162.
func TestParseFramedRoute(t *testing.T) {
	for _, tc := range []struct{ in, want string }{ // want "": an error
		{"10.60.0.0/16", "10.60.0.0/16"},
		{"10.60.1.2/16 0.0.0.0 1", "10.60.0.0/16"},
		{"192.168.1.0/24 192.168.1.1 1 2 -1 3 400", "192.168.1.0/24"},
		{"  10.1.0.0/16\t10.1.0.1 ", "10.1.0.0/16"},
		{"10.0.0.0 192.168.1.1 1", "10.0.0.0/8"}, // by its class
		{"172.16.0.0", "172.16.0.0/16"},
		{"192.0.2.0", "192.0.2.0/24"},
		{"10.45.0.2/32", "10.45.0.2/32"},
		{"2001:db8:60::/48 :: 1", "2001:db8:60::/48"},
		{"2000:0:0:106::/64 2000::106:a00:20ff:fe99:a998 1", "2000:0:0:106::/64"},
		{"2001:db8::1/64", "2001:db8::/64"},
		{"", ""},
		{" ", ""},
		{"everywhere", ""},
		{"0.0.0.0/0", ""},
		{"::/0", ""},
		{"10.60.0.0/33", ""},
		{"2001:db8::", ""},
		{"::ffff:10.0.0.0/104", ""},
		{"10.60.0.0/16 gateway", ""},
		{"fe80::1%eth0/64", ""},
	} {
		got, err := ParseFramedRoute([]byte(tc.in))
		if tc.want == "" {
			if err == nil {
				t.Errorf("%q: %v, want an error", tc.in, got)
			}
			continue
		}
		if err != nil || got.String() != tc.want {
			t.Errorf("%q: %v, %v; want %s", tc.in, got, err, tc.want)
		}
	}
}

// FuzzParseFramedRoute: what is accepted is a prefix without host bits that is not
// everywhere, and its text says the same again.
func FuzzParseFramedRoute(f *testing.F) {
	for _, s := range []string{"10.60.0.0/16 0.0.0.0 1", "172.16.0.0", "2001:db8:60::/48 :: 1", "1/1", "::1%a/3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseFramedRoute(text)
		if err != nil {
			return
		}
		if !p.IsValid() || p.Bits() == 0 || p != p.Masked() || p.Addr().Zone() != "" {
			t.Fatalf("%q: %v", text, p)
		}
		if again, err := ParseFramedRoute([]byte(p.String() + " " + p.Addr().String() + " 1")); err != nil || again != p {
			t.Errorf("%q: %v, then %v, %v", text, p, again, err)
		}
	})
}

// TestFramedRoutes: a prefix belongs to one session at a time; those inside it may be
// another's, an address of a UE among them. What goes is free.
func TestFramedRoutes(t *testing.T) {
	m, dp := newManager(t, 8)
	with := func(ue IPv4, framed ...string) *Establishment {
		e := establishment(ue)
		e.CreatePDRs[0].PDI.Framed = prefixes(framed...)
		e.CreatePDRs[1].PDI.Framed = prefixes(framed...)
		return e
	}
	first, err := establish(m, with(IPv4{10, 45, 0, 1}, "10.60.0.0/16", "2001:db8:60::/48"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(prefixes("10.60.0.0/16", "2001:db8:60::/48"), dp.sessions[first.SEID].PDR(1).PDI.Framed, cmp.Comparer(equalPrefix)); d != "" {
		t.Errorf("datapath (-want +got):\n%s", d)
	}
	held := Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrHeld}
	for _, tc := range []struct {
		name string
		req  *Establishment
		want *Error
	}{
		{"the same IPv4 prefix", with(IPv4{10, 45, 0, 2}, "10.60.0.0/16"), &held},
		{"the same IPv6 prefix", with(IPv4{10, 45, 0, 2}, "2001:db8:60::/48"), &held},
		{"a prefix inside it", with(IPv4{10, 45, 0, 2}, "10.60.1.0/24", "2001:db8:60::/56"), nil},
		{"a prefix around it", with(IPv4{10, 45, 0, 3}, "10.0.0.0/8"), nil},
		{"a UE inside it", with(IPv4{10, 60, 0, 9}), nil},
		{"a host that is that UE", with(IPv4{10, 45, 0, 4}, "10.60.0.9/32"), &held},
	} {
		_, err := establish(m, tc.req)
		if tc.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		checkError(t, err, *tc.want)
	}
	// A modification gives one back and takes another.
	up := UpdatePDR{ID: 1, PDI: Some(PDI{SourceInterface: Core, UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 1}}, Framed: prefixes("10.61.0.0/16")})}
	if _, err := modify(m, &Modification{SEID: first.SEID, Owner: 1, UpdatePDRs: []UpdatePDR{up}}); err != nil {
		t.Fatal(err)
	}
	if _, err := establish(m, with(IPv4{10, 45, 0, 5}, "10.60.0.0/16")); err != nil {
		t.Errorf("a prefix that was given back: %v", err)
	}
	for s := range m.All() {
		if err := remove(m, s.SEID, 1); err != nil {
			t.Error(err)
		}
	}
	checkEmpty(t, m, dp)
}

func equalPrefix(a, b netip.Prefix) bool { return a == b }

// TestSeveralEndpoints: a PDI of several Traffic Endpoints needs what each of them
// needs, and goes with any of them.
func TestSeveralEndpoints(t *testing.T) {
	m, dp := newManager(t, 8)
	e := establishment(IPv4{10, 45, 0, 1})
	e.CreateEndpoints = []TrafficEndpoint{
		{ID: 1, Choose: Choose{CH: true}}, {ID: 2, Choose: Choose{CH: true}},
		{ID: 3, UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 1}}}, {ID: 4, UEAddress: UEAddress{IPv4: IPv4{10, 45, 0, 2}}, Framed: prefixes("10.60.0.0/16")},
	}
	e.CreatePDRs[0].PDI = PDI{SourceInterface: Core, Endpoint: Some(uint8(3)), MoreEndpoints: []uint8{4}}
	e.CreatePDRs[1].PDI = PDI{Endpoint: Some(uint8(1)), MoreEndpoints: []uint8{2}}
	s, err := establish(m, e)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := s.Endpoint(1).FTEID.TEID, s.Endpoint(2).FTEID.TEID; a == 0 || b == 0 || a == b {
		t.Errorf("TEIDs %#x, %#x; want two", a, b)
	}
	other := establishment(IPv4{10, 45, 0, 2})
	other.Owner = 2
	_, err = establish(m, other)
	checkError(t, err, Error{CauseRuleFailure, 0, true, RulePDR, 1, ErrHeld})
	if _, err := modify(m, &Modification{SEID: s.SEID, Owner: 1, RemoveEndpoints: []uint8{4}}); err != nil {
		t.Fatal(err)
	}
	if got := dp.sessions[s.SEID]; got.PDR(1) != nil || got.PDR(2) == nil {
		t.Error("the PDR of the second Traffic Endpoint did not go with it")
	}
	if err := remove(m, s.SEID, 1); err != nil {
		t.Error(err)
	}
	checkEmpty(t, m, dp)
}
