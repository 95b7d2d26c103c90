package traffic

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// userPacket is one of a UE; octets is its payload.
func userPacket(t testing.TB, octets int) []byte {
	t.Helper()
	udp := &layers.UDP{SrcPort: 1, DstPort: 2}
	return bytes.Clone(build(t, ipv4("10.9.0.1", "192.0.2.80", layers.IPProtocolUDP), udp, gopacket.Payload(bytes.Repeat([]byte{7}, octets))))
}

// pcapOf is a file of one link type, whose packets are 10 ms apart.
func pcapOf(link uint32, frames ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
	b = binary.LittleEndian.AppendUint32(b, link)
	for i, f := range frames {
		for _, v := range []int{1_700_000_000, 10_000 * i, len(f), len(f)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		b = append(b, f...)
	}
	return b
}

// Link types: tcpdump.org/linktypes.html.
const (
	linkNull     = 0
	linkEthernet = 1
	linkPPP      = 9
	linkRawBSD   = 12
	linkRawOpen  = 14
	linkPPPHDLC  = 50
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkSLL2     = 276

	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2
	blockSimple    = 3
	blockNames     = 4
	blockEnhanced  = 6
	blockSecrets   = 10
)

// form is a frame of a link type, and what is read of it.
type form struct {
	name  string
	link  uint32
	frame []byte
	skip  string // "": its packet is taken
}

func forms(t testing.TB) []form {
	ip := userPacket(t, 100)
	six := bytes.Clone(build(t, ipv6("2001:db8::5", "2001:db8:f::1", layers.IPProtocolUDP), &layers.UDP{SrcPort: 1, DstPort: 2}, gopacket.Payload(make([]byte, 40))))
	behind := func(head string, of []byte) []byte {
		b := []byte(head)
		return append(b, of...)
	}
	const macs = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02"
	zero := bytes.Clone(ip)
	zero[2], zero[3] = 0, 0
	zero6 := bytes.Clone(six)
	zero6[4], zero6[5] = 0, 0
	large := append(bytes.Clone(zero), make([]byte, 70000)...)
	return []form{
		{"BSD loopback", linkNull, behind("\x02\x00\x00\x00", ip), ""},
		{"BSD loopback of the other byte order", linkNull, behind("\x00\x00\x00\x02", ip), ""},
		{"BSD loopback, IPv6", linkNull, behind("\x1e\x00\x00\x00", six), ""},
		{"OpenBSD loopback", linkLoop, behind("\x00\x00\x00\x02", ip), ""},
		{"raw, BSD", linkRawBSD, ip, ""},
		{"raw, OpenBSD", linkRawOpen, ip, ""},
		{"raw", linkRaw, ip, ""},
		{"PPP", linkPPP, behind("\xff\x03\x00\x21", ip), ""},
		{"PPP, no address, protocol of one octet", linkPPP, behind("\x57", six), ""},
		{"PPP with HDLC framing", linkPPPHDLC, behind("\xff\x03\x00\x57", six), ""},
		{"PPP, no IP", linkPPP, behind("\xff\x03\xc0\x21", ip), skipNoIP},
		{"tag 0x9100", linkEthernet, behind(macs+"\x91\x00\x00\x05\x08\x00", ip), ""},
		{"three tags", linkEthernet, behind(macs+"\x88\xa8\x00\x05\x81\x00\x00\x06\x81\x00\x00\x07\x08\x00", ip), ""},
		{"tags without end", linkEthernet, behind(macs+strings.Repeat("\x81\x00\x00\x05", 9), nil), skipNoIP},
		{"cooked, tag", linkSLL, behind("\x00\x00\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00\x81\x00\x00\x05\x08\x00", ip), ""},
		{"cooked 2, tag", linkSLL2, behind("\x81\x00\x00\x00\x00\x00\x00\x01\x00\x01\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00\x00\x05\x08\x00", ip), ""},
		{"MPLS", linkEthernet, behind(macs+"\x88\x47\x00\x01\x00\x40\x00\x02\x01\x40", ip), ""},
		{"MPLS behind a tag, IPv6", linkEthernet, behind(macs+"\x81\x00\x00\x05\x88\x47\x00\x01\x01\x40", six), ""},
		{"MPLS, no IP", linkEthernet, behind(macs+"\x88\x47\x00\x01\x01\x40\x00\x00\x00\x00", ip), skipNoIP},
		{"MPLS without a bottom", linkEthernet, behind(macs+"\x88\x47\x00\x01\x00\x40", nil), skipNoIP},
		{"PPPoE", linkEthernet, behind(macs+"\x88\x64\x11\x00\x00\x01\x00\x82\x00\x21", ip), ""},
		{"total length 0", linkEthernet, behind(macs+"\x08\x00", zero), ""},
		{"payload length 0, IPv6", linkEthernet, behind(macs+"\x86\xdd", zero6), ""},
		{"total length 0, more than 64 KiB", linkEthernet, behind(macs+"\x08\x00", large), skipLong},
		{"802.11", 105, ip, "link type 105 (802.11), which is not read"},
		{"unknown", 4711, ip, "link type 4711 (of unknown name), which is not read"},
	}
}

// TestForms takes a packet out of frames of every link type that is read, and says of others
// that it is the link type.
func TestForms(t *testing.T) {
	list := forms(t)
	judged := judge(t, list)
	for i, test := range list {
		t.Run(test.name, func(t *testing.T) {
			directory := t.TempDir()
			if err := os.WriteFile(filepath.Join(directory, "x"), pcapOf(test.link, test.frame), 0o600); err != nil {
				t.Fatal(err)
			}
			r := Replay{File: "x", UE: ofUEs}
			if err := r.load(directory, generator.Uplink); err != nil {
				t.Fatal(err)
			}
			if test.skip != "" {
				if diff := cmp.Diff(map[string]int{test.skip: 1}, r.Skipped); diff != "" || len(r.Packets) != 0 {
					t.Errorf("%d packets (-want +got):\n%s", len(r.Packets), diff)
				}
				return
			}
			if len(r.Packets) != 1 || len(r.Skipped) != 0 {
				t.Fatalf("got %v, want one packet", &r)
			}
			if err := r.Packets[0].Validate(); err != nil {
				t.Error(err)
			}
			octets := len(r.Packets[0].IP) - 20
			if r.Packets[0].IP[0]>>4 == 6 {
				octets -= 20
			}
			if got := judged[i]; got != strconv.Itoa(octets) {
				t.Errorf("tshark has a datagram of %q octets, want %d", got, octets)
			}
		})
	}
}

// judge has tshark say how long the datagram of each frame is, all in one file. It does not read
// IPv6 packets without a length.
func judge(t *testing.T, forms []form) []string {
	t.Helper()
	f := &blocks{}
	f.add(blockSection, []byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	for i, one := range forms {
		f.add(blockInterface, []byte{byte(one.link), byte(one.link >> 8), 0, 0, 0, 0, 4, 0})
		frame := bytes.Clone(one.frame)
		if strings.HasPrefix(one.name, "payload length 0") {
			frame[14+5] = 48
		}
		f.enhanced(uint32(i), start, frame)
	}
	file := filepath.Join(t.TempDir(), "forms.pcapng")
	if err := os.WriteFile(file, f.b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := tshark.Run(t, file, "-o", "ip.tso_support:TRUE", "-d", "ethertype==0x9100,vlan", "-T", "fields", "-e", "udp.length")
	return strings.Split(out, "\n")
}

// blocks builds a pcapng file.
type blocks struct{ b []byte }

func (f *blocks) add(kind uint32, body []byte) *blocks {
	padded := append(bytes.Clone(body), make([]byte, -len(body)&3)...)
	f.b = binary.LittleEndian.AppendUint32(f.b, kind)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(padded)+12))
	f.b = append(f.b, padded...)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(padded)+12))
	return f
}

