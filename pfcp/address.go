package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A reader takes fields off the content of an IE. Once a field is beyond the
// end, err is set and the rest reads as zero; so the fields can be read
// straight on and the error looked at once.
type reader struct {
	b   []byte
	err error
}

// take returns the next n octets.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.err = fmt.Errorf("%d octets where %d are left: %w", n, len(r.b), ErrLength)
		r.b = nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u24() uint32 {
	if b := r.take(3); b != nil {
		return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) ipv4() netip.Addr {
	if b := r.take(4); b != nil {
		return netip.AddrFrom4([4]byte(b))
	}
	return netip.Addr{}
}

func (r *reader) ipv6() netip.Addr {
	if b := r.take(16); b != nil {
		return netip.AddrFrom16([16]byte(b))
	}
	return netip.Addr{}
}

// appendIPv4 appends 4 octets: a, or 0.0.0.0 if it is no IPv4 address.
func appendIPv4(b []byte, a netip.Addr) []byte {
	if !a.Is4() {
		return append(b, 0, 0, 0, 0)
	}
	v := a.As4()
	return append(b, v[:]...)
}

// appendIPv6 appends 16 octets: a, or :: if it is no IPv6 address.
func appendIPv6(b []byte, a netip.Addr) []byte {
	if !a.Is6() {
		a = netip.IPv6Unspecified()
	}
	v := a.As16()
	return append(b, v[:]...)
}

// appendAddrs appends those of the two addresses that there are.
func appendAddrs(b []byte, ipv4, ipv6 netip.Addr) []byte {
	if ipv4.Is4() {
		b = appendIPv4(b, ipv4)
	}
	if ipv6.Is6() {
		b = appendIPv6(b, ipv6)
	}
	return b
}

// appendU24 appends the low 24 bits of v.
func appendU24(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }

// bit returns flag if on, else 0.
func bit(on bool, flag uint8) uint8 {
	if on {
		return flag
	}
	return 0
}
