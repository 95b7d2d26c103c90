package capture

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// snapped is the file with a snap length.
func (f *file) snapped(octets int) []byte {
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(uint32(octets), layers.LinkTypeEthernet); err != nil {
		f.t.Fatal(err)
	}
	for i, p := range f.packets {
		n := min(octets, len(p))
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, int64(i)*1000), CaptureLength: n, Length: len(p)}, p[:n]); err != nil {
			f.t.Fatal(err)
		}
	}
	return b.Bytes()
}

// fragmented6 sends a datagram over IPv6 in two fragments, behind a header of destination
// options.
func (f *file) fragmented6(b []byte) {
	f.t.Helper()
	udp := append([]byte{0xc3, 0x5b, 0xc3, 0x5a, byte((len(b) + 8) >> 8), byte(len(b) + 8), 0, 0}, b...)
	for i, part := range [][]byte{udp[1024:], udp[:1024]} {
		header := []byte{inet.ProtoUDP, 0, 1024 >> 8, 0, 0, 0, 0, 7}
		if i == 1 {
			header[2], header[3] = 0, 1
		}
		options := []byte{fragment, 0, 1, 4, 0, 0, 0, 0}
		f.v6(destinationOptions, slices.Concat(options, header, part))
	}
}

func (f *file) v6(next layers.IPProtocol, b []byte) {
	f.t.Helper()
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv6}
	ip := &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: next, SrcIP: net.ParseIP("2001:db8::1"), DstIP: net.ParseIP("2001:db8::2")}
	buffer := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true}, eth, ip, gopacket.Payload(b)); err != nil {
		f.t.Fatal(err)
	}
	f.packets = append(f.packets, bytes.Clone(buffer.Bytes()))
}

// from sends a segment with flags the one way or the other.
func (f *file) from(vnf bool, t layers.TCP, b []byte) {
	f.t.Helper()
	t.SrcPort, t.DstPort = 50001, 41000
	ip := &layers.IPv4{Protocol: layers.IPProtocolTCP}
	if !vnf {
		t.SrcPort, t.DstPort = 41000, 50001
	}
	f.add(ip, &t, gopacket.Payload(b))
	if !vnf { // add gives all packets one source
		p := f.packets[len(f.packets)-1]
		p[14+15], p[14+19] = 2, 1
	}
}

