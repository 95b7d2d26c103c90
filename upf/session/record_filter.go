package session

import "net/netip"

func (w *writer) filter(f *SDFFilter) {
	remote, local := prefixNumbers(f.Remote), prefixNumbers(f.Local)
	w.fields([]uint64{
		plus1(f.ID), pack(f.Reference), plus1(f.Protocol), remote[0], remote[1], remote[2], local[0], local[1], local[2],
		uint64(len(f.RemotePorts)), uint64(len(f.LocalPorts)), uint64(f.TOS), uint64(f.TOSMask),
		plus1(f.SPI), plus1(f.FlowLabel), pack(f.Host != "", f.Path != ""),
	})
	for _, s := range [...]string{f.Host, f.Path} {
		if s != "" {
			w.name(s)
		}
	}
	w.ports(f.RemotePorts)
	w.ports(f.LocalPorts)
}

func (r *reader) filter(f *SDFFilter) {
	var v [16]uint64
	r.fields(v[:])
	*f = SDFFilter{
		ID: minus1[uint32](r, v[0]), Protocol: minus1[uint8](r, v[2]),
		Remote: numbersPrefix(r, v[3:6]), Local: numbersPrefix(r, v[6:9]),
		RemotePorts: f.RemotePorts[:0], LocalPorts: f.LocalPorts[:0],
		TOS: narrow[uint8](r, v[11]), TOSMask: narrow[uint8](r, v[12]),
		SPI: minus1[uint32](r, v[13]), FlowLabel: minus1[uint32](r, v[14]),
	}
	unpack(r, v[1], &f.Reference)
	r.some(v[15], &f.Host, &f.Path)
	f.RemotePorts, f.LocalPorts = r.ports(f.RemotePorts, v[9]), r.ports(f.LocalPorts, v[10])
}

func (w *writer) ports(list []PortRange) {
	for _, p := range list {
		w.number(uint64(p.First)<<16 | uint64(p.Last))
	}
}

func (r *reader) ports(list []PortRange, n uint64) []PortRange {
	for ; n > 0 && !r.bad; n-- {
		v := narrow[uint32](r, r.number())
		list = append(list, PortRange{uint16(v >> 16), uint16(v)})
	}
	return list
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
