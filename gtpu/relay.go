package gtpu

// ExtUDPPort is the type of the extension header in which an Error Indication
// tells the source port of the G-PDU. Source: TS 29.281 V18.1.0, 5.2.2.1.
const ExtUDPPort = 0x40

// extPDCPNumber is the one type that an intermediate node must comprehend: it is relayed to the
// target of a handover. Source: TS 29.281 V18.1.0, 5.2.2.2.
const extPDCPNumber = 0xc0

// Relayed reports whether an intermediate node forwards an extension header of
// type t: bits 8 and 7 are 00 or 10, or it is a PDCP PDU Number.
//
// Source: TS 29.281 V18.1.0, figure 5.2.1-2.
func Relayed(t byte) bool { return t&0x40 == 0 || t == extPDCPNumber }

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
