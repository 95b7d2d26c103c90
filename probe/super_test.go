package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// cut returns payload in parts of so many octets.
func cut(payload []byte, octets int) [][]byte { return slices.Collect(slices.Chunk(payload, octets)) }

// random is a payload that does not repeat itself.
func random(octets int) []byte {
	b := make([]byte, octets)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// segments returns a TCP segment whole and as the packets that it stands for.
func segments(from, to netip.Addr, options, octets, segment int) (whole []byte, packets [][]byte) {
	payload := random(octets)
	make := func(seq, id int, psh bool, payload []byte) []byte {
		t := &layers.TCP{SrcPort: 443, DstPort: 5000, Seq: 0xffffff00 + uint32(seq), Ack: 9, ACK: true, PSH: psh}
		if options > 0 {
			t.Options = timestamps(options)
		}
		return numberedIP(append(ip(from, to, t), gopacket.Payload(payload)), id)
	}
	for i, part := range cut(payload, segment) {
		packets = append(packets, make(i*segment, 77*i, (i+1)*segment >= octets, part))
	}
	return make(0, 5, true, payload), packets
}

// datagrams returns a UDP super-packet and the packets that it stands for.
func datagrams(from, to netip.Addr, octets, segment int) (whole []byte, packets [][]byte) {
	payload := random(octets)
	make := func(id int, payload []byte) []byte {
		return numberedIP(append(ip(from, to, &layers.UDP{SrcPort: 443, DstPort: 5000}), gopacket.Payload(payload)), id)
	}
	for i, part := range cut(payload, segment) {
		packets = append(packets, make(0xfffe+i, part))
	}
	return make(0xfffe, payload), packets
}

// numberedIP serializes a packet with an identification of IPv4.
func numberedIP(l []gopacket.SerializableLayer, id int) []byte {
	if h, ok := l[0].(*layers.IPv4); ok {
		h.Id = uint16(id)
	}
	return serialize(l...)
}

// TestSuper has super-packets cut by the UPF or behind it, or put together: each packet
// counts, and is known again.
func TestSuper(t *testing.T) {
	const segment = 200 // BPF_PROG_RUN takes frames of a page
	for _, v6 := range []bool{false, true} {
		ue, server := ueAddr, hostAddr
		if v6 {
			ue, server = ueAddr6, hostAdr6
		}
		for _, octets := range []int{segment, 10*segment - 1, 10 * segment, 10*segment + 1} {
			whole, packets := segments(server, ue, 0, octets, segment)
			withOptions, packetsWithOptions := segments(server, ue, 20, octets, segment)
			udpWhole, udpPackets := datagrams(server, ue, octets, segment)
			for _, tc := range []struct {
				name    string
				whole   []byte
				packets [][]byte
			}{{"TCP", whole, packets}, {"TCP with options", withOptions, packetsWithOptions}, {"UDP", udpWhole, udpPackets}} {
				t.Run(fmt.Sprintf("%s of %d octets, IPv6 %v", tc.name, octets, v6), func(t *testing.T) {
					testSuper(t, ue, tc.whole, tc.packets, segment)
				})
			}
		}
	}
}

func testSuper(t *testing.T, ue netip.Addr, whole []byte, packets [][]byte, segment int) {
	r := newRig(t, Config{UPFs: []UPF{{Name: "a", UEs: []netip.Prefix{netip.PrefixFrom(ue, 32)}}}})
	super := &skbContext{GSOSize: uint32(segment)}
	tunnelled, messages := onN3(Out, gpdu(8, 9, whole)), []byte(nil)
	for _, p := range packets {
		messages = append(messages, gpdu(8, 9, p)...)
	}
	singly := func(at Point, wrap func([]byte) []byte) func() {
		return func() {
			for _, p := range packets {
				r.pass(at, wrap(p))
			}
		}
	}
	wrapped := func(p []byte) []byte { return onN3(Out, gpdu(8, 9, p)) }
	message := &skbContext{GSOSize: uint32(len(gpdu(8, 9, packets[0])))}
	octets := uint64(0)
	for _, p := range packets {
		octets += uint64(len(p))
	}
	ways := []struct {
		name    string
		in, out func()
	}{
		{"cut by the UPF", func() { r.passAs(n6In, frame(whole), super) }, singly(n3Out, wrapped)},
		{"put together by the UPF", singly(n6In, frame), func() { r.passAs(n3Out, tunnelled, super) }},
		{"whole", func() { r.passAs(n6In, frame(whole), super) }, func() { r.passAs(n3Out, tunnelled, super) }},
		{"several messages at once", func() { r.passAs(n6In, frame(whole), super) }, func() { r.passAs(n3Out, onN3(Out, messages), message) }},
	}
	for i, w := range ways {
		w.in()
		w.out()
		n := uint64(i+1) * uint64(len(packets))
		want := Account{In: n, Matched: n, Octets: uint64(i+1) * octets}
		if diff := cmp.Diff(want, r.snapshot().account("", Downlink)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", w.name, diff)
		}
	}
}
