package conformance

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// clientHello is how a client of crypto/tls begins that wants to speak to host,
// with a key so short that it fits into a packet.
func clientHello(host string) string {
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: host, CurvePreferences: []tls.CurveID{tls.X25519}}).Handshake() // nobody answers
	}()
	buf := make([]byte, 8192)
	n, err := server.Read(buf)
	must(err)
	return string(buf[:n])
}

const (
	hostTEID = 0x70
	hostSEID = 60
)

var ue70 = netip.MustParseAddr("10.45.0.70")

// hostSession drops what goes to and comes from *.example.org (PDRs 1 and 4) and
// paths below /hd of video.test (PDR 2); PDRs 3 and 5 forward the rest.
func hostSession() *api.Session {
	drop := func(f ...*api.Filter) func(r *api.Rule) {
		return func(r *api.Rule) { r.Detect.Filters, r.Forward.Action = f, api.Action_DROP }
	}
	example, video := &api.Filter{Host: "*.example.org"}, &api.Filter{Host: "video.test", Path: "/hd"}
	return &api.Session{Seid: hostSEID, Qers: []*api.QER{{Id: 1, Qfi: 9}}, Rules: []*api.Rule{
		uplink(1, 10, hostTEID, ue70, drop(example)),
		downlink(4, 10, hostTEID+0x100, ue70, drop(example)),
		uplink(2, 20, hostTEID, ue70, drop(video)),
		uplink(3, 30, hostTEID, ue70, func(*api.Rule) {}),
		downlink(5, 30, hostTEID+0x100, ue70, func(r *api.Rule) { r.QerIds = []uint32{1} }),
	}}
}

// talk is a TCP connection of ue70 from a port.
type talk uint16

// says is an uplink segment that PDR pdr forwards, if it is 3, and drops else.
func (c talk) says(seq uint32, flags, data string, pdr uint32) step {
	return c.sends(seq, flags, data, pdr, func([]byte) {})
}

// sends is says of a packet that is changed behind its checksums.
func (c talk) sends(seq uint32, flags, data string, pdr uint32, change func(packet []byte)) step {
	t := layers.TCP{SrcPort: layers.TCPPort(c), DstPort: 443, Seq: seq, Window: 64000}
	setFlags(&t, flags)
	u := tcp(ue70, far, t, data)
	change(u.raw)
	p := packet{port: N3, in: onN3(gpdu(pscUL("00000070"), u)), seid: hostSEID, pdr: pdr, reason: datapath.DropFAR, either: true}
	if pdr == 3 {
		p.reason, p.want, p.octets = datapath.ReasonNone, outN6(GatewayMAC, header(u, oneHop))[:14+len(u.raw)], uint64(len(u.raw)) // not padded
	}
	return frames(1, p)
}

// hears is a downlink segment that PDR 4 drops, or PDR 5 forwards.
func (c talk) hears(data string, pdr uint32) step { return c.answers("A", 0, data, pdr) }

// answers is hears with flags and an Acknowledgment Number.
func (c talk) answers(flags string, ack uint32, data string, pdr uint32) step {
	t := layers.TCP{SrcPort: 443, DstPort: layers.TCPPort(c), Ack: ack, Window: 64000}
	setFlags(&t, flags)
	u := tcp(far, ue70, t, data)
	p := packet{port: N6, in: onN6(u), seid: hostSEID, pdr: pdr, reason: datapath.DropFAR, either: true}
	if pdr == 5 {
		p.reason, p.octets = datapath.ReasonNone, uint64(len(u.raw))
		p.want = outN3(GNBAddress, GNBMAC, outerPort(user{src: far, dst: ue70, port: 443, raw: u.raw}), 0,
			gpdu(pscDL("00000170"), header(u, oneHop)))
	}
	return frames(1, p)
}

// oneHop takes one off the TTL of an IPv4 packet.
func oneHop(b []byte) []byte {
	b[8]--
	sum := uint32(b[10])<<8 | uint32(b[11])
	sum += 0x0100
	sum = sum&0xffff + sum>>16
	b[10], b[11] = byte(sum>>8), byte(sum)
	return b
}

