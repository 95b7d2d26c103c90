package generator

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// replayed is a packet of a test file, as its layers: what is checked is built of these.
type replayed struct {
	ipv6    bool
	tcp     bool
	options int // octets of the TCP header's
	tos     uint8
	payload int
	ue      int
}

var replayedPackets = []replayed{
	{payload: 18},
	{payload: 47, ue: 1, tos: 0xb8},
	{tcp: true, payload: 48, ue: 2, tos: 0xfc},
	{tcp: true, options: 12, payload: 1388},
	{tcp: true, options: 4, payload: 19, ue: 1},
	{ipv6: true, payload: 18, ue: 2, tos: 0xb8},
	{ipv6: true, payload: 1201},
	{ipv6: true, tcp: true, options: 40, payload: 700, ue: 1},
	{payload: 333, ue: 2},
}

// packet builds one: between these addresses, with this payload.
func (r *replayed) packet(t *testing.T, src, dst netip.Addr, payload []byte, hops uint8) []byte {
	t.Helper()
	ip4 := &layers.IPv4{Version: 4, TTL: hops, TOS: r.tos, Id: 77, Flags: layers.IPv4DontFragment, SrcIP: src.AsSlice(), DstIP: dst.AsSlice(), Protocol: layers.IPProtocolUDP}
	ip6 := &layers.IPv6{Version: 6, HopLimit: hops, TrafficClass: r.tos, FlowLabel: 0x12345, SrcIP: src.AsSlice(), DstIP: dst.AsSlice(), NextHeader: layers.IPProtocolUDP}
	if r.tcp {
		ip4.Protocol, ip6.NextHeader = layers.IPProtocolTCP, layers.IPProtocolTCP
	}
	var ip gopacket.SerializableLayer = ip4
	var network gopacket.NetworkLayer = ip4
	if r.ipv6 {
		ip, network = ip6, ip6
	}
	if !r.tcp {
		udp := &layers.UDP{SrcPort: 5060, DstPort: 443}
		udp.SetNetworkLayerForChecksum(network)
		return serialize(t, ip, udp, gopacket.Payload(payload))
	}
	tcp := &layers.TCP{SrcPort: 50000, DstPort: 443, Seq: 1e9, Ack: 7, ACK: true, PSH: true, Window: 4000}
	for range r.options {
		tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindNop})
	}
	tcp.SetNetworkLayerForChecksum(network)
	return serialize(t, ip, tcp, gopacket.Payload(payload))
}

// filler is the payload of a packet in the file.
func (r *replayed) filler() []byte {
	return bytes.Repeat([]byte{0xee, 0x11, 0x5a}, r.payload)[:r.payload]
}

// replayOf returns the packets as they would stand in a file, 1, 2, 3... ms apart.
func replayOf(t *testing.T, d Direction) []ReplayPacket {
	t.Helper()
	var list []ReplayPacket
	for i := range replayedPackets {
		r := &replayedPackets[i]
		src, dst := netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("203.0.113.9")
		if r.ipv6 {
			src, dst = netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("2001:db8:1::9")
		}
		list = append(list, ReplayPacket{IP: r.packet(t, src, dst, r.filler(), 47), UE: r.ue, Gap: time.Duration(i+1) * time.Millisecond})
	}
	return list
}

