package traffic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/internal/pcap"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

func build(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, l...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ipv4 is an IPv4 header between two addresses; ipv6 the same.
func ipv4(src, dst string, protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 9, Protocol: protocol, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dst)}
}

func ipv6(src, dst string, next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: next, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dst)}
}

// frames of a capture file: what is to become of each stands beside it.
func captureFrames(t testing.TB) [][]byte {
	const ueA, ueB, server = "10.9.0.1", "10.9.0.2", "192.0.2.80"
	ether := func(of layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: of}
	}
	four, six := ether(layers.EthernetTypeIPv4), ether(layers.EthernetTypeIPv6)
	udp, tcp := &layers.UDP{SrcPort: 1, DstPort: 2}, &layers.TCP{SrcPort: 3, DstPort: 4, ACK: true}
	data := func(n int) gopacket.Payload { return bytes.Repeat([]byte{7}, n) }
	inner := build(t, ipv4(ueB, server, layers.IPProtocolTCP), tcp, data(40))
	gtp := append([]byte{0x30, 0xff, 0, byte(len(inner)), 0, 0, 0, 5}, inner...)
	fragment := ipv4(ueA, server, layers.IPProtocolUDP)
	fragment.Flags = layers.IPv4MoreFragments
	options := ipv4(ueA, server, layers.IPProtocolUDP)
	options.Options = []layers.IPv4Option{{OptionType: 1}}
	return [][]byte{
		build(t, four, ipv4(ueA, server, layers.IPProtocolUDP), udp, data(100)),                                                                        // uplink, UE 0
		build(t, ether(layers.EthernetTypeARP), data(28)),                                                                                              // no IP
		build(t, four, ipv4("10.3.0.2", "10.3.0.1", layers.IPProtocolUDP), &layers.UDP{DstPort: 2152}, gopacket.Payload(gtp)),                          // uplink, UE 1
		build(t, ether(layers.EthernetTypeDot1Q), &layers.Dot1Q{Type: layers.EthernetTypeIPv4}, ipv4(server, ueA, layers.IPProtocolTCP), tcp, data(0)), // downlink, UE 0, lengthened
		build(t, four, fragment, udp, data(100)),                                                                                                       // fragment
		build(t, four, options, udp, data(100)),                                                                                                        // options
		build(t, four, ipv4(ueA, server, layers.IPProtocolICMPv4), data(64)),                                                                           // protocol
		build(t, six, ipv6("2001:db8::5", "2001:db8:f::1", layers.IPProtocolUDP), udp, data(5)),                                                        // uplink, UE 2, lengthened
		build(t, six, ipv6("2001:db8::5", "2001:db8:f::1", 44), data(50)),                                                                              // extension header
		build(t, four, ipv4("198.51.100.1", server, layers.IPProtocolUDP), udp, data(50)),                                                              // of nobody
		build(t, four, ipv4(ueA, server, layers.IPProtocolUDP), udp, data(1957)),                                                                       // too long by one octet
		build(t, four, ipv4(ueA, server, layers.IPProtocolUDP), udp, data(1956)),                                                                       // uplink, UE 0
	}
}

var ofUEs = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16"), netip.MustParsePrefix("2001:db8::/64")}

// times are those of the frames: one second into the file, then 10 ms more each time.
func timeOf(i int) time.Time {
	return time.Unix(1_700_000_000, 123_456_000).Add(time.Duration(i*i) * 10 * time.Millisecond)
}

