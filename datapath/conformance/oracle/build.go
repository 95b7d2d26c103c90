package oracle

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		panic(err) // all lengths are those of packets that came
	}
	return b.Bytes()
}

// qfi is that of the first QER that has one.
func (r *rule) qfi() uint8 {
	for _, id := range r.QerIds {
		if q := r.session.qer(id); q.Qfi != 0 {
			return uint8(q.Qfi)
		}
	}
	return 0
}

// header builds the GTP-U header of a packet that leaves by r. octets is its length without the header.
// Source: TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2; TS 29.244 V18.6.0, 5.4.2, 8.2.64.
func header(r *rule, in arrived, octets int) []byte {
	pduType, qfi, marked := in.pduType, in.qfi, in.marked
	if !marked {
		pduType = 1
		if r.Forward.DestinationInterface == api.Interface_ACCESS {
			pduType = 0
		}
	}
	if q := r.qfi(); q != 0 {
		qfi, marked = q, true
	}
	if r.DropsContainer || r.Forward.DestinationInterface == api.Interface_CP_FUNCTION {
		marked = false
	}
	teid := binary.BigEndian.AppendUint32(nil, r.Forward.OuterHeaderCreation.Teid)
	if !marked {
		return append(append([]byte{0x30, 255}, binary.BigEndian.AppendUint16(nil, uint16(octets))...), teid...)
	}
	h := append(append([]byte{0x34, 255}, binary.BigEndian.AppendUint16(nil, uint16(octets+8))...), teid...)
	return append(h, 0, 0, 0, 0x85, 1, pduType<<4, qfi, 0)
}

// room returns how many octets a user packet may have that leaves by r whole.
func room(r *rule, in arrived) int {
	o := r.Forward.OuterHeaderCreation
	if o == nil {
		return conformance.MTU
	}
	least, outer := 576, 20 // RFC 1122, 3.3.2; RFC 8200, 5
	if in.v6 {
		least = 1280
	}
	if o.Ipv4 == 0 {
		outer = 40
	}
	return max(conformance.MTU-outer-8-len(header(r, in, 0)), least)
}

// leave makes the packets that leave by r.
func leave(r *rule, in arrived) (out [][]byte) {
	toTunnel := r.Forward.OuterHeaderCreation != nil
	pieces := [][]byte{slices.Clone(in.octets)}
	if in.tunnel != toTunnel {
		pieces = nil
		for _, p := range fragments(in, room(r, in)) {
			pieces = append(pieces, hop(p))
		}
	}
	for _, p := range pieces {
		if toTunnel {
			p = tunnelled(r, in, p)
		}
		out = append(out, p)
	}
	return out
}

// hop takes one from TTL or Hop Limit.
func hop(p []byte) []byte {
	if p[0]>>4 == 6 {
		p[7]--
		return p
	}
	p[8]--
	return sum(p)
}

// sum computes the header checksum of an IPv4 packet by its definition. Source: RFC 791, 3.1.
func sum(p []byte) []byte {
	p[10], p[11] = 0, 0
	total := uint32(0)
	for i := 0; i < 4*int(p[0]&15); i += 2 {
		total += uint32(binary.BigEndian.Uint16(p[i:]))
	}
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	binary.BigEndian.PutUint16(p[10:], ^uint16(total))
	return p
}

// fragments cuts a packet without options into such as fit. Source: RFC 791, 3.2.
func fragments(in arrived, most int) (all [][]byte) {
	if len(in.octets) <= most {
		return [][]byte{slices.Clone(in.octets)}
	}
	field := binary.BigEndian.Uint16(in.octets[6:])
	data := in.octets[20:]
	for at := 0; at < len(data); {
		n := min(len(data)-at, (most-20)/8*8)
		more := field & 0x2000
		if len(data)-at > most-20 {
			more = 0x2000
		} else {
			n = len(data) - at
		}
		p := append(slices.Clone(in.octets[:20]), data[at:at+n]...)
		binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
		binary.BigEndian.PutUint16(p[6:], more|field&0x1fff+uint16(at/8))
		all = append(all, sum(p))
		at += n
	}
	return all
}

