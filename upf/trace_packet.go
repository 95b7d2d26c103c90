package upf

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// dissected is what can be seen in the first octets of a frame.
type dissected struct {
	outer    [2]netip.Addr // source and destination around GTP-U; not valid: none
	teid     uint32
	qfi      uint8
	hasQFI   bool
	user     []byte        // the user packet, as far as it is there
	ends     [2]netip.Addr // its source and destination; not valid: none
	ports    [2]uint16     // 0: none, or not seen
	protocol uint8
	octets   int // as its header says
	signal   uint8
	isSignal bool // a GTP-U message, of type signal, that carries no user packet
}

// dissect reads a frame that a trace shows. What is not there it leaves out.
func dissect(f *datapath.TraceFrame) (d dissected) {
	b := f.Data
	if !f.IP {
		b = stripEthernet(b)
	}
	p := readIP(b)
	if !p.ends[0].IsValid() {
		return d
	}
	if p.protocol == inet.ProtoUDP && p.ports[1] == gtpu.Port && len(p.payload) > 8 && d.readGTPU(p.payload[8:]) {
		d.outer = p.ends
		p = readIP(d.user)
	} else {
		d.user = b
	}
	d.ends, d.ports, d.protocol, d.octets = p.ends, p.ports, p.protocol, p.octets
	return d
}

// stripEthernet returns the IP packet behind an Ethernet header and VLAN tags.
func stripEthernet(b []byte) []byte {
	for at := 12; at+2 <= len(b) && at <= 20; at += 4 {
		switch binary.BigEndian.Uint16(b[at:]) {
		case 0x0800, 0x86dd:
			return b[at+2:]
		case 0x8100, 0x88a8:
		default:
			return nil
		}
	}
	return nil
}

// ipPacket is an IP packet of which the first octets were read.
type ipPacket struct {
	ends     [2]netip.Addr
	ports    [2]uint16
	protocol uint8
	octets   int
	payload  []byte // behind the header
}

func readIP(b []byte) (p ipPacket) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		header := int(b[0]&0xf) * 4
		p.ends = [2]netip.Addr{netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))}
		p.protocol, p.octets = b[9], int(binary.BigEndian.Uint16(b[2:]))
		if header >= 20 && header <= len(b) && binary.BigEndian.Uint16(b[6:])&0x1fff == 0 {
			p.payload = b[header:]
		}
	case len(b) >= 40 && b[0]>>4 == 6:
		p.ends = [2]netip.Addr{netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))}
		p.protocol, p.octets, p.payload = b[6], 40+int(binary.BigEndian.Uint16(b[4:])), b[40:]
	}
	switch p.protocol {
	case 6, inet.ProtoUDP, 132:
		if len(p.payload) >= 4 {
			p.ports = [2]uint16{binary.BigEndian.Uint16(p.payload), binary.BigEndian.Uint16(p.payload[2:])}
		}
	}
	return p
}

// readGTPU reads a GTP-U header, of which the rest of the packet may be cut off.
// It reports false if there is none. Source: TS 29.281 V18.1.0, 5.1.
func (d *dissected) readGTPU(b []byte) bool {
	if len(b) < 8 || b[0]>>4 != 3 {
		return false
	}
	d.teid = binary.BigEndian.Uint32(b[4:])
	if b[1] != 0xff {
		d.signal, d.isSignal = b[1], true
		return true
	}
	rest := b[8:]
	if b[0]&7 == 0 {
		d.user = rest
		return true
	}
	if len(rest) < 4 {
		return true
	}
	next, rest := rest[3], rest[4:]
	if b[0]&4 == 0 {
		next = 0
	}
	for next != 0 {
		if len(rest) < 4 || rest[0] == 0 || len(rest) < int(rest[0])*4 {
			return true
		}
		if next == 0x85 && !d.hasQFI {
			d.qfi, d.hasQFI = rest[2]&0x3f, true
		}
		size := int(rest[0]) * 4
		next, rest = rest[size-1], rest[size:]
	}
	d.user = rest
	return true
}

var protocolNames = map[uint8]string{1: "icmp", 6: "tcp", inet.ProtoUDP: "udp", 50: "esp", 58: "icmpv6", 132: "sctp"}

// flow is protocol, source and destination of the user packet; "" if there is none.
func (d *dissected) flow() string {
	if !d.ends[0].IsValid() {
		return ""
	}
	name := protocolNames[d.protocol]
	if name == "" {
		name = fmt.Sprintf("protocol %d", d.protocol)
	}
	if d.ports == [2]uint16{} {
		return fmt.Sprintf("%s %s > %s", name, d.ends[0], d.ends[1])
	}
	return fmt.Sprintf("%s %s > %s", name, netip.AddrPortFrom(d.ends[0], d.ports[0]), netip.AddrPortFrom(d.ends[1], d.ports[1]))
}
