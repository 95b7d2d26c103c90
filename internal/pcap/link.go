package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Link types that are read: tcpdump.org/linktypes.html.
const (
	linkNull     = 0
	linkEthernet = 1
	linkPPP      = 9
	linkRawBSD   = 12
	linkRawOpen  = 14
	linkPPPHDLC  = 50
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

// linkNames are those of some that are not.
var linkNames = map[uint32]string{
	6: "Token Ring", 8: "SLIP", 10: "FDDI", 51: "PPPoE", 104: "Cisco HDLC", 105: "802.11", 107: "Frame Relay", 119: "802.11 with Prism",
	127: "802.11 with radiotap", 129: "ARCNET", 144: "cooked IrDA", 163: "802.11 with AVS", 187: "Bluetooth HCI", 189: "USB", 192: "PPI", 195: "802.15.4",
	201: "Bluetooth HCI", 219: "cooked LAPD", 220: "USB", 227: "CAN", 230: "802.15.4", 239: "NFLOG", 240: "netANALYZER", 247: "InfiniBand",
	252: "exported PDUs", 253: "netlink", 272: "Bluetooth HCI",
}

// Ethernet types.
const (
	etherMPLS   = 0x8847
	etherMPLSUp = 0x8848 // with an upstream-assigned label
	etherPPPoE  = 0x8864
)

// tags are the Ethernet types of a VLAN tag: of IEEE 802.1Q, of 802.1ad, and those that
// switches gave the outer of two tags before there was 802.1ad.
var tags = map[uint16]bool{0x8100: true, 0x88a8: true, 0x9100: true, 0x9200: true, 0x9300: true}

// NoIP is what a frame is whose link type is known, and which has no IP packet.
const NoIP = "no IP packet"

// IP returns the IP packet of a frame, what was captured of it, and how long the packet is on
// the link, with what may be behind it. why says why there is none: [NoIP], or the name of the
// link type.
func (p *Packet) IP() (ip []byte, whole int, why string) {
	b := p.Data
	switch p.Link {
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		ip = b
	case linkSLL:
		ip = behind(b, 14, 16)
	case linkSLL2:
		ip = behind(b, 0, 20)
	case linkEthernet:
		ip = behind(b, 12, 14)
	case linkNull, linkLoop: // an address family, whose number is the system's own: IP says its version itself
		if len(b) > 4 {
			ip = b[4:]
		}
	case linkPPP, linkPPPHDLC:
		ip = ppp(bytes.TrimPrefix(b, []byte{0xff, 0x03}))
	default:
		name := linkNames[p.Link]
		if name == "" {
			name = "of unknown name"
		}
		return nil, 0, fmt.Sprintf("link type %d (%s), which is not read", p.Link, name)
	}
	if ip == nil {
		return nil, 0, NoIP
	}
	return ip, p.Whole - len(p.Data) + len(ip), ""
}

// behind returns the IP packet behind a header of the given length that has an Ethernet type at
// an offset, and behind tags, labels and PPP. nil: there is none.
func behind(b []byte, at, octets int) []byte {
	if len(b) < octets {
		return nil
	}
	t, b := binary.BigEndian.Uint16(b[at:]), b[octets:]
	for tags[t] {
		if len(b) < 4 {
			return nil
		}
		t, b = binary.BigEndian.Uint16(b[2:]), b[4:]
	}
	switch t {
	case inet.EtherIPv4, inet.EtherIPv6:
		return b
	case etherMPLS, etherMPLSUp:
		return labelled(b)
	case etherPPPoE:
		return ppp(b[min(6, len(b)):])
	}
	return nil
}

// labelled returns the IP packet behind MPLS labels. None says what it is: the first four bits
// do. Source: RFC 3032, 2.1; RFC 4928, 3.
func labelled(b []byte) []byte {
	for len(b) > 4 {
		bottom := b[2]&1 != 0
		if b = b[4:]; bottom && (b[0]>>4 == 4 || b[0]>>4 == 6) {
			return b
		} else if bottom {
			return nil
		}
	}
	return nil
}

// ppp returns the IP packet behind a protocol number of PPP. Source: RFC 1661, 2.
func ppp(b []byte) []byte {
	if len(b) >= 2 && b[0] == 0 && (b[1] == 0x21 || b[1] == 0x57) {
		return b[2:]
	}
	if len(b) >= 1 && (b[0] == 0x21 || b[0] == 0x57) { // compressed to one octet
		return b[1:]
	}
	return nil
}
