package gtpu

import "encoding/binary"

// ExtServiceClass is the type of the extension header that carries a Service
// Class Indicator. Source: TS 29.281 V18.1.0, 5.2.2.3.
const ExtServiceClass = 0x20

// Bits of a PDU Session Container. Those of the second octet but the QFI, and
// all of the first but the PDU type, are of downlink ones here.
// Source: TS 38.415 V18.0.0, 5.5.2.1.
const (
	maskQFI            = 0x3f
	bitRQI, bitPPP     = 0x40, 0x80
	bitQMP             = 0x08 // DL Sending Time Stamp, 8 octets
	bitSNP             = 0x04 // DL QFI Sequence Number, 3 octets
	bitMSNP            = 0x02 // DL MBS QFI Sequence Number, 4 octets
	shiftPPI, shiftPDU = 5, 4
)

// Marks is what QERs write into the header of a G-PDU. The zero value is
// nothing. RQI and paging policy are for containers of PDU type
// [PDUTypeDownlink]; where there is no container they stay away.
//
// Source: TS 29.244 V18.6.0, 8.2.66 (Service Class Indicator), 8.2.88 (RQI),
// 8.2.89 (QFI), 8.2.116 (Paging Policy Indicator).
type Marks struct {
	PDUType byte // of a container that is made
	QFI     byte // 1 to 63; 0: no container is made, and one that came keeps its own
	RQI     bool
	// NoContainer removes received containers. QFI is 0.
	NoContainer bool

	HasPagingPolicy bool
	PagingPolicy    byte // 3 bits
	HasServiceClass bool
	ServiceClass    byte
}

// AppendGPDU appends the header of a G-PDU whose T-PDU has size octets and arrived without one. It
// writes nothing after the header, where the T-PDU may be.
//
// Source: TS 29.281 V18.1.0, 5.1, 5.2.1 (the container should come first).
func (m Marks) AppendGPDU(b []byte, teid uint32, size int) []byte {
	if m.QFI == 0 && !m.HasServiceClass {
		b = append(b, v1GTP, GPDU)
		b = binary.BigEndian.AppendUint16(b, uint16(size))
		return binary.BigEndian.AppendUint32(b, teid)
	}
	start := len(b)
	b, next := appendOptional(b, teid)
	if m.QFI != 0 {
		b, next = m.appendContainer(b, next)
	}
	b, next = m.appendServiceClass(b, next)
	return finishGPDU(b, start, next, size)
}

// AppendRelayed appends the header of a G-PDU that is relayed to tunnel teid after it arrived with
// header h, which [Parse] has accepted: the extension headers to forward, in order and unchanged
// except for the marks. The first PDU Session Container is marked; if there is none and a QFI is to
// be marked, a new one is put first. A new Service Class Indicator is put last and replaces others.
// The T-PDU has size octets; header and T-PDU must not exceed 65535.
//
// Source: TS 29.281 V18.1.0, 5.1 and 5.2.1.
func (m Marks) AppendRelayed(b []byte, h Header, teid uint32, size int) []byte {
	start := len(b)
	b, next := appendOptional(b, teid)
	_, first := h.QFI()
	if m.QFI != 0 && !first {
		b, next = m.appendContainer(b, next)
	}
	h.extensions(func(t byte, ext []byte) {
		if !Relayed(t) || t == ExtServiceClass && m.HasServiceClass || t == ExtPDUSessionContainer && m.NoContainer {
			return
		}
		b[next] = t
		if t == ExtPDUSessionContainer && first {
			first = false
			b = m.appendRemarked(b, ext)
		} else {
			b = append(b, ext...)
		}
		next = len(b) - 1
		b[next] = 0
	})
	b, next = m.appendServiceClass(b, next)
	return finishGPDU(b, start, next, size)
}

// appendOptional appends the first 12 octets of a G-PDU, and returns where the
// type of what comes next is to be written.
func appendOptional(b []byte, teid uint32) (grown []byte, next int) {
	b = append(b, v1GTP|flagE, GPDU, 0, 0)
	b = binary.BigEndian.AppendUint32(b, teid)
	b = append(b, 0, 0, 0, 0)
	return b, len(b) - 1
}

// finishGPDU writes the Length. Without extension headers there is no optional
// word either.
func finishGPDU(b []byte, start, next, size int) []byte {
	if next == start+offNext {
		b = b[:start+lenFixed]
		b[start] = v1GTP
	}
	binary.BigEndian.PutUint16(b[start+offLength:], uint16(len(b)-start-lenFixed+size))
	return b
}

func (m Marks) appendContainer(b []byte, next int) (grown []byte, last int) {
	b[next] = ExtPDUSessionContainer
	b = m.appendRemarked(b, []byte{1, m.PDUType << shiftPDU, 0, 0})
	return b, len(b) - 1
}

func (m Marks) appendServiceClass(b []byte, next int) (grown []byte, last int) {
	if !m.HasServiceClass {
		return b, next
	}
	b[next] = ExtServiceClass
	return append(b, 1, m.ServiceClass, 0, 0), len(b) + 3
}

// appendRemarked appends a PDU Session Container, length and next type included,
// with the marks. The next type is 0 afterwards.
func (m Marks) appendRemarked(b, ext []byte) []byte {
	at := len(b)
	b = append(b, ext...)
	b[len(b)-1] = 0
	if m.QFI != 0 {
		b[at+2] = b[at+2]&^maskQFI | m.QFI&maskQFI
	}
	if ext[1]>>shiftPDU != PDUTypeDownlink {
		return b
	}
	if m.RQI {
		b[at+2] |= bitRQI
	}
	if m.HasPagingPolicy {
		b = m.remarkPaging(b, at)
	}
	return b
}

// remarkPaging writes the Paging Policy Indicator of the container at octet at,
// which is the last thing in b. If it has none, room is made behind the QFI, out
// of the padding or with four octets more.
func (m Marks) remarkPaging(b []byte, at int) []byte {
	const indicator, nextType = 3, 1
	fields := indicator
	for _, f := range []struct {
		bit    byte
		octets int
	}{{bitQMP, 8}, {bitSNP, 3}, {bitMSNP, 4}} {
		if b[at+1]&f.bit != 0 {
			fields += f.octets
		}
	}
	room := len(b) - at - nextType // of length, fields and padding
	if b[at+2]&bitPPP == 0 || room == indicator {
		if fields >= room {
			b = append(b, 0, 0, 0, 0)
			b[at]++
		}
		copy(b[at+indicator+1:len(b)-nextType], b[at+indicator:])
		b[at+indicator] = 0
		b[len(b)-1] = 0
	}
	b[at+2] |= bitPPP
	b[at+indicator] = b[at+indicator]&^(7<<shiftPPI) | m.PagingPolicy<<shiftPPI
	return b
}