// section begins a file with two interfaces.
func section(options ...string) *blocks {
	f := &blocks{}
	f.add(blockSection, []byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	for i := range 2 {
		option := ""
		if i < len(options) {
			option = options[i]
		}
		f.add(blockInterface, []byte("\x65\x00\x00\x00\x00\x00\x04\x00"+option))
	}
	return f
}

// start is the time of the first packets, in µs since 1970.
const start = uint64(1_700_000_000_000_000)

// enhanced and obsolete add a packet.
func (f *blocks) enhanced(link uint32, at uint64, data []byte) *blocks {
	var b []byte
	for _, v := range []uint32{link, uint32(at >> 32), uint32(at), uint32(len(data)), uint32(len(data))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return f.add(blockEnhanced, append(b, data...))
}

func (f *blocks) obsolete(link uint16, at uint64, data []byte) *blocks {
	b := binary.LittleEndian.AppendUint16(nil, link)
	b = append(b, 0xff, 0xff) // how many were dropped before is not known
	for _, v := range []uint32{uint32(at >> 32), uint32(at), uint32(len(data)), uint32(len(data))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return f.add(blockPacket, append(b, data...))
}

type blockFile struct {
	name       string
	file       []byte
	gaps       []time.Duration // but the last
	disordered int
	skipped    map[string]int
}

func blockFiles(t testing.TB) []blockFile {
	ip := userPacket(t, 100)
	const ms = 1000
	batches := section()
	for batch := range 3 {
		for link := range uint32(2) {
			for i := range 10 {
				batches.enhanced(link, start+uint64(batch*20+2*i)*ms+uint64(link)*ms, ip)
			}
		}
	}
	steady := slices.Repeat([]time.Duration{time.Millisecond}, 59)
	names := make([]byte, 2<<20)
	offset := "\x0e\x00\x08\x00" + "\xc4\xff\xff\xff\xff\xff\xff\xff" + "\x00\x00\x00\x00" // 60 s back
	binary10 := "\x09\x00\x01\x00\x8a\x00\x00\x00\x00\x00\x00\x00"                         // 2^-10 s
	picos := "\x09\x00\x01\x00\x0c\x00\x00\x00\x00\x00\x00\x00"                            // 10^-12 s
	two, none := []time.Duration{5 * time.Millisecond}, map[string]int{}
	return []blockFile{
		{"two interfaces in batches of ten", batches.b, steady, 27, none},
		{"times that go back", section().enhanced(0, start+6*ms, ip).enhanced(0, start+5*ms, ip).enhanced(0, start, ip).b, []time.Duration{5 * time.Millisecond, time.Millisecond}, 2, none},
		{"obsolete packet block", section().enhanced(0, start, ip).obsolete(1, start+5*ms, ip).b, two, 0, none},
		{"names of 2 MiB", section().enhanced(0, start, ip).add(blockNames, names).enhanced(0, start+5*ms, ip).b, two, 0, none},
		{"secrets of 2 MiB", section().add(blockSecrets, append([]byte("KSLT\xf8\xff\x1f\x00"), names[8:]...)).enhanced(0, start, ip).enhanced(0, start+5*ms, ip).b, two, 0, none},
		{"blocks of unknown types", section().add(0xbad, make([]byte, 2<<20)).enhanced(0, start, ip).add(0x40000bad, names[:8]).enhanced(0, start+5*ms, ip).b, two, 0, map[string]int{skipBlock: 2}},
		{"an offset of one interface", section("", offset).enhanced(0, start, ip).enhanced(1, start+(60_000+5)*ms, ip).b, two, 0, none},
		{"a resolution that is no whole number of nanoseconds", section(binary10).enhanced(0, 1_700_000_000<<10, ip).enhanced(0, 1_700_000_000<<10+512, ip).b, []time.Duration{time.Second / 2}, 0, none},
		{"picoseconds", section(picos).enhanced(0, 1_700_000_000_000_000, ip).enhanced(0, 1_705_000_000_000_000, ip).b, []time.Duration{5 * time.Second}, 0, none},
		{"a simple packet has the time of the one before", section().enhanced(0, start, ip).add(blockSimple, append([]byte{byte(len(ip)), 0, 0, 0}, ip...)).enhanced(0, start+5*ms, ip).b, []time.Duration{0, 5 * time.Millisecond}, 0, none},
	}
}

// TestBlocks reads pcapng files with what other programs do not write each day. tshark says the
// times, but for those of simple packets, of which it knows none.
func TestBlocks(t *testing.T) {
	for _, test := range blockFiles(t) {
		t.Run(test.name, func(t *testing.T) {
			directory := t.TempDir()
			file := filepath.Join(directory, "x")
			if err := os.WriteFile(file, test.file, 0o600); err != nil {
				t.Fatal(err)
			}
			r := Replay{File: "x", UE: ofUEs}
			if err := r.load(directory, generator.Uplink); err != nil {
				t.Fatal(err)
			}
			var gaps []time.Duration
			for i := range len(r.Packets) - 1 {
				gaps = append(gaps, r.Packets[i].Gap)
			}
			if diff := cmp.Diff(test.gaps, gaps); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.skipped, r.Skipped); diff != "" || r.Disordered != test.disordered {
				t.Errorf("%d out of order, want %d; left out (-want +got):\n%s", r.Disordered, test.disordered, diff)
			}
			if strings.Contains(r.String(), "out of order in the file") != (test.disordered > 0) {
				t.Errorf("got %q of %d out of order", &r, test.disordered)
			}
			judged, _ := tshark.Run(t, file, "-T", "fields", "-e", "frame.time_epoch")
			times := strings.Fields(judged)
			if strings.Contains(test.name, "simple") {
				return
			}
			if len(times) != len(r.Packets) {
				t.Fatalf("tshark has %d packets, got %d", len(times), len(r.Packets))
			}
			slices.Sort(times) // of one length
			for i := range gaps {
				a, _ := strconv.ParseFloat(times[i], 64)
				b, _ := strconv.ParseFloat(times[i+1], 64)
				if d := gaps[i] - time.Duration((b-a)*1e9); d > time.Microsecond || d < -time.Microsecond {
					t.Errorf("gap %d: got %v, tshark %v s", i, gaps[i], b-a)
				}
			}
		})
	}
}

// TestInterrupted: a file that ends within a packet is replayed as far as it goes, and says so.
func TestInterrupted(t *testing.T) {
	directory := t.TempDir()
	file := pcapOf(linkRaw, userPacket(t, 100), userPacket(t, 100))
	if err := os.WriteFile(filepath.Join(directory, "x"), file[:len(file)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	r := Replay{File: "x", UE: ofUEs}
	if err := r.load(directory, generator.Uplink); err != nil || len(r.Packets) != 1 || !strings.Contains(r.String(), "the file ends within a packet") {
		t.Errorf("got %v, %v, want one packet", &r, err)
	}
}

// TestSnapped: packets whose end was not captured are replayed with zeros, and the result says of
// how many that is so, also in a tunnel.
func TestSnapped(t *testing.T) {
	directory := t.TempDir()
	inner := userPacket(t, 100)
	gtp := append([]byte{0x30, 0xff, 0, byte(len(inner)), 0, 0, 0, 5}, inner...)
	tunnel := build(t, ipv4("10.3.0.2", "10.3.0.1", layers.IPProtocolUDP), &layers.UDP{DstPort: 2152}, gopacket.Payload(gtp))
	file := pcapOf(linkRaw, inner, inner[:60], tunnel[:100])
	for i, whole := range []int{len(inner), len(inner), len(tunnel)} { // lengths on the link
		at := 24
		for range i {
			at += 16 + int(binary.LittleEndian.Uint32(file[at+8:]))
		}
		binary.LittleEndian.PutUint32(file[at+12:], uint32(whole))
	}
	if err := os.WriteFile(filepath.Join(directory, "x"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	r := Replay{File: "x", UE: ofUEs}
	if err := r.load(directory, generator.Uplink); err != nil {
		t.Fatal(err)
	}
	if len(r.Packets) != 3 || r.CutOff != 2 || !strings.Contains(r.String(), "2 cut off by a snap length") {
		t.Errorf("got %v, %d cut off, want 2 of 3", &r, r.CutOff)
	}
	for i := range r.Packets {
		if n := len(r.Packets[i].IP); n != len(inner) {
			t.Errorf("packet %d: got %d octets, want %d", i, n, len(inner))
		}
	}
}
