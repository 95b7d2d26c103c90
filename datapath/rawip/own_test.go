package rawip

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// TestOwn: with an address of a network come its broadcast and anycast addresses, but of
// two addresses, or one, there are none.
func TestOwn(t *testing.T) {
	var addrs []netlink.Addr
	for _, s := range []string{"10.6.0.1/24", "10.7.0.1/31", "10.8.0.1/32", "2001:db8:6::1/64", "2001:db8:7::1/127", "10.6.0.3/24"} {
		p := netip.MustParsePrefix(s)
		addrs = append(addrs, netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}})
	}
	addrs[0].Broadcast = net.IPv4(10, 6, 0, 200) // beside which the kernel keeps that of the network
	var got []string
	for _, a := range Own(addrs) {
		got = append(got, a.String())
	}
	want := []string{
		"10.6.0.0", "10.6.0.1", "10.6.0.3", "10.6.0.200", "10.6.0.255", "10.7.0.1", "10.8.0.1",
		"2001:db8:6::", "2001:db8:6::1", "2001:db8:7::1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
