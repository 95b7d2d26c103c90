package pfcp

import "fmt"

// MAC is a MAC address in wire order.
type MAC [6]byte

// EthernetPacketFilter is an Ethernet Packet Filter of a PDI: a frame must match all present
// fields, and one value of each repeated field.
// Source: TS 29.244 V18.6.0, table 7.5.2.2-3.
type EthernetPacketFilter struct {
	FilterID     Optional[uint32]
	Properties   EthernetFilterProperties
	MACAddresses []MACAddress
	Ethertype    Optional[uint16]
	CTAG, STAG   Optional[VLANTag]
	SDFFilters   []SDFFilter // of the IP packet in the frame
}

// EthernetFilterProperties is an Ethernet Filter Properties.
// Source: TS 29.244 V18.6.0, 8.2.98.
type EthernetFilterProperties uint8

// EthernetBIDE says that the filter is bidirectional: another PDR names it by its
// Ethernet Filter ID, for the other direction.
const EthernetBIDE EthernetFilterProperties = 1

// The lists inside are not kept from message to message, as in PFDs.
var ethernetPacketFilter = newContainer(container[EthernetPacketFilter]{
	name: "Ethernet Packet Filter", clause: "7.5.2.2", reset: zero[EthernetPacketFilter],
	members: []member[EthernetPacketFilter]{
		opt(IEEthernetFilterID, conditional, func(p *EthernetPacketFilter) *Optional[uint32] { return &p.FilterID }, u32[uint32]()),
		flags(IEEthernetFilterProperties, conditional, func(p *EthernetPacketFilter) *EthernetFilterProperties { return &p.Properties }),
		some(IEMACAddress, optional, MaxMACAddresses, func(p *EthernetPacketFilter) *[]MACAddress { return &p.MACAddresses }, macAddress),
		opt(IEEthertype, optional, func(p *EthernetPacketFilter) *Optional[uint16] { return &p.Ethertype }, u16[uint16]()),
		opt(IECTAG, optional, func(p *EthernetPacketFilter) *Optional[VLANTag] { return &p.CTAG }, vlanTag),
		opt(IESTAG, optional, func(p *EthernetPacketFilter) *Optional[VLANTag] { return &p.STAG }, vlanTag),
		some(IESDFFilter, optional, MaxSDFFilters, func(p *EthernetPacketFilter) *[]SDFFilter { return &p.SDFFilters }, sdfFilter),
	},
})

// MACAddress is a MAC Address: addresses to compare, or, with an upper one, a
// range with both ends in it. Source: TS 29.244 V18.6.0, 8.2.93.
type MACAddress struct {
	Source, Destination           Optional[MAC]
	UpperSource, UpperDestination Optional[MAC]
}

// addresses are those of v in the order of their flags and on the wire.
func (v *MACAddress) addresses() [4]*Optional[MAC] {
	return [...]*Optional[MAC]{&v.Source, &v.Destination, &v.UpperSource, &v.UpperDestination}
}

var macAddress = codec[MACAddress]{
	func(v *MACAddress, b []byte) error {
		r := reader{b: b}
		*v = MACAddress{}
		flags := r.u8()
		for i, a := range v.addresses() {
			if flags&(1<<i) != 0 {
				*a = Some(r.mac())
			}
		}
		if flags&0x03 == 0 {
			return fmt.Errorf("flags %#02x, no address: %w", flags, ErrIncorrect)
		}
		return r.err
	},
	func(b []byte, v *MACAddress) []byte {
		flags := len(b)
		b = append(b, 0)
		for i, a := range v.addresses() {
			if a.Present {
				b[flags] |= 1 << i
				b = append(b, a.Value[:]...)
			}
		}
		return b
	},
}

func (r *reader) mac() (m MAC) {
	copy(m[:], r.take(len(m)))
	return m
}

// VLANTag is a C-TAG or an S-TAG: parts of an IEEE 802.1Q tag.
// Source: TS 29.244 V18.6.0, 8.2.94 and 8.2.95.
type VLANTag struct {
	PCP Optional[uint8]  // 3 bits
	DEI Optional[bool]   // 1 bit
	VID Optional[uint16] // 12 bits
}

const tagPCP, tagDEI, tagVID = 0x01, 0x02, 0x04

