package conformance

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// initial is a client's Initial packet of QUIC v1 in a datagram of 1200 octets, its
// keys those of a Destination Connection ID of 8 octets. Source: RFC 9001, 5.
func initial(id string, number byte, frames string) string {
	label := func(secret []byte, label string, size int) []byte {
		label = "tls13 " + label
		key, err := hkdf.Expand(sha256.New, secret, "\x00"+string(rune(size))+string(rune(len(label)))+label+"\x00", size)
		must(err)
		return key
	}
	secret, err := hkdf.Extract(sha256.New, []byte(id), []byte("\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"))
	must(err)
	secret = label(secret, "client in", 32)
	block, err := aes.NewCipher(label(secret, "quic key", 16))
	must(err)
	protect, err := aes.NewCipher(label(secret, "quic hp", 16))
	must(err)
	aead, err := cipher.NewGCM(block)
	must(err)
	nonce := label(secret, "quic iv", 12)
	nonce[11] ^= number
	const start = 1 + 4 + 1 + 8 + 1 + 1 + 2 // where the packet number begins, of one octet
	b := []byte("\xc0\x00\x00\x00\x01\x08" + id + "\x00\x00")
	b = append(binary.BigEndian.AppendUint16(b, 0x4000|1200-start), number)
	b = aead.Seal(b, nonce, []byte(frames+strings.Repeat("\x00", 1200-16-len(b)-len(frames))), b)
	var mask [16]byte
	protect.Encrypt(mask[:], b[start+4:][:16])
	b[0] ^= mask[0] & 0xf
	b[start] ^= mask[1]
	return string(b)
}

// QUICInitial is how a QUIC client begins that wants to speak to host: a datagram.
func QUICInitial(id, host string) string {
	hello := clientHello(host)[5:]
	return initial(id, 0, cryptoFrame(hello, 0, len(hello)))
}

// cryptoFrame has octets from and up to some of a ClientHello.
func cryptoFrame(hello string, from, to int) string {
	b := binary.BigEndian.AppendUint16([]byte{6}, uint16(0x4000|from))
	return string(binary.BigEndian.AppendUint16(b, uint16(0x4000|to-from))) + hello[from:to]
}

// quicTalk is what ue70 says by UDP from a port to port 443.
type quicTalk uint16

func (c quicTalk) says(data string, pdr uint32) step {
	u := quicDatagram(ue70, far, uint16(c), 443, data)
	p := packet{port: N3, in: onN3(gpdu(pscUL("00000070"), u)), seid: hostSEID, pdr: pdr, reason: datapath.DropFAR, either: true}
	if pdr == 3 {
		p.reason, p.want, p.octets = datapath.ReasonNone, outN6(GatewayMAC, header(u, oneHop))[:14+len(u.raw)], uint64(len(u.raw))
	}
	return frames(1, p)
}

func (c quicTalk) hears(data string, pdr uint32) step {
	u := quicDatagram(far, ue70, 443, uint16(c), data)
	p := packet{port: N6, in: onN6(u), seid: hostSEID, pdr: pdr, reason: datapath.DropFAR, either: true}
	if pdr == 5 {
		p.reason, p.octets = datapath.ReasonNone, uint64(len(u.raw))
		p.want = outN3(GNBAddress, GNBMAC, outerPort(user{src: far, dst: ue70, port: 443, raw: u.raw}), 0,
			gpdu(pscDL("00000170"), header(u, oneHop)))
	}
	return frames(1, p)
}

func quicDatagram(src, dst netip.Addr, sport, dport uint16, payload string) user {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	u := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	must(u.SetNetworkLayerForChecksum(ip))
	return user{raw: serialize(ip, u, gopacket.Payload(payload))}
}

// makeQUICScripts has the same as the others, by QUIC.
func makeQUICScripts() []script {
	const id, other, short = "12345678", "87654321", "\x40 a packet with a short header"
	hello, allowed := clientHello("www.example.org")[5:], clientHello("example.org")[5:]
	half := len(hello) / 4 // in front of the name
	one, free := initial(id, 0, cryptoFrame(hello, 0, len(hello))), initial(other, 0, cryptoFrame(allowed, 0, len(allowed)))
	first, second := initial(id, 0, cryptoFrame(hello, 0, half)), initial(id, 1, cryptoFrame(hello, half, len(hello)))
	var shuffled string
	for i := len(hello) / 20 * 20; i >= 0; i -= 20 {
		shuffled += cryptoFrame(hello, i, min(i+20, len(hello))) + "\x01\x00"
	}
	begin, end := install(hostSession()), remove(hostSEID)
	return []script{
		{"host: QUIC server name", []step{
			begin,
			quicTalk(4060).says(one, 1), quicTalk(4060).says(short, 1), quicTalk(4060).hears(short, 4), quicTalk(4060).says(one, 1),
			quicTalk(4061).says(free, 3), quicTalk(4061).says(short, 3), quicTalk(4061).hears(short, 5),
			quicTalk(4062).says(initial(id, 0, shuffled), 1), quicTalk(4062).hears(short, 4),
			end,
		}},
		{"host: QUIC server name in two packets", []step{
			begin,
			quicTalk(4063).says(first, 3), quicTalk(4063).hears(short, 5), quicTalk(4063).says(short, 3), quicTalk(4063).says(second, 1), quicTalk(4063).hears(short, 4),
			quicTalk(4064).says(second, 3), quicTalk(4064).says(short, 3), quicTalk(4064).says(first, 1), quicTalk(4064).says(short, 1), quicTalk(4064).hears(short, 4),
			end,
		}},
		{"host: QUIC of two names", []step{
			begin,
			quicTalk(4065).says(one, 1), quicTalk(4065).says(free, 3), quicTalk(4065).says(short, 3), quicTalk(4065).says(one, 3), quicTalk(4065).hears(short, 5),
			quicTalk(4066).says(free, 3), quicTalk(4066).says(one, 3), quicTalk(4066).says(short, 3), quicTalk(4066).hears(short, 5),
			end,
		}},
		{"host: UDP that is no QUIC, and TCP of the same ports", []step{
			begin,
			quicTalk(4067).says(clientHello("www.example.org"), 3), quicTalk(4067).says("GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n", 3), quicTalk(4067).hears("data", 5),
			talk(4068).says(1001, "A", clientHello("www.example.org"), 1), quicTalk(4068).says(short, 3), quicTalk(4068).hears(short, 5),
			quicTalk(4069).says(one, 1), talk(4069).says(1001, "A", "data", 3), quicTalk(4069).hears(short, 4),
			end,
		}},
		{"host: QUIC, rules change, names stay", []step{
			begin, quicTalk(4070).says(one, 1), quicTalk(4071).says(short, 3),
			install(change(hostSession(), func(s *api.Session) { // other hosts
				s.Rules[0].PdrId, s.Rules[0].Detect.Filters = 7, []*api.Filter{{Host: "other.test"}, {Host: "www.example.org"}}
				s.Rules[1].Detect.Filters = []*api.Filter{{Host: "other.test"}}
			})),
			quicTalk(4070).says(short, 7), quicTalk(4071).says(short, 3), quicTalk(4070).hears(short, 5),
			end,
		}},
	}
}
