package pfcp

import "fmt"

// GateStatus is a Gate Status. Source: TS 29.244 V18.6.0, 8.2.7.
type GateStatus struct {
	UplinkClosed, DownlinkClosed bool
}

var gateStatus = codec[GateStatus]{
	func(v *GateStatus, b []byte) error {
		// "2 and 3, if received, shall be interpreted as the value 1."
		*v = GateStatus{UplinkClosed: b[0]&0x0c != 0, DownlinkClosed: b[0]&0x03 != 0}
		return nil
	},
	func(b []byte, v *GateStatus) []byte {
		return append(b, bit(v.UplinkClosed, 0x04)|bit(v.DownlinkClosed, 0x01))
	},
}

// BitRates is an MBR or a GBR, in kbit/s (1000 bit/s); 40 bits each.
// Source: TS 29.244 V18.6.0, 8.2.8 and 8.2.9.
type BitRates struct {
	UplinkKbps, DownlinkKbps uint64
}

var bitRates = codec[BitRates]{
	func(v *BitRates, b []byte) error { *v = BitRates{readU40(b), readU40(b[5:])}; return nil },
	func(b []byte, v *BitRates) []byte { return appendU40(appendU40(b, v.UplinkKbps), v.DownlinkKbps) },
}

func readU40(b []byte) uint64 {
	return uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(b[4])
}

// appendU40 appends v, or the greatest 40-bit number if v is above it.
func appendU40(b []byte, v uint64) []byte {
	v = min(v, 1<<40-1)
	return append(b, byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// QFI is a QoS Flow Identifier, 0 to 63. Source: TS 29.244 V18.6.0, 8.2.89.
type QFI uint8

const maskQFI QFI = 0x3f

// QFISet is a set of QFIs: bit i is QFI i.
type QFISet uint64

// NewQFISet returns the set of the given QFIs. Bits above the 6 of a QFI are
// not looked at.
func NewQFISet(qfis ...QFI) (s QFISet) {
	for _, q := range qfis {
		s |= 1 << (q & maskQFI)
	}
	return s
}

// Has reports whether q is in the set.
func (s QFISet) Has(q QFI) bool { return q <= maskQFI && s&(1<<q) != 0 }

// String lists the QFIs: "{1 9}".
func (s QFISet) String() string {
	list := []QFI{}
	for q := range maskQFI + 1 {
		if s.Has(q) {
			list = append(list, q)
		}
	}
	return fmt.Sprint("{", fmt.Sprint(list)[1:len(fmt.Sprint(list))-1], "}")
}

// qfis is a repeated IE QFI, collected in a set.
func qfis[T any](get func(*T) *QFISet) member[T] {
	return member[T]{
		ie: IEQFI, presence: optional, state: decoded, repeats: true, limit: int(maskQFI) + 1,
		read: func(dst *T, content []byte) error {
			*get(dst) |= NewQFISet(QFI(content[0]))
			return nil
		},
		write: func(b []byte, src *T) []byte {
			for q, s := QFI(0), *get(src); s != 0; q, s = q+1, s>>1 {
				if s&1 != 0 {
					b = append(b, byte(IEQFI>>8), byte(IEQFI&0xff), 0, 1, byte(q))
				}
			}
			return b
		},
	}
}

// PacketRate is a Packet Rate: how many packets may pass in a unit of time. At
// least one direction is present. Source: TS 29.244 V18.6.0, 8.2.63.
type PacketRate struct {
	Uplink, Downlink                     Optional[PacketLimit]
	AdditionalUplink, AdditionalDownlink Optional[PacketLimit] // both or none (APRC), each with its direction only
}

// PacketLimit is a Maximum Packet Rate.
type PacketLimit struct {
	Unit    uint8  // 0 minute, 1 six minutes, 2 hour, 3 day, 4 week
	Packets uint16 // in a unit
}

const rateUplink, rateDownlink, rateAdditional = 0x01, 0x02, 0x04

var packetRate = codec[PacketRate]{
	func(v *PacketRate, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		additional := flags&rateAdditional != 0
		v.Uplink, v.Downlink = r.packetLimit(flags&rateUplink != 0), r.packetLimit(flags&rateDownlink != 0)
		v.AdditionalUplink = r.packetLimit(additional && v.Uplink.Present)
		v.AdditionalDownlink = r.packetLimit(additional && v.Downlink.Present)
		if flags&(rateUplink|rateDownlink) == 0 {
			return fmt.Errorf("flags %#02x, no direction: %w", flags, ErrIncorrect)
		}
		return r.err
	},
	func(b []byte, v *PacketRate) []byte {
		additional := v.AdditionalUplink.Present || v.AdditionalDownlink.Present
		b = append(b, bit(v.Uplink.Present, rateUplink)|bit(v.Downlink.Present, rateDownlink)|bit(additional, rateAdditional))
		b = appendPacketLimit(b, v.Uplink, v.Uplink.Present)
		b = appendPacketLimit(b, v.Downlink, v.Downlink.Present)
		b = appendPacketLimit(b, v.AdditionalUplink, additional && v.Uplink.Present)
		return appendPacketLimit(b, v.AdditionalDownlink, additional && v.Downlink.Present)
	},
}

func (r *reader) packetLimit(present bool) Optional[PacketLimit] {
	if !present {
		return Optional[PacketLimit]{}
	}
	return Some(PacketLimit{r.u8() & 0x7, r.u16()})
}

func appendPacketLimit(b []byte, v Optional[PacketLimit], present bool) []byte {
	if !present {
		return b
	}
	return append(b, v.Value.Unit&0x7, byte(v.Value.Packets>>8), byte(v.Value.Packets))
}

// DLFlowLevelMarking is a DL Flow Level Marking.
// Source: TS 29.244 V18.6.0, 8.2.66.
type DLFlowLevelMarking struct {
	TrafficClass          Optional[ToS]    // TTC
	ServiceClassIndicator Optional[uint16] // SCI: two octets of the GTP-U extension header
}

var dlFlowLevelMarking = codec[DLFlowLevelMarking]{
	func(v *DLFlowLevelMarking, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = DLFlowLevelMarking{}
		if flags&0x01 != 0 {
			v.TrafficClass = Some(ToS{r.u8(), r.u8()})
		}
		if flags&0x02 != 0 {
			v.ServiceClassIndicator = Some(r.u16())
		}
		return r.err
	},
	func(b []byte, v *DLFlowLevelMarking) []byte {
		b = append(b, bit(v.TrafficClass.Present, 0x01)|bit(v.ServiceClassIndicator.Present, 0x02))
		if v.TrafficClass.Present {
			b = append(b, v.TrafficClass.Value.Value, v.TrafficClass.Value.Mask)
		}
		if v.ServiceClassIndicator.Present {
			b = append(b, byte(v.ServiceClassIndicator.Value>>8), byte(v.ServiceClassIndicator.Value))
		}
		return b
	},
}
