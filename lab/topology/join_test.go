package topology

import (
	"net/netip"
	"testing"
)

// TestJoin exchanges datagrams between a UE's namespace and others of the bed.
func TestJoin(t *testing.T) {
	bed := build(t, Config{Name: "plt-join"})
	phy, err := bed.Add("pnf")
	if err != nil {
		t.Fatal(err)
	}
	for i, device := range []string{"first", "second"} {
		at := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 5, byte(i), 1}), 24)
		other := netip.PrefixFrom(at.Addr().Next(), 24)
		if err := bed.Join(bed.GNB, phy, device, at, other); err != nil {
			t.Fatal(err)
		}
		exchange(t, phy, bed.GNB, at.Addr())
		exchange(t, bed.GNB, phy, other.Addr())
	}
	if err := bed.Join(bed.GNB, phy, "first", netip.MustParsePrefix("10.5.9.1/24"), netip.MustParsePrefix("10.5.9.2/24")); err == nil {
		t.Error("a second device of the same name")
	}
}
