package probe

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// kinds are user packets of every kind of mask, uplink, with what of their first 64
// octets may change on their way through a UPF, and what besides with NAT.
var kinds = []struct {
	name      string
	packet    []byte
	free      []int // octets
	translate []int // more of them, with NAT
	bits      map[int]byte
}{
	{name: "UDP", packet: udp(ueAddr, hostAddr, numbered(1, 60)), free: free4(26, 27), translate: through(12, 23)},
	{name: "TCP ACK", packet: tcp(ueAddr, hostAddr, layers.TCP{ACK: true, Options: timestamps(12)}, nil), free: free4(36, 37), translate: through(12, 23)},
	{name: "TCP data", packet: tcp(ueAddr, hostAddr, layers.TCP{ACK: true}, numbered(1, 60)), free: free4(4, 5, 36, 37), translate: through(12, 23), bits: map[int]byte{33: 0x89}},
	{name: "TCP SYN", packet: tcp(ueAddr, hostAddr, layers.TCP{SYN: true, Options: timestamps(24)}, nil), free: free4(36, 37, 40, 41, 42, 43), translate: through(12, 23)},
	{name: "ICMP", packet: icmp4(), free: free4(), translate: append(through(12, 19), 22, 23, 24, 25)},
	{name: "ESP", packet: other4(50), free: free4(), translate: through(12, 19)},
	{name: "SCTP", packet: other4(132), free: free4(28, 29, 30, 31), translate: through(12, 23)},
	{name: "fragment", packet: fragment4(), free: free4(), translate: through(12, 19)},
	{name: "UDP over IPv6", packet: udp(ueAddr6, hostAdr6, numbered(1, 60)), free: free6(46, 47), translate: through(8, 43), bits: bits6()},
	{name: "TCP ACK over IPv6", packet: tcp(ueAddr6, hostAdr6, layers.TCP{ACK: true, Options: timestamps(12)}, nil), free: free6(56, 57), translate: through(8, 43), bits: bits6()},
	{name: "TCP data over IPv6", packet: tcp(ueAddr6, hostAdr6, layers.TCP{ACK: true}, numbered(1, 60)), free: free6(56, 57), translate: through(8, 43), bits: with(bits6(), 53, 0x89)},
	{name: "ICMPv6", packet: icmp6(), free: free6(), translate: append(through(8, 39), 42, 43, 44, 45), bits: bits6()},
}

// free4 and free6 are octets of IP headers that may change, and more.
func free4(more ...int) []int { return append([]int{1, 8, 10, 11}, more...) }

func free6(more ...int) []int { return append([]int{7}, more...) }

// bits6 are those of the Traffic Class.
func bits6() map[int]byte { return map[int]byte{0: 0x0f, 1: 0xf0} }

func with(bits map[int]byte, octet int, mask byte) map[int]byte {
	bits[octet] = mask
	return bits
}

func through(first, last int) []int {
	var list []int
	for i := first; i <= last; i++ {
		list = append(list, i)
	}
	return list
}

// timestamps are TCP options of so many octets, the first four of which are the MSS.
func timestamps(octets int) []layers.TCPOption {
	list := []layers.TCPOption{{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{5, 100}}}
	return append(list, layers.TCPOption{OptionType: layers.TCPOptionKindSACK, OptionLength: uint8(octets - 4), OptionData: make([]byte, octets-6)})
}

func icmp4() []byte {
	echo := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 7, Seq: 1}
	return serialize(append(ip(ueAddr, hostAddr, echo), gopacket.Payload(numbered(1, 56)))...)
}

func icmp6() []byte {
	echo := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(128, 0)}
	return serialize(append(ip(ueAddr6, hostAdr6, echo), gopacket.Payload(numbered(1, 56)))...)
}

// other4 is an IPv4 packet of another protocol.
func other4(protocol byte) []byte {
	b := udp(ueAddr, hostAddr, numbered(1, 60))
	b[9] = protocol
	return b
}

// fragment4 is not the first one of a UDP datagram.
func fragment4() []byte {
	b := udp(ueAddr, hostAddr, numbered(1, 60))
	b[6], b[7] = 0x20, 0xb9
	return b
}

// steering octets say how the packet is to be read: to change them makes another kind of
// packet, or none.
func steering(packet []byte) []int {
	if packet[0]>>4 == 4 {
		return []int{0, 2, 3, 6, 7, 9, 32, 33}
	}
	return []int{4, 5, 6, 52, 53}
}

