package conformance

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue17  = netip.MustParseAddr("10.45.0.17")
	ue176 = netip.MustParseAddr("2001:db8:45:11::7")
)

// detail is a PDR of session detailed, for each direction.
type detail struct {
	name   string
	detect func(d *api.Detect)
}

// oneOf lets packets match that match one of the filters.
func oneOf(filters ...*api.Filter) func(d *api.Detect) {
	return func(d *api.Detect) { d.Filters = filters }
}

// withPorts is a filter with lists of ports: pairs of first and last.
func withPorts(protocol uint32, remote, local []uint32) *api.Filter {
	list := func(ends []uint32) (out []*api.PortRange) {
		for i := 0; i < len(ends); i += 2 {
			out = append(out, &api.PortRange{First: ends[i], Last: ends[i+1]})
		}
		return out
	}
	return &api.Filter{Protocol: &protocol, RemotePorts: list(remote), LocalPorts: list(local)}
}

func value(n uint32) *uint32 { return &n }

// details are the PDRs in Precedence order.
var details = []detail{
	{"remote ports, a list", oneOf(withPorts(17, []uint32{80, 80, 443, 443, 8000, 8080}, nil))},
	{"local ports, a list", oneOf(withPorts(17, nil, []uint32{5000, 5000, 6000, 6010}))},
	{"ports of both ends", oneOf(withPorts(17, []uint32{53, 53}, []uint32{1024, 65535}))},
	{"SPI", oneOf(&api.Filter{Spi: value(0x01020304)})},
	{"protocol", oneOf(protocol(1), protocol(58))},
	{"flow label", oneOf(&api.Filter{FlowLabel: value(0xabcde)})},
	{"flow label 0", oneOf(&api.Filter{FlowLabel: value(0), Remote: prefix("2001:db8:99:7::/64")})},
	{"ToS under a mask", oneOf(&api.Filter{Tos: 0xb8, TosMask: 0xfc})},
	{"remote IPv6 prefix", oneOf(&api.Filter{Remote: prefix("2001:db8:aa00::/41")})},
	{"remote IPv4 prefix", oneOf(&api.Filter{Remote: prefix("198.18.64.0/18")})},
	{"one remote host", oneOf(&api.Filter{Remote: prefix("203.0.113.9/32")})},
	{"local address", oneOf(&api.Filter{Local: prefix("2001:db8:45:11:8000::/65")})},
	{"the third of three filters", oneOf(
		&api.Filter{Remote: prefix("192.0.2.1/32")}, withPorts(6, []uint32{22, 22}, nil), withPorts(132, []uint32{36412, 36412}, nil))},
}

const firstDownlink = 20 // PDR ID of the first downlink PDR of session detailed

func detailedSession() *api.Session {
	s := &api.Session{Seid: detailed}
	both := func(r *api.Rule) { r.Detect.UeAddress.Ipv6Prefix = ipv6Prefix(ue176) }
	for i, d := range details {
		n := uint32(i)
		s.Rules = append(s.Rules, uplink(n+1, 10*n, 0x40, ue17, func(r *api.Rule) {
			both(r)
			d.detect(r.Detect)
		}), downlink(firstDownlink+n, 10*n, 0x140, ue17, func(r *api.Rule) {
			both(r)
			d.detect(r.Detect)
		}))
	}
	last := uint32(10 * len(details))
	s.Rules = append(s.Rules, uplink(firstDownlink-1, last, 0x40, ue17, func(r *api.Rule) {
		both(r)
		for q := uint32(20); q < 30; q++ { // more QFIs than a line of the fast path has
			r.Detect.Qfis = append(r.Detect.Qfis, q)
		}
	}))
	return s
}

// upper is an IP packet between the remote end and the UE with another protocol
// than UDP.
func upper(src, dst netip.Addr, protocol byte, payload string) user {
	b := append(octets(payload), make([]byte, 32)...) // no frame is padded then
	if src.Is4() {
		head := octets("4500 0000 0007 0000 40 00 0000")
		binary.BigEndian.PutUint16(head[2:], uint16(20+len(b)))
		head[9] = protocol
		head = append(append(head, src.AsSlice()...), dst.AsSlice()...)
		sum := uint32(0)
		for i := 0; i < len(head); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(head[i:]))
		}
		binary.BigEndian.PutUint16(head[10:], ^uint16(sum>>16+sum&0xffff))
		return user{src: src, dst: dst, ttl: 64, raw: append(head, b...)}
	}
	head := octets("60000000 0000 00 40")
	binary.BigEndian.PutUint16(head[4:], uint16(len(b)))
	head[6] = protocol
	head = append(append(head, src.AsSlice()...), dst.AsSlice()...)
	return user{src: src, dst: dst, ttl: 64, raw: append(head, b...)}
}

// label sets the Flow Label of an IPv6 packet.
func label(u user, n uint32) user {
	b := u.bytes()
	binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)&^0xfffff|n)
	return user{src: u.src, dst: u.dst, raw: b}
}

