package session

import (
	"encoding/binary"
	"net/netip"
)

// How values that are no integers are encoded in a record, as numbers: 0 for none.

func ipv4Number(a IPv4) uint64 { return uint64(binary.BigEndian.Uint32(a[:])) }

func numberIPv4(r *reader, v uint64) (a IPv4) {
	binary.BigEndian.PutUint32(a[:], narrow[uint32](r, v))
	return a
}

func ipv6Numbers(a IPv6) (high, low uint64) {
	return binary.BigEndian.Uint64(a[:8]), binary.BigEndian.Uint64(a[8:])
}

func numbersIPv6(high, low uint64) (a IPv6) {
	binary.BigEndian.PutUint64(a[:8], high)
	binary.BigEndian.PutUint64(a[8:], low)
	return a
}

func ipv6Pair(a IPv6) (v [2]uint64) {
	v[0], v[1] = ipv6Numbers(a)
	return v
}

func pairIPv6(_ *reader, v []uint64) IPv6 { return numbersIPv6(v[0], v[1]) }

func ipv6PrefixNumber(a IPv6Prefix) uint64 { return binary.BigEndian.Uint64(a[:]) }

func numberIPv6Prefix(_ *reader, v uint64) (a IPv6Prefix) {
	binary.BigEndian.PutUint64(a[:], v)
	return a
}

// snssaiNumber is 0 for none.
func snssaiNumber(o Optional[SNSSAI]) uint64 {
	if !o.Present {
		return 0
	}
	return 1<<32 | uint64(o.Value.SST)<<24 | uint64(o.Value.SD&NoSD)
}

func numberSNSSAI(r *reader, v uint64) Optional[SNSSAI] {
	if v == 0 {
		return Optional[SNSSAI]{}
	}
	if v>>32 != 1 {
		r.fail()
	}
	return Some(SNSSAI{SST: uint8(v >> 24), SD: uint32(v) & NoSD})
}

// tagNumbers is what there is of a tag, with bit 3 set if there is one at all, and
// its values.
func tagNumbers(o Optional[VLANTag]) (v [2]uint64) {
	if !o.Present {
		return v
	}
	t := &o.Value
	v[0] = pack(t.VID.Present, t.PCP.Present, t.DEI.Present, true)
	v[1] = uint64(t.VID.Value) | uint64(t.PCP.Value)<<16 | pack(t.DEI.Value)<<24
	return v
}

func numbersTag(r *reader, v []uint64) Optional[VLANTag] {
	var t VLANTag
	r.flags(v[0], 4)
	t.VID.Present, t.PCP.Present, t.DEI.Present = v[0]&1 != 0, v[0]&2 != 0, v[0]&4 != 0
	r.flags(v[1], 25)
	t.VID.Value, t.PCP.Value, t.DEI.Value = uint16(v[1]), uint8(v[1]>>16), v[1]>>24 != 0
	there := v[0]&8 != 0
	if !there && v[0]|v[1] != 0 {
		r.fail()
	}
	return Optional[VLANTag]{Value: t, Present: there}
}

// macNumber is 0 for none.
func macNumber(o Optional[MAC]) uint64 {
	if !o.Present {
		return 0
	}
	v := uint64(1)
	for _, b := range o.Value {
		v = v<<8 | uint64(b)
	}
	return v
}

func numberMAC(r *reader, v uint64) (o Optional[MAC]) {
	if v == 0 {
		return o
	}
	if v>>48 != 1 {
		r.fail()
	}
	o.Present = true
	for i := range o.Value {
		o.Value[i] = byte(v >> (40 - 8*i))
	}
	return o
}

func (w *writer) mac(m MAC) { w.number(macNumber(Some(m))) }

func (r *reader) mac() MAC {
	m := numberMAC(r, r.number())
	r.bad = r.bad || !m.Present
	return m.Value
}

// prefixNumbers is the length and its family, and the address: 0 for none, 1 to
// 33 for IPv4, 34 to 162 for IPv6.
func prefixNumbers(p netip.Prefix) (v [3]uint64) {
	switch a := p.Addr(); {
	case !p.IsValid():
	case a.Is4():
		v[0], v[1] = uint64(p.Bits())+1, ipv4Number(a.As4())
	default:
		v[0] = uint64(p.Bits()) + 34
		v[1], v[2] = ipv6Numbers(a.As16())
	}
	return v
}

func numbersPrefix(r *reader, v []uint64) netip.Prefix {
	var p netip.Prefix
	switch {
	case v[0] == 0 && v[1] == 0 && v[2] == 0:
		return p
	case v[0] >= 1 && v[0] <= 33 && v[2] == 0:
		p = netip.PrefixFrom(netip.AddrFrom4(numberIPv4(r, v[1])), int(v[0]-1))
	case v[0] >= 34 && v[0] <= 162:
		p = netip.PrefixFrom(netip.AddrFrom16(numbersIPv6(v[1], v[2])), int(v[0]-34))
	default:
		r.fail()
	}
	return p
}

func (w *writer) prefix(p netip.Prefix) {
	v := prefixNumbers(p)
	w.fields(v[:])
}

func (r *reader) prefix() netip.Prefix {
	var v [3]uint64
	r.fields(v[:])
	return numbersPrefix(r, v[:])
}

func (w *writer) ports(p PortRange) { w.number(uint64(p.First)<<16 | uint64(p.Last)) }

func (r *reader) ports() PortRange {
	v := narrow[uint32](r, r.number())
	return PortRange{uint16(v >> 16), uint16(v)}
}
