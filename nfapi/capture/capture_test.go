package capture

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/internal/pcapng"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// file is a capture that is being made.
type file struct {
	t       *testing.T
	packets [][]byte
}

// add makes a packet of a transport layer and its payload.
func (f *file) add(ip *layers.IPv4, above ...gopacket.SerializableLayer) {
	f.t.Helper()
	ip.Version, ip.TTL, ip.SrcIP, ip.DstIP = 4, 64, net.IP{10, 0, 0, 1}, net.IP{10, 0, 0, 2}
	for _, l := range above {
		if transport, ok := l.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			_ = transport.SetNetworkLayerForChecksum(ip)
		}
	}
	eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	buffer := gopacket.NewSerializeBuffer()
	all := append([]gopacket.SerializableLayer{eth, ip}, above...)
	if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		f.t.Fatal(err)
	}
	f.packets = append(f.packets, bytes.Clone(buffer.Bytes()))
}

func (f *file) udp(b []byte) {
	f.add(&layers.IPv4{Protocol: layers.IPProtocolUDP}, &layers.UDP{SrcPort: 50011, DstPort: 50010}, gopacket.Payload(b))
}

func (f *file) tcp(seq uint32, b []byte) {
	f.add(&layers.IPv4{Protocol: layers.IPProtocolTCP}, &layers.TCP{SrcPort: 50000, DstPort: 50001, Seq: seq, ACK: true}, gopacket.Payload(b))
}

// fragmented sends a datagram as two fragments.
func (f *file) fragmented(b []byte) {
	udp := append([]byte{0xc3, 0x5b, 0xc3, 0x5a, byte((len(b) + 8) >> 8), byte(len(b) + 8), 0, 0}, b...)
	f.add(&layers.IPv4{Protocol: layers.IPProtocolUDP, Id: 9, Flags: layers.IPv4MoreFragments}, gopacket.Payload(udp[:1480]))
	f.add(&layers.IPv4{Protocol: layers.IPProtocolUDP, Id: 9, FragOffset: 1480 / 8}, gopacket.Payload(udp[1480:]))
}

// pcap and ng write the two kinds of files.
func (f *file) pcap() []byte {
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		f.t.Fatal(err)
	}
	for i, p := range f.packets {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, int64(i)*1000), CaptureLength: len(p), Length: len(p)}, p); err != nil {
			f.t.Fatal(err)
		}
	}
	return b.Bytes()
}