// read returns the messages of a file, with their profiles, and what was counted.
func read(t *testing.T, b []byte) (list []string, stats Stats) {
	t.Helper()
	stats, err := Read(bytes.NewReader(b), Options{P5Ports: []uint16{50001}}, func(e *Event) error {
		line := fmt.Sprintf("%v %v %d", e.Profile, e.Header.MessageID, e.Octets)
		if e.Err != nil {
			line += ": " + e.Err.Error()
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, stats
}

// p5Stream is what a VNF sends on P5 until a cell is up, one message each, with none of a body at
// first.
func p5Stream(t *testing.T, p nfapi.Profile) [][]byte {
	t.Helper()
	var list [][]byte
	for _, m := range []nfapi.Message{
		&nfapi.PNFParamRequest{}, &nfapi.PNFConfigRequest{}, &nfapi.PNFStartRequest{}, &nfapi.ParamRequest{},
		&nfapi.Opaque{ID: nfapi.MsgConfigRequest, Body: append([]byte{0}, bytes.Repeat([]byte{0x10, 0x0a, 0, 4, 0, 9, 0, 9}, 11)...)}, &nfapi.StartRequest{}, &nfapi.StopRequest{},
	} {
		b := make([]byte, 4096)
		n, err := p.EncodeP5(&nfapi.Header{Generation: p.Generation(), PhyID: uint16(len(list) / 4)}, m, b)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b[:n])
	}
	return list
}

// TestStreamInSegments: messages are the same however TCP cuts them, with the handshake and
// without.
func TestStreamInSegments(t *testing.T) {
	for _, p := range []nfapi.Profile{nfapi.OAI2025, nfapi.OAI2024} {
		messages := p5Stream(t, p)
		f := &file{t: t}
		f.from(true, layers.TCP{Seq: 99, SYN: true}, nil)
		seq := uint32(100)
		for _, m := range messages {
			f.from(true, layers.TCP{Seq: seq, ACK: true}, m)
			seq += uint32(len(m))
		}
		want, stats := read(t, f.pcap())
		if len(want) != len(messages) || stats.Messages != len(messages) || !strings.HasPrefix(want[0], p.String()) {
			t.Fatalf("%v: got %q, %+v", p, want, stats)
		}
		whole := bytes.Join(messages, nil)
		for size := 1; size < 30; size++ {
			for _, handshake := range []bool{true, false} {
				f := &file{t: t}
				if handshake {
					f.from(true, layers.TCP{Seq: 99, SYN: true}, nil)
				}
				seq := uint32(100)
				for part := range slices.Chunk(whole, size) {
					f.from(true, layers.TCP{Seq: seq, ACK: true}, part)
					seq += uint32(len(part))
				}
				if got, stats := read(t, f.pcap()); !slices.Equal(got, want) || stats.Lost+stats.Skipped > 0 {
					t.Errorf("%v in segments of %d, handshake %v: got %q, %+v", p, size, handshake, got, stats)
				}
			}
		}
	}
}

// TestStreamOutOfOrder: segments that come late, again, and over each other.
func TestStreamOutOfOrder(t *testing.T) {
	messages := p5Stream(t, nfapi.OAI2025)
	whole := bytes.Join(messages, nil)
	half := len(whole) / 2
	boundary := len(messages[0]) + len(messages[1])
	for name, test := range map[string]struct {
		syn   bool
		parts [][2]int
		fin   bool
	}{
		"second half first, then both again":           {true, [][2]int{{half, len(whole)}, {0, half}, {half, len(whole)}, {0, half}}, false},
		"the same without a handshake":                 {false, [][2]int{{half, len(whole)}, {0, half}, {half, len(whole)}, {0, half}}, false},
		"the same, cut where a message begins":         {false, [][2]int{{boundary, len(whole)}, {0, boundary}, {boundary, len(whole)}, {0, boundary}}, false},
		"early octets over the first ones":             {false, [][2]int{{boundary, half}, {0, half}, {half, len(whole)}}, false},
		"overlapping":                                  {true, [][2]int{{0, 20}, {10, 40}, {5, 30}, {60, len(whole)}, {35, 70}}, false},
		"backwards":                                    {true, [][2]int{{80, len(whole)}, {60, 80}, {40, 60}, {20, 40}, {0, 20}}, false},
		"end of the connection before what is missing": {true, [][2]int{{half, len(whole)}, {0, half}}, true},
	} {
		f := &file{t: t}
		if test.syn {
			f.from(true, layers.TCP{Seq: 1<<32 - 51, SYN: true}, nil)
		}
		for i, part := range test.parts {
			f.from(true, layers.TCP{Seq: uint32(1<<32 - 50 + part[0]), ACK: true, FIN: test.fin && i == 0}, whole[part[0]:part[1]])
		}
		got, stats := read(t, f.pcap())
		if stats != (Stats{Packets: len(f.packets), Messages: len(messages)}) || len(got) != len(messages) {
			t.Errorf("%s: got %q, %+v", name, got, stats)
		}
	}
}

// TestStreamGap: what the capture lacks is waited for until the receiver has acknowledged it;
// then messages are taken where one begins again.
func TestStreamGap(t *testing.T) {
	messages := p5Stream(t, nfapi.OAI2025)
	config := messages[4] // 99 octets
	f := &file{t: t}
	f.from(true, layers.TCP{Seq: 99, SYN: true}, nil)
	f.from(true, layers.TCP{Seq: 100, ACK: true}, messages[0])
	f.from(true, layers.TCP{Seq: 110 + 50, ACK: true}, config[50:]) // its beginning is missing
	f.from(true, layers.TCP{Seq: 209, ACK: true}, messages[2])
	f.from(true, layers.TCP{Seq: 219, ACK: true}, messages[5])
	f.from(false, layers.TCP{Seq: 7, ACK: true, Ack: 229}, nil)
	f.from(true, layers.TCP{Seq: 229, ACK: true}, messages[6])
	f.from(true, layers.TCP{Seq: 249, ACK: true}, messages[5]) // 10 octets missing, never acknowledged
	got, stats := read(t, f.pcap())
	want := []string{"oai-2025 PNF_PARAM.request 0", "oai-2025 PNF_START.request 0", "oai-2025 START.request 0", "oai-2025 STOP.request 0", "oai-2025 START.request 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Stats{Packets: 8, Messages: 5, Lost: 60, Skipped: 49}); stats != want {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}

// TestBothDirections: what one side says tells the profile of the other, whose first octets
// could be of both.
func TestBothDirections(t *testing.T) {
	for _, p := range []nfapi.Profile{nfapi.OAI2025, nfapi.OAI2024} {
		f := &file{t: t}
		f.from(true, layers.TCP{Seq: 100, ACK: true}, p5Stream(t, p)[0])
		answer := make([]byte, 64)
		n, err := p.EncodeP5(&nfapi.Header{Generation: p.Generation()}, &nfapi.PNFConfigResponse{}, answer)
		if err != nil {
			t.Fatal(err)
		}
		f.from(false, layers.TCP{Seq: 7, ACK: true, Ack: 100}, answer[:n])
		got, _ := read(t, f.pcap())
		if want := []string{p.String() + " PNF_PARAM.request 0", p.String() + " PNF_CONFIG.response 1"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFragments6: P7 in fragments of IPv6, in any order; what lacks one is counted.
func TestFragments6(t *testing.T) {
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 1800, Payload: make([]byte, 1800)}}})
	f := &file{t: t}
	f.fragmented6(data)
	f.fragmented6(data)
	f.packets = f.packets[:3]
	f.fragmented(data)
	f.packets = f.packets[:4]
	got, stats := read(t, f.pcap())
	if want := (Stats{Packets: 4, Messages: 1, Unfinished: 2}); stats != want || len(got) != 1 {
		t.Errorf("got %q, %+v, want %+v", got, stats, want)
	}
	out, _ := tshark.Run(t, tshark.Capture(t, f.packets), "-X", "lua_script:../../deploy/wireshark/nfapi.lua", "-Y", "nfapi5g", "-T", "fields", "-e", "nfapi5g.message_id")
	if out != "0x0085\n" {
		t.Errorf("tshark: got %q, want one RX_DATA.indication", out)
	}
}

// TestCutOff: of a packet that is cut off there is no message, but it is said which one it was,
// as far as its header is there.
func TestCutOff(t *testing.T) {
	tick := encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: 7})
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 900, Payload: make([]byte, 900)}}})
	f := &file{t: t}
	f.udp(data)
	f.udp(tick)
	f.udp(bytes.Join([][]byte{tick, tick, tick}, nil)) // not cut yet by the sender's kernel
	f.fragmented(bytes.Clone(append(data, data...)))
	f.tcp(100, p5Stream(t, nfapi.OAI2025)[4])
	f.fragmented6(append(data, data...))
	const tickLine, dataLine = "oai-2025 SLOT.indication 4", "oai-2025 RX_DATA.indication 922: "
	cut := func(n, of int) string { return fmt.Sprintf("%d of %d octets: %v", n, of, ErrCut) }
	for octets, want := range map[int]struct {
		list  []string
		stats Stats
	}{
		// 42 octets of headers, 18 of P7's, 4 of SLOT.indication's body
		96: {[]string{dataLine + cut(54, 940), tickLine, tickLine, tickLine}, Stats{Messages: 3, Incomplete: 1, Unseen: 1, Joined: 1, Cut: -1}}, // the tick is whole
		62: {[]string{dataLine + cut(20, 940), tickLine + ": " + cut(20, 22), tickLine + ": " + cut(20, 22)}, Stats{Incomplete: 3, Unseen: 2, Joined: 1}},
		55: {nil, Stats{Unseen: 5, Joined: 1}},
		45: {nil, Stats{}},
		20: {nil, Stats{}},
	} {
		got, stats := read(t, f.snapped(octets))
		want.stats.Packets = len(f.packets)
		want.stats.Cut += len(f.packets)
		if diff := cmp.Diff(want.list, got); diff != "" {
			t.Errorf("%d octets (-want +got):\n%s", octets, diff)
		}
		if diff := cmp.Diff(want.stats, stats); diff != "" {
			t.Errorf("%d octets (-want +got):\n%s", octets, diff)
		}
	}
}

