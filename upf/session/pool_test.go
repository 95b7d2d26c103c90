package session

import (
	"errors"
	"net/netip"
	"runtime"
	"testing"
)

func mustPool(t testing.TB, prefix string) *prefixPool {
	t.Helper()
	p, err := newPrefixPool(netip.MustParsePrefix(prefix))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPoolAddresses: every address of a prefix but the first and the last, each
// once, and /64 prefixes out of IPv6 prefixes.
func TestPoolAddresses(t *testing.T) {
	for _, tc := range []struct {
		prefix      string
		n           int
		first, last string
	}{
		{"10.60.0.0/24", 254, "UE IP Address 10.60.0.1", "UE IP Address 10.60.0.254"},
		{"10.60.0.8/30", 2, "UE IP Address 10.60.0.9", "UE IP Address 10.60.0.10"},
		{"10.60.0.8/31", 2, "UE IP Address 10.60.0.8", "UE IP Address 10.60.0.9"},
		{"10.60.0.8/32", 1, "UE IP Address 10.60.0.8", "UE IP Address 10.60.0.8"},
		{"2001:db8:60::/62", 4, "UE IPv6 prefix 20010db800600000/64", "UE IPv6 prefix 20010db800600003/64"},
		{"2001:db8:60::/64", 1, "UE IPv6 prefix 20010db800600000/64", "UE IPv6 prefix 20010db800600000/64"},
	} {
		p := mustPool(t, tc.prefix)
		seen := make(map[resource]bool)
		for i := range tc.n {
			r, ok := p.allocate(1)
			if !ok || seen[r] || !p.has(r) || p.holder(r) != 1 {
				t.Fatalf("%s, address %d: %v, %v, seen %v", tc.prefix, i, r, ok, seen[r])
			}
			seen[r] = true
			if want := map[int]string{0: tc.first, tc.n - 1: tc.last}[i]; want != "" && r.String() != want {
				t.Errorf("%s, address %d: %v, want %s", tc.prefix, i, r, want)
			}
		}
		if r, ok := p.allocate(1); ok {
			t.Errorf("%s: %v is one more than there are", tc.prefix, r)
		}
		for r := range seen {
			p.free(r)
		}
		checkFree(t, tc.prefix, &p.places)
	}
	for _, bad := range []string{"2001:db8::/65", "2001:db8::/128"} {
		if _, err := newPrefixPool(netip.MustParsePrefix(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestPoolReuse: an address comes again when all others have been used since, and
// one that the CP function chose is not handed out.
func TestPoolReuse(t *testing.T) {
	p := mustPool(t, "10.60.0.0/28") // 14 addresses
	chosen := resource{kind: resourceUEIPv4, value: 0x0a3c0003}
	if h := p.take(chosen, 9); h != 9 || p.take(chosen, 8) != 9 {
		t.Errorf("take: holder %d, want 9, and nobody else", h)
	}
	first, _ := p.allocate(1)
	p.free(first)
	for i := range 12 {
		if r, ok := p.allocate(1); !ok || r == first || r == chosen {
			t.Fatalf("address %d after %v was given back: %v, %v", i, first, r, ok)
		}
	}
	if r, ok := p.allocate(1); !ok || r != first {
		t.Errorf("the last free one: %v, %v; want %v", r, ok, first)
	}
	p.free(chosen)
	if r, ok := p.allocate(1); !ok || r != chosen {
		t.Errorf("the only free one: %v, %v; want %v", r, ok, chosen)
	}
}

// TestPoolMemory: addresses that were never used cost nothing to speak of.
func TestPoolMemory(t *testing.T) {
	before := heap()
	p := mustPool(t, "10.0.0.0/8")
	q := mustPool(t, "2001:db8::/32")
	for range 1000 {
		p.allocate(1)
		q.allocate(1)
	}
	got := heap() - before
	runtime.KeepAlive(p)
	runtime.KeepAlive(q)
	if got > 1<<20 {
		t.Errorf("%d octets for 2000 addresses of a /8 and a /32, want less than 1 MiB", got)
	}
}

// TestUEAddresses: addresses are allocated once for a session, told to each PDR that
// asks, kept while one asks, and given back.
func TestUEAddresses(t *testing.T) {
	m, dp := newManagerOf(t, Config{
		MaxSessions: 8, Endpoints: []Endpoint{{IPv4: n3}},
		Pools: []Pool{
			{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.60.0.0/31"), netip.MustParsePrefix("2001:db8:60::/63")}},
			{Name: "b", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.61.0.0/32")}},
		},
	})
	request := func(pool string) *Establishment {
		req := establishment(IPv4{})
		for i := range req.CreatePDRs {
			req.CreatePDRs[i].PDI.ChooseUE = ChooseUE{V4: true, V6: true, Pool: pool}
		}
		return req
	}
	s := must(t, m, request(""))
	a := s.PDR(1).PDI.UEAddress
	if a != s.PDR(2).PDI.UEAddress || a.IPv4 == (IPv4{}) || a.IPv6Prefix == (IPv6Prefix{}) || m.ByUEAddress(a) == nil {
		t.Errorf("UE addresses %v and %v", a, s.PDR(2).PDI.UEAddress)
	}
	if _, err := establish(m, request("b")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an IPv6 prefix of a pool that has none: %v", err)
	}
	must(t, m, request("a"))
	if _, err := establish(m, request("a")); cause(err) != CauseAddressesOccupied {
		t.Errorf("the third address of 2: %v, want cause %d", err, CauseAddressesOccupied)
	}
	// PDR 1 goes, PDR 2 still has them; a new PDR gets the same.
	s = mustModify(t, m, s.SEID, Modification{RemovePDRs: []uint16{1}})
	if m.ByUEAddress(a) == nil {
		t.Error("given back although a PDR has it")
	}
	s = mustModify(t, m, s.SEID, Modification{CreatePDRs: request("").CreatePDRs[:1]})
	if got := s.PDR(1).PDI.UEAddress; got != a {
		t.Errorf("UE address %v, want that of the session, %v", got, a)
	}
	mustModify(t, m, s.SEID, Modification{RemovePDRs: []uint16{1, 2}})
	if m.ByUEAddress(a) != nil {
		t.Error("still held, with no PDR that has it")
	}
	if n, err := m.DeleteOwned(t.Context(), 1); n != 2 || err != nil {
		t.Errorf("DeleteOwned = %d, %v; want 2", n, err)
	}
	checkEmpty(t, m, dp)

	for _, pools := range [][]Pool{
		{{Name: "a"}, {Name: "a"}},
		{{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, {Name: "b", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}},
		{{Name: "a", Prefixes: []netip.Prefix{{}}}},
	} {
		if _, err := NewManager(Config{MaxSessions: 1, Endpoints: []Endpoint{{}}, Pools: pools}, nowhere{}); err == nil {
			t.Errorf("pools %v: no error", pools)
		}
	}
}

// TestEndpoints: an F-TEID is chosen by 3GPP Interface Type, then by Network Instance, then
// by interface, then at the first endpoint; with the addresses that are asked for.
func TestEndpoints(t *testing.T) {
	v6 := IPv6{0x20, 1, 15: 1}
	m, _ := newManagerOf(t, Config{MaxSessions: 16, Endpoints: []Endpoint{
		{Name: "n3", IPv4: n3, IPv6: v6},
		{Name: "n9", IPv4: IPv4{10, 9, 0, 1}, Interfaces: []Interface{Core}},
		{Name: "s5", IPv4: IPv4{10, 5, 0, 1}, NetworkInstances: []string{"s5", "s8"}},
		{Name: "s5u", IPv4: IPv4{10, 5, 0, 2}, Interfaces: []Interface{Core}, InterfaceTypes: []InterfaceType{1, 19}},
	}})
	none, s5s8, n9 := Optional[InterfaceType]{}, Some(InterfaceType(1)), Some(InterfaceType(15))
	for i, tc := range []struct {
		choose Choose
		from   Interface
		kind   Optional[InterfaceType]
		name   string
		want   FTEID
	}{
		{Choose{CH: true, V4: true}, Access, none, "", FTEID{IPv4: n3}},
		{Choose{CH: true, V6: true}, Access, none, "internet", FTEID{IPv6: v6}},
		{Choose{CH: true, V4: true, V6: true}, Access, none, "", FTEID{IPv4: n3, IPv6: v6}},
		{Choose{CH: true, V4: true, V6: true}, Core, none, "", FTEID{IPv4: IPv4{10, 9, 0, 1}}},
		{Choose{CH: true, V4: true}, Core, none, "s8", FTEID{IPv4: IPv4{10, 5, 0, 1}}},
		{Choose{CH: true, V4: true}, CPFunction, none, "", FTEID{IPv4: n3}},
		{Choose{CH: true, V4: true}, Access, s5s8, "s8", FTEID{IPv4: IPv4{10, 5, 0, 2}}},
		{Choose{CH: true, V4: true}, Core, n9, "", FTEID{IPv4: IPv4{10, 9, 0, 1}}},
	} {
		req := establishment(IPv4{10, 45, 0, byte(i)})
		req.CreatePDRs[1].PDI.Choose, req.CreatePDRs[1].PDI.SourceInterface = tc.choose, tc.from
		req.CreatePDRs[1].PDI.NetworkInstance, req.CreatePDRs[1].PDI.InterfaceType = tc.name, tc.kind
		got := must(t, m, req).PDR(2).PDI.FTEID
		tc.want.TEID = got.TEID
		if got != tc.want || got.TEID == 0 {
			t.Errorf("%+v at %v, Network Instance %q: %+v, want %+v", tc.choose, tc.from, tc.name, got, tc.want)
		}
	}
}
