package gtpu

import "encoding/binary"

// ExtUDPPort is the type of the extension header in which an Error Indication
// tells the source port of the G-PDU. Source: TS 29.281 V18.1.0, 5.2.2.1.
const ExtUDPPort = 0x40

// extPDCPNumber is the one type that an intermediate node has to comprehend. We
// do: it goes on to the target of a handover. Source: TS 29.281 V18.1.0, 5.2.2.2.
const extPDCPNumber = 0xc0

// Relayed reports whether an intermediate node forwards an extension header of
// type t: bits 8 and 7 are 00 or 10, or it is a PDCP PDU Number.
//
// Source: TS 29.281 V18.1.0, figure 5.2.1-2.
func Relayed(t byte) bool { return t&0x40 == 0 || t == extPDCPNumber }

// AppendRelayed appends the header of a G-PDU that goes on through tunnel teid
// after it came with header h, which [Parse] has let pass: the extension headers
// that are to be forwarded, unchanged and in their order. If qfi is not 0 it
// replaces the one in the first PDU Session Container; where there is none, one
// of the given PDU type comes first. The T-PDU has size octets; header and T-PDU
// must not exceed 65535.
//
// Source: TS 29.281 V18.1.0, 5.1 and 5.2.1.
func AppendRelayed(b []byte, h Header, teid uint32, pduType, qfi byte, size int) []byte {
	start := len(b)
	b = append(b, v1GTP|flagE, GPDU, 0, 0)
	b = binary.BigEndian.AppendUint32(b, teid)
	b = append(b, 0, 0, 0, 0) // the last octet is the type of what comes first
	next := len(b) - 1        // where to write the next type
	_, marked := h.QFI()
	if qfi != 0 && !marked {
		b[next] = ExtPDUSessionContainer
		b = append(b, 1, pduType<<4, qfi&0x3f, 0)
		next = len(b) - 1
	}
	first := true
	h.extensions(func(t byte, ext []byte) {
		if !Relayed(t) {
			return
		}
		b[next] = t
		at := len(b)
		b = append(b, ext...)
		next = len(b) - 1
		b[next] = 0
		if t == ExtPDUSessionContainer && first {
			first = false
			if qfi != 0 {
				b[at+2] = b[at+2]&^0x3f | qfi&0x3f
			}
		}
	})
	if next == start+offNext { // nothing to carry: no optional word either
		b = b[:start+lenFixed]
		b[start] = v1GTP
	}
	binary.BigEndian.PutUint16(b[start+offLength:], uint16(len(b)-start-lenFixed+size))
	return b
}

// extensions calls f with the type and all octets of each extension header.
func (h Header) extensions(f func(t byte, ext []byte)) {
	if h[0]&flagE == 0 {
		return
	}
	next := h[offNext]
	for n := lenOptional; next != 0; {
		ext := h[n : n+4*int(h[n])]
		f(next, ext)
		n += len(ext)
		next = h[n-1]
	}
}