// TestLinkTypes: packets of a link type that is not read are counted, with its name.
func TestLinkTypes(t *testing.T) {
	f := &file{t: t}
	f.udp(encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{}))
	b := f.pcap()
	b[20] = 105
	if _, stats := read(t, b); stats.OtherLink != 1 || stats.Link != "link type 105 (802.11), which is not read" {
		t.Errorf("got %+v", stats)
	}
}

// FuzzOrder: however octets are cut and in which order they come, the messages are the same, over
// TCP and over SCTP.
func FuzzOrder(f *testing.F) {
	f.Add(uint8(30), []byte{})
	f.Add(uint8(3), []byte{1, 0, 5, 9})
	f.Add(uint8(1), bytes.Repeat([]byte{200, 3}, 40))
	messages := p5Stream(&testing.T{}, nfapi.OAI2025)
	f.Fuzz(func(t *testing.T, size uint8, order []byte) {
		octets := max(int(size), 1)
		var segments []func(*file)
		seq := uint32(1<<32 - 50)
		for part := range slices.Chunk(bytes.Join(messages, nil), octets) {
			at := seq
			segments = append(segments, func(f *file) { f.from(true, layers.TCP{Seq: at, ACK: true}, part) })
			seq += uint32(len(part))
		}
		packets := sctpPackets(messages, octets)
		tcp, sctp := &file{t: t}, &file{t: t}
		tcp.from(true, layers.TCP{Seq: 1<<32 - 51, SYN: true}, nil)
		for i, b := range order { // some come first, or again
			if i >= 64 {
				break
			}
			segments[int(b)%len(segments)](tcp)
			sctp.sctp(packets[int(b)%len(packets)])
		}
		for i := range segments {
			segments[i](tcp)
		}
		for _, b := range packets {
			sctp.sctp(b)
		}
		for name, file := range map[string]*file{"TCP": tcp, "SCTP": sctp} {
			want := Stats{Packets: len(file.packets), Messages: len(messages)}
			if got, stats := read(t, file.pcap()); stats != want {
				t.Errorf("%s: got %q, %+v, want %+v", name, got, stats, want)
			}
		}
	})
}

