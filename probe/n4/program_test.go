package n4

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// testTap is the number of the tap in these tests.
const testTap = 7

// program is the program of a tap, and what it writes.
type program struct {
	*ebpf.Program
	ring *ringbuf.Reader
}

func loadProgram(t testing.TB) program {
	t.Helper()
	collection, err := loadCollection(testTap, inet.LenEthernet, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(collection.Close)
	ring, err := ringbuf.NewReader(collection.Maps[ringName])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ring.Close() })
	return program{collection.Programs[programName], ring}
}

// skb is the kernel's struct __sk_buff as BPF_PROG_RUN takes it. Source: linux/bpf.h.
type skb struct {
	_       [176]byte
	GSOSize uint32
	_       [12]byte
}

// seen is a record as this test states it.
type seen struct {
	From, To string
	Payload  string // hex
	Segment  int
	Fragment bool
}

// run runs the program on a frame and returns what it wrote, if anything.
func (p program) run(t *testing.T, frame []byte, gsoSize uint32) []seen {
	t.Helper()
	ctx := skb{GSOSize: gsoSize}
	options := ebpf.RunOptions{Data: frame}
	if gsoSize != 0 {
		options.Context = ctx
	}
	before := monotonic()
	verdict, err := p.Run(&options)
	if err != nil {
		t.Fatal(err)
	}
	if int32(verdict) != -1 {
		t.Errorf("verdict %d, want -1: the next program decides", int32(verdict))
	}
	p.ring.SetDeadline(time.Now())
	var list []seen
	for {
		record, err := p.ring.Read()
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			return list
		}
		number, d, segment, ok := parseRecord(record.RawSample)
		if !ok || number != testTap || d.ns < before || d.ns > monotonic() {
			t.Fatalf("record of tap %d at %d, readable %v", number, d.ns, ok)
		}
		list = append(list, seen{d.from.addrPort().String(), d.to.addrPort().String(), hex.EncodeToString(d.payload), segment, d.fragment})
	}
}

func serialize(t testing.TB, list ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, list...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

func ether(next layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: next}
}

func ip4(proto layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: net.IP{10, 4, 0, 2}, DstIP: net.IP{10, 4, 0, 1}}
}

func ip6(next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: net.ParseIP("2001:db8:4::2"), DstIP: net.ParseIP("2001:db8:4::1")}
}

func udp(src, dst uint16) *layers.UDP {
	return &layers.UDP{SrcPort: layers.UDPPort(src), DstPort: layers.UDPPort(dst)}
}

func tag(vid uint16, next layers.EthernetType) *layers.Dot1Q {
	return &layers.Dot1Q{VLANIdentifier: vid, Type: next}
}

// fragment6 is a Fragment header: next, offset in octets, more follow.
func fragment6(next layers.IPProtocol, offset uint16, more byte) gopacket.Payload {
	return gopacket.Payload{byte(next), 0, byte(offset >> 8), byte(offset)&0xf8 | more, 0, 0, 0, 1}
}