// NewVLANTag returns the tag that 24 bits of an IE say.
func NewVLANTag(v uint32) (t VLANTag) {
	flags := v >> 16
	if flags&tagPCP != 0 {
		t.PCP = Some(uint8(v >> 8 & 0x7))
	}
	if flags&tagDEI != 0 {
		t.DEI = Some(v>>8&0x8 != 0)
	}
	if flags&tagVID != 0 {
		t.VID = Some(uint16(v>>4&0xf00 | v&0xff))
	}
	return t
}

// Bits returns the 24 bits that say t in an IE: flags, then the upper 4 bits of
// the VID, DEI and PCP, then the rest of the VID.
func (t VLANTag) Bits() (v uint32) {
	if t.PCP.Present {
		v |= tagPCP<<16 | uint32(t.PCP.Value&0x7)<<8
	}
	if t.DEI.Present {
		v |= tagDEI<<16 | uint32(bit(t.DEI.Value, 0x8))<<8
	}
	if t.VID.Present {
		v |= tagVID<<16 | uint32(t.VID.Value)&0xf00<<4 | uint32(t.VID.Value)&0xff
	}
	return v
}

// TCI returns the tag as encoded in a frame: PCP, DEI and VID; absent fields are 0. Source: IEEE
// 802.1Q, 9.6.
func (t VLANTag) TCI() uint16 {
	tci := uint16(t.PCP.Value&0x7)<<13 | t.VID.Value&0xfff
	if t.DEI.Value {
		tci |= 1 << 12
	}
	return tci
}

var vlanTag = codec[VLANTag]{
	func(v *VLANTag, b []byte) error {
		r := reader{b: b}
		*v = NewVLANTag(r.u24())
		return r.err
	},
	func(b []byte, v *VLANTag) []byte { return appendU24(b, v.Bits()) },
}

// EthernetPDUSessionInformation is an Ethernet PDU Session Information.
// Source: TS 29.244 V18.6.0, 8.2.102.
type EthernetPDUSessionInformation uint8

// EthernetETHI says that the PDR matches all frames of the PDU session: those to
// MAC addresses of the UE, as the UP function has learnt them.
const EthernetETHI EthernetPDUSessionInformation = 1

// EthernetTraffic is an Ethernet Traffic Information: which MAC addresses the UE
// uses since the last report, and which no more.
// Source: TS 29.244 V18.6.0, table 7.5.8.3-3.
type EthernetTraffic struct {
	Detected, Removed []MACList
}

var ethernetTraffic = newContainer(container[EthernetTraffic]{
	name: "Ethernet Traffic Information", clause: "7.5.8.3", reset: zero[EthernetTraffic],
	members: []member[EthernetTraffic]{
		some(IEMACAddressesDetected, conditional, MaxMACAddresses, func(p *EthernetTraffic) *[]MACList { return &p.Detected }, macList),
		some(IEMACAddressesRemoved, conditional, MaxMACAddresses, func(p *EthernetTraffic) *[]MACList { return &p.Removed }, macList),
	},
})

// MACList is a MAC Addresses Detected or MAC Addresses Removed: at most 255
// addresses, behind the same tags. Source: TS 29.244 V18.6.0, 8.2.103 and 8.2.104.
type MACList struct {
	Addresses  []MAC
	CTAG, STAG Optional[VLANTag]
}

var macList = codec[MACList]{
	func(v *MACList, b []byte) error {
		r := reader{b: b}
		*v = MACList{}
		for range r.u8() {
			v.Addresses = append(v.Addresses, r.mac())
			if r.err != nil {
				return r.err
			}
		}
		for _, tag := range [...]*Optional[VLANTag]{&v.CTAG, &v.STAG} {
			content := reader{b: r.take(int(r.u8()))}
			if len(content.b) > 0 {
				*tag = Some(NewVLANTag(content.u24()))
				if content.err != nil {
					return content.err
				}
			}
		}
		return r.err
	},
	func(b []byte, v *MACList) []byte {
		n := min(len(v.Addresses), 255)
		b = append(b, byte(n))
		for _, m := range v.Addresses[:n] {
			b = append(b, m[:]...)
		}
		for _, tag := range [...]Optional[VLANTag]{v.CTAG, v.STAG} {
			if !tag.Present {
				b = append(b, 0)
				continue
			}
			b = appendU24(append(b, 3), tag.Value.Bits())
		}
		return b
	},
}
