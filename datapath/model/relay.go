package model

import "plumbline/gtpu"

// header makes the GTP-U header of a packet that leaves through o. A packet
// that came bare gets a PDU Session Container if a QER has a QFI. One that came
// through a tunnel keeps the extension headers that an intermediate node has to
// forward, the container among them, in which only the QFI is marked anew, and
// only if a QER has one; sequence and N-PDU number are the tunnel's and stay
// behind.
//
// Source: TS 29.281 V18.1.0, 5.1 and figure 5.2.1-2; TS 29.244 V18.6.0, 5.4.2
// (QFI marking).
func (o *Outer) header(a arrived, qfi byte) []byte {
	pduType := byte(gtpu.PDUTypeUplink)
	if o.ToAccess {
		pduType = gtpu.PDUTypeDownlink
	}
	if a.header == nil {
		return gtpu.AppendGPDU(nil, o.TEID, pduType, qfi, len(a.user))
	}
	return gtpu.AppendRelayed(nil, a.header, o.TEID, pduType, qfi, len(a.user))
}
