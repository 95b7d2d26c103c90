package meter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

const testRun = 0x504c0001

// sessions returns n sessions with addresses of the default UE pools.
func sessions(n int, ipv6 bool) []generator.Session {
	list := make([]generator.Session, n)
	for i := range list {
		ue := netip.AddrFrom4([4]byte{10, 64 + byte(i>>16), byte(i >> 8), byte(i)})
		if ipv6 {
			ue = netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x64, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i), 15: 1})
		}
		list[i] = generator.Session{TEID: 0x10000 + uint32(i), UE: ue, QFI: 9}
	}
	return list
}

// rig is a test bed with a generator at one end and a meter at the other.
type rig struct {
	bed       *topology.Topology
	generator *generator.Generator
	meter     *Meter
}

// ends returns the link that frames of a direction enter by and the port where
// they arrive.
func ends(bed *topology.Topology, d generator.Direction) (topology.Link, topology.Port) {
	if d == generator.Uplink {
		return bed.N3, bed.N6.Peer
	}
	return bed.N6, bed.N3.Peer
}

func newRig(t testing.TB, form topology.Config, c generator.Config, m Config) *rig {
	t.Helper()
	bed, err := topology.New(form)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	r := &rig{bed: bed}
	c.Link, m.Port = ends(bed, c.Direction)
	m.N3, m.N6, m.Direction, m.Run = bed.N3, bed.N6, c.Direction, testRun
	c.Run = testRun
	if !c.Server.IsValid() {
		c.Server = bed.N6.Peer.Address.Addr()
	}
	if r.generator, err = generator.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.generator.Close() })
	if r.meter, err = Attach(m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.meter.Close() })
	return r
}

// TestBed sends frames of every sort through the redirecting program: all must
// arrive as they were sent, in order, over two devices and over one, as frames and as
// socket buffers.
func TestBed(t *testing.T) {
	for _, onAStick := range []bool{false, true} {
		for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
			for _, ipv6 := range []bool{false, true} {
				for _, packets := range []bool{false, true} {
					t.Run(fmt.Sprintf("on a stick %v/%v/IPv6 %v/socket buffers %v", onAStick, d, ipv6, packets), func(t *testing.T) {
						c := generator.Config{Direction: d, PayloadOctets: 200, Sessions: sessions(500, ipv6), Access: generator.Uniform, Stream: 1}
						if ipv6 {
							c.Server = netip.MustParseAddr("fd06::2")
						}
						testBed(t, topology.Config{Name: "plt-bed", OnAStick: onAStick}, c, Config{Bed: true, Streams: 2, Packets: packets})
					})
				}
			}
		}
	}
}

