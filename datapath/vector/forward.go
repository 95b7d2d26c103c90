package vector

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// forward reports whether the packet can leave as its rule says, here and as it is.
// What cannot, for whatever reason, is the model's.
func (w *Worker) forward(k *work) bool {
	r, u := k.rule, k.user()
	switch {
	case r.has(dropped):
		return k.header != 0 || w.arrives(k, u)
	case r.has(slow):
		return false
	}
	came, leaves := k.header != 0, r.has(tunnel)
	if !came && !leaves {
		return false
	}
	if came != leaves && !k.routable(u) {
		return false
	}
	if !w.fits(k, came, leaves) {
		return false
	}
	if !came && !w.arrives(k, u) || !leaves && !w.departs(k, u) {
		return false
	}
	return r.has(uplink) || !w.e.stages.Redirects.Some() || !w.e.stages.Redirects.Of(destination(u))
}

// unmatched drops a packet that no PDR of its key matches, or reports that the model has
// to: it may be for the UPF itself, or for a NAT.
func (w *Worker) unmatched(k *work) bool {
	u := k.user()
	if !k.inScope() || k.header == 0 && !w.arrives(k, u) {
		return false
	}
	k.packet.Reason = k.reason
	w.count(k.reason)
	return true
}

// inScope reports whether a router forwards packets of these addresses.
func (k *work) inScope() bool {
	if k.v6 {
		return isForwarded6(k.src) && isForwarded6(k.dst)
	}
	return isForwarded4(k.src) && isForwarded4(k.dst)
}

// routable reports whether a router forwards u: by its TTL and its addresses.
func (k *work) routable(u []byte) bool {
	ttl := u[8]
	if k.v6 {
		ttl = u[7]
	}
	return ttl > 1 && k.inScope()
}

// isForwarded4 reports whether a router forwards packets from and to an address:
// not of this network, the host, one link, many, or reserved.
// Source: RFC 1812, 5.3.7; RFC 3927, 2.7.
func isForwarded4(a uint64) bool {
	first := a >> 24
	return first != 0 && first != 127 && first < 224 && a>>16 != 169<<8|254
}

// isForwarded6 is the same of the first half of an IPv6 address.
// Source: RFC 4291, 2.5 and 2.7.
func isForwarded6(hi uint64) bool { return hi != 0 && hi>>56 != 0xff && hi>>54 != 0xfe80>>6 }

// maxHeader is how many octets outer headers have at most that a packet gets that came
// bare, or how many more than before.
const maxHeader = inet.LenIPv6 + inet.LenUDP + lenOptional + 8 + 4

// fits reports whether the packet is not too long for where it goes. That of a relay is
// fragmented outside, if need be.
func (w *Worker) fits(k *work, came, leaves bool) bool {
	size := int(k.size)
	switch {
	case came && leaves:
		return size+int(k.header)+maxHeader <= 0xffff
	case leaves:
		size += maxHeader
	}
	if size <= w.least {
		return true
	}
	r := k.rule.model[0]
	if k.rule.has(own) { // no link is between
		return int(k.size)+w.overhead(k.rule) <= 0xffff
	}
	if !leaves {
		return size <= w.e.cfg.Links.MTU(r, destination(k.user()))
	}
	return int(k.size)+w.overhead(k.rule) <= w.e.cfg.Links.MTU(r, netip.Addr{})
}

// overhead returns how many octets the outer headers have of what came bare.
func (w *Worker) overhead(r *rule) int {
	size := inet.LenIPv4 + inet.LenUDP
	if r.has(outer6) {
		size = inet.LenIPv6 + inet.LenUDP
	}
	return size + len(r.model[0].AppendHeader(w.header[:0], nil, 0))
}

// arrives reports whether a data network's NAT and MSS clamp have nothing to do with a
// packet from there.
func (w *Worker) arrives(k *work, u []byte) bool {
	n := &w.e.cfg.N6.Networks[k.packet.Network-1]
	if n.MSSClamp != 0 && k.isSYN(u) {
		return false
	}
	return n.NAT == nil || k.v6
}

// departs reports the same of one that leaves for a data network, and whether it is not
// for this host.
func (w *Worker) departs(k *work, u []byte) bool {
	r := k.rule
	switch {
	case r.has(natted) && !k.v6, r.has(clamped) && k.isSYN(u):
		return false
	}
	return !w.e.cfg.Hosts.maybe(k.hostWord(u)) || !w.e.cfg.Hosts.Has(destination(u))
}

// isSYN reports whether u may be a TCP SYN.
func (k *work) isSYN(u []byte) bool {
	if k.v6 {
		return u[6] != inet.ProtoUDP && (u[6] != inet.ProtoTCP || len(u) >= inet.LenIPv6+14 && u[inet.LenIPv6+13]&flagSYN != 0)
	}
	header := 4 * int(u[0]&0xf)
	return u[9] == inet.ProtoTCP && len(u) >= header+14 && u[header+13]&flagSYN != 0
}

const flagSYN = 0x02

// hostWord is the number by which [Hosts] knows the destination.
func (k *work) hostWord(u []byte) uint32 {
	if !k.v6 {
		return uint32(k.dst)
	}
	return binary.BigEndian.Uint32(u[36:]) ^ uint32(k.dst)
}
