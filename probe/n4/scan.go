package n4

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// find returns the content of the first IE of a type in the body of a message, or nil. It
// looks at nothing else, so it finds a Cause in what a decoder would refuse.
func find(body []byte, want pfcp.IEType) []byte {
	const head = 4 // type, length
	for len(body) >= head {
		ie, size := pfcp.IEType(binary.BigEndian.Uint16(body)), int(binary.BigEndian.Uint16(body[2:]))
		body = body[head:]
		if size > len(body) {
			return nil
		}
		if ie == want {
			return body[:size:size]
		}
		body = body[size:]
	}
	return nil
}

// causeOf returns the Cause of a response; 0: it has none, or one that cannot be read.
func causeOf(body []byte) pfcp.Cause {
	if content := find(body, pfcp.IECause); len(content) > 0 {
		return pfcp.Cause(content[0])
	}
	return 0
}