// files are the same frames in files of several sorts, by other programs' writers.
func files(t testing.TB, frames [][]byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	var pcap, nano, ng bytes.Buffer
	w, n := pcapgo.NewWriter(&pcap), pcapgo.NewWriterNanos(&nano)
	g, err := pcapgo.NewNgWriter(&ng, layers.LinkTypeEthernet)
	err = errors.Join(err, w.WriteFileHeader(65535, layers.LinkTypeEthernet), n.WriteFileHeader(65535, layers.LinkTypeEthernet))
	for i, f := range frames {
		info := gopacket.CaptureInfo{Timestamp: timeOf(i), CaptureLength: len(f), Length: len(f)}
		err = errors.Join(err, w.WritePacket(info, f), n.WritePacket(info, f), g.WritePacket(info, f))
	}
	if err = errors.Join(err, g.Flush()); err != nil {
		t.Fatal(err)
	}
	out["pcap"], out["pcap, nanoseconds"], out["pcapng"] = pcap.Bytes(), nano.Bytes(), ng.Bytes()
	out["pcap, big endian"] = swapped(pcap.Bytes())
	return out
}

// swapped is a pcap file in the other byte order.
func swapped(file []byte) []byte {
	b := bytes.Clone(file)
	swap := func(at, octets int) {
		for i := range octets / 2 {
			b[at+i], b[at+octets-1-i] = b[at+octets-1-i], b[at+i]
		}
	}
	for _, field := range [][2]int{{0, 4}, {4, 2}, {6, 2}, {8, 4}, {12, 4}, {16, 4}, {20, 4}} {
		swap(field[0], field[1])
	}
	for at := 24; at < len(b); {
		octets := int(binary.LittleEndian.Uint32(b[at+8:]))
		for i := range 4 {
			swap(at+4*i, 4)
		}
		at += 16 + octets
	}
	return b
}

// TestReplay takes the frames of a file apart: which are sent, of which UE, how far apart,
// and what is left out and why.
func TestReplay(t *testing.T) {
	frames := captureFrames(t)
	ip := func(i, from int, lengthened int) []byte {
		b := append(bytes.Clone(frames[i][from:]), make([]byte, lengthened)...)
		if b[0]>>4 == 4 {
			binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		} else {
			binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		}
		return b
	}
	for name, file := range files(t, frames) {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			if err := os.WriteFile(filepath.Join(directory, "x"), file, 0o600); err != nil {
				t.Fatal(err)
			}
			up := Replay{File: "x", UE: ofUEs}
			if err := up.load(directory, generator.Uplink); err != nil {
				t.Fatal(err)
			}
			want := Replay{
				File: "x", UE: ofUEs, UEs: 3, Lengthened: 1,
				Packets: []generator.ReplayPacket{
					{IP: ip(0, 14, 0), UE: 0, Gap: 40 * time.Millisecond},
					{IP: ip(2, 14+20+8+8, 0), UE: 1, Gap: 450 * time.Millisecond},
					{IP: ip(7, 14, 13), UE: 2, Gap: 720 * time.Millisecond},
					{IP: ip(11, 14, 0), UE: 0, Gap: 1210 * time.Millisecond / 3},
				},
				Skipped: map[string]int{skipNoIP: 1, skipFragment: 1, skipOptions: 2, skipProtocol: 1, skipOther: 2, skipLong: 1},
			}
			if diff := cmp.Diff(want, up, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("uplink (-want +got):\n%s", diff)
			}
			down := Replay{File: filepath.Join(directory, "x"), UE: ofUEs}
			if err := down.load("/nowhere", generator.Downlink); err != nil {
				t.Fatal(err)
			}
			packets := []generator.ReplayPacket{{IP: ip(3, 18, 16), Gap: time.Microsecond}} // 2 octets of padding of Ethernet
			if diff := cmp.Diff(packets, down.Packets); diff != "" || down.Lengthened != 1 {
				t.Errorf("downlink, %d lengthened (-want +got):\n%s", down.Lengthened, diff)
			}
			for i := range up.Packets {
				if err := up.Packets[i].Validate(); err != nil {
					t.Errorf("packet %d: %v", i, err)
				}
			}
		})
	}
}