func (f *file) ng() []byte {
	var b bytes.Buffer
	w := pcapng.NewWriter(&b, "test")
	link, err := w.Interface("p7", pcapng.Ethernet, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, p := range f.packets {
		if err := w.Packet(&pcapng.Packet{Interface: link, At: time.Unix(1, int64(i)*1000), Data: p, Octets: len(p)}); err != nil {
			f.t.Fatal(err)
		}
	}
	return b.Bytes()
}

func encoded(t *testing.T, p nfapi.Profile, m nfapi.Message) []byte {
	t.Helper()
	b := make([]byte, 1<<16)
	n, err := p.EncodeP7(&nfapi.Header{Generation: p.Generation(), PhyID: 1, Messages: 1}, m, b)
	if err != nil {
		t.Fatal(err)
	}
	p.Seal(p.Generation(), b[:n], 5)
	return b[:n]
}

// TestRead: a capture with messages of all profiles, whole, in fragments and in
// segments, and of both planes.
func TestRead(t *testing.T) {
	f := &file{t: t}
	for _, p := range nfapi.Profiles() {
		f.udp(encoded(t, p, &nfapi.SlotIndication{SFN: 1023, Slot: 19}))
	}
	block := bytes.Repeat([]byte{0xa5, 1, 2}, 600)
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{SFN: 3, Slot: 4, PDUs: []nfapi.RXDataPDU{{PDULength: uint32(len(block)), Payload: block}}})
	f.fragmented(data)
	h, _, _ := nfapi.OAI2025.ParseP7(data)
	var segments [][]byte
	err := nfapi.OAI2025.Segments(&h, data, 700, 9, make([]byte, 2100), func(b []byte) error {
		nfapi.OAI2025.Seal(h.Generation, b, 6)
		segments = append(segments, bytes.Clone(b))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(segments)
	wrong := bytes.Clone(segments[0])
	wrong[len(wrong)-1] ^= 1
	f.udp(wrong)
	for _, s := range segments {
		f.udp(s)
	}
	f.udp([]byte("something else that is not nFAPI"))
	f.udp(encoded(t, nfapi.OAI2025, &nfapi.Opaque{ID: nfapi.MsgDLTTIRequest, Body: []byte{0, 1, 0, 2, 9, 0}}))
	p5, _ := hex.DecodeString("00000100000000000000" + "0000010300000001000000")
	f.tcp(100, p5[:15])
	f.tcp(100, p5[:15]) // sent again
	f.tcp(115, p5[15:])

	want := []string{
		"P7 oai-2025 SLOT.indication 4 octets, 1 segments, correct",
		"P7 oai-2024 SLOT.indication 4 octets, 1 segments, correct",
		"P7 aerial SLOT.indication 4 octets, 1 segments, absent",
		"P7 oai-2025 RX_DATA.indication 1822 octets, 1 segments, correct",
		"P7 oai-2025 RX_DATA.indication 458 octets, 1 segments, wrong: segment 2: wrong checksum",
		"P7 oai-2025 RX_DATA.indication 1822 octets, 3 segments, correct",
		"P7 oai-2025 DL_TTI.request 6 octets, 1 segments, correct: nfapi: DL_TTI.request: DLTTIRequest.pdus at octet 6 of the body: 9 elements in 0 octets: truncated",
		"P5 oai-2025 PNF_PARAM.request 0 octets, 1 segments, absent",
		"P5 oai-2025 PNF_CONFIG.response 1 octets, 1 segments, absent",
	}
	for name, octets := range map[string][]byte{"pcap": f.pcap(), "pcapng": f.ng()} {
		var got []string
		stats, err := Read(bytes.NewReader(octets), Options{P5Ports: []uint16{50001}}, func(e *Event) error {
			line := fmt.Sprintf("%v %v %v %d octets, %d segments, %v", e.Plane, e.Profile, e.Header.MessageID, e.Octets, e.Segments, e.Checksum)
			if e.Err != nil {
				line += ": " + e.Err.Error()
			}
			if m, ok := e.Message.(*nfapi.RXDataIndication); ok && !bytes.Equal(m.PDUs[0].Payload, block) {
				t.Errorf("%s: got payload %x", name, m.PDUs[0].Payload)
			}
			got = append(got, line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if want := (Stats{Packets: len(f.packets), Messages: 7, Failed: 2, Segments: 4}); stats != want {
			t.Errorf("%s: got %+v, want %+v", name, stats, want)
		}
	}
}

// FuzzRead: no capture ends the reader, whatever is in it.
func FuzzRead(f *testing.F) {
	t := &file{t: &testing.T{}}
	t.udp(encoded(t.t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: 1}))
	t.tcp(1, []byte{0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	t.fragmented6(bytes.Repeat([]byte{1}, 2000))
	for _, p := range sctpPackets(p5Stream(t.t, nfapi.OAI2025), 30) {
		t.sctp(p)
	}
	f.Add(t.pcap())
	f.Add(t.ng())
	f.Add(t.snapped(70))
	for _, b := range recorded(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		stats, err := Read(bytes.NewReader(b), Options{P5Ports: []uint16{50001}}, func(e *Event) error {
			if (e.Err == nil) != (e.Message != nil) {
				t.Errorf("%v and message %v", e.Err, e.Message)
			}
			n++
			return nil
		})
		if err == nil && n != stats.Messages+stats.Failed+stats.Incomplete {
			t.Errorf("got %d events, %+v", n, stats)
		}
	})
}

// TestHostileTCP: sequence numbers half the space away, a connection that begins
// anew, and octets that are no FAPI do not end the reader.
func TestHostileTCP(t *testing.T) {
	request, _ := hex.DecodeString("00000100000000000000")
	f := &file{t: t}
	f.tcp(100, request)
	f.tcp(110+1<<31, request) // as far before as behind
	f.add(&layers.IPv4{Protocol: layers.IPProtocolTCP}, &layers.TCP{SrcPort: 50000, DstPort: 50001, Seq: 50, SYN: true})
	f.tcp(51, request)
	for profile, want := range map[nfapi.Profile]Stats{
		nfapi.OAI2025: {Packets: 4, Messages: 2, Skipped: 10},
		nfapi.Aerial:  {Packets: 4, Failed: 2, Skipped: 10},
	} {
		var failed int
		stats, err := Read(bytes.NewReader(f.pcap()), Options{Profile: &profile, P5Ports: []uint16{50001}}, func(e *Event) error {
			if e.Err != nil {
				failed++
			}
			return nil
		})
		if err != nil || stats != want || failed != want.Failed {
			t.Errorf("%v: got %+v, %d failed, %v, want %+v", profile, stats, failed, err, want)
		}
	}
}

// TestConnectionsEnd: those whose end comes with their last octets make room for others.
func TestConnectionsEnd(t *testing.T) {
	f := &file{t: t}
	b, _ := hex.DecodeString("0000010300000001000000")
	for i := range maxFlows + 8 {
		f.add(&layers.IPv4{Protocol: layers.IPProtocolTCP}, &layers.TCP{SrcPort: layers.TCPPort(40000 + i), DstPort: 50001, Seq: 1, ACK: true, FIN: true}, gopacket.Payload(b))
	}
	stats, err := Read(bytes.NewReader(f.pcap()), Options{P5Ports: []uint16{50001}}, func(*Event) error { return nil })
	if err != nil || stats.Messages != maxFlows+8 || stats.Unwatched != 0 {
		t.Errorf("got %+v, %v, want %d messages", stats, err, maxFlows+8)
	}
}

// TestHeaderInTwo: a header that comes in two parts is recognised all the same.
func TestHeaderInTwo(t *testing.T) {
	for in, want := range map[string]nfapi.Profile{"0000010300000001000000": nfapi.OAI2025, "0000010300010000" + "00": nfapi.OAI2024} {
		b, _ := hex.DecodeString(in)
		for cut := range b {
			f := &file{t: t}
			f.tcp(1, b[:cut])
			f.tcp(1+uint32(cut), b[cut:])
			var got []nfapi.Profile
			if _, err := Read(bytes.NewReader(f.pcap()), Options{P5Ports: []uint16{50001}}, func(e *Event) error {
				got = append(got, e.Profile)
				return nil
			}); err != nil || !slices.Equal(got, []nfapi.Profile{want}) {
				t.Errorf("%s cut at %d: got %v, %v, want %v", in, cut, got, err, want)
			}
		}
	}
}

// TestSequenceComesRound: segments with the number of those before are another
// message if whole messages came between.
func TestSequenceComesRound(t *testing.T) {
	f := &file{t: t}
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 900, Payload: make([]byte, 900)}}})
	h, _, _ := nfapi.OAI2025.ParseP7(data)
	for range 2 {
		if err := nfapi.OAI2025.Segments(&h, data, 700, 9, make([]byte, 2100), func(b []byte) error {
			nfapi.OAI2025.Seal(h.Generation, b, 6)
			f.udp(b)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		f.udp(encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{}))
	}
	var got []int
	if _, err := Read(bytes.NewReader(f.pcap()), Options{}, func(e *Event) error {
		got = append(got, e.Segments)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []int{2, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("got messages of %v segments, want %v", got, want)
	}
}

// TestJoined: a packet of several datagrams, which the sender's kernel has not cut yet,
// is as many messages; what does not end where a message does is none.
func TestJoined(t *testing.T) {
	tick := encoded(t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: 7})
	old := encoded(t, nfapi.OAI2024, &nfapi.SlotIndication{SFN: 8})
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{})
	for name, test := range map[string]struct {
		parts [][]byte
		want  []nfapi.MessageID
	}{
		"two":         {[][]byte{data, tick}, []nfapi.MessageID{nfapi.MsgRXDataIndication, nfapi.MsgSlotIndication}},
		"three":       {[][]byte{tick, tick, tick}, []nfapi.MessageID{nfapi.MsgSlotIndication, nfapi.MsgSlotIndication, nfapi.MsgSlotIndication}},
		"of 2024":     {[][]byte{old, old}, []nfapi.MessageID{nfapi.MsgSlotIndication, nfapi.MsgSlotIndication}},
		"longer last": {[][]byte{tick, data}, nil},
		"rest":        {[][]byte{tick, {0}}, nil},
	} {
		f := &file{t: t}
		f.udp(bytes.Join(test.parts, nil))
		var got []nfapi.MessageID
		stats, err := Read(bytes.NewReader(f.pcap()), Options{}, func(e *Event) error {
			got = append(got, e.Header.MessageID)
			if e.Err != nil || e.Checksum != nfapi.ChecksumCorrect {
				t.Errorf("%s: got %v, checksum %v", name, e.Err, e.Checksum)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, test.want) || stats.Joined != min(len(test.want), 1) {
			t.Errorf("%s: got %v, %+v, %v, want %v", name, got, stats, err, test.want)
		}
	}
}

// TestFragmentsAreGivenUp: a datagram waits for [maxWait] packets, one that is whole
// in time is a message.
func TestFragmentsAreGivenUp(t *testing.T) {
	data := encoded(t, nfapi.OAI2025, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 1800, Payload: make([]byte, 1800)}}})
	for between, want := range map[int]int{maxWait / 2: 1, 3 * maxWait: 0} {
		f := &file{t: t}
		f.fragmented(data)
		last := f.packets[1]
		f.packets = f.packets[:1]
		f.udp([]byte("something else"))
		f.packets = append(f.packets, slices.Repeat(f.packets[1:], between)...)
		f.packets = append(f.packets, last)
		if stats, err := Read(bytes.NewReader(f.pcap()), Options{}, func(*Event) error { return nil }); err != nil || stats.Messages != want {
			t.Errorf("%d packets between: got %+v, %v, want %d messages", between, stats, err, want)
		}
	}
}
