package gtpu

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

// AppendGPDU appends the header of a G-PDU whose T-PDU has size octets. If qfi is not 0 it is in a
// PDU Session Container of the given PDU type.
//
// Source: TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2.
func AppendGPDU(b []byte, teid uint32, pduType, qfi byte, size int) []byte {
	return Marks{PDUType: pduType, QFI: qfi}.AppendGPDU(b, teid, size)
}
