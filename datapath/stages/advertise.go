package stages

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// RouterAdvertisement is what the UPF itself answers to a UE that solicits a
// router, where the CP function does not do that through a tunnel of its own.
// The prefixes are those of the session: autonomous (A), not on-link (L off),
// valid for ever. Nothing is advertised that was not asked for.
//
// Source: RFC 4861, 4.2; TS 23.501 V18.8.0, 5.8.2.2.3 (stateless IPv6 address
// autoconfiguration).
type RouterAdvertisement struct {
	Lifetime time.Duration // as default router, in whole seconds; 0: the longest, 65535 s (RFC 8319, 4)
	MTU      int           // octets of the UE's link; 0: not said
	DNS      []netip.Addr  // recursive servers, IPv6, at most 8. RFC 8106, 5.1.
	Other    bool          // O: there is more to be asked of DHCPv6
}

// RouterLinkLocal is the UPF's address on the link of each UE.
var RouterLinkLocal = netip.MustParseAddr("fe80::75:7066")

var allNodes = netip.MustParseAddr("ff02::1")

const (
	ndRouterSolicitation, ndRouterAdvertisement       = 133, 134
	ndNeighbourSolicitation, ndNeighbourAdvertisement = 135, 136

	ndHopLimit = 255 // of all of them, or they came from another link

	optionPrefix, optionMTU, optionDNS = 3, 5, 25
	maxDNS                             = 8
)

// advertise answers what a UE asks of the router on its link, if that is asked of
// the UPF and may be a UE's: whatever its rules say of link-local addresses.
//
// Source: RFC 4861, 6.2.6 (answers to Router Solicitations) and 7.2.4.
func (s *Stages) advertise(candidates []*Rule, u user) []Sent {
	if s.Advertise == nil || u.isForwarded() {
		return nil
	}
	kind := u.solicitation()
	prefixes := prefixesOf(candidates)
	if kind == 0 || len(prefixes) == 0 || !s.Answers.allow(s.Now(), prefixes[0].Addr()) {
		return nil
	}
	r := answerRule(s.towards(prefixes[0].Addr()))
	if r == nil {
		return nil
	}
	to := u.source()
	if to.IsUnspecified() {
		to = allNodes
	}
	body := s.Advertise.router(prefixes)
	if kind == ndNeighbourSolicitation {
		body = neighbour(u.source())
	}
	answer := packet6(inet.ProtoICMPv6, tosControl, RouterLinkLocal, to, ndHopLimit, body, 2)
	return []Sent{r.answer(answer)}
}

// solicitation returns the type of a Router Solicitation, or of a Neighbour
// Solicitation of us, that is as it should be; 0: u is none.
//
// Source: RFC 4861, 6.1.1 and 7.1.1 (validation).
func (u user) solicitation() byte {
	if !u.isIPv6() || u[6] != inet.ProtoICMPv6 || u[7] != ndHopLimit || !u.upperSumRight(inet.ProtoICMPv6, inet.LenIPv6) {
		return 0
	}
	if from := u.source(); !from.IsLinkLocalUnicast() && !from.IsUnspecified() {
		return 0
	}
	icmp := u[inet.LenIPv6:]
	fixed := 8
	if len(icmp) > 0 && icmp[0] == ndNeighbourSolicitation {
		fixed = 24
	}
	if len(icmp) < fixed || icmp[1] != 0 || !optionsRight(icmp[fixed:]) {
		return 0
	}
	switch {
	case icmp[0] == ndRouterSolicitation:
		return icmp[0]
	case icmp[0] == ndNeighbourSolicitation && netip.AddrFrom16([16]byte(icmp[8:24])) == RouterLinkLocal:
		return icmp[0]
	}
	return 0
}

// optionsRight reports whether b is a row of options of Neighbour Discovery.
func optionsRight(b []byte) bool {
	for len(b) > 0 {
		if len(b) < 2 || b[1] == 0 || 8*int(b[1]) > len(b) {
			return false
		}
		b = b[8*int(b[1]):]
	}
	return true
}

// prefixesOf returns the UE's prefixes that the rules of its tunnel know. With
// multi-homing it has several.
func prefixesOf(candidates []*Rule) []netip.Prefix {
	var all []netip.Prefix
	for _, r := range candidates {
		if r.Uplink && r.UEIPv6.IsValid() && !slices.Contains(all, r.UEIPv6) {
			all = append(all, r.UEIPv6)
		}
	}
	return all
}

// answerRule returns the rule of candidates by which the UPF's own packets go:
// that of the lowest precedence, which is the default one's; nil: none.
func answerRule(candidates []*Rule) *Rule {
	for _, r := range slices.Backward(candidates) {
		if r.answers() {
			return r
		}
	}
	return nil
}

// router makes a Router Advertisement whose checksum is 0.
func (a *RouterAdvertisement) router(prefixes []netip.Prefix) []byte {
	lifetime := a.Lifetime / time.Second
	if lifetime == 0 {
		lifetime = math.MaxUint16
	}
	b := []byte{ndRouterAdvertisement, 0, 0, 0, ttlOuter, 0}
	if a.Other {
		b[5] = 0x40
	}
	b = binary.BigEndian.AppendUint16(b, uint16(min(lifetime, math.MaxUint16)))
	b = append(b, make([]byte, 8)...) // Reachable Time and Retrans Timer: not said
	for _, p := range prefixes {
		b = append(b, optionPrefix, 4, byte(p.Bits()), 0x40) // A, not L
		b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // valid, and
		b = binary.BigEndian.AppendUint32(b, math.MaxUint32) // preferred for ever
		b = append(b, 0, 0, 0, 0)
		b = append(b, p.Addr().AsSlice()...)
	}
	if a.MTU != 0 {
		b = append(b, optionMTU, 1, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(a.MTU))
	}
	if servers := a.DNS[:min(len(a.DNS), maxDNS)]; len(servers) > 0 {
		b = append(b, optionDNS, byte(1+2*len(servers)), 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(min(lifetime, math.MaxUint16)))
		for _, s := range servers {
			b = append(b, s.AsSlice()...)
		}
	}
	return b
}

// neighbour makes a Neighbour Advertisement of the UPF whose checksum is 0. The
// link has no addresses, so it says none. Source: RFC 4861, 4.4.
func neighbour(asked netip.Addr) []byte {
	const router, solicited, override = 0x80, 0x40, 0x20
	flags := byte(router | override)
	if !asked.IsUnspecified() {
		flags |= solicited
	}
	return append([]byte{ndNeighbourAdvertisement, 0, 0, 0, flags, 0, 0, 0}, RouterLinkLocal.AsSlice()...)
}

// own returns what the UPF answers to a packet from a tunnel that is for itself:
// one that its rules do not carry on to another tunnel, where somebody else may
// be the router.
func (s *Stages) own(candidates []*Rule, h gtpu.Header, u user, r *Rule, reason datapath.Reason) []Sent {
	carried := reason == datapath.ReasonNone && (r.Action != api.Action_FORW || !r.routes(arrived{user: u, header: h}))
	if carried {
		return nil
	}
	return s.advertise(candidates, u)
}