// TestPrint changes one bit at a time between the way in and the way out: what a UPF may
// change does not matter, all else does.
func TestPrint(t *testing.T) {
	for _, nat := range []bool{false, true} {
		r := newRig(t, Config{NAT: nat, UPFs: []UPF{{Name: "a"}}})
		for _, k := range kinds {
			t.Run(fmt.Sprintf("%s, NAT %v", k.name, nat), func(t *testing.T) {
				for octet := range min(len(k.packet), 64) {
					for bit := range 8 {
						if k.bits[octet] == 0 && bit != octet%8 { // one does
							continue
						}
						if slices.Contains(steering(k.packet), octet) && k.bits[octet]>>bit&1 == 0 {
							continue
						}
						want := slices.Contains(k.free, octet) || nat && slices.Contains(k.translate, octet) || k.bits[octet]>>bit&1 == 1
						changed := slices.Clone(k.packet)
						changed[octet] ^= 1 << bit
						if got := r.knows(k.packet, changed); got != want {
							t.Errorf("octet %d, bit %d changed: known again %v, want %v", octet, bit, got, want)
						}
					}
				}
			})
		}
	}
}

// knows reports whether a packet that comes in is known again as another one. It has to
// be in the end, as itself.
func (r *rig) knows(in, out []byte) bool {
	r.t.Helper()
	before := r.matched()
	r.pass(n3In, onN3(In, gpdu(7, 9, in)))
	r.pass(n6Out, frame(out))
	known := r.matched() > before
	if !known {
		r.pass(n6Out, frame(in))
	}
	if got := r.matched(); got != before+1 {
		r.t.Fatalf("got %d packets known again, want %d", got, before+1)
	}
	return known
}

// matched is how many packets of no slice have left uplink.
func (r *rig) matched() uint64 {
	var s Series
	if err := r.readSeries(0, &s); err != nil {
		r.t.Fatal(err)
	}
	return s.Matched
}

// TestPrintLengths sends packets of every length there is near that of a fingerprint, on
// frames that are padded or not: they are told apart by their last octet.
func TestPrintLengths(t *testing.T) {
	r := newRig(t, Config{UPFs: []UPF{{Name: "a"}}})
	for payload := 1; payload < 60; payload++ {
		for _, v6 := range []bool{false, true} {
			from, to := ueAddr, hostAddr
			if v6 {
				from, to = ueAddr6, hostAdr6
			}
			data := make([]byte, payload)
			packet := udp(from, to, data)
			data[payload-1] = 1
			different := udp(from, to, data)
			last := len(packet) - 1
			if got, want := r.knows(packet, different), last >= 64; got != want {
				t.Errorf("%d octets, the last one changed: known again %v, want %v", len(packet), got, want)
			}
			if !r.knows(packet, append(slices.Clone(packet), make([]byte, 30)...)) {
				t.Errorf("%d octets, padded: not known again", len(packet))
			}
		}
	}
}

// TestPrintOptions sends IPv4 packets with options, in which all else has its place
// behind them.
func TestPrintOptions(t *testing.T) {
	r := newRig(t, Config{UPFs: []UPF{{Name: "a"}}})
	options := func(n byte) []byte {
		h := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: ueAddr.AsSlice(), DstIP: hostAddr.AsSlice(),
			Options: []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}}
		u := &layers.UDP{SrcPort: 4000, DstPort: 5000}
		_ = u.SetNetworkLayerForChecksum(h)
		return serialize(h, u, gopacket.Payload([]byte{n, 2, 3}))
	}
	if r.knows(options(1), options(2)) {
		t.Error("another payload: known again")
	}
	checksum := options(1)
	checksum[24+6]++
	if !r.knows(options(1), checksum) {
		t.Error("another checksum of UDP: not known again")
	}
}

// TestPrintNumbered gives datagrams another identification on their way, as they get who
// are put together and cut again: it does not matter of one that came with none and must not
// be fragmented.
func TestPrintNumbered(t *testing.T) {
	r := newRig(t, Config{UPFs: []UPF{{Name: "a"}}})
	const df, evil = 0x40, 0x80
	datagram := func(id uint16, flags byte, payload uint32) []byte {
		b := udp(ueAddr, hostAddr, numbered(payload, 30))
		b[4], b[5], b[6] = byte(id>>8), byte(id), flags
		return b
	}
	for _, tc := range []struct {
		name    string
		in, out []byte
		want    bool
	}{
		{"numbered", datagram(0, df, 1), datagram(513, df, 1), true},
		{"as it was", datagram(513, df, 1), datagram(513, df, 1), true},
		{"another number", datagram(512, df, 1), datagram(513, df, 1), false},
		{"number taken away", datagram(513, df, 1), datagram(0, df, 1), false},
		{"may be fragmented", datagram(0, 0, 1), datagram(513, 0, 1), false},
		{"another flag", datagram(0, df|evil, 1), datagram(513, df|evil, 1), false},
		{"another payload", datagram(0, df, 1), datagram(513, df, 2), false},
		{"a padded frame", datagram(0, df, 1), append(datagram(513, df, 1), 0), true},
	} {
		if got := r.knows(tc.in, tc.out); got != tc.want {
			t.Errorf("%s: known again %v, want %v", tc.name, got, tc.want)
		}
	}
}
