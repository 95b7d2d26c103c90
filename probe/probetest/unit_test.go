package probetest

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/probe"
)

var (
	ends4 = Ends{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("198.18.0.1")}
	ends6 = Ends{netip.MustParseAddr("fd64::1"), netip.MustParseAddr("2001:db8::1")}
)

func (k *Traffic) ends() Ends {
	if k.IPv6 {
		return ends6
	}
	return ends4
}

// TestKinds wants packets that are different, or not, and whose lengths and checksums are
// right for a decoder of somebody else.
func TestKinds(t *testing.T) {
	for _, kind := range append(Kinds, Identical, Tail, UDPRun, UDPRun6) {
		t.Run(kind.Name, func(t *testing.T) {
			seen := map[string]bool{}
			for n := range 1000 {
				p := kind.Packet(kind.ends(), n)
				seen[print(p)] = true
				verifyPacket(t, p)
			}
			if same := len(seen) == 1; same != kind.Same || !same && len(seen) != 1000 {
				t.Errorf("%d different packets of 1000 by their first 64 octets", len(seen))
			}
		})
	}
}

// print is what a probe knows a packet by, roughly: checksums of UDP and TCP are written
// late.
func print(p []byte) string {
	b := bytes.Clone(p[:min(64, len(p))])
	if at := checksumAt(b[9]); b[0] == 0x45 && len(b) > inet.LenIPv4+at+2 && b[9] != unix.IPPROTO_ICMP {
		be.PutUint16(b[inet.LenIPv4+max(at, 0):], 0)
	}
	return string(b)
}

// verifyPacket has gopacket look at a packet.
func verifyPacket(t *testing.T, b []byte) {
	t.Helper()
	first := gopacket.LayerType(layers.LayerTypeIPv4)
	if b[0]>>4 == 6 {
		first = layers.LayerTypeIPv6
	}
	p := gopacket.NewPacket(b, first, gopacket.Default)
	if ip, ok := p.NetworkLayer().(*layers.IPv4); ok {
		if int(ip.Length) != len(b) || checksum.Of(b[:4*ip.IHL]) != 0 {
			t.Fatalf("%x: length %d, want %d, or a wrong checksum", b, ip.Length, len(b))
		}
		if ip.Flags&layers.IPv4MoreFragments != 0 || ip.FragOffset > 0 {
			return // has only a part of what is summed up
		}
	}
	if p.Layer(layers.LayerTypeIPv6Fragment) != nil || p.TransportLayer() == nil {
		return
	}
	if above, ok := p.TransportLayer().(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		must(t, above.SetNetworkLayerForChecksum(p.NetworkLayer()))
	}
	err, wrong := p.VerifyChecksums()
	if err != nil || len(wrong) > 0 {
		t.Fatalf("%.100x: checksums %v: %v", b, wrong, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTranslate turns a translation round.
func TestTranslate(t *testing.T) {
	n := NAT{UE: ends4.From, Public: netip.MustParseAddr("10.64.200.1")}
	for _, kind := range Kinds {
		up := kind.Packet(kind.ends(), 7)
		got := bytes.Clone(up)
		n.translate(got, false)
		if !kind.IPv6 && bytes.Equal(got, up) {
			t.Errorf("%s: not translated", kind.Name)
		}
		verifyPacket(t, got)
		back := Ends{kind.ends().To, kind.ends().From}
		down := kind.Packet(back, 7)
		got = bytes.Clone(down)
		n.translate(got, true)
		verifyPacket(t, got)
	}
}

// TestJudge wants each fault to be found that a probe could make.
func TestJudge(t *testing.T) {
	const first = 100
	records := []Record{
		{TEID: 100, Octets: 50, Read: 20, Write: 30, Written: 40, Copies: 1},
		{TEID: 101, Octets: 60, Read: 50, Write: 60, Written: 70, Copies: 1},
		{TEID: 102, Octets: 70, Read: 80},
	}
	sent := []uint64{10, 12, 14}
	sample := func(teid, octets uint32, in, out uint64) probe.Sample {
		return probe.Sample{TEID: teid, Octets: octets, InNs: in, OutNs: out}
	}
	right := []probe.Sample{sample(100, 50, 11, 35), sample(101, 60, 13, 65)}
	for _, tc := range []struct {
		name    string
		samples []probe.Sample
		right   int
	}{
		{"right", right, 2},
		{"none", nil, 0},
		{"swapped exits", []probe.Sample{sample(100, 50, 11, 65), sample(101, 60, 13, 35)}, 0},
		{"swapped entries", []probe.Sample{sample(100, 50, 13, 35), sample(101, 60, 12, 65)}, 1},
		{"entry of the one before", []probe.Sample{sample(100, 50, 11, 35), sample(101, 60, 11, 65)}, 1},
		{"twice", append(right, right[0]), 2},
		{"never left", append(right, sample(102, 70, 15, 75)), 2},
		{"unknown", append(right, sample(103, 70, 15, 75)), 2},
		{"octets", []probe.Sample{sample(100, 51, 11, 35)}, 0},
		{"in after read", []probe.Sample{sample(100, 50, 21, 35)}, 0},
		{"out before write", []probe.Sample{sample(100, 50, 11, 29)}, 0},
	} {
		v := Judge(records, tc.samples, first, sent)
		if v.Right != tc.right || len(v.Wrong) != len(tc.samples)-tc.right {
			t.Errorf("%s: %+v, want %d right of %d", tc.name, v, tc.right, len(tc.samples))
		}
	}
}

// TestMerge wants what is put together to be what a decoder takes for one packet, and to
// have been allowed to go together.
func TestMerge(t *testing.T) {
	for _, kind := range []Traffic{TCPData, TCPData6, UDPRun, UDPRun6} {
		var packets [][]byte
		for n := range 10 {
			packets = append(packets, kind.Packet(kind.ends(), n))
			if n > 0 && !follows(packets[n-1], packets[n]) {
				t.Errorf("%s: packet %d does not follow the one before", kind.Name, n)
			}
		}
		if kind.Name != UDPRun6.Name && follows(packets[0], packets[2]) {
			t.Errorf("%s: packet 2 follows packet 0", kind.Name)
		}
		super, v := merge(packets)
		headers := int(v.hdrLen)
		if len(super)-headers != 10*int(v.gsoSize) || !bytes.Equal(super[headers+int(v.gsoSize):headers+2*int(v.gsoSize)], packets[1][headers:]) {
			t.Errorf("%s: %d octets, %+v", kind.Name, len(super), v)
		}
	}
}