func testBed(t *testing.T, form topology.Config, c generator.Config, m Config) {
	const frames = 2000
	r := newRig(t, form, c, m)
	bed, err := r.bed.AttachBed()
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	if _, err := r.generator.Run(context.Background(), generator.Load{Rate: 100_000, Frames: frames, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	want := Stream{Received: frames, ReceivedOctets: frames * uint64(r.generator.FrameOctets())}
	if diff := cmp.Diff(want, r.read(t, 1, frames), ignoreTimes); diff != "" {
		t.Errorf("stream 1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Stream{}, r.read(t, 0, 0), ignoreTimes); diff != "" {
		t.Errorf("stream 0 (-want +got):\n%s", diff)
	}
}

// TestStreams sends four streams of both families, with stamps of both kinds, QFIs and
// DSCPs, and wants each counted for itself.
func TestStreams(t *testing.T) {
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		t.Run(d.String(), func(t *testing.T) {
			const frames = 5000
			c := generator.Config{Direction: d, Sessions: sessions(300, false), Stream: 2, OuterChecksum: true}
			for i, s := range sessions(300, true) {
				c.Sessions[i].UE6 = s.UE
			}
			server6 := netip.MustParseAddr("fd06::2")
			c.Streams = []generator.Stream{
				{Payloads: []int{18, 100, 1200}, Access: generator.Zipf, Share: 2},
				{Payloads: []int{18}, Access: generator.Uniform, QFI: []generator.Weighted{{Value: 1, Weight: 1}, {Value: 60, Weight: 3}}},
				{Payloads: []int{18, 64}, Server: server6, Access: generator.Each, DSCP: []generator.Weighted{{Value: 46, Weight: 1}, {Value: 0, Weight: 1}}},
				{Payloads: []int{20}, Server: server6, First: 299, Access: generator.Same, DSCP: []generator.Weighted{{Value: 1, Weight: 1}}},
			}
			r := newRig(t, topology.Config{Name: "plt-streams"}, c, Config{Bed: true, Streams: 6})
			bed, err := r.bed.AttachBed()
			if err != nil {
				t.Fatal(err)
			}
			defer bed.Close()
			for range 2 {
				result, err := r.generator.Run(context.Background(), generator.Load{Rate: 200_000, Frames: frames, CPU: -1, Burst: 16})
				if err != nil || result.Sent != frames {
					t.Fatalf("got %+v, %v, want %d frames", result, err, frames)
				}
				for i, sent := range result.Streams {
					want := Stream{Received: sent.Sent, ReceivedOctets: sent.SentOctets}
					if diff := cmp.Diff(want, r.read(t, i+2, sent.Sent), ignoreTimes); diff != "" || sent.Sent < frames/5-1 {
						t.Errorf("stream %d of %d frames (-want +got):\n%s", i, sent.Sent, diff)
					}
				}
				next, err := r.generator.Sequences()
				if err == nil {
					err = r.meter.ResetFrom(append([]uint64{0, 0}, next...)...)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestReplay sends UDP and TCP of both families through the redirecting program: every
// frame is recognized and right.
func TestReplay(t *testing.T) {
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		t.Run(d.String(), func(t *testing.T) {
			const frames = 3000
			c := generator.Config{Direction: d, Sessions: sessions(30, false)}
			for i, s := range sessions(30, true) {
				c.Sessions[i].UE6 = s.UE
			}
			c.Streams = []generator.Stream{{Replay: replay(t), Server6: netip.MustParseAddr("fd06::2"), Access: generator.Each}}
			r := newRig(t, topology.Config{Name: "plt-replay"}, c, Config{Bed: true, Replay: true})
			bed, err := r.bed.AttachBed()
			if err != nil {
				t.Fatal(err)
			}
			defer bed.Close()
			result, err := r.generator.Run(context.Background(), generator.Load{Rate: 100_000, Frames: frames, CPU: -1})
			if err != nil {
				t.Fatal(err)
			}
			want := Stream{Received: frames, ReceivedOctets: result.SentOctets}
			if diff := cmp.Diff(want, r.read(t, 0, frames), ignoreTimes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// replay is packets of four UEs: UDP, TCP with options, of both families, with a DSCP.
func replay(t *testing.T) []generator.ReplayPacket {
	var list []generator.ReplayPacket
	for i, payload := range []int{18, 47, 48, 500, 1300} {
		for _, ipv6 := range []bool{false, true} {
			ip4 := &layers.IPv4{Version: 4, TTL: 3, TOS: 46 << 2, Protocol: layers.IPProtocolTCP, SrcIP: net.IPv4(1, 2, 3, 4), DstIP: net.IPv4(5, 6, 7, 8)}
			ip6 := &layers.IPv6{Version: 6, HopLimit: 3, NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("2001:db8::1"), DstIP: net.ParseIP("2001:db8::2")}
			data := gopacket.Payload(make([]byte, payload))
			tcp := &layers.TCP{SrcPort: 80, DstPort: 2152, ACK: true, Options: make([]layers.TCPOption, 4*i)}
			udp := &layers.UDP{SrcPort: 53, DstPort: 53}
			if err := errors.Join(tcp.SetNetworkLayerForChecksum(ip4), udp.SetNetworkLayerForChecksum(ip6)); err != nil {
				t.Fatal(err)
			}
			p := generator.ReplayPacket{UE: i % 4}
			if ipv6 {
				p.IP = serialize(t, ip6, udp, data)
			} else {
				p.IP = serialize(t, ip4, tcp, data)
			}
			list = append(list, p)
		}
	}
	return list
}

// TestThreaded overloads a UPF's place that has a CPU of its own. How many frames
// are lost is up to the machine; that those which arrive are whole, in order and
// no more than were sent is not.
func TestThreaded(t *testing.T) {
	r := newRig(t, topology.Config{Name: "plt-threads"}, generator.Config{
		Direction: generator.Uplink, PayloadOctets: 64, Sessions: sessions(1, false),
	}, Config{Bed: true})
	bed, err := r.bed.AttachBed()
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	if err := r.bed.SetThreaded(true); err != nil {
		t.Fatal(err)
	}
	result, err := r.generator.Run(context.Background(), generator.Load{Duration: 200 * time.Millisecond, CPU: -1})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	got := r.read(t, 0, 1)
	if got.Received == 0 || got.Received > result.Sent {
		t.Errorf("got %d of %d frames", got.Received, result.Sent)
	}
	octets := uint64(r.generator.FrameOctets())
	if diff := cmp.Diff(Stream{Received: got.Received, ReceivedOctets: got.Received * octets}, got, ignoreTimes); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

// BenchmarkBed measures the bed limit: one op is one frame from the generator
// through the redirecting program to the meter.
func BenchmarkBed(b *testing.B) {
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		for _, payload := range []int{generator.ShortStampOctets, 64, 1400} {
			for _, n := range []int{1, 100_000} {
				b.Run(fmt.Sprintf("%v/%dB/%dsessions", d, payload, n), func(b *testing.B) {
					benchmarkBed(b, generator.Config{Direction: d, PayloadOctets: payload, Sessions: sessions(n, false), Access: generator.Uniform})
				})
			}
		}
	}
}

func benchmarkBed(b *testing.B, c generator.Config) {
	r := newRig(b, topology.Config{Name: "plt-bench"}, c, Config{Bed: true})
	bed, err := r.bed.AttachBed()
	if err != nil {
		b.Fatal(err)
	}
	defer bed.Close()
	b.SetBytes(int64(r.generator.FrameOctets()))
	b.ResetTimer()
	result, err := r.generator.Run(context.Background(), generator.Load{Frames: uint64(b.N), CPU: 1, Realtime: true})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(time.Millisecond)
	s, err := r.meter.Read()
	if err != nil {
		b.Fatal(err)
	}
	if got := s.Streams[0]; got.Received != result.Sent || got.MisdeliveredTotal() != 0 {
		b.Errorf("got %d of %d frames, misdelivered %v", got.Received, result.Sent, got.Misdelivered)
	}
	b.ReportMetric(float64(result.Sent)/result.Elapsed.Seconds()/1e6, "Mpps")
}