// TestShort: a packet that is shorter than its header says, although the capture has all of it, is
// not cut off by a snap length.
func TestShort(t *testing.T) {
	tick := encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: 7})
	f := &file{t: t}
	f.udp(tick)
	f.v6(inet.ProtoUDP, slices.Concat([]byte{0xc3, 0x5b, 0xc3, 0x5a, 0, byte(8 + len(tick)), 0, 0}, tick))
	if got, stats := read(t, f.pcap()); len(got) != 2 || stats != (Stats{Packets: 2, Messages: 2}) {
		t.Fatalf("whole: got %q, %+v", got, stats)
	}
	for i, p := range f.packets {
		f.packets[i] = p[:len(p)-2]
	}
	if got, stats := read(t, f.pcap()); len(got) != 0 || stats != (Stats{Packets: 2, Short: 2}) {
		t.Errorf("got %q, %+v, want 2 packets that are short", got, stats)
	}
}

// TestCutOffSegments: a message whose segments are all cut off is not taken for several, or for
// one that was lost on the way.
func TestCutOffSegments(t *testing.T) {
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 1800, Payload: make([]byte, 1800)}}})
	h, _, err := nfapi.OAI2025.ParseP7(data)
	if err != nil {
		t.Fatal(err)
	}
	f := &file{t: t}
	err = nfapi.OAI2025.Segments(&h, data, 700, 9, make([]byte, 2100), func(b []byte) error {
		f.udp(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.udp(encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: 7}))
	got, stats := read(t, f.snapped(128))
	line := func(octets, segment, of int) string {
		return fmt.Sprintf("oai-2025 RX_DATA.indication %d: segment %d: 86 of %d octets: %v", octets, segment, of, ErrCut)
	}
	if diff := cmp.Diff([]string{line(682, 0, 700), line(682, 1, 700), line(458, 2, 476), "oai-2025 SLOT.indication 4"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Stats{Packets: 4, Messages: 1, Incomplete: 3, Unfinished: 0, Cut: 3}); stats.Messages != want.Messages ||
		stats.Incomplete != want.Incomplete || stats.Unfinished != want.Unfinished || stats.Cut != want.Cut {
		t.Errorf("got %+v, want %+v", stats, want)
	}
}
