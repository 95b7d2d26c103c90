package pfcp

import (
	"encoding/binary"
	"net/netip"
)

// RedirectInformation is a Redirect Information.
// Source: TS 29.244 V18.6.0, 8.2.20.
type RedirectInformation struct {
	Type   RedirectAddressType
	Server []byte           // Redirect Server Address, as text; empty with type Port
	Other  []byte           // Other Redirect Server Address, as text; empty: absent
	Port   Optional[uint16] // with the types that name it
}

// RedirectAddressType is a Redirect Address Type.
type RedirectAddressType uint8

// Redirect Address Types.
const (
	RedirectIPv4         RedirectAddressType = 0
	RedirectIPv6         RedirectAddressType = 1
	RedirectURL          RedirectAddressType = 2
	RedirectSIPURI       RedirectAddressType = 3
	RedirectIPv4IPv6     RedirectAddressType = 4
	RedirectPort         RedirectAddressType = 5
	RedirectIPv4Port     RedirectAddressType = 6
	RedirectIPv6Port     RedirectAddressType = 7
	RedirectIPv4IPv6Port RedirectAddressType = 8
)

// redirectInformation takes what older releases send, which ends behind the
// first address.
var redirectInformation = codec[RedirectInformation]{
	func(v *RedirectInformation, b []byte) error {
		r := reader{b: b}
		*v = RedirectInformation{Type: RedirectAddressType(r.u8() & 0xf)}
		v.Server = r.take(int(r.u16()))
		if len(r.b) > 0 {
			v.Other = r.take(int(r.u16()))
		}
		if v.Type >= RedirectPort && v.Type <= RedirectIPv4IPv6Port {
			v.Port = Some(r.u16())
		}
		return r.err
	},
	func(b []byte, v *RedirectInformation) []byte {
		b = binary.BigEndian.AppendUint16(append(b, byte(v.Type&0xf)), uint16(len(v.Server)))
		b = binary.BigEndian.AppendUint16(append(b, v.Server...), uint16(len(v.Other)))
		b = append(b, v.Other...)
		if v.Type >= RedirectPort && v.Type <= RedirectIPv4IPv6Port {
			b = binary.BigEndian.AppendUint16(b, v.Port.Value)
		}
		return b
	},
}

// forwardingPolicy is a Forwarding Policy: its identifier behind a length octet.
// Source: TS 29.244 V18.6.0, 8.2.23.
var forwardingPolicy = codec[[]byte]{
	func(v *[]byte, b []byte) error {
		r := reader{b: b}
		*v = r.take(int(r.u8()))
		return r.err
	},
	appendShort,
}

// appendShort appends v behind a length octet, the first 255 octets at most.
func appendShort(b []byte, v *[]byte) []byte {
	n := min(len(*v), 255)
	return append(append(b, byte(n)), (*v)[:n]...)
}

// HeaderEnrichment is a Header Enrichment.
// Source: TS 29.244 V18.6.0, 8.2.67.
type HeaderEnrichment struct {
	Type        uint8 // 0: HTTP
	Name, Value []byte
}

var headerEnrichment = codec[HeaderEnrichment]{
	func(v *HeaderEnrichment, b []byte) error {
		r := reader{b: b}
		*v = HeaderEnrichment{Type: r.u8() & 0x1f}
		v.Name = r.take(int(r.u8()))
		v.Value = r.take(int(r.u8()))
		return r.err
	},
	func(b []byte, v *HeaderEnrichment) []byte {
		return appendShort(appendShort(append(b, v.Type&0x1f), &v.Name), &v.Value)
	},
}

// AddressReplacement is an IP Address and Port number Replacement: what takes the place
// of addresses and ports of user packets. Source: TS 29.244 V18.6.0, 8.2.200.
type AddressReplacement struct {
	Destination, Source ReplacedEnd
}

// ReplacedEnd is the addresses for packets of each IP version, and the port; not valid, or
// absent: it stays.
type ReplacedEnd struct {
	IPv4, IPv6 netip.Addr
	Port       Optional[uint16]
}

