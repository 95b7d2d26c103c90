package probetest

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
)

// NAT gives packets on N6 the address Public in place of the UE's, and other ports and
// ICMP identifiers, by a rule that can be turned round.
type NAT struct {
	UE, Public netip.Addr
}

// shift is what is added to ports and identifiers of UEs.
const shift = 10000

// translate changes an uplink packet to what it is on N6, or a downlink one back.
func (n *NAT) translate(packet []byte, downlink bool) {
	at, to, add := 12, n.Public, uint16(shift)
	if downlink {
		at, to, add = 16, n.UE, -add
	}
	if packet[0]>>4 != 4 {
		return
	}
	copy(packet[at:at+4], to.AsSlice())
	headers := int(packet[0]&0xf) * 4
	be.PutUint16(packet[10:], 0)
	be.PutUint16(packet[10:], checksum.Of(packet[:headers]))
	upper, protocol, offset := packet[headers:], packet[9], be.Uint16(packet[6:])
	if offset&0x1fff != 0 {
		return // not the first fragment
	}
	where := -1
	switch protocol {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP:
		where = (at - 12) / 2 // source port or destination port
	case unix.IPPROTO_ICMP:
		where = 4
	}
	if where < 0 || len(upper) < where+2 {
		return
	}
	be.PutUint16(upper[where:], be.Uint16(upper[where:])+add)
	if offset&^dontFragment == 0 {
		finish(packet, headers, protocol)
	}
}