// local returns the UPF's address towards a peer of a FAR.
func local(f *api.Forward) netip.Addr {
	switch {
	case len(f.OuterHeaderCreation.Ipv6) > 0:
		return conformance.N3Address6
	case f.NetworkInstance == "n9":
		return conformance.N9Address
	}
	return conformance.N3Address
}

func peer(o *api.OuterHeaderCreation) netip.Addr {
	if len(o.Ipv6) > 0 {
		return netip.AddrFrom16([16]byte(o.Ipv6))
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, o.Ipv4)))
}

// tunnelled puts a packet into the tunnel of r.
func tunnelled(r *rule, in arrived, p []byte) []byte {
	dscp := in.tos >> 2
	if r.Forward.Dscp != nil {
		dscp = uint8(*r.Forward.Dscp)
	}
	return datagramOf(local(r.Forward), peer(r.Forward.OuterHeaderCreation), dscp, append(header(r, in, len(p)), p...))
}

// datagramOf makes a UDP datagram to the GTP-U port, in the form of [Canonical].
// Source: TS 29.281 V18.1.0, 4.4.2.
func datagramOf(from, to netip.Addr, dscp uint8, message []byte) []byte {
	udp := &layers.UDP{SrcPort: 0, DstPort: 2152}
	var ip gopacket.SerializableLayer
	if to.Is6() {
		ip6 := &layers.IPv6{Version: 6, TrafficClass: dscp << 2, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
		_ = udp.SetNetworkLayerForChecksum(ip6)
		ip = ip6
	} else {
		ip4 := &layers.IPv4{Version: 4, TOS: dscp << 2, Flags: layers.IPv4DontFragment, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
		_ = udp.SetNetworkLayerForChecksum(ip4)
		ip = ip4
	}
	b := serialize(ip, udp, gopacket.Payload(message))
	at := len(b) - len(message) - 2
	b[at], b[at+1] = 0, 0
	return b
}

// Canonical clears what an implementation chooses in a datagram to the GTP-U port: source port and
// Flow Label. The UDP checksum over IPv6 is compared with what it has to be, and cleared; over
// IPv4 it has to be 0. Other packets stay as they are.
// Source: TS 29.281 V18.1.0, 4.4.2.
func Canonical(packet []byte) []byte {
	b := slices.Clone(packet)
	if len(b) < 28 {
		return b
	}
	at := 20
	if b[0]>>4 == 6 {
		at = 40
	}
	if len(b) < at+8 || b[0]>>4 == 4 && (b[0] != 0x45 || b[9] != 17) || b[0]>>4 == 6 && b[6] != 17 || binary.BigEndian.Uint16(b[at+2:]) != 2152 {
		return b
	}
	if b[0]>>4 == 6 {
		udp := &layers.UDP{SrcPort: layers.UDPPort(binary.BigEndian.Uint16(b[at:])), DstPort: 2152}
		_ = udp.SetNetworkLayerForChecksum(&layers.IPv6{SrcIP: b[8:24], DstIP: b[24:40], NextHeader: layers.IPProtocolUDP})
		if right := serialize(udp, gopacket.Payload(b[at+8:])); !slices.Equal(right[:8], b[at:at+8]) {
			return b // it is wrong, and stays different
		}
		b[at+6], b[at+7] = 0, 0
		b[1] &^= 0xf
		b[2], b[3] = 0, 0
	}
	b[at], b[at+1] = 0, 0
	return b
}

// errorIndication answers a G-PDU to a TEID that no PDR has.
// Source: TS 29.281 V18.1.0, 7.3.1 and 5.2.2.1.
func errorIndication(outer packet, teid uint32) []byte {
	b := []byte{0x36, 26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1, outer.upper[0], outer.upper[1], 0, 16}
	b = binary.BigEndian.AppendUint32(b, teid)
	a := outer.dst.AsSlice()
	b = append(append(b, 133, 0, uint8(len(a))), a...)
	b[3] = uint8(len(b) - 8)
	return datagramOf(outer.dst, outer.src, 0, b)
}

// endMarker makes the End Marker of a change. Source: TS 29.281 V18.1.0, 7.3.2.
func endMarker(m *api.EndMarker) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0x30, 254, 0, 0}, m.Tunnel.Teid)
	if m.Qfi != 0 {
		pduType := uint8(0x10)
		if m.DestinationInterface == api.Interface_ACCESS {
			pduType = 0
		}
		b[0], b[3] = 0x34, 8
		b = append(b, 0, 0, 0, 0x85, 1, pduType, uint8(m.Qfi), 0)
	}
	from := conformance.N3Address
	if len(m.Tunnel.Ipv6) > 0 {
		from = conformance.N3Address6
	}
	return datagramOf(from, peer(m.Tunnel), 0, b)
}

