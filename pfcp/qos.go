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

// qfis is an IE QFI that may stand several times, collected in a set.
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
