package pfcp

import "encoding/binary"

// poolIdentity is a UE IP address Pool Identity: an octet string behind its
// length. Source: TS 29.244 V18.6.0, 8.2.128.
var poolIdentity = codec[[]byte]{
	func(v *[]byte, b []byte) error {
		r := reader{b: b}
		*v = r.take(int(r.u16()))
		return r.err
	},
	func(b []byte, v *[]byte) []byte {
		return append(binary.BigEndian.AppendUint16(b, uint16(len(*v))), *v...)
	},
}

// IPVersion is an IP version. Source: TS 29.244 V18.6.0, 8.2.177.
type IPVersion uint8

// IP versions.
const (
	IPVersionV4 IPVersion = 1 << iota
	IPVersionV6
)

// UEIPAddressPool is a UE IP address Pool Information: pools that the UP
// function has. Source: TS 29.244 V18.6.0, table 7.4.4.1-3.
type UEIPAddressPool struct {
	Identities      [][]byte // at least one
	NetworkInstance Name     // empty: absent
	SNSSAIs         []SNSSAI
	IPVersion       IPVersion // 0: absent
}

var ueIPAddressPool = newContainer(container[UEIPAddressPool]{
	name: "UE IP address Pool Information", clause: "7.4.4.1",
	reset: func(p *UEIPAddressPool) { *p = UEIPAddressPool{Identities: p.Identities[:0], SNSSAIs: p.SNSSAIs[:0]} },
	members: []member[UEIPAddressPool]{
		some(IEUEIPAddressPoolIdentity, mandatory, MaxRuleRefs, func(p *UEIPAddressPool) *[][]byte { return &p.Identities }, poolIdentity),
		octets(IENetworkInstance, optional, func(p *UEIPAddressPool) *Name { return &p.NetworkInstance }),
		some(IESNSSAI, optional, MaxRuleRefs, func(p *UEIPAddressPool) *[]SNSSAI { return &p.SNSSAIs }, snssai),
		flags(IEIPVersion, optional, func(p *UEIPAddressPool) *IPVersion { return &p.IPVersion }),
	},
})

// UEIPAddressUsage is a UE IP Address Usage Information: how much of its pools
// the UP function has given out. Source: TS 29.244 V18.6.0, table 7.4.4.3.1-1.
type UEIPAddressUsage struct {
	SequenceNumber  uint32
	Metric          Metric           // part of the addresses that is in use
	ValidityTimerS  uint16           // seconds
	IPv4, IPv6      Optional[uint32] // Number of UE IP Addresses
	NetworkInstance Name
	PoolIdentity    Optional[[]byte]
	SNSSAI          Optional[SNSSAI]
}

var ueIPAddressUsage = newContainer(container[UEIPAddressUsage]{
	name: "UE IP Address Usage Information", clause: "7.4.4.3.1", reset: zero[UEIPAddressUsage],
	members: []member[UEIPAddressUsage]{
		one(IESequenceNumber, func(p *UEIPAddressUsage) *uint32 { return &p.SequenceNumber }, u32[uint32]()),
		one(IEMetric, func(p *UEIPAddressUsage) *Metric { return &p.Metric }, metric),
		one(IEValidityTimer, func(p *UEIPAddressUsage) *uint16 { return &p.ValidityTimerS }, u16[uint16]()),
		one(IENumberOfUEIPAddresses, func(p *UEIPAddressUsage) *UEIPAddressUsage { return p }, numberOfUEIPAddresses),
		one(IENetworkInstance, func(p *UEIPAddressUsage) *[]byte { return (*[]byte)(&p.NetworkInstance) }, view),
		opt(IEUEIPAddressPoolIdentity, optional, func(p *UEIPAddressUsage) *Optional[[]byte] { return &p.PoolIdentity }, poolIdentity),
		opt(IESNSSAI, optional, func(p *UEIPAddressUsage) *Optional[SNSSAI] { return &p.SNSSAI }, snssai),
	},
})

// numberOfUEIPAddresses is a Number of UE IP Addresses.
// Source: TS 29.244 V18.6.0, 8.2.183.
var numberOfUEIPAddresses = codec[UEIPAddressUsage]{
	func(v *UEIPAddressUsage, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		v.IPv4, v.IPv6 = Optional[uint32]{}, Optional[uint32]{}
		if flags&0x01 != 0 {
			v.IPv4 = Some(r.u32())
		}
		if flags&0x02 != 0 {
			v.IPv6 = Some(r.u32())
		}
		return r.err
	},
	func(b []byte, v *UEIPAddressUsage) []byte {
		b = append(b, bit(v.IPv4.Present, 0x01)|bit(v.IPv6.Present, 0x02))
		if v.IPv4.Present {
			b = binary.BigEndian.AppendUint32(b, v.IPv4.Value)
		}
		if v.IPv6.Present {
			b = binary.BigEndian.AppendUint32(b, v.IPv6.Value)
		}
		return b
	},
}