// report lets a packet's sender know why it was dropped, where routers do.
// Source: RFC 792; RFC 1812, 4.3.2 and 5.2.7; RFC 4443, 2.4 and 3.
func (o *Oracle) report(r *rule, in arrived, reason datapath.Reason) {
	for _, id := range r.QerIds {
		if q := r.session.qer(id); r.uplink() && q.UplinkGateClosed || !r.uplink() && q.DownlinkGateClosed {
			return // what a gate stops is stopped in silence
		}
	}
	tooBig := reason == datapath.DropMTU
	if reason != datapath.DropTTL && !tooBig || in.later || isError(in) || !isRouted(in.src) {
		return
	}
	if !isRouted(in.dst) && !(in.v6 && tooBig && in.dst.IsMulticast()) && !in.dst.IsLinkLocalUnicast() {
		return
	}
	mtu := 0
	if tooBig {
		mtu = room(r, in)
	}
	var answer []byte
	if in.v6 {
		kind := layers.CreateICMPv6TypeCode(layers.ICMPv6TypeTimeExceeded, 0)
		if tooBig {
			kind = layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0)
		}
		ip := &layers.IPv6{Version: 6, TrafficClass: 0xc0, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: conformance.N6Address6.AsSlice(), DstIP: in.src.AsSlice()}
		icmp := &layers.ICMPv6{TypeCode: kind}
		_ = icmp.SetNetworkLayerForChecksum(ip)
		body := binary.BigEndian.AppendUint32(nil, uint32(mtu))
		answer = serialize(ip, icmp, gopacket.Payload(append(body, in.octets[:min(len(in.octets), 1280-48)]...)))
	} else {
		kind := layers.CreateICMPv4TypeCode(layers.ICMPv4TypeTimeExceeded, 0)
		if tooBig {
			kind = layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded)
		}
		ip := &layers.IPv4{Version: 4, TOS: 0xc0, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: conformance.N6Address.AsSlice(), DstIP: in.src.AsSlice()}
		answer = serialize(ip, &layers.ICMPv4{TypeCode: kind, Seq: uint16(mtu)}, gopacket.Payload(in.octets[:min(len(in.octets), 576-28)]))
	}
	if !in.tunnel {
		o.sent = append(o.sent, answer)
		return
	}
	back := arrived{packet: parse(answer)}
	down, why := o.detect(o.towards(back.dst), back)
	if why != datapath.ReasonNone || down.Forward.Action != api.Action_FORW || down.Forward.OuterHeaderCreation == nil {
		return
	}
	for _, id := range down.QerIds {
		if q := down.session.qer(id); down.uplink() && q.UplinkGateClosed || !down.uplink() && q.DownlinkGateClosed {
			return
		}
	}
	o.sent = append(o.sent, tunnelled(down, back, answer))
}

// isError reports whether a packet is an ICMP error, or may be.
func isError(in arrived) bool {
	switch {
	case in.v6 && in.protocol == 58:
		return len(in.upper) == 0 || in.upper[0] < 128 || in.upper[0] == 137
	case !in.v6 && in.protocol == 1:
		return len(in.upper) == 0 || !slices.Contains([]byte{0, 8, 9, 10, 13, 14, 15, 16, 17, 18}, in.upper[0])
	}
	return false
}
