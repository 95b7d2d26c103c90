package gnb

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// segment is a packet of a flow for a test of joins.
type segment struct {
	ipv6     bool
	protocol byte
	port     byte
	sequence uint32
	payload  int
	flags    byte // of TCP; 0: ACK
}

// packet returns s with checksums complete.
func (s segment) packet() []byte {
	b := unfinishedPacket(s.ipv6, s.protocol, s.payload)
	at := lenIPv4
	if s.ipv6 {
		at = lenIPv6
	}
	b[at+1] = s.port
	if s.protocol == protocolUDP {
		binary.BigEndian.PutUint16(b[at+offUDPLength:], uint16(lenUDP+s.payload))
	} else {
		binary.BigEndian.PutUint32(b[at+offTCPSequence:], s.sequence)
		b[at+offTCPFlags] = max(s.flags, flagACK)
	}
	finishChecksums(b)
	return b
}

// finishChecksums makes the checksums of a packet complete. Its transport checksum
// may say anything.
func finishChecksums(b []byte) {
	if b[0]>>4 == 4 {
		binary.BigEndian.PutUint16(b[offIPv4Checksum:], 0)
		binary.BigEndian.PutUint16(b[offIPv4Checksum:], ^naiveSum(b[:lenIPv4], 0))
	}
	h, ok := parseTransport(b)
	v := vnet{checksumAt: uint16(h.at), checksumOff: offTCPChecksum}
	if h.protocol == protocolUDP {
		v.checksumOff = offUDPChecksum
	}
	if at := h.at + int(v.checksumOff); ok && at+2 <= len(b) {
		binary.BigEndian.PutUint16(b[at:], h.pseudo)
		v.complete(b)
	}
}

// cutAgain is what the kernel makes of a joined packet when it has to be cut.
func cutAgain(p *joined) [][]byte {
	whole := slices.Concat(append([][]byte{p.first}, p.rest...)...)
	if p.header.gsoType == vnetGSONone {
		return [][]byte{whole}
	}
	var out [][]byte
	headers, size, at := int(p.header.headers), int(p.header.gsoSize), int(p.header.checksumAt)
	for begin := headers; begin < len(whole); begin += size {
		end := min(begin+size, len(whole))
		b := append(slices.Clone(whole[:headers]), whole[begin:end]...)
		if b[0]>>4 == 4 {
			binary.BigEndian.PutUint16(b[offIPv4Length:], uint16(len(b)))
		} else {
			binary.BigEndian.PutUint16(b[offIPv6Length:], uint16(len(b)-lenIPv6))
		}
		if p.header.gsoType == vnetGSOUDP {
			binary.BigEndian.PutUint16(b[at+offUDPLength:], uint16(len(b)-at))
		} else {
			binary.BigEndian.PutUint32(b[at+offTCPSequence:], binary.BigEndian.Uint32(b[at+offTCPSequence:])+uint32(begin-headers))
			if end < len(whole) {
				b[at+offTCPFlags] &^= flagPSH
			}
		}
		finishChecksums(b)
		out = append(out, b)
	}
	return out
}

// flows returns packets as text by flow, each flow in order, without what the
// kernel numbers anew (IPv4 ID).
func flows(packets [][]byte) map[string][]string {
	all := make(map[string][]string)
	for _, b := range packets {
		b = slices.Clone(b)
		h, ok := parseTransport(b)
		key := ""
		if ok && len(b) >= h.at+4 {
			source := offIPv6Source
			if b[0]>>4 == 4 {
				source = offIPv4Source
				clear(b[4:6])
				clear(b[offIPv4Checksum : offIPv4Checksum+2])
			}
			key = fmt.Sprintf("%d %d %x", b[0]>>4, h.protocol, b[source:h.at+4])
		}
		all[key] = append(all[key], hex.EncodeToString(b))
	}
	return all
}

// checkJoin gives packets to a joiner: cut again, each flow is what it was. It
// returns how many there are when joined.
func checkJoin(t *testing.T, packets [][]byte) int {
	t.Helper()
	j := joiner{datagrams: true}
	var in, out [][]byte
	for _, b := range packets {
		in = append(in, slices.Clone(b))
		j.add(b)
	}
	for _, p := range j.packets() {
		out = append(out, cutAgain(&p)...)
	}
	if diff := cmp.Diff(flows(in), flows(out)); diff != "" {
		t.Errorf("cut again (-want +got):\n%s", diff)
	}
	return j.count
}

