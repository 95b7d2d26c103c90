package pfcp

import "encoding/binary"

// SDFFilter is an SDF Filter. Source: TS 29.244 V18.6.0, 8.2.5.
type SDFFilter struct {
	FlowDescription []byte           // FD: an IPFilterRule, "permit out ip from any to assigned"; nil: none
	TrafficClass    Optional[ToS]    // TTC
	SPI             Optional[uint32] // Security Parameter Index
	FlowLabel       Optional[uint32] // FL: 20 bits in 3 octets
	FilterID        Optional[uint32] // BID: for bidirectional filters
}

// ToS is a ToS or Traffic Class octet and the mask of the bits that count.
type ToS struct {
	Value, Mask uint8
}

const sdfFD, sdfTTC, sdfSPI, sdfFL, sdfBID = 0x01, 0x02, 0x04, 0x08, 0x10

var sdfFilter = codec[SDFFilter]{read: readSDFFilter, write: writeSDFFilter}

func readSDFFilter(v *SDFFilter, b []byte) error {
	*v = SDFFilter{}
	r := reader{b: b}
	flags := r.u8()
	r.u8() // spare
	if flags&sdfFD != 0 {
		v.FlowDescription = r.take(int(r.u16()))
	}
	if flags&sdfTTC != 0 {
		v.TrafficClass = Some(ToS{r.u8(), r.u8()})
	}
	if flags&sdfSPI != 0 {
		v.SPI = Some(r.u32())
	}
	if flags&sdfFL != 0 {
		v.FlowLabel = Some(r.u24())
	}
	if flags&sdfBID != 0 {
		v.FilterID = Some(r.u32())
	}
	return r.err
}

func writeSDFFilter(b []byte, v *SDFFilter) []byte {
	b = append(b, bit(v.FlowDescription != nil, sdfFD)|bit(v.TrafficClass.Present, sdfTTC)|
		bit(v.SPI.Present, sdfSPI)|bit(v.FlowLabel.Present, sdfFL)|bit(v.FilterID.Present, sdfBID), 0)
	if v.FlowDescription != nil {
		b = binary.BigEndian.AppendUint16(b, uint16(len(v.FlowDescription)))
		b = append(b, v.FlowDescription...)
	}
	if v.TrafficClass.Present {
		b = append(b, v.TrafficClass.Value.Value, v.TrafficClass.Value.Mask)
	}
	if v.SPI.Present {
		b = binary.BigEndian.AppendUint32(b, v.SPI.Value)
	}
	if v.FlowLabel.Present {
		b = appendU24(b, v.FlowLabel.Value)
	}
	if v.FilterID.Present {
		b = binary.BigEndian.AppendUint32(b, v.FilterID.Value)
	}
	return b
}
