package n4

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// matter are the IEs of messages that sessions are learnt from. Only these are decoded: a
// UP function may take a FAR or a URR that our decoder would refuse, and packets are known
// by PDRs.
var matter = func() (table [512]bool) {
	for _, ie := range []pfcp.IEType{
		pfcp.IENodeID, pfcp.IEFSEID, pfcp.IECause, pfcp.IEAPNDNN, pfcp.IESNSSAI, pfcp.IEFQCSID,
		pfcp.IECreatePDR, pfcp.IEUpdatePDR, pfcp.IERemovePDR, pfcp.IECreatedPDR, pfcp.IEUpdatedPDR,
		pfcp.IECreateTrafficEndpoint, pfcp.IEUpdateTrafficEndpoint, pfcp.IERemoveTrafficEndpoint, pfcp.IECreatedTrafficEndpoint,
		pfcp.IECreateQER, pfcp.IEUpdateQER, pfcp.IERemoveQER,
	} {
		table[ie] = true
	}
	return table
}()

// someFAR is a Create FAR that drops: an establishment must have one.
// Source: TS 29.244 V18.6.0, table 7.5.2.3-1.
var someFAR = []byte{0, 3, 0, 13 /* FAR ID */, 0, 108, 0, 4, 0, 0, 0, 0 /* Apply Action */, 0, 44, 0, 1, 1}

// appendMatter appends the IEs of a body that matter. ok is false if the body is not a
// sequence of IEs.
func appendMatter(b, body []byte) (out []byte, ok bool) {
	const head = 4 // type, length
	for len(body) >= head {
		ie, size := pfcp.IEType(binary.BigEndian.Uint16(body)), head+int(binary.BigEndian.Uint16(body[2:]))
		if size > len(body) {
			return b, false
		}
		if int(ie) < len(matter) && matter[ie] {
			b = append(b, body[:size]...)
		}
		body = body[size:]
	}
	return b, len(body) == 0
}

// decode decodes what matters of a request and of its response, and reports whether it
// could be.
func (l *learner) decode(request, response pfcp.Message, asked, answered []byte) bool {
	var ok1, ok2 bool
	l.asked, ok1 = appendMatter(l.asked[:0], asked)
	l.answered, ok2 = appendMatter(l.answered[:0], answered)
	if request.MessageType() == pfcp.MsgSessionEstablishmentRequest {
		l.asked = append(l.asked, someFAR...)
	}
	return ok1 && ok2 && request.Decode(l.asked) == nil && response.Decode(l.answered) == nil
}