// TestReplay compares every octet of replayed frames with what gopacket builds, so many
// times round that each session has had its turns and the first ones come again.
func TestReplay(t *testing.T) {
	for _, d := range []Direction{Uplink, Downlink} {
		eachSender(t, func(t *testing.T, sender Sender) {
			bed := newBed(t, "plt-replay")
			c := config(bed, d, false)
			c.Sender, c.Sessions, c.OuterChecksum, c.Stream = sender, sessions(7, false), true, 5
			for i, s := range sessions(7, true) {
				c.Sessions[i].UE6 = s.UE
			}
			c.Streams = []Stream{{Replay: replayOf(t, d), Server6: bed.N6.Peer.Address6.Addr(), Access: Each}}
			g, link := mustNew(t, c), newCapture(t, c.Link.UPF)
			before, octets := now(), uint64(0)
			frames := 8 * len(replayedPackets)
			result, err := g.Run(context.Background(), Load{Rate: 10_000, Frames: uint64(frames), CPU: -1})
			if err != nil {
				t.Fatal(err)
			}
			order := c.entries()
			for i := range frames {
				r := &replayedPackets[i%len(replayedPackets)]
				e := order[i/len(replayedPackets)%7*3+r.ue] // 3 UEs, 7 sessions
				e.dscp = r.tos >> 2
				f := g.layout.frame(0, uint64(i))
				got := link.next(t)
				stamp := stampOf(t, &c, &e, f, got, before)
				stamp.Sequence &= math.MaxUint32
				if stamp.Sequence != uint64(i) {
					t.Fatalf("frame %d: got number %d", i, stamp.Sequence)
				}
				if want := wantReplayed(t, &c, r, &e, stamp); !bytes.Equal(got, want) {
					t.Fatalf("frame %d\n got %x\nwant %x", i, got, want)
				}
				octets += uint64(len(got))
			}
			if result.SentOctets != octets {
				t.Errorf("counted %d octets, %d were on the link", result.SentOctets, octets)
			}
		})
	}
}

// wantReplayed builds the frame of r for the session of e.
func wantReplayed(t *testing.T, c *Config, r *replayed, e *entry, got Stamp) []byte {
	t.Helper()
	s := &c.Sessions[e.session]
	ue, server := s.address(r.ipv6), c.Server
	if r.ipv6 {
		server = c.Streams[0].Server6
	}
	stamp := Stamp{
		Run: c.Run, Stream: c.Stream, Sequence: got.Sequence, IntendedNs: got.IntendedNs, SentNs: got.SentNs,
		Session: e.session, TEID: s.TEID, QFI: e.qfi, DSCP: e.dscp, UE: FoldUE(ue),
	}
	payload := r.filler()
	if r.payload < StampOctets {
		copy(payload, stamp.Short().Append(nil))
	} else {
		copy(payload, stamp.Append(nil))
	}
	src, dst := ue, server
	if c.Direction == Downlink {
		src, dst = dst, src
	}
	user := r.packet(t, src, dst, payload, 64)
	ether := &layers.Ethernet{SrcMAC: c.Link.Peer.MAC, DstMAC: c.Link.UPF.MAC, EthernetType: layers.EthernetTypeIPv4}
	if c.Direction == Downlink {
		if r.ipv6 {
			ether.EthernetType = layers.EthernetTypeIPv6
		}
		return serialize(t, ether, gopacket.Payload(user))
	}
	gtpu := binary.BigEndian.AppendUint16([]byte{0x34, 0xff}, uint16(8+len(user)))
	gtpu = binary.BigEndian.AppendUint32(gtpu, s.TEID)
	gtpu = append(gtpu, 0, 0, 0, 0x85, 1, 0x10, e.qfi, 0)
	outer := &layers.IPv4{
		Version: 4, TTL: 64, TOS: e.dscp << 2, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP,
		SrcIP: c.Link.Peer.Address.Addr().AsSlice(), DstIP: c.Link.UPF.Address.Addr().AsSlice(),
	}
	return serialize(t, ether, outer, outerUDP(outer), gopacket.Payload(append(gtpu, user...)))
}

// TestReplayTimes wants frames as far apart as in the file, at half and at fifty times its
// speed, and as many as the time has room for.
func TestReplayTimes(t *testing.T) {
	for _, speed := range []float64{0.5, 50} {
		eachSender(t, func(t *testing.T, sender Sender) {
			bed := newBed(t, "plt-times")
			c := config(bed, Downlink, false)
			c.Sender = sender
			packets := replayOf(t, Downlink)
			c.Streams = []Stream{{Replay: append(packets[:5:5], packets[8]), Access: Same}}
			g, link := mustNew(t, c), newCapture(t, c.Link.UPF)
			const round = 1 + 2 + 3 + 4 + 5 + 9 // ms
			duration := time.Duration(2.25 * round * float64(time.Millisecond) / speed)
			result, err := g.Run(context.Background(), Load{Speed: speed, Duration: duration, CPU: -1})
			if err != nil || result.Intended != 2*6+3 { // a quarter of a round is 6 ms
				t.Fatalf("got %+v, %v, want 15 frames due", result, err)
			}
			first, due := uint64(0), 0.0
			for i := range result.Sent {
				f := g.layout.frame(0, i)
				got := link.next(t)
				var intended uint64
				if f.short {
					short, err := decodeShortStamp(got[f.headers:])
					if err != nil {
						t.Fatal(err)
					}
					intended = short.IntendedNs
				} else {
					stamp, err := DecodeStamp(got[f.headers:])
					if err != nil {
						t.Fatal(err)
					}
					intended = stamp.IntendedNs & (1<<shortTimeBits - 1)
				}
				if i == 0 {
					first = intended
				}
				if off := float64(intended-first) - due; math.Abs(off) > 0.001*due+2 {
					t.Errorf("frame %d: due %d ns after the first, want %.0f", i, intended-first, due)
				}
				due += float64(f.gap) / speed
			}
		})
	}
}

