package pfcp

import (
	"fmt"
	"net/netip"
)

// UEIPAddress is a UE IP Address: addresses, or the wish that the UP function
// choose them. Source: TS 29.244 V18.6.0, 8.2.62.
type UEIPAddress struct {
	Destination  bool // S/D: matched against the destination, else against the source
	CHV4, CHV6   bool // the UP function chooses an IPv4 address, an IPv6 prefix
	IPv4, IPv6   netip.Addr
	IPv6Delegate Optional[uint8] // IPv6D: IPv6 Prefix Delegation Bits; /64 minus this number
	IPv6Length   Optional[uint8] // IP6PL: IPv6 Prefix Length, bits; without it 64
}

const (
	ueipV6, ueipV4, ueipSD, ueipIPv6D  = 0x01, 0x02, 0x04, 0x08
	ueipCHV4, ueipCHV6, ueipIP6PL      = 0x10, 0x20, 0x40
	ueipAny                            = ueipV4 | ueipV6 | ueipCHV4 | ueipCHV6
	maxPrefixLength, maxDelegationBits = 128, 64
)

var ueIPAddress = codec[UEIPAddress]{read: readUEIPAddress, write: writeUEIPAddress}

func readUEIPAddress(v *UEIPAddress, b []byte) error {
	r := reader{b: b}
	flags := r.u8()
	*v = UEIPAddress{Destination: flags&ueipSD != 0, CHV4: flags&ueipCHV4 != 0, CHV6: flags&ueipCHV6 != 0}
	if flags&ueipAny == 0 || flags&(ueipV4|ueipCHV4) == ueipV4|ueipCHV4 || flags&(ueipV6|ueipCHV6) == ueipV6|ueipCHV6 {
		return fmt.Errorf("flags %#02x: %w", flags, ErrIncorrect)
	}
	if flags&ueipV4 != 0 {
		v.IPv4 = r.ipv4()
	}
	if flags&ueipV6 != 0 {
		v.IPv6 = r.ipv6()
	}
	if flags&ueipIPv6D != 0 {
		v.IPv6Delegate = Some(r.u8())
	}
	if flags&ueipIP6PL != 0 {
		v.IPv6Length = Some(r.u8())
	}
	if v.IPv6Delegate.Value > maxDelegationBits || v.IPv6Length.Value > maxPrefixLength {
		return fmt.Errorf("prefix delegation bits %d, prefix length %d: %w",
			v.IPv6Delegate.Value, v.IPv6Length.Value, ErrIncorrect)
	}
	return r.err
}

func writeUEIPAddress(b []byte, v *UEIPAddress) []byte {
	b = append(b, bit(v.Destination, ueipSD)|bit(v.CHV4, ueipCHV4)|bit(v.CHV6, ueipCHV6)|
		bit(v.IPv4.Is4(), ueipV4)|bit(v.IPv6.Is6(), ueipV6)|
		bit(v.IPv6Delegate.Present, ueipIPv6D)|bit(v.IPv6Length.Present, ueipIP6PL))
	b = appendAddrs(b, v.IPv4, v.IPv6)
	if v.IPv6Delegate.Present {
		b = append(b, v.IPv6Delegate.Value)
	}
	if v.IPv6Length.Present {
		b = append(b, v.IPv6Length.Value)
	}
	return b
}
