package conformance

import "encoding/binary"

// withOptions puts options into an IPv4 packet; they fill whole words.
func withOptions(u user, options string) user {
	return header(u, func(b []byte) []byte {
		o := octets(options)
		b = append(append(append([]byte(nil), b[:20]...), o...), b[20:]...)
		b[0] += byte(len(o) / 4)
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		return mended(b)
	})
}

// withExtensions puts extension headers into an IPv6 packet, the first of type
// next; the last one names UDP.
func withExtensions(u user, next byte, extensions string) user {
	return header(u, func(b []byte) []byte {
		e := octets(extensions)
		b = append(append(append([]byte(nil), b[:40]...), e...), b[40:]...)
		b[6] = next
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		return b
	})
}

const (
	// Router Alert, No Operation, and a Record Route that is full.
	routerAlert, recordRoute = "94040000", "01 0707 08 00000000"
	// Hop-by-Hop with Router Alert, a Destination Options header of padding, a
	// Fragment header of a whole packet, of a first and of a later fragment.
	extHopByHop, extDestination   = "3c00 0502 0000 0100", "1100 0104 00000000"
	extAtomic, extFirst, extLater = "1100 0000 00000007", "1100 0001 00000007", "1100 05a9 00000007"

	portDown6NoPorts = 0xd544 // far6 to ue16 without their ports
)

// both are rows of a packet up and down that passes as it is, but for one hop.
func both4(name string, change func(u user) user) []packet {
	n := uint64(len(change(up4).bytes()))
	return []packet{
		{
			name: "uplink, " + name, port: N3, in: onN3(gpdu(pscUL("00000001"), change(up4))), want: outN6(GatewayMAC, change(up4x)),
			seid: plain, pdr: 1, octets: n,
		},
		fromN6(name, change(down4), change(dn4x), portDown4NoPorts, 0, n),
	}
}

func both6(name string, change func(u user) user) []packet {
	n := uint64(len(change(up6).bytes()))
	return []packet{
		{
			name: "uplink, " + name, port: N3, in: onN3(gpdu(pscUL("00000001"), change(up6))), want: outN6(GatewayMAC, change(up6x)),
			seid: plain, pdr: 1, octets: n,
		},
		fromN6(name, change(down6), change(dn6x), portDown6NoPorts, 0, n),
	}
}

// untouchedRows: options, extension headers and fragments of users pass as they
// are. What has no ports where a fast path looks for them goes without.
var untouchedRows = concat(
	both4("IPv4 options", func(u user) user { return withOptions(u, routerAlert+recordRoute) }),
	both4("first fragment", func(u user) user { return flags(u, 0x20, 0) }),
	both4("later fragment", func(u user) user { return flags(u, 0x20, 0xb9) }),
	both4("last fragment", func(u user) user { return flags(u, 0, 0xb9) }),
	both6("IPv6 Hop-by-Hop and Destination Options", func(u user) user { return withExtensions(u, 0, extHopByHop+extDestination) }),
	both6("IPv6 atomic fragment", func(u user) user { return withExtensions(u, 44, extAtomic) }),
	both6("IPv6 first fragment", func(u user) user { return withExtensions(u, 44, extFirst) }),
	both6("IPv6 later fragment", func(u user) user { return withExtensions(u, 44, extLater) }),
)
