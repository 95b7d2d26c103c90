package endpoint

import (
	"net/netip"
	"strings"
	"testing"
)

// TestFit: each endpoint fits better than those after it, whatever these have of what
// decides later.
func TestFit(t *testing.T) {
	type properties = Properties[uint8, string]
	const kind, instance, at = uint8(15), "internet", "core"
	lists := func(of string) (p properties) { // "+" the one wanted, "?" any, "-" another
		p.InterfaceTypes = map[byte][]uint8{'+': {1, kind}, '-': {1}}[of[0]]
		p.NetworkInstances = map[byte][]string{'+': {"ims", instance}, '-': {"ims"}}[of[1]]
		p.Interfaces = map[byte][]string{'+': {"access", at}, '-': {"access"}}[of[2]]
		return p
	}
	last := -1
	for _, of := range strings.Fields("--- --? --+ -?- -?? -?+ -+- -+? -++ ?-- ?-? ?-+ ??- ??? ??+ ?+- ?+? ?++ +-- +-? +-+ +?- +?? +?+ ++- ++? +++") {
		p, k := lists(of), kind
		n := p.Fit(&k, instance, at)
		if n <= last {
			t.Errorf("%s: %d, want more than %d of the one before", of, n, last)
		}
		last = n
		if of[0] == '-' { // without 3GPP Interface Type or Network Instance these decide nothing
			a, b := lists("+"+of[1:]), lists("?"+of[1:])
			if x, y, z := p.Fit(nil, instance, at), a.Fit(nil, instance, at), b.Fit(nil, instance, at); x != y || x != z {
				t.Errorf("%s: without 3GPP Interface Type %d, %d, %d; want the same", of, x, y, z)
			}
		}
		if of[1] == '-' {
			a, b := lists(of[:1]+"+"+of[2:]), lists(of[:1]+"?"+of[2:])
			if x, y, z := p.Fit(&k, "", at), a.Fit(&k, "", at), b.Fit(&k, "", at); x != y || x != z {
				t.Errorf("%s: without Network Instance %d, %d, %d; want the same", of, x, y, z)
			}
		}
	}
}

// TestTag: the tag of an IPv4 address is its own, and that of no host's is one of IPv6.
func TestTag(t *testing.T) {
	for s, want := range map[string]uint32{"10.3.0.1": 0x0a030001, "223.255.255.254": 0xdffffffe} {
		if got := Tag(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %#x, want %#x", s, got, want)
		}
	}
	if got := Tag(netip.Addr{}); got != 0 {
		t.Errorf("no address: %#x, want 0", got)
	}
	seen := map[uint32]netip.Addr{}
	for _, s := range strings.Fields("fd03::1 fd03::2 fd03:0:0:1::1 fd06::1 fd06::2 fd09::1 2001:db8::1 2001:db8::1:1 2001:db8:1::1 2001:db8:3::1 ::ffff:10.3.0.1") {
		a := netip.MustParseAddr(s)
		tag := Tag(a)
		if b, has := seen[tag]; has || tag>>28 != 0xf {
			t.Errorf("%v: %#x, that of %v or no number of 240.0.0.0/4", a, tag, b)
		}
		seen[tag] = a
	}
}