// ends are the ends of v in their order in the IE, each with its lowest flag.
func (v *AddressReplacement) ends() [2]struct {
	*ReplacedEnd
	flag uint8
} {
	return [2]struct {
		*ReplacedEnd
		flag uint8
	}{{&v.Destination, 0x01}, {&v.Source, 0x08}}
}

var addressReplacement = codec[AddressReplacement]{
	func(v *AddressReplacement, b []byte) error {
		r := reader{b: b}
		*v = AddressReplacement{}
		flags := r.u8()
		for _, e := range v.ends() {
			if flags&e.flag != 0 {
				e.IPv4 = r.ipv4()
			}
			if flags&(e.flag<<1) != 0 {
				e.IPv6 = r.ipv6()
			}
			if flags&(e.flag<<2) != 0 {
				e.Port = Some(r.u16())
			}
		}
		return r.err
	},
	func(b []byte, v *AddressReplacement) []byte {
		at := len(b)
		b = append(b, 0)
		for _, e := range v.ends() {
			if e.IPv4.IsValid() {
				b[at] |= e.flag
				b = append(b, e.IPv4.AsSlice()...)
			}
			if e.IPv6.IsValid() {
				b[at] |= e.flag << 1
				b = append(b, e.IPv6.AsSlice()...)
			}
			if e.Port.Present {
				b[at] |= e.flag << 2
				b = binary.BigEndian.AppendUint16(b, e.Port.Value)
			}
		}
		return b
	},
}

// Proxying is a Proxying. Source: TS 29.244 V18.6.0, 8.2.97.
type Proxying uint8

// What the UP function answers for the UE.
const (
	ProxyingARP Proxying = 1 << iota
	ProxyingINS          // IPv6 Neighbour Solicitation
)

// DuplicatingParameters is the Duplicating Parameters of a FAR.
// Source: TS 29.244 V18.6.0, table 7.5.2.3-3.
type DuplicatingParameters struct {
	DestinationInterface  Interface
	OuterHeaderCreation   Optional[OuterHeaderCreation]
	TransportLevelMarking Optional[TransportLevelMarking]
	ForwardingPolicy      Optional[[]byte]
}

var duplicatingParameters = newContainer(container[DuplicatingParameters]{
	name: "Duplicating Parameters", clause: "7.5.2.3", reset: zero[DuplicatingParameters],
	members: []member[DuplicatingParameters]{
		one(IEDestinationInterface, func(p *DuplicatingParameters) *Interface { return &p.DestinationInterface }, low[Interface](0xf)),
		opt(IEOuterHeaderCreation, conditional,
			func(p *DuplicatingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional,
			func(p *DuplicatingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		opt(IEForwardingPolicy, conditional, func(p *DuplicatingParameters) *Optional[[]byte] { return &p.ForwardingPolicy }, forwardingPolicy),
	},
})

// UpdateDuplicatingParameters is the Update Duplicating Parameters of an Update
// FAR: what is absent stays as it is. Source: TS 29.244 V18.6.0, table 7.5.4.3-3.
type UpdateDuplicatingParameters struct {
	DestinationInterface  Optional[Interface]
	OuterHeaderCreation   Optional[OuterHeaderCreation]
	TransportLevelMarking Optional[TransportLevelMarking]
	ForwardingPolicy      Optional[[]byte]
	Removed               []IEType // IEs of null length: what they had said holds no more
}

var updateDuplicatingParameters = newContainer(container[UpdateDuplicatingParameters]{
	name: "Update Duplicating Parameters", clause: "7.5.4.3",
	reset:   func(p *UpdateDuplicatingParameters) { *p = UpdateDuplicatingParameters{Removed: p.Removed[:0]} },
	removed: func(p *UpdateDuplicatingParameters) *[]IEType { return &p.Removed },
	members: []member[UpdateDuplicatingParameters]{
		opt(IEDestinationInterface, conditional,
			func(p *UpdateDuplicatingParameters) *Optional[Interface] { return &p.DestinationInterface }, low[Interface](0xf)),
		opt(IEOuterHeaderCreation, conditional,
			func(p *UpdateDuplicatingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional,
			func(p *UpdateDuplicatingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		opt(IEForwardingPolicy, conditional, func(p *UpdateDuplicatingParameters) *Optional[[]byte] { return &p.ForwardingPolicy }, forwardingPolicy),
	},
})
