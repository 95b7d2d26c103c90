package n4

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// remoteFTEID is the far end of a tunnel as messages have it.
func remoteFTEID(t session.Tunnel) pfcp.FTEID {
	f := pfcp.FTEID{TEID: t.TEID}
	if t.IPv4 != (session.IPv4{}) {
		f.V4, f.IPv4 = true, netip.AddrFrom4(t.IPv4)
	}
	if t.IPv6 != (session.IPv6{}) {
		f.V6, f.IPv6 = true, netip.AddrFrom16(t.IPv6)
	}
	return f
}