func TestJoin(t *testing.T) {
	tcp := func(sequence uint32, payload int) segment {
		return segment{protocol: protocolTCP, port: 1, sequence: sequence, payload: payload}
	}
	with := func(s segment, change func(*segment)) segment { change(&s); return s }
	udp := segment{protocol: protocolUDP, port: 1, payload: 100}
	for _, tc := range []struct {
		name string
		in   []segment
		want int // packets
	}{
		{"TCP", []segment{tcp(0, 100), tcp(100, 100), tcp(200, 100)}, 1},
		{"a shorter one at the end", []segment{tcp(0, 100), tcp(100, 50), tcp(150, 100)}, 2},
		{"a longer one", []segment{tcp(0, 100), tcp(100, 101)}, 2},
		{"one missing", []segment{tcp(0, 100), tcp(200, 100), tcp(300, 100)}, 2},
		{"twice", []segment{tcp(0, 100), tcp(0, 100)}, 2},
		{"sequence numbers that begin anew", []segment{tcp(1<<32-50, 100), tcp(50, 100)}, 1},
		{"PSH", []segment{tcp(0, 100), with(tcp(100, 100), func(s *segment) { s.flags = flagACK | flagPSH }), tcp(200, 100)}, 2},
		{"FIN", []segment{tcp(0, 100), with(tcp(100, 100), func(s *segment) { s.flags = flagACK | 1 })}, 2},
		{"no payload", []segment{tcp(0, 0), tcp(0, 0)}, 2},
		{"two flows", []segment{tcp(0, 100), with(tcp(7, 100), func(s *segment) { s.port = 2 }), tcp(100, 100)}, 2},
		{"IPv4 and IPv6", []segment{tcp(0, 100), with(tcp(100, 100), func(s *segment) { s.ipv6 = true })}, 2},
		{"IPv6", []segment{{true, protocolTCP, 1, 0, 100, 0}, {true, protocolTCP, 1, 100, 100, 0}}, 1},
		{"beyond 65535 octets", slices.Repeat([]segment{{protocol: protocolUDP, port: 1, payload: 1400}}, 47), 2},
		{"UDP", []segment{udp, udp, udp}, 1},
		{"UDP, a shorter one", []segment{udp, with(udp, func(s *segment) { s.payload = 1 }), udp}, 2},
		{"more than 64 of UDP", slices.Repeat([]segment{udp}, 65), 2},
		{"TCP and UDP", []segment{tcp(0, 100), udp, tcp(100, 100), udp}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var packets [][]byte
			for _, s := range tc.in {
				packets = append(packets, s.packet())
			}
			if got := checkJoin(t, packets); got != tc.want {
				t.Errorf("got %d packets, want %d", got, tc.want)
			}
		})
	}
}

// TestJoinRefuses changes one octet after the other of the second of two packets
// that could be joined: where its checksums are wrong then, or where they are made
// right and a header says something else, it stays by itself.
func TestJoinRefuses(t *testing.T) {
	for _, ipv6 := range []bool{false, true} {
		first := segment{ipv6, protocolTCP, 1, 0, 100, 0}
		second := segment{ipv6, protocolTCP, 1, 100, 100, 0}
		for i := range first.packet() {
			b := second.packet()
			b[i] ^= 0x10
			if checkJoin(t, [][]byte{first.packet(), b}) != 2 {
				t.Errorf("IPv6 %t: octet %d was changed, and the packet joined", ipv6, i)
			}
		}
	}
	datagram := segment{protocol: protocolUDP, port: 1, payload: 100}
	none := datagram.packet()
	clear(none[lenIPv4+offUDPChecksum:][:2])
	if checkJoin(t, [][]byte{none, slices.Clone(none)}) != 2 {
		t.Error("datagrams without checksum were joined")
	}
	j := joiner{}
	j.add(datagram.packet())
	j.add(datagram.packet())
	if j.count != 2 {
		t.Error("datagrams were joined for a device that does not take them so")
	}
}

// TestJoinRandom gives flows that are mixed, lost in part, and out of order.
func TestJoinRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	packets, kept := 0, 0
	for range 300 {
		var list [][]byte
		next := map[byte]uint32{}
		for range 1 + random.IntN(60) {
			s := segment{ipv6: random.IntN(4) == 0, protocol: protocolTCP, port: byte(random.IntN(20)), payload: 40, flags: flagACK}
			if random.IntN(5) == 0 {
				s.protocol = protocolUDP
			}
			s.sequence = next[s.port]
			next[s.port] += 40
			switch random.IntN(12) {
			case 0:
				s.payload = random.IntN(60)
			case 1:
				s.sequence += 40
			case 2:
				s.flags |= byte(random.UintN(256))
			}
			list = append(list, s.packet())
		}
		packets += len(list)
		kept += checkJoin(t, list)
	}
	if kept >= packets || kept < packets/20 {
		t.Errorf("%d packets became %d, want some joined", packets, kept)
	}
}

// FuzzJoin changes octets of three packets that could be joined, and makes their
// checksums right: joined or not, cut again they are what they were.
func FuzzJoin(f *testing.F) {
	f.Add(false, false, []byte{})
	f.Add(true, false, []byte{1, 0x21, 0x18, 2, 4, 1})
	f.Add(false, true, []byte{1, 24, 0, 2, 25, 7})
	f.Fuzz(func(t *testing.T, ipv6, udp bool, changes []byte) {
		s := segment{ipv6: ipv6, protocol: protocolTCP, port: 1, payload: 64}
		if udp {
			s.protocol = protocolUDP
		}
		var packets [][]byte
		for range 3 {
			packets = append(packets, s.packet())
			s.sequence += 64
		}
		for ; len(changes) >= 3; changes = changes[3:] {
			b := packets[int(changes[0])%len(packets)]
			b[int(changes[1])%len(b)] = changes[2]
		}
		for _, b := range packets {
			finishChecksums(b)
		}
		checkJoin(t, packets)
	})
}