// later is the packet a hop later, for packets with raw octets too.
func later(u user) user {
	b := append([]byte(nil), u.bytes()...)
	if b[0]>>4 == 6 {
		b[7]--
		return user{raw: b}
	}
	b[8]--
	sum := uint32(binary.BigEndian.Uint16(b[10:])) + 0x100
	binary.BigEndian.PutUint16(b[10:], uint16(sum+sum>>16))
	return user{raw: b}
}

// outerPort is the source port of the outer header of u: 49152 and 14 bits of its
// flow, which is ports and addresses, for IPv6 the first 64 bits of the source
// and the last 32 of the destination's.
func outerPort(u user) uint16 {
	b := u.bytes()
	word := func(at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	ports := func(next byte, at int) uint32 {
		if next == 6 || next == 17 || next == 132 {
			return word(at)
		}
		return 0
	}
	h := ports(b[9], 20) ^ word(12) ^ word(16)
	if b[0]>>4 == 6 {
		h = ports(b[6], 40) ^ word(8) ^ word(12) ^ word(28)
	}
	return 0xc000 | uint16(h*0x9e3779b1>>18)
}

// detailPacket is a packet seen from the UE, as it comes from there or goes there.
type detailPacket struct {
	name string
	pdr  uint32 // the first detail is 1; 0: none
	make func(uplink bool) user
}

// udpBetween is UDP between a port of the remote end and one of the UE.
func udpBetween(remote string, rport, lport uint16, change func(u user) user) func(uplink bool) user {
	return between(remote, 17, func(sport, dport uint16) string {
		return fmt.Sprintf("%04x %04x 0010 0000 0000000000000000", sport, dport)
	}, rport, lport, change)
}

func between(remote string, protocol byte, payload func(sport, dport uint16) string, rport, lport uint16, change func(u user) user) func(uplink bool) user {
	return func(uplink bool) user {
		far, ue := netip.MustParseAddr(remote), ue17
		if far.Is6() {
			ue = ue176
		}
		u := upper(far, ue, protocol, payload(rport, lport))
		if uplink {
			u = upper(ue, far, protocol, payload(lport, rport))
		}
		if change != nil {
			u = change(u)
		}
		return u
	}
}

func fixed(payload string) func(uint16, uint16) string {
	return func(uint16, uint16) string { return payload }
}

func withPortsFirst(rest string) func(uint16, uint16) string {
	return func(sport, dport uint16) string { return fmt.Sprintf("%04x %04x ", sport, dport) + rest }
}

func class(n byte) func(u user) user {
	return func(u user) user {
		b := u.bytes()
		if b[0]>>4 == 6 {
			b[0], b[1] = 0x60|n>>4, n<<4|b[1]&0xf
			return user{src: u.src, dst: u.dst, raw: b}
		}
		sum := uint32(binary.BigEndian.Uint16(b[10:])) + 0xffff - uint32(n)
		b[1] = n
		binary.BigEndian.PutUint16(b[10:], uint16(sum+sum>>16))
		return user{src: u.src, dst: u.dst, raw: b}
	}
}

const tcpRest = "00000000 00000000 5000 0000 0000 0000"

var detailPackets = []detailPacket{
	{"first port of the list", 1, udpBetween("198.18.0.1", 80, 9, nil)},
	{"second", 1, udpBetween("198.18.0.1", 443, 9, nil)},
	{"first of the range", 1, udpBetween("198.18.0.1", 8000, 9, nil)},
	{"last of the range", 1, udpBetween("2001:db8:99::1", 8080, 9, nil)},
	{"one below the range", 0, udpBetween("198.18.0.1", 7999, 9, nil)},
	{"one above the range", 0, udpBetween("198.18.0.1", 8081, 9, nil)},
	{"ports are of UDP alone", 0, between("198.18.0.1", 6, withPortsFirst(tcpRest), 80, 9, nil)},
	{"local port", 2, udpBetween("198.18.0.1", 9, 5000, nil)},
	{"local port of the range", 2, udpBetween("2001:db8:99::1", 9, 6010, nil)},
	{"remote port that is local's", 0, udpBetween("198.18.0.1", 5000, 9, nil)},
	{"both ports", 3, udpBetween("198.18.0.1", 53, 1024, nil)},
	{"one of both ports", 0, udpBetween("198.18.0.1", 53, 1023, nil)},
	{"ESP with the SPI", 4, between("198.18.0.1", 50, fixed("01020304 00000001"), 0, 0, nil)},
	{"ESP over IPv6 with the SPI", 4, between("2001:db8:99::1", 50, fixed("01020304 00000001"), 0, 0, nil)},
	{"AH with the SPI", 4, between("198.18.0.1", 51, fixed("11040000 01020304 00000001 00000000"), 0, 0, nil)},
	{"ESP with another SPI", 0, between("198.18.0.1", 50, fixed("01020305 00000001"), 0, 0, nil)},
	{"UDP that looks like the SPI", 0, udpBetween("198.18.0.1", 0x0102, 0x0304, nil)},
	{"ICMP", 5, between("198.18.0.1", 1, fixed("0800 f7ff 00000000"), 0, 0, nil)},
	{"ICMPv6", 5, between("2001:db8:99::1", 58, fixed("8000 0000 00000000"), 0, 0, nil)},
	{"flow label", 6, udpBetween("2001:db8:99::1", 9, 9, func(u user) user { return label(u, 0xabcde) })},
	{"another flow label", 0, udpBetween("2001:db8:99::1", 9, 9, func(u user) user { return label(u, 0xabcdf) })},
	{"flow label 0 is one", 7, udpBetween("2001:db8:99:7::1", 9, 9, nil)},
	{"flow label 1 is not 0", 0, udpBetween("2001:db8:99:7::1", 9, 9, func(u user) user { return label(u, 1) })},
	{"ToS", 8, udpBetween("198.18.0.1", 9, 9, class(0xb8))},
	{"ToS with ECN", 8, udpBetween("198.18.0.1", 9, 9, class(0xbb))},
	{"Traffic Class", 8, udpBetween("2001:db8:99::1", 9, 9, class(0xb8))},
	{"another ToS", 0, udpBetween("198.18.0.1", 9, 9, class(0xb4))},
	{"IPv6 prefix", 9, udpBetween("2001:db8:aa7f::1", 9, 9, nil)},
	{"one bit off the IPv6 prefix", 0, udpBetween("2001:db8:aa80::1", 9, 9, nil)},
	{"IPv4 prefix", 10, udpBetween("198.18.127.255", 9, 9, nil)},
	{"one bit off the IPv4 prefix", 0, udpBetween("198.18.128.0", 9, 9, nil)},
	{"a host", 11, udpBetween("203.0.113.9", 9, 9, nil)},
	{"another host", 0, udpBetween("203.0.113.8", 9, 9, nil)},
	{"a local prefix that the UE is not in", 0, udpBetween("2001:db8:99::1", 9, 9, nil)},
	{"a local prefix that the UE is in", 12, func(uplink bool) user {
		other := netip.MustParseAddr("2001:db8:45:11:8000::1")
		u := user{src: netip.MustParseAddr("2001:db8:99::1"), dst: other, ttl: 64, port: 9}
		if uplink {
			u.src, u.dst = u.dst, u.src
		}
		return u
	}},
	{"the third filter", 13, between("198.18.0.1", 132, withPortsFirst("00000000 00000000"), 36412, 9, nil)},
	{"the first filter", 13, udpBetween("192.0.2.1", 9, 9, nil)},
	{"the first PDR wins over the last", 1, udpBetween("192.0.2.1", 443, 9, nil)},
	{"Precedence, not how much is compared", 1, udpBetween("198.18.127.1", 80, 5000, class(0xb8))},
}

// detailRows are those packets, both ways.
var detailRows = makeDetails()

func makeDetails() []packet {
	var rows []packet
	for _, p := range detailPackets {
		up, down := p.make(true), p.make(false)
		u := packet{name: "detail, uplink, " + p.name, port: N3, in: onN3(gpdu(pscUL("00000040"), up)), either: true}
		d := packet{name: "detail, downlink, " + p.name, port: N6, in: onN6(down), either: true}
		if p.pdr == 0 {
			u.reason, d.reason = datapath.DropSDFFilter, datapath.DropSDFFilter
		} else {
			u.seid, u.pdr, u.octets, u.want = detailed, p.pdr, uint64(len(up.bytes())), outN6(GatewayMAC, later(up))
			d.seid, d.pdr, d.octets = detailed, firstDownlink+p.pdr-1, uint64(len(down.bytes()))
			d.want = outN3(GNBAddress, GNBMAC, outerPort(down), down.bytes()[1]>>2, gpdu("30ff LEN 00000140", later(down)))
			if down.src.Is6() {
				traffic := binary.BigEndian.Uint16(down.bytes()) >> 4 & 0xff
				d.want = outN3(GNBAddress, GNBMAC, outerPort(down), uint8(traffic>>2), gpdu("30ff LEN 00000140", later(down)))
			}
		}
		rows = append(rows, u, d)
	}
	for _, qfi := range []int{19, 20, 25, 29, 30} {
		reason := datapath.ReasonNone
		if qfi < 20 || qfi > 29 {
			reason = datapath.DropSDFFilter // of the PDRs that came nearest
		}
		up := udpBetween("198.18.0.1", 9, 9, nil)(true)
		row := packet{
			name: fmt.Sprintf("detail, QFI %d of ten", qfi), port: N3, reason: reason, either: true,
			in: onN3(gpdu(fmt.Sprintf("34ff LEN 00000040 0000 00 85 01 10 %02x 00", qfi), up)),
		}
		if reason == datapath.ReasonNone {
			row.seid, row.pdr, row.octets, row.want = detailed, firstDownlink-1, uint64(len(up.bytes())), outN6(GatewayMAC, later(up))
		}
		rows = append(rows, row)
	}
	return rows
}