func payload(n int) gopacket.Payload {
	p := make(gopacket.Payload, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

// TestProgram gives the program frames, and wants of each the record or none.
func TestProgram(t *testing.T) {
	p := loadProgram(t)
	const a4, b4, a6, b6 = "10.4.0.2", "10.4.0.1", "2001:db8:4::2", "2001:db8:4::1"
	const ipv4, ipv6, dot1q, dot1ad = layers.EthernetTypeIPv4, layers.EthernetTypeIPv6, layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ
	const isUDP, isFragment = layers.IPProtocolUDP, layers.IPProtocolIPv6Fragment
	heartbeat := payload(16)
	text := hex.EncodeToString(heartbeat)
	request := seen{From: a4 + ":8805", To: b4 + ":8805", Payload: text, Segment: 16}
	request6 := seen{From: "[" + a6 + "]:8805", To: "[" + b6 + "]:8805", Payload: text, Segment: 16}
	first4, later4 := ip4(isUDP), ip4(isUDP)
	first4.Flags = layers.IPv4MoreFragments
	later4.FragOffset = 2
	options4 := ip4(isUDP)
	options4.Options = []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}}
	change := func(frame []byte, at int, octets ...byte) []byte { copy(frame[at:], octets); return frame }
	usual := func() []byte { return serialize(t, ether(ipv4), ip4(isUDP), udp(8805, 8805), heartbeat) }
	for _, tc := range []struct {
		name  string
		frame []byte
		gso   uint32
		want  []seen
	}{
		{"IPv4", usual(), 0, []seen{request}},
		{"to a requester of another port", serialize(t, ether(ipv4), ip4(isUDP), udp(8805, 40000), heartbeat), 0,
			[]seen{{From: a4 + ":8805", To: b4 + ":40000", Payload: text, Segment: 16}}},
		{"from there", serialize(t, ether(ipv4), ip4(isUDP), udp(40000, 8805), heartbeat), 0,
			[]seen{{From: a4 + ":40000", To: b4 + ":8805", Payload: text, Segment: 16}}},
		{"IPv4 options", serialize(t, ether(ipv4), options4, udp(8805, 8805), heartbeat), 0, []seen{request}},
		{"padding", append(usual(), make([]byte, 20)...), 0, []seen{request}},
		{"IPv6", serialize(t, ether(ipv6), ip6(isUDP), udp(8805, 8805), heartbeat), 0, []seen{request6}},
		{"a tag", serialize(t, ether(dot1q), tag(5, ipv4), ip4(isUDP), udp(8805, 8805), heartbeat), 0, []seen{request}},
		{"two tags", serialize(t, ether(dot1ad), tag(5, dot1q), tag(6, ipv6), ip6(isUDP), udp(8805, 8805), heartbeat), 0, []seen{request6}},
		{"more tags", serialize(t, ether(dot1ad), tag(5, dot1q), tag(6, dot1q), tag(6, dot1q), tag(7, ipv4), ip4(isUDP), udp(8805, 8805), heartbeat), 0, nil},
		{"a super-packet", usual(), 8, []seen{{From: a4 + ":8805", To: b4 + ":8805", Payload: text, Segment: 8}}},
		{"the first fragment", serialize(t, ether(ipv4), first4, udp(8805, 8805), heartbeat), 0,
			[]seen{{From: a4 + ":8805", To: b4 + ":8805", Payload: text, Segment: 16, Fragment: true}}},
		{"which has not all of the datagram", change(serialize(t, ether(ipv4), first4, udp(8805, 8805), heartbeat), 38, 0x10, 0), 0,
			[]seen{{From: a4 + ":8805", To: b4 + ":8805", Payload: text, Segment: 16, Fragment: true}}},
		{"a later fragment", serialize(t, ether(ipv4), later4, udp(8805, 8805), heartbeat), 0, nil},
		{"the first fragment of IPv6", serialize(t, ether(ipv6), ip6(isFragment), gopacket.Payload(bytes.Join([][]byte{
			fragment6(isUDP, 0, 1), {0x22, 0x65, 0x22, 0x65, 9, 0, 0, 0}, heartbeat}, nil))), 0,
			[]seen{{From: request6.From, To: request6.To, Payload: text, Segment: 16, Fragment: true}}},
		{"a later one", serialize(t, ether(ipv6), ip6(isFragment), gopacket.Payload(bytes.Join([][]byte{
			fragment6(isUDP, 8, 1), {0x22, 0x65, 0x22, 0x65, 9, 0, 0, 0}, heartbeat}, nil))), 0, nil},

		{"another port", serialize(t, ether(ipv4), ip4(isUDP), udp(2152, 2152), heartbeat), 0, nil},
		{"TCP", serialize(t, ether(ipv4), ip4(layers.IPProtocolTCP), udp(8805, 8805), heartbeat), 0, nil},
		{"ARP", change(usual(), 12, 8, 6), 0, nil},
		{"the other version", change(usual(), 14, 0x65), 0, nil},
		{"a header of 4 words", change(usual(), 14, 0x44), 0, nil},
		{"no payload", serialize(t, ether(ipv4), ip4(isUDP), udp(8805, 8805)), 0, nil},
		{"UDP longer than IP", change(usual(), 38, 0, 25), 0, nil},
		{"UDP shorter than its header", change(usual(), 38, 0, 7), 0, nil},
		{"both longer than the frame", change(change(usual(), 38, 0, 25), 16, 0, 45)[:58], 0, nil},
		{"IPv4 shorter than its header", change(usual(), 16, 0, 19), 0, nil},
		{"ends in the UDP header", usual()[:40], 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, p.run(t, tc.frame, tc.gso)); diff != "" {
				t.Errorf("%x\n(-want +got):\n%s", tc.frame, diff)
			}
		})
	}
	for _, octets := range []int{1, 255, 256, 257, 1023, 1024, 1025, 1472, 2500} { // around the sizes of records
		frame := serialize(t, ether(ipv4), ip4(isUDP), udp(8805, 8805), payload(octets))
		want := []seen{{From: request.From, To: request.To, Payload: hex.EncodeToString(payload(octets)), Segment: octets}}
		if diff := cmp.Diff(want, p.run(t, frame, 0)); diff != "" {
			t.Errorf("%d octets (-want +got):\n%s", octets, diff)
		}
	}
}

// BenchmarkProgram is the program on what is none of its business, and on a heartbeat
// while the ring is full.
func BenchmarkProgram(b *testing.B) {
	p := loadProgram(b)
	for _, tc := range []struct {
		name string
		port uint16
	}{{"other", 2152}, {"pfcp", 8805}} {
		b.Run(tc.name, func(b *testing.B) {
			frame := serialize(b, ether(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(tc.port, tc.port), payload(16))
			for b.Loop() {
				_, took, err := p.Benchmark(frame, 100_000, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(took.Nanoseconds()), "ns/packet")
			}
		})
	}
}

// TestParseRecord wants what no program wrote refused.
func TestParseRecord(t *testing.T) {
	head := make([]byte, lenHead+4)
	head[offOctets] = 4
	if _, d, segment, ok := parseRecord(head); !ok || len(d.payload) != 4 || segment != 4 {
		t.Errorf("got %d octets, segment %d, %v", len(d.payload), segment, ok)
	}
	head[offOctets] = 5
	if _, _, _, ok := parseRecord(head); ok {
		t.Error("5 octets of 4: taken")
	}
	if _, _, _, ok := parseRecord(head[:lenHead-1]); ok {
		t.Error("less than a head: taken")
	}
	if got := end(netip.MustParseAddrPort("[2001:db8::1]:9")).addrPort(); got != netip.MustParseAddrPort("[2001:db8::1]:9") {
		t.Errorf("got %v", got)
	}
}