// TestReplayDue: what is due of files of all lengths, also those that last longer than 64
// bits of 2^-20 ns.
func TestReplayDue(t *testing.T) {
	short := []frame{{gap: 1e9}, {gap: 2e9}, {gap: 3e9}}
	long := make([]frame, 400) // a minute each: 6.7 hours
	for i := range long {
		long[i].gap = 60e9
	}
	for _, tc := range []struct {
		name     string
		frames   []frame
		position uint32
		speed    float64
		elapsed  time.Duration
		want     uint64
	}{
		{"less than a round", short, 0, 1, 2500 * time.Millisecond, 2},
		{"rounds and more", short, 1, 1, 14500 * time.Millisecond, 8},
		{"exactly a round", short, 0, 1, 6 * time.Second, 3},
		{"long", long, 0, 1, time.Hour, 60},
		{"long and slow", long, 399, 0.01, 3 * time.Hour, 2},
		{"longest that is allowed", long, 0, 0.01, maxDuration, 2},
	} {
		l := Load{Speed: tc.speed, Duration: tc.elapsed}
		run, _ := l.schedule(generatorRun{Position: tc.position}, 0)
		if got := replayDue(tc.frames, run, tc.elapsed); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	bed := newBed(t, "plt-replay")
	packets := replayOf(t, Uplink)
	with := func(change func(p *ReplayPacket)) []ReplayPacket {
		p := packets[0]
		p.IP = bytes.Clone(p.IP)
		change(&p)
		return []ReplayPacket{p}
	}
	for _, tc := range []struct {
		name    string
		packets []ReplayPacket
		want    string
	}{
		{"empty packet", []ReplayPacket{{}}, "no whole IPv4 packet without options nor IPv6 packet"},
		{"options", with(func(p *ReplayPacket) { p.IP[0]++ }), "no whole IPv4 packet without options nor IPv6 packet"},
		{"cut short", with(func(p *ReplayPacket) { p.IP = p.IP[:40] }), "no whole IPv4 packet without options nor IPv6 packet"},
		{"protocol", with(func(p *ReplayPacket) { p.IP[9] = 1 }), "protocol 1: want TCP or UDP"},
		{"no room", with(func(p *ReplayPacket) { p.IP = p.IP[:45]; p.IP[3] = 45 }), "no room for a stamp behind 28 octets of 45"},
		{"TCP without room", with(func(p *ReplayPacket) { p.IP[9] = 6 }), "no room for a stamp"},
		{"UE", with(func(p *ReplayPacket) { p.UE = -1 }), "UE -1"},
		{"gap", with(func(p *ReplayPacket) { p.Gap = time.Hour }), "1h0m0s before the next"},
		{"family", packets, "want a server of each"},
		{"long", with(func(p *ReplayPacket) { p.IP = make([]byte, 1985) }), "packet of 1985 octets: want 1984 at most"},
	} {
		c := config(bed, Uplink, false)
		c.Streams = []Stream{{Replay: tc.packets}}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
	c := config(bed, Uplink, false)
	c.Streams = []Stream{{Replay: packets[:1]}}
	g := mustNew(t, c)
	for _, l := range []Load{{Speed: 1, Rate: 1, Frames: 1}, {Speed: 1e6, Frames: 1}, {Speed: math.NaN(), Frames: 1}, {Speed: -1, Frames: 1}} {
		if _, err := g.Run(context.Background(), l); err == nil {
			t.Errorf("%s was accepted", fmt.Sprintf("%+v", l))
		}
	}
}
