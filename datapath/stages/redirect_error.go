package stages

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// quoted returns the packet, or the beginning of one, that an ICMP or ICMPv6 error
// quotes, which is the end of u; nil: u is none, or quotes no packet of its IP version.
//
// Source: RFC 792; RFC 4443, 3.
func (u user) quoted() user {
	p := u.upper()
	v6 := u.isIPv6()
	if p.protocol != inet.ProtoICMP && !v6 || p.protocol != inet.ProtoICMPv6 && v6 || len(p.payload) < inet.LenICMP || !p.isError(v6) {
		return nil
	}
	inner := user(p.payload[inet.LenICMP:])
	switch {
	case len(inner) < inet.LenIPv4, inner.isIPv6() != v6, v6 && len(inner) < inet.LenIPv6:
		return nil
	case !v6 && (inner[0]>>4 != 4 || inner[0]&0xf < 5 || len(inner) < 4*int(inner[0]&0xf)):
		return nil
	}
	return inner
}

// withQuoted returns a copy of u, an error that quotes inner, in which that has another
// source, or destination. A wrong checksum stays wrong.
func (u user) withQuoted(inner user, source bool, to netip.Addr) user {
	out := append(append(user(nil), u[:len(u)-len(inner)]...), inner.withAddress(source, to)...)
	at := len(u) - len(inner)
	sum := out[at-inet.LenICMP+2:]
	for i := at; i+1 < len(u); i += 2 {
		adjust(sum, binary.BigEndian.Uint16(u[i:]), binary.BigEndian.Uint16(out[i:]))
	}
	return out
}

// errorAway returns an ICMP error of the UE about a packet that seemed to come from
// where it had sent to, as the host has to see it from which that came; nil: it is
// about no flow that was redirected there. The lock is held.
func (d *Redirects) errorAway(u user, host netip.Addr, nowNs uint64) user {
	inner := u.quoted()
	if inner == nil {
		return nil
	}
	k := flowKey{ue: inner.destination(), host: host}
	f := d.flowOf(k, inner.upper(), false, nowNs)
	if f == nil || f.original != inner.source() || f.original != u.destination() || k.ue != u.source() {
		return nil
	}
	return u.withQuoted(inner, true, host).withAddress(false, host)
}

// errorBack returns an ICMP error about a packet of the UE as if that had not been
// redirected; nil: it is about no flow that was. Only the host's own seem to come
// from elsewhere. The lock is held.
func (d *Redirects) errorBack(u user, nowNs uint64) user {
	inner := u.quoted()
	if inner == nil || inner.source() != u.destination() {
		return nil
	}
	f := d.flowOf(flowKey{ue: inner.source(), host: inner.destination()}, inner.upper(), true, nowNs)
	if f == nil {
		return nil
	}
	out := u.withQuoted(inner, false, f.original)
	if u.source() == f.key.host {
		return out.withAddress(true, f.original)
	}
	return out
}

// flowOf returns the flow of a quoted packet, which the UE sent or has got; nil:
// there is none.
func (d *Redirects) flowOf(k flowKey, p upper, fromUE bool, nowNs uint64) *flow {
	k.protocol = p.protocol
	if p.hasPorts() {
		k.uePort, k.hostPort = binary.BigEndian.Uint16(p.payload), binary.BigEndian.Uint16(p.payload[2:])
		if !fromUE {
			k.uePort, k.hostPort = k.hostPort, k.uePort
		}
	}
	e := d.flows[k]
	if e == nil || nowNs-e.Value.(*flow).last >= flowQuiet {
		return nil
	}
	return e.Value.(*flow)
}