// longHosts has so many hosts that a datapath may want to remember what they made
// of a flow.
func longHosts(hello string) []step {
	initial := initial("12345678", 0, cryptoFrame(hello[5:], 0, len(hello)-5))
	s := hostSession()
	for i := range 30 {
		f := &api.Filter{Host: fmt.Sprintf("host%d.test", i)}
		s.Rules[0].Detect.Filters = append([]*api.Filter{f}, s.Rules[0].Detect.Filters...)
		s.Rules[1].Detect.Filters = append(s.Rules[1].Detect.Filters, f)
	}
	steps := []step{install(s), talk(4001).says(1000, "S", "fast open", 3), talk(4001).says(1001, "A", hello, 1)}
	const host17, host30 = "GET / HTTP/1.1\r\nHost: host17.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: host30.test\r\n\r\n"
	// Each filter looks at each packet, and all see the same.
	const cut = 20
	steps = append(steps,
		talk(4024).says(1000, "S", "", 3), talk(4024).says(1001+cut, "A", host17[cut:], 3), talk(4024).says(1001, "A", host17[:cut], 1),
		talk(4024).says(next(host17), "R", "", 1), talk(4024).hears("more data", 5),
	)
	for i := range uint32(3) {
		seq := 2000 + i*uint32(len(host17+host30))
		steps = append(steps,
			talk(4001).says(2000, "A", "more data", 1), talk(4001).hears("more data", 4),
			quicTalk(4025).says("no QUIC", 3), quicTalk(4026).says(initial, 1), quicTalk(4026).hears("more data", 4), quicTalk(4026).says("more data", 1),
			talk(4002).says(2000, "A", "more data", 3), talk(4002).hears("more data", 5),
			talk(4003).says(seq, "A", host17, 1), talk(4003).hears("more data", 4),
			talk(4003).says(seq+uint32(len(host17)), "A", host30, 3), talk(4003).hears("more data", 5),
		)
	}
	return append(steps, remove(hostSEID))
}

var hostScripts = slices.Concat(makeHostScripts(), makeRequestScripts(), makeShownScripts(), makeQUICScripts())

// next is the sequence number behind s, which is the first that a client says.
func next(s string) uint32 { return 1001 + uint32(len(s)) }

