package traffic

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/pcap"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// user is a user packet with what is looked at of it.
type user struct {
	ip       []byte // whole, as long as its header says; a copy
	src, dst netip.Addr
	protocol uint8
	l4       int  // where the transport header begins
	payload  int  // where the payload does
	cut      bool // its end was not captured
}

// Reasons to leave a packet out.
const (
	skipNoIP     = pcap.NoIP
	skipFragment = "fragment"
	skipOptions  = "IPv4 options or IPv6 extension headers"
	skipProtocol = "neither TCP nor UDP"
	skipDamaged  = "headers cut off"
	skipLong     = "too long"
	skipBlock    = "blocks of pcapng of unknown types"
	skipOther    = "neither from nor to a UE, or the other direction"
)

// userOf returns the user packet that begins with b, out of its tunnel if it is in one. If
// the end was not captured, it is 0. whole is its length on the link, from b on. skip
// says why there is none.
func userOf(b []byte, whole int) (u user, skip string) {
	cut := false // of a tunnel, so that the packet inside is
	for range 2 {
		if u, skip = parseIP(b, whole); skip != "" {
			return u, skip
		}
		u.cut = u.cut || cut
		inner := tunnelled(&u)
		if inner == nil {
			return u, ""
		}
		b, whole, cut = inner, len(inner), u.cut
	}
	return u, skipProtocol
}

// tunnelled returns the T-PDU of a G-PDU, nil if u is none.
func tunnelled(u *user) []byte {
	if u.protocol != inet.ProtoUDP || binary.BigEndian.Uint16(u.ip[u.l4+2:]) != gtpu.Port {
		return nil
	}
	h, err := gtpu.Parse(u.ip[u.payload:])
	if err != nil || h.Type() != gtpu.GPDU {
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
		octets = min(whole, pcap.MaxOctets)
	}
	u.payload = u.l4 + inet.LenUDP
	if u.protocol == inet.ProtoTCP && len(b) > u.l4+12 {
		u.payload = u.l4 + int(b[u.l4+12]>>4)*4
	}
	switch {
	case u.protocol != inet.ProtoTCP && u.protocol != inet.ProtoUDP:
		return u, skipProtocol
	case u.protocol == inet.ProtoTCP && u.payload < u.l4+20, len(b) < u.payload, octets < u.payload:
		return u, skipDamaged
	}
	u.ip = make([]byte, octets)
	u.cut = copy(u.ip, b) < octets
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
