package pfcp

import (
	"fmt"
	"net/netip"
)

// CPAddress is an Alternative SMF IP Address, a CP PFCP Entity IP Address or a
// CP IP Address. At least one of the addresses is valid.
// Source: TS 29.244 V18.6.0, 8.2.129, 8.2.135 and 8.2.199.
type CPAddress struct {
	IPv4, IPv6 netip.Addr
	PPE        bool // Preferred PFCP Entity; of an Alternative SMF IP Address only
}

const cpAddressV6, cpAddressV4, cpAddressPPE = 0x01, 0x02, 0x04

var cpAddress = codec[CPAddress]{
	func(v *CPAddress, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = CPAddress{PPE: flags&cpAddressPPE != 0}
		if flags&cpAddressV4 != 0 {
			v.IPv4 = r.ipv4()
		}
		if flags&cpAddressV6 != 0 {
			v.IPv6 = r.ipv6()
		}
		if flags&(cpAddressV4|cpAddressV6) == 0 {
			return fmt.Errorf("flags %#02x, no address: %w", flags, ErrIncorrect)
		}
		return r.err
	},
	func(b []byte, v *CPAddress) []byte {
		b = append(b, bit(v.IPv4.Is4(), cpAddressV4)|bit(v.IPv6.Is6(), cpAddressV6)|bit(v.PPE, cpAddressPPE))
		return appendAddrs(b, v.IPv4, v.IPv6)
	},
}