func makeHostScripts() []script {
	hello, other := clientHello("www.example.org"), clientHello("example.org")
	first, rest := hello[:100], hello[100:]
	const sd, hd = "GET /sd/1 HTTP/1.1\r\nhost: video.test\r\n\r\n", "GET /hd/1 HTTP/1.1\r\nhost: video.test\r\nContent-Length: 8\r\n\r\n"
	begin := install(hostSession())
	end := remove(hostSEID)
	return []script{
		{"host: TLS server name", []step{
			begin,
			talk(4001).says(1000, "S", "fast open", 3), talk(4001).says(1001, "A", hello, 1),
			talk(4001).says(next(hello), "A", "more data", 1), talk(4001).hears("more data", 4),
			talk(4002).says(1001, "A", "more data", 3), talk(4002).hears("more data", 5), // another connection
			talk(4001).says(9000, "S", "fast open", 3), talk(4001).says(9001, "A", "more data", 3), // the same ends anew
			talk(4003).says(1001, "A", other, 3), talk(4003).says(next(other), "A", "more data", 3), // the name itself is not below it
			end,
		}},
		{"host: server name in two segments", []step{
			begin,
			talk(4004).says(1001, "A", first, 3), talk(4004).says(next(first)+1, "A", rest[1:], 3), // a gap: not known
			talk(4004).says(next(first), "A", rest, 1), talk(4004).hears("more data", 4),
			talk(4005).says(1001, "A", first, 3), talk(4005).says(1001, "A", first, 3), // sent again
			talk(4005).says(next(first), "A", rest, 1),
			end,
		}},
		{"host: HTTP host and path", []step{
			begin,
			talk(4006).says(1001, "A", "GET / HTTP/1.1\r\nHost: WWW.Example.org:80\r\n\r\n", 1), talk(4006).hears("HTTP/1.1 200", 4),
			talk(4007).says(1001, "A", sd, 3),
			talk(4007).says(next(sd), "A", hd, 2), // another request
			talk(4007).says(next(sd+hd), "A", "its body", 2),
			talk(4007).says(next(sd+hd)+8, "R", "", 2), talk(4007).hears("more data", 5), // its last packet has its name
			talk(4008).says(1001, "A", "GET http://a.example.org/x HTTP/1.1\r\nHost: a.example.org\r\n\r\n", 1), // to a proxy
			talk(4013).says(1001, "A", "GET http://a.example.org/x HTTP/1.1\r\nHost: b.test\r\n\r\n", 3),        // to whom?
			talk(4014).says(1001, "A", "GET http://a.example.org?x HTTP/1.1\r\nHost: a.example.org\r\n\r\n", 1),
			talk(4015).says(1001, "A", "\r\nGET /%68d/1 HTTP/1.1\nHost: video.test\n\n", 2), // the same path, other line ends
			talk(4009).says(1001, "A", "GET / HTTP/1.1\r\nHo", 3), talk(4009).says(1019, "A", "st: a.example.org\r\n\r\n", 1),
			end,
		}},
		{"host: server name sent again, cut elsewhere", []step{
			begin,
			talk(4010).says(1001, "A", first, 3), talk(4010).says(1001, "A", hello, 1), talk(4010).says(1001, "A", hello, 1),
			talk(4011).says(1001, "A", first, 3), talk(4011).says(1001+1<<21, "A", "far behind", 3), // what is missing does not come
			talk(4011).says(next(first), "A", rest, 3), talk(4011).says(1001, "A", hello, 1),
			end,
		}},
		{"host: a name behind other data, and one that ends", []step{
			begin,
			talk(4012).says(1000, "S", "fast open", 3), talk(4012).hears("220 ready", 5), talk(4012).says(1001, "A", "STARTTLS\r\n", 3),
			talk(4012).hears("and so on", 5), talk(4012).says(1011, "A", hello, 3), talk(4012).hears("more data", 5), // may be any data
			talk(4023).says(1001, "A", "STARTTLS\r\n", 3), talk(4023).says(1011, "A", hello, 1), // where it begins is not known
			talk(4023).says(1011+uint32(len(hello)), "AR", "", 1), talk(4023).says(2000, "A", "more data", 3), talk(4023).hears("more data", 5),
			talk(4023).says(2009, "A", hello, 3), // of no connection
			end,
		}},
		{"host: rules change, names stay", []step{
			begin, talk(4001).says(1001, "A", hello, 1), talk(4002).says(1001, "A", "others", 3),
			install(change(hostSession(), func(s *api.Session) { s.Rules[0].PdrId = 6 })), // the same hosts
			talk(4001).says(next(hello), "A", "more data", 6), talk(4002).says(1006, "A", "others", 3), talk(4001).hears("more data", 4),
			install(change(hostSession(), func(s *api.Session) { // other hosts
				s.Rules[0].PdrId, s.Rules[0].Detect.Filters = 7, []*api.Filter{{Host: "other.test"}, {Host: "www.example.org"}}
				s.Rules[1].Detect.Filters = []*api.Filter{{Host: "other.test"}}
			})),
			talk(4001).says(next(hello), "A", "more data", 7), talk(4002).says(1011, "A", "others", 3), talk(4001).hears("more data", 5),
			end,
		}},
		{"host: a long list", longHosts(hello)},
		{"host: a session that is new knows nothing", []step{
			begin, talk(4001).says(1001, "A", hello, 1), end, begin, talk(4001).says(2000, "A", "more data", 3), end,
		}},
	}
}

