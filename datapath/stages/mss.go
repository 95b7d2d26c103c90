package stages

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

const tcpOptionEnd, tcpOptionNothing, tcpOptionMSS = 0, 1, 2

// clampMSS lowers the MSS that a TCP SYN announces to limit octets. Options
// behind a malformed one are not looked at.
//
// Source: RFC 9293, 3.1, 3.7.1 (MSS); RFC 1624 (checksum).
func (u user) clampMSS(limit int) {
	p := u.upper()
	tcp := p.payload
	if p.protocol != inet.ProtoTCP || len(tcp) < 20 || tcp[13]&tcpSYN == 0 {
		return
	}
	end := min(4*int(tcp[12]>>4), len(tcp))
	for at := 20; at < end; {
		switch kind := tcp[at]; {
		case kind == tcpOptionEnd:
			return
		case kind == tcpOptionNothing:
			at++
			continue
		case at+1 >= end || tcp[at+1] < 2:
			return
		case kind == tcpOptionMSS && tcp[at+1] == 4 && at+4 <= end:
			setMSS(tcp, at+2, limit)
			return
		}
		at += int(tcp[at+1])
	}
}

// setMSS writes the MSS at octet at, if it is larger. At an odd octet its parts
// are the other ones of two words of the checksum.
func setMSS(tcp []byte, at, limit int) {
	before, after := binary.BigEndian.Uint16(tcp[at:]), uint16(limit)
	if before <= after {
		return
	}
	binary.BigEndian.PutUint16(tcp[at:], after)
	if at%2 == 1 {
		before, after = before<<8|before>>8, after<<8|after>>8
	}
	var change sumChange
	change.add16(before, after)
	binary.BigEndian.PutUint16(tcp[16:], change.apply(binary.BigEndian.Uint16(tcp[16:])))
}