// TestReplayProfile: a profile with a replay, whose file stands beside it.
func TestReplayProfile(t *testing.T) {
	directory := t.TempDir()
	profile := filepath.Join(directory, "p.yaml")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(directory, "x.pcap"), string(files(t, captureFrames(t))["pcap"]))
	const replay = "streams: [{name: a, direction: uplink, replay: {file: x.pcap, ue: [10.9.0.0/16, 2001:db8::/64], speed: 2}}]"
	write(profile, replay)
	p, err := Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	l := generator.Load{Rate: 5}
	p.Load(generator.Uplink, 0, &l)
	if want := (generator.Load{Speed: 2}); l != want || !p.Replays(generator.Uplink) || !p.IPv6() {
		t.Errorf("got %+v, want %+v", l, want)
	}
	const replayed = `uplink stream "a": "x.pcap", 4 packets of 3 UEs, 1 of them lengthened to hold a stamp; left out: ` +
		"2 IPv4 options or IPv6 extension headers, 1 fragment, 1 neither TCP nor UDP, 2 neither from nor to a UE, or the other direction, 1 no IP packet, 1 too long"
	if got := p.Replayed(); len(got) != 1 || got[0] != replayed {
		t.Errorf("got %q, want %q", got, replayed)
	}
	if mtu := p.MTU(); mtu != 1984+44 {
		t.Errorf("MTU: got %d, want %d", mtu, 1984+44)
	}
	c := generator.Config{Direction: generator.Uplink, Sessions: make([]generator.Session, 3)}
	if err := p.Configure(&c, netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")); err != nil || len(c.Streams[0].Replay) != 4 {
		t.Errorf("got %+v, %v, want 4 packets", c.Streams, err)
	}
	for _, tc := range []struct{ name, change, to, want string }{
		{"other streams", "}}]", "}}, {name: b, direction: uplink, frames: 64}]", "replays a file: want no others"},
		{"frames", "replay:", "frames: 64, replay:", "want no frames, ip, qfi, dscp or train besides"},
		{"no UEs", "ue: [10.9.0.0/16, 2001:db8::/64], ", "", "want the prefixes of UEs' addresses"},
		{"nothing of theirs", "[10.9.0.0/16, 2001:db8::/64]", "[10.8.0.0/16]", "1 neither TCP nor UDP, 7 neither from nor to a UE"},
		{"speed", "speed: 2", "speed: 1e9", "speed 1e+09: want 0.01 to 1000"},
		{"rate and speed", "direction", "rate: 5pps, direction", "a rate, and a speed of the file"},
		{"no file", "x.pcap", "y.pcap", "no such file"},
		{"no capture", "x.pcap", "p.yaml", "not a capture file"},
	} {
		write(profile, strings.Replace(replay, tc.change, tc.to, 1))
		if _, err := Load(profile); !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

// FuzzCapture: whatever a file says, what is taken of it can be sent.
func FuzzCapture(f *testing.F) {
	for _, file := range files(f, captureFrames(f)) {
		f.Add(file)
		f.Add(file[:len(file)/2])
	}
	for _, b := range forms(f) {
		if len(b.frame) < 1<<12 {
			f.Add(pcapOf(b.link, b.frame))
		}
	}
	for _, b := range blockFiles(f) {
		if len(b.file) < 1<<14 {
			f.Add(b.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
			r := Replay{UE: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}, Skipped: map[string]int{}}
			c := collector{replay: &r, direction: d}
			if _, err := pcap.Read(bytes.NewReader(file), c.add); err != nil && !errors.Is(err, pcap.Error) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errFull) {
				t.Errorf("error %v is none that is documented", err)
			}
			c.spread()
			for i := range r.Packets {
				p := &r.Packets[i]
				if err := p.Validate(); err != nil || p.Gap < 0 || p.Gap > maxReplayGap || p.UE >= r.UEs {
					t.Errorf("packet %d of %d UEs: %+v: %v", i, r.UEs, p, err)
				}
			}
		}
	})
}
