package traffic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"plumbline/gtpu"
	"plumbline/lab/generator"
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
	etherIPv4   = 0x0800
	etherIPv6   = 0x86dd
	etherMPLS   = 0x8847
	etherMPLSUp = 0x8848 // with an upstream-assigned label
	etherPPPoE  = 0x8864
)

// tags are the Ethernet types of a VLAN tag: of IEEE 802.1Q, of 802.1ad, and those that
// switches gave the outer of two tags before there was 802.1ad.
var tags = map[uint16]bool{0x8100: true, 0x88a8: true, 0x9100: true, 0x9200: true, 0x9300: true}

const (
	protocolTCP = 6
	protocolUDP = 17
	gtpuPort    = 2152 // Source: TS 29.281 V18.1.0, 4.4.2.
	gtpuGPDU    = 255
)

// ipOf returns the IP packet of a frame. skip says why there is none.
func ipOf(link uint32, b []byte) (ip []byte, skip string) {
	switch link {
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
		name := linkNames[link]
		if name == "" {
			name = "of unknown name"
		}
		return nil, fmt.Sprintf("link type %d (%s), which is not read", link, name)
	}
	if ip == nil {
		return nil, skipNoIP
	}
	return ip, ""
}

// behind returns the IP packet behind a header of so many octets that has an Ethernet type at
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
	case etherIPv4, etherIPv6:
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

// user is a user packet with what is looked at of it.
type user struct {
	ip       []byte // whole, as long as its header says; a copy
	src, dst netip.Addr
	protocol uint8
	l4       int // where the transport header begins
	payload  int // where the payload does
}

// Reasons to leave a packet out.
const (
	skipNoIP     = "no IP packet"
	skipFragment = "fragment"
	skipOptions  = "IPv4 options or IPv6 extension headers"
	skipProtocol = "neither TCP nor UDP"
	skipDamaged  = "headers cut off"
	skipLong     = "too long"
	skipBlock    = "blocks of pcapng of unknown types"
	skipOther    = "neither from nor to a UE, or the other direction"
)

// userOf returns the user packet that begins with b, out of its tunnel if it is in one. If
// the end was not captured, it is 0. On the link there were so many octets from b on. skip
// says why there is none.
func userOf(b []byte, whole int) (u user, skip string) {
	for range 2 {
		if u, skip = parseIP(b, whole); skip != "" {
			return u, skip
		}
		inner := tunnelled(&u)
		if inner == nil {
			return u, ""
		}
		b, whole = inner, len(inner)
	}
	return u, skipProtocol
}

// tunnelled returns the T-PDU of a G-PDU, nil if u is none.
func tunnelled(u *user) []byte {
	if u.protocol != protocolUDP || binary.BigEndian.Uint16(u.ip[u.l4+2:]) != gtpuPort {
		return nil
	}
	h, err := gtpu.Parse(u.ip[u.payload:])
	if err != nil || h.Type() != gtpuGPDU {
		return nil
	}
	return u.ip[u.payload+len(h):]
}

func parseIP(b []byte, whole int) (u user, skip string) {
	octets := 0
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		octets, u.l4, u.protocol = int(binary.BigEndian.Uint16(b[2:])), 20, b[9]
		u.src, u.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
		if b[0]&0x0f != 5 {
			return u, skipOptions
		}
		if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 {
			return u, skipFragment
		}
	case len(b) >= 40 && b[0]>>4 == 6:
		octets, u.l4, u.protocol = 40+int(binary.BigEndian.Uint16(b[4:])), 40, b[6]
		u.src, u.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
		if extensions[u.protocol] {
			return u, skipOptions
		}
	default:
		return u, skipNoIP
	}
	if octets == 0 || u.l4 == 40 && octets == 40 { // the sender left the length to an offload: as much as there is
		octets = min(whole, maxCaptured)
	}
	u.payload = u.l4 + udpOctets
	if u.protocol == protocolTCP && len(b) > u.l4+12 {
		u.payload = u.l4 + int(b[u.l4+12]>>4)*4
	}
	switch {
	case u.protocol != protocolTCP && u.protocol != protocolUDP:
		return u, skipProtocol
	case u.protocol == protocolTCP && u.payload < u.l4+20, len(b) < u.payload, octets < u.payload:
		return u, skipDamaged
	}
	u.ip = make([]byte, octets)
	copy(u.ip, b)
	u.setLength()
	return u, ""
}

// setLength writes how long the packet is into its header. One that is longer than that holds
// will not be sent.
func (u *user) setLength() {
	if u.l4 == 20 {
		binary.BigEndian.PutUint16(u.ip[2:], uint16(len(u.ip)))
	} else {
		binary.BigEndian.PutUint16(u.ip[4:], uint16(len(u.ip)-40))
	}
}

// extensions are the extension headers of IPv6 that a packet may begin with: Hop-by-Hop Options,
// Routing, Fragment, Destination Options. Source: RFC 8200, 4.1.
var extensions = map[uint8]bool{0: true, 43: true, 44: true, 60: true}

// lengthen makes room for a short stamp in the payload. It reports whether it had to.
func (u *user) lengthen() bool {
	missing := u.payload + generator.ShortStampOctets - len(u.ip)
	if missing <= 0 {
		return false
	}
	u.ip = append(u.ip, make([]byte, missing)...)
	u.setLength()
	return true
}
