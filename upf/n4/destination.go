package n4

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
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
	if v := netip.AddrFrom16(cp.IPv6); cp.IPv6 != (session.IPv6{}) && e.addr.Addr().Is6() && e.mayReach(a, v) {
		to = v
	}
	if v := netip.AddrFrom4(cp.IPv4); cp.IPv4 != (session.IPv4{}) && e.addr.Addr().Is4() && e.mayReach(a, v) {
		to = v
	}
	return netip.AddrPortFrom(to, e.config.PeerPort), true
}

// standIn is another SMF of the owner's set that can be asked while its own does
// not answer: its association, or the owner's if they have one together. It knows the session by the old CP F-SEID alone: the SEID in the
// header has to be 0. It reports false if there is none, or none is needed.
// Source: TS 29.244 V18.6.0, 5.22.2, 5.22.3 and 7.5.8.1.
func (e *Endpoint) standIn(owner uint32) (by *association, at netip.AddrPort, ok bool) {
	a := e.peers.owner(owner)
	if a == nil || !a.pathDown.Load() {
		return nil, at, false
	}
	for _, o := range e.peers.list() {
		if o != a && e.inSetOf(a, o) && !o.pathDown.Load() {
			return o, netip.AddrPortFrom(o.addr, e.config.PeerPort), true
		}
	}
	for _, addr := range e.peers.others(a) {
		if e.mayReach(a, addr) {
			return a, netip.AddrPortFrom(addr, e.config.PeerPort), true
		}
	}
	return nil, at, false
}

// cpFSEID is the F-SEID of a CP function as messages have it.
func cpFSEID(f session.FSEID) pfcp.FSEID {
	out := pfcp.FSEID{SEID: f.SEID}
	if f.IPv4 != (session.IPv4{}) {
		out.IPv4 = netip.AddrFrom4(f.IPv4)
	}
	if f.IPv6 != (session.IPv6{}) {
		out.IPv6 = netip.AddrFrom16(f.IPv6)
	}
	return out
}

// mayReach reports whether requests about a's sessions may go to addr: an
// operator has named it, or somebody who is associated has proved to be there.
func (e *Endpoint) mayReach(a *association, addr netip.Addr) bool {
	if addr == a.addr || e.peers.table.Load().own(addr) > 0 {
		return true
	}
	return len(e.config.Peers) > 0 && e.allowed(addr)
}