// makeRequestScripts has streams that are cut, and overtake themselves, as whoever
// would be charged less by it may do.
func makeRequestScripts() []script {
	const (
		free = "GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n"
		two  = "GET / HTTP/1.1\r\nHost: www.example.org\r\nHost: www.test\r\n\r\n"
	)
	paid := "GET / HTTP/1.1\r\nCookie: " + strings.Repeat("a", 1000) + "\r\nHost: www.test\r\n\r\n"
	post := fmt.Sprintf("POST / HTTP/1.1\r\nHost: www.test\r\nContent-Length: %d\r\n\r\n", len(free))
	hello := clientHello("www.example.org")
	first, rest := hello[:100], hello[100:]
	begin, end := install(hostSession()), remove(hostSEID)
	return []script{
		{"host: where requests are cut", []step{
			begin,
			talk(4016).says(1000, "S", "", 3), talk(4016).hears("", 5),
			talk(4016).says(1001, "A", free, 1), talk(4016).hears("HTTP/1.1 200", 4),
			talk(4016).says(next(free), "A", paid[:900], 3), talk(4016).hears("", 5), // not yet known: not the name of the one before
			talk(4016).says(next(free)+900, "A", paid[900:], 3), talk(4016).hears("HTTP/1.1 200", 5),
			talk(4016).says(next(free+paid), "A", free[:1], 3), talk(4016).says(next(free+paid)+1, "A", free[1:], 1), talk(4016).hears("HTTP/1.1 200", 4),
			talk(4016).says(next(free+paid+free)+900, "A", paid[900:], 3), talk(4016).hears("", 5), // the second part first
			talk(4016).says(next(free+paid+free), "A", paid[:900], 3), talk(4016).hears("HTTP/1.1 200", 5),
			end,
		}},
		{"host: a request that is invalid", []step{
			begin,
			talk(4017).says(1001, "A", free, 1), talk(4017).says(next(free), "A", two, 3), talk(4017).hears("HTTP/1.1 400", 5),
			talk(4017).says(next(free+two), "A", free, 3), talk(4017).hears("HTTP/1.1 200", 5),
			end,
		}},
		{"host: requests in bodies", []step{
			begin,
			talk(4018).says(1001, "A", post, 3), talk(4018).says(next(post), "A", free, 3), talk(4018).hears("HTTP/1.1 200", 5),
			talk(4018).says(next(post+free), "A", free, 1), talk(4018).hears("HTTP/1.1 200", 4),
			end,
		}},
		{"host: first octets, and segments that overtake", []step{
			begin,
			talk(4019).says(1000, "S", "", 3), talk(4019).says(next(first), "A", rest, 3), talk(4019).says(1001, "A", first, 1), talk(4019).hears("", 4),
			talk(4020).says(1001, "A", hello[:1], 3), talk(4020).says(1002, "A", hello[1:], 1),
			talk(4021).says(1001, "A", free[:1], 3), talk(4021).says(1002, "A", free[1:], 1),
			end,
		}},
		{"host: a SYN's data", []step{
			begin,
			talk(4022).says(1000, "S", free, 3), talk(4022).says(1001, "A", paid, 3), talk(4022).hears("HTTP/1.1 200", 5), // not taken
			end,
		}},
	}
}

