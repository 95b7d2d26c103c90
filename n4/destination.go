package n4

import (
	"net/netip"

	"plumbline/session"
)

// reportTo is where requests about a session go: the address of the CP
// function's F-SEID. If nobody there may be a peer of ours it is the address of
// the association; with that, a CP function cannot make us send to whom it
// likes. It reports false if the owner has no association any more.
// Source: TS 29.244 V18.6.0, 5.6.2.
func (e *Endpoint) reportTo(owner uint32, cp session.FSEID) (netip.AddrPort, bool) {
	a := e.peers.owner(owner)
	if a == nil {
		return netip.AddrPort{}, false
	}
	to := a.addr
	if v := netip.AddrFrom16(cp.IPv6); cp.IPv6 != [16]byte{} && e.addr.Addr().Is6() && e.mayReach(a, v) {
		to = v
	}
	if v := netip.AddrFrom4(cp.IPv4); cp.IPv4 != (session.IPv4{}) && e.addr.Addr().Is4() && e.mayReach(a, v) {
		to = v
	}
	return netip.AddrPortFrom(to, e.config.PeerPort), true
}

// mayReach reports whether requests about a's sessions may go to addr: an
// operator has named it, or the CP function has proved that it is there.
func (e *Endpoint) mayReach(a *association, addr netip.Addr) bool {
	return addr == a.addr || len(e.config.Peers) > 0 && e.allowed(addr)
}
