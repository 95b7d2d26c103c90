package random

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// addresses returns both ends of a packet of r.
func (g *generator) addresses(r *api.Rule) (ue, remote netip.Addr) {
	own := asNetIP(r)
	if len(own) == 0 || g.one(15) {
		own = append(append(append(own, ues4...), ues6...), behind...)
	}
	ue = pick(g.dice, own...)
	if ue.Is4() {
		return ue, pick(g.dice, remotes4...)
	}
	return ue, pick(g.dice, remotes6...)
}

// shape says what is in a packet.
func (g *generator) shape(p *packet, r *api.Rule) {
	switch kind := g.IntN(20); {
	case kind < 4 || r.GetForward().GetRedirect().GetUrl() != "" && kind < 16:
		g.segment(p, r)
	case kind < 6:
		g.control(p)
	case kind < 8:
		p.protocol = byte(pick(g.dice, protocols...))
	}
}

// segment makes p one of a TCP connection.
func (g *generator) segment(p *packet, r *api.Rule) {
	p.protocol, p.payload = 6, pick(g.dice, 0, 0, 32, 1408)
	p.tcp = segment{seq: pick(g.dice, uint32(1000), 1001, 1001), flags: pick(g.dice, byte(tcpACK), tcpACK|tcpPSH, tcpSYN, tcpSYN|tcpACK, tcpFIN|tcpACK, tcpRST)}
	if p.tcp.flags&tcpSYN != 0 {
		p.tcp.options = pick(g.dice, synOptions...)
		p.traits = append(p.traits, "TCP SYN")
	}
	if g.one(4) {
		g.says(p)
	}
	if r.GetForward().GetRedirect().GetUrl() == "" || g.one(6) {
		return
	}
	// To a portal: the remote end is a web server, which has a cookie for its
	// first sequence number.
	p.sport, p.dport, p.sum = 80, 1000, sumRight
	p.tcp.ack = conformance.Cookie(p.dst, p.src, 1000) + uint32(pick(g.dice, 0, 1, 1, 2, 11, 170))
	if p.tcp.flags&tcpSYN == 0 && g.one(2) {
		p.tcp.data = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
	}
	p.traits = append(p.traits, "portal")
}

// says makes p a segment that shows a name, or more of its connection.
func (g *generator) says(p *packet) {
	p.protocol, p.payload, p.sum = 6, 0, pick(g.dice, sumRight, sumRight, sumRight, sumWrong)
	hello := clientHello(pick(g.dice, "www.example.org", "example.org", "video.test"))
	half := len(hello) - 12
	p.tcp = segment{seq: 1001, flags: tcpACK}
	switch g.IntN(8) {
	case 0, 1:
		p.tcp.data = hello
	case 2:
		p.tcp.data = hello[:half]
	case 3:
		p.tcp.seq, p.tcp.data = 1001+uint32(half), hello[half:]
	case 4, 5:
		p.tcp.data = pick(g.dice, "GET /hd/1 HTTP/1.1\r\nHost: video.test\r\n\r\n", "GET /sd HTTP/1.1\r\nhost: WWW.Example.org:80\r\n\r\n", "POST / HTTP/1.1\r\nHo")
	case 6:
		p.tcp.seq, p.tcp.data = 1020, pick(g.dice, "st: a.example.org\r\n\r\n", "more")
	case 7:
		p.tcp.data = "more of it"
	}
	p.traits = append(p.traits, "name")
}

// control makes p ICMP: an echo, an error that quotes, or Neighbour Discovery.
func (g *generator) control(p *packet) {
	p.payload = pick(g.dice, 0, 32)
	p.protocol = 1
	echo, reply, unreachable := byte(8), byte(0), byte(3)
	if p.src.Is6() {
		p.protocol, echo, reply, unreachable = 58, 128, 129, 1
	}
	switch g.IntN(4) {
	case 0:
		p.icmp = echo
	case 1:
		p.icmp = reply
	case 2:
		p.icmp, p.quoting = unreachable, true
		p.traits = append(p.traits, "ICMP error")
	case 3:
		g.discovery(p)
	}
}

// discovery makes p a solicitation of the router, if it is IPv6.
func (g *generator) discovery(p *packet) {
	if !p.src.Is6() {
		p.icmp = 13
		return
	}
	// The UE is still the destination here.
	p.dst, p.src, p.payload, p.traits = linkLocal, allRouters, 0, append(p.traits, "Neighbour Discovery")
	p.ttl = pick(g.dice, byte(255), 255, 64)
	p.icmp, p.body = 133, make([]byte, 4)
	if g.one(2) {
		p.icmp = 135
		p.body = append(make([]byte, 4), stages.RouterLinkLocal.AsSlice()...)
		p.src = pick(g.dice, stages.RouterLinkLocal, solicited)
	}
}

var (
	linkLocal, allRouters = addr("fe80::7"), addr("ff02::2")
	solicited             = addr("ff02::1:ff75:7066")

	// Where nobody routes to, and groups. Other groups and addresses of a host's own
	// go by the programs where their next hop is, and by the slow path nowhere.
	scopes4 = []netip.Addr{addr("0.1.2.3"), addr("240.0.0.1")}
	scopes6 = []netip.Addr{addr("ff02::1"), addr("ff31::1"), addr("fe80::7")}
)

// strange makes p one that is seldom seen: a fragment, with options, or to nobody.
func (g *generator) strange(p *packet) {
	switch g.IntN(40) {
	case 0, 1, 2, 3:
		p.fragment = pick(g.dice, uint16(0x2000), 0x2000, 0x4000, 1, 4, 0x2001, 0x8000)
		if p.fragment&0x3fff != 0 {
			p.traits = append(p.traits, "fragment")
		}
	case 4, 5, 6:
		if p.src.Is4() {
			p.options = []byte(pick(g.dice, options4...))
			p.traits = append(p.traits, "IPv4 options")
			return
		}
		for range 1 + g.IntN(3) {
			p.chain = append(p.chain, pick(g.dice, chain6...))
		}
		p.traits = append(p.traits, "IPv6 extension headers")
	case 7:
		to := &p.dst
		if g.one(3) {
			to = &p.src
		}
		if to.Is4() {
			*to = pick(g.dice, scopes4...)
		} else {
			*to = pick(g.dice, scopes6...)
		}
		p.traits = append(p.traits, "scope")
	}
}

// clientHello is the shortest that TLS allows, with a server name.
func clientHello(name string) string {
	server := append([]byte{0}, binary.BigEndian.AppendUint16(nil, uint16(len(name)))...)
	server = append(server, name...)
	list := append(binary.BigEndian.AppendUint16(nil, uint16(len(server))), server...)
	ext := append([]byte{0, 0}, binary.BigEndian.AppendUint16(nil, uint16(len(list)))...)
	ext = append(ext, list...)
	hello := append([]byte{3, 3}, make([]byte, 32)...) // version, random
	hello = append(hello, 0, 0, 2, 0x13, 1, 1, 0)      // session, ciphers, compression
	hello = append(binary.BigEndian.AppendUint16(hello, uint16(len(ext))), ext...)
	handshake := append([]byte{1, 0}, binary.BigEndian.AppendUint16(nil, uint16(len(hello)))...)
	handshake = append(handshake, hello...)
	return string(append(append([]byte{22, 3, 1}, binary.BigEndian.AppendUint16(nil, uint16(len(handshake)))...), handshake...))
}
