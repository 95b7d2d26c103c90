package session

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestText: what an operator reads of the rarer parts of rules.
func TestText(t *testing.T) {
	first, last := MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 0xff}
	for _, tc := range []struct {
		value fmt.Stringer
		want  string
	}{
		{Forward | Copy, "FORW+DUPL"},
		{Buffer | Notify | NotifyBuffered | NotifyDiscarded, "BUFF+NOCP+BDPN+DDPN"},
		{ApplyAction(0), "none"},
		{InfoMBQE | InfoMNOP, "MBQE+MNOP"},
		{PDNType(0), ""},
		{PDNTypeIPv4v6, "IPv4v6"},
		{PDNTypeEth, "Ethernet"},
		{UnwrapNone, ""},
		{UnwrapSTAGCTAG, "S-TAG and C-TAG"},
		{GTPU, "GTP-U/UDP/IP"},
		{Tags, "VLAN tags"},
		{&EthernetFilter{}, "any frame"},
		{&EthernetFilter{
			MACs:      []MACs{{Source: Some(first), UpperSource: Some(last)}, {Destination: Some(first)}},
			Ethertype: 0x800, CTAG: Some(VLANTag{VID: Some(uint16(7)), PCP: Some(uint8(3))}), STAG: Some(VLANTag{}),
			Filters:       []SDFFilter{{Protocol: Some(uint8(6)), Remote: netip.MustParsePrefix("192.0.2.0/24")}, {}},
			Bidirectional: true,
		}, "source MAC 02:00:00:00:00:01 to 02:00:00:00:00:ff or destination MAC 02:00:00:00:00:01 Ethertype 0x0800 " +
			"C-TAG VID 7 PCP 3 S-TAG any permit out 6 from 192.0.2.0/24 to assigned or permit out ip from any to assigned BIDE"},
		{&EthernetFilter{ID: Some(uint32(4)), Reference: true}, "as Ethernet Filter ID 4 of another PDR"},
	} {
		if got := tc.value.String(); got != tc.want {
			t.Errorf("%#v: got %q, want %q", tc.value, got, tc.want)
		}
	}
}