// makeShownScripts has users who show the UPF a name that the server does not read: by
// what a receiver drops, and by what it puts together in another way.
func makeShownScripts() []script {
	const (
		free = "GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n"
		paid = "GET / HTTP/1.1\r\nHost: www.servers.org\r\n\r\n" // as long
		cut  = 20
	)
	hello, other := clientHello("www.example.org"), clientHello("www.servers.org")
	begin, end := install(hostSession()), remove(hostSEID)
	// A bit, and another one that the checksum does not see.
	wrongSum := func(b []byte) { b[20+16] ^= 1 }
	wrongHeader := func(b []byte) { b[10] ^= 1 }
	first := func(b []byte) { b[6], b[10] = 0x20, b[10]-0x20 } // a fragment with others behind it
	urgent := func(b []byte) { b[20+13] |= 0x20; b[20+17] -= 0x20 }
	dropped := func(flow talk, flags string, change func(b []byte)) []step {
		return []step{
			flow.says(1000, "S", "", 3), flow.answers("SA", 1001, "", 5),
			flow.sends(1001, flags, hello, 3, change), flow.says(1001, "A", other, 3), flow.hears("ServerHello", 5),
		}
	}
	return []script{
		{"host: a name with a wrong checksum", slices.Concat([]step{begin}, dropped(4030, "A", wrongSum), dropped(4031, "A", wrongHeader), []step{end})},
		{"host: a name in a fragment, and without ACK", slices.Concat([]step{begin}, dropped(4032, "A", first), dropped(4033, "", func([]byte) {}), []step{end})},
		{"host: a name with an urgent octet", []step{
			begin, talk(4034).says(1000, "S", "", 3), talk(4034).sends(1001, "A", hello, 3, urgent), talk(4034).says(next(hello), "A", "more data", 3), end,
		}},
		{"host: SYN and RST that the server drops", []step{
			begin,
			talk(4035).says(1000, "S", "", 3), talk(4035).answers("SA", 1001, "", 5), talk(4035).says(1001, "A", paid, 3),
			talk(4035).says(5000, "S", "", 3), talk(4035).says(5001, "A", free, 3), talk(4035).hears("HTTP/1.1 200", 5),
			talk(4036).says(1000, "S", "", 3), talk(4036).says(1001, "A", hello, 1),
			talk(4036).sends(1000, "S", "", 1, wrongSum), talk(4036).sends(9, "R", "", 1, wrongSum), talk(4036).hears("more data", 4),
			talk(4037).says(1000, "S", "", 3), talk(4037).says(1001, "A", other, 3),
			talk(4037).says(9, "R", "", 3), talk(4037).says(next(other), "A", hello, 3), talk(4037).hears("more data", 5),
			talk(4037).says(7000, "S", "", 3), talk(4037).answers("SA", 7001, "", 5), talk(4037).says(7001, "A", hello, 1), // another connection
			talk(4038).says(1000, "S", "", 3), talk(4038).says(2000, "S", "", 3), talk(4038).says(2001, "A", hello, 3), // where does it begin?
			end,
		}},
		{"host: sent again with something else", []step{
			begin,
			// What has come stays.
			talk(4040).says(1000, "S", "", 3), talk(4040).says(1001, "A", paid[:40], 3),
			talk(4040).says(1001, "A", free, 3), talk(4040).says(1041, "A", paid[40:], 3), talk(4040).hears("HTTP/1.1 200", 5),
			talk(4041).says(1000, "S", "", 3), talk(4041).says(1001, "A", free, 1), talk(4041).says(1001, "A", paid, 1),
			// Beyond a gap receivers differ: neither is taken.
			talk(4042).says(1000, "S", "", 3), talk(4042).says(1001+cut, "A", free[cut:], 3), talk(4042).says(1001+cut, "A", paid[cut:], 3),
			talk(4042).says(1001, "A", free[:cut], 3), talk(4042).hears("HTTP/1.1 200", 5),
			talk(4043).says(1000, "S", "", 3), talk(4043).says(1001+cut, "A", free[cut:], 3), talk(4043).says(1001, "A", paid, 3), talk(4043).hears("", 5),
			talk(4044).says(1000, "S", "", 3), talk(4044).says(1101, "A", hello[100:], 3), talk(4044).says(1091, "A", other[90:], 3),
			talk(4044).says(1001, "A", hello[:100], 3), talk(4044).hears("", 5),
			// The same again, cut elsewhere, is no other.
			talk(4045).says(1000, "S", "", 3), talk(4045).says(1001+cut, "A", free[cut:], 3), talk(4045).says(1001+cut+5, "A", free[cut+5:], 3),
			talk(4045).says(1001+cut-5, "A", free[cut-5:], 3), talk(4045).says(1001, "A", free[:cut], 1), talk(4045).hears("HTTP/1.1 200", 4),
			end,
		}},
		{"host: what the server says", []step{
			begin,
			talk(4046).says(1000, "S", "", 3), talk(4046).hears("RFB 003.008\n", 5), talk(4046).says(1001, "A", "RFB 003.008\n", 3), talk(4046).says(1013, "A", hello, 3),
			end,
		}},
		{"host: empty lines", []step{
			begin,
			talk(4047).says(1000, "S", "", 3), talk(4047).says(1001, "A", "\r\n", 3), talk(4047).says(1003, "A", "\r\n", 3), talk(4047).says(1005, "A", free, 1),
			talk(4048).says(1000, "S", "", 3), talk(4048).says(1001, "A", "\r\n", 3), talk(4048).says(1003, "A", "\r\n", 3), talk(4048).says(1005, "A", "\r\n", 3),
			talk(4048).says(1007, "A", free, 3), // so many that it is given up
			end,
		}},
	}
}
