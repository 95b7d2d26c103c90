package gtpu

import "encoding/binary"

// PDU types of a PDU Session Container. Source: TS 38.415 V18.0.0, 5.5.3.2.
const (
	PDUTypeDownlink = 0
	PDUTypeUplink   = 1
)

// LenGPDU and LenGPDUWithQFI are the sizes of the headers that [AppendGPDU]
// writes, in octets.
const (
	LenGPDU        = lenFixed
	LenGPDUWithQFI = lenOptional + 4
)

// AppendGPDU appends the header of a G-PDU whose T-PDU has size octets. If qfi
// is not 0 a PDU Session Container of the given PDU type carries it.
//
// Source: TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2.
func AppendGPDU(b []byte, teid uint32, pduType, qfi byte, size int) []byte {
	if qfi == 0 {
		b = append(b, v1GTP, GPDU)
		b = binary.BigEndian.AppendUint16(b, uint16(size))
		return binary.BigEndian.AppendUint32(b, teid)
	}
	b = append(b, v1GTP|flagE, GPDU)
	b = binary.BigEndian.AppendUint16(b, uint16(size+LenGPDUWithQFI-lenFixed))
	b = binary.BigEndian.AppendUint32(b, teid)
	return append(b, 0, 0, 0, ExtPDUSessionContainer, 1, pduType<<4, qfi&0x3f, 0)
}
