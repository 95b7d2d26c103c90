package tun

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Messages that tell a neighbour of a better next hop.
// Source: RFC 792 (Redirect); RFC 4861, 4.5.
const (
	icmpRedirect, icmp6Redirect = 5, 137

	maskOffset = 0x1fff
)

// isRedirect reports whether p is a Redirect from this host. The kernel sends one for a packet from
// a UE to another one, which leaves through the device on which it arrived; it is useless to the
// UE, whose next hop is the tunnel. The device's sysctl alone does not prevent it: send_redirects
// of the device or of all devices is sufficient.
func (h *host) isRedirect(p []byte) bool {
	switch {
	case len(p) < inet.LenIPv4:
		return false
	case p[0]>>4 == 4:
		at := 4 * int(p[0]&0xf)
		return p[9] == inet.ProtoICMP && at < len(p) && p[at] == icmpRedirect &&
			binary.BigEndian.Uint16(p[6:])&maskOffset == 0 && h.own.Has(netip.AddrFrom4([4]byte(p[12:])))
	case p[0]>>4 == 6:
		return p[6] == inet.ProtoICMPv6 && len(p) > inet.LenIPv6 && p[inet.LenIPv6] == icmp6Redirect && h.own.Has(netip.AddrFrom16([16]byte(p[8:])))
	}
	return false
}
