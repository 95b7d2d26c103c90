package stages

import (
	"bytes"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// ARP over Ethernet for IPv4. Source: RFC 826.
//
//	 0  hardware type, protocol type: 1, 0x0800
//	 4  lengths of the addresses: 6, 4
//	 6  operation
//	 8  sender's MAC address, IP address
//	18  target's MAC address, IP address
const (
	lenARP                = 28
	arpRequest, arpReply  = 1, 2
	offARPSender          = 8
	offARPTarget          = 18
	lenSolicitation       = inet.LenIPv6 + 24
	optionSource          = 1 // Source Link-Layer Address
	optionTarget          = 2 // Target Link-Layer Address
	ndSolicited           = 0x40
	lenLinkLayerAddress   = 8 // of the option
	offLinkLayerAddress   = 2
	offSolicitationTarget = inet.LenIPv6 + 8
)

var arpFixed = []byte{0, 1, 8, 0, 6, 4, 0}

// question is what a frame of ARP or Neighbour Discovery asks for and shows; the
// zero value: nothing.
type question struct {
	asked  netip.Addr // who has this? Not valid: it asks nothing
	has    netip.Addr // not valid: it shows nothing
	hasMAC mac        // of has
	// Who shows that he has it has not taken it yet: he looks whether it is free.
	tentative bool
}

// question reads a frame.
func (f *etherFrame) question() question {
	switch {
	case f.ethertype == inet.EtherARP:
		return arpQuestion(f.octets[inet.LenEthernet+4*f.tags:])
	case f.inner != nil && f.inner.isIPv6():
		return f.inner.neighbourQuestion(f.source)
	}
	return question{}
}

// arpQuestion reads ARP. A probe has no sender's IP address.
//
// Source: RFC 826; RFC 5227, 1.1.
func arpQuestion(b []byte) question {
	if len(b) < lenARP || !bytes.Equal(b[:7], arpFixed) {
		return question{}
	}
	var q question
	if from := netip.AddrFrom4([4]byte(b[offARPSender+6:])); !from.IsUnspecified() && !from.IsMulticast() {
		q.has, q.hasMAC = from, mac(b[offARPSender:])
	}
	switch b[7] {
	case arpRequest:
		q.asked = netip.AddrFrom4([4]byte(b[offARPTarget+6:]))
	case arpReply:
	default:
		return question{}
	}
	return q
}

// neighbourQuestion reads a Neighbour Solicitation or Advertisement that is as it
// should be, in a frame with this source. One from nobody, who looks whether his
// address is free, shows that he is about to have it.
//
// Source: RFC 4861, 7.1 (validation); RFC 4862, 5.4.
func (u user) neighbourQuestion(from mac) question {
	if u[6] != inet.ProtoICMPv6 || u[7] != ndHopLimit || len(u) < lenSolicitation || u[inet.LenIPv6+1] != 0 ||
		!optionsRight(u[lenSolicitation:]) || !u.upperSumRight(inet.ProtoICMPv6, inet.LenIPv6) {
		return question{}
	}
	target := netip.AddrFrom16([16]byte(u[offSolicitationTarget:]))
	if target.IsMulticast() || target.Is4In6() {
		return question{}
	}
	switch u[inet.LenIPv6] {
	case ndNeighbourSolicitation:
		if u.source().IsUnspecified() {
			return question{asked: target, has: target, hasMAC: from, tentative: true}
		}
		q := question{asked: target}
		if m, ok := linkLayerAddress(u[lenSolicitation:], optionSource); ok {
			q.has, q.hasMAC = u.source(), m
		}
		return q
	case ndNeighbourAdvertisement:
		if m, ok := linkLayerAddress(u[lenSolicitation:], optionTarget); ok {
			return question{has: target, hasMAC: m}
		}
	}
	return question{}
}

// linkLayerAddress returns that of an option among those that [optionsRight] has
// let pass.
func linkLayerAddress(b []byte, option byte) (mac, bool) {
	for ; len(b) > 0; b = b[8*int(b[1]):] {
		if b[0] == option && b[1] == 1 {
			return mac(b[offLinkLayerAddress:lenLinkLayerAddress]), true
		}
	}
	return mac{}, false
}

// answer makes the frame that answers f: who has what it asks for has the address m.
// It has the tags of f.
func (q question) answer(f *etherFrame, m mac) []byte {
	payload, to := []byte(nil), f.source
	if q.asked.Is4() {
		payload = q.arpAnswer(f, m)
	} else {
		payload = q.neighbourAnswer(f.inner.source(), m)
		if f.inner.source().IsUnspecified() {
			to = mac{0x33, 0x33, 0, 0, 0, 1} // all nodes. Source: RFC 2464, 7.
		}
	}
	out := append(make([]byte, 0, inet.LenEthernet+8+len(payload)), to[:]...)
	out = append(out, m[:]...)
	out = append(out, f.octets[12:inet.LenEthernet+4*f.tags]...)
	return append(out, payload...)
}

func (q question) arpAnswer(f *etherFrame, m mac) []byte {
	asked := f.octets[inet.LenEthernet+4*f.tags:][:lenARP]
	b := append(append([]byte{}, arpFixed...), arpReply)
	b = append(append(b, m[:]...), q.asked.AsSlice()...)
	return append(b, asked[offARPSender:offARPTarget]...)
}

// neighbourAnswer is an advertisement without the Override flag: what the one who
// has the address says himself counts more. Source: RFC 4861, 7.2.8.
func (q question) neighbourAnswer(to netip.Addr, m mac) []byte {
	flags := byte(ndSolicited)
	if to.IsUnspecified() {
		flags, to = 0, allNodes
	}
	body := append([]byte{ndNeighbourAdvertisement, 0, 0, 0, flags, 0, 0, 0}, q.asked.AsSlice()...)
	body = append(append(body, optionTarget, 1), m[:]...)
	return packet6(inet.ProtoICMPv6, tosControl, q.asked, to, ndHopLimit, body, 2)
}
