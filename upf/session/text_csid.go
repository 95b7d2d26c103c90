package session

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// String is the node and the number of the set: "10.4.0.2/17". Of a node that is
// no address it is what the operator made up for it, in MCC, MNC and a number:
// "262-01-5/17". Source: TS 29.244 V18.6.0, 8.2.48.
func (c *FQCSID) String() string {
	switch c.IDType {
	case 0:
		return fmt.Sprintf("%s/%d", netip.AddrFrom4([4]byte(c.Node[:4])), c.CSID)
	case 1:
		return fmt.Sprintf("%s/%d", netip.AddrFrom16(c.Node), c.CSID)
	}
	// 20 bits of MCC * 1000 + MNC, 12 bits of the number.
	n := binary.BigEndian.Uint32(c.Node[:4])
	return fmt.Sprintf("%03d-%02d-%d/%d", n>>12/1000, n>>12%1000, n&0xfff, c.CSID)
}
