package generator

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestFrames compares every octet of frames on the link with what gopacket
// builds: each direction and family, even and odd payloads, short stamps, and pages that
// have been scribbled over.
func TestFrames(t *testing.T) {
	bed := newBed(t, "plt-frames")
	for _, d := range []Direction{Uplink, Downlink} {
		for _, ipv6 := range []bool{false, true} {
			for _, payload := range []int{ShortStampOctets, 31, 47, StampOctets, 64, 127, 1400} {
				t.Run(fmt.Sprintf("%v/IPv6 %v/%d", d, ipv6, payload), func(t *testing.T) {
					testFrames(t, bed, d, ipv6, Config{PayloadOctets: payload})
				})
			}
			t.Run(fmt.Sprintf("%v/IPv6 %v/IMIX, outer checksum", d, ipv6), func(t *testing.T) {
				testFrames(t, bed, d, ipv6, Config{Mix: IMIX, OuterChecksum: true})
			})
			t.Run(fmt.Sprintf("%v/IPv6 %v/QFI and DSCP, outer checksum", d, ipv6), func(t *testing.T) {
				testFrames(t, bed, d, ipv6, Config{OuterChecksum: true, Streams: []Stream{
					{Payloads: []int{100, 20}, Access: Uniform, QFI: []Weighted{{5, 1}, {63, 2}}, DSCP: []Weighted{{0, 1}, {46, 1}, {63, 1}}},
				}})
			})
		}
	}
}

// TestStreams compares every octet of frames of several streams of both families, whose
// stamps stand at different places of the same pages.
func TestStreams(t *testing.T) {
	for _, d := range []Direction{Uplink, Downlink} {
		t.Run(d.String(), func(t *testing.T) {
			bed := newBed(t, "plt-streams")
			c := config(bed, d, false)
			c.Seed, c.OuterChecksum = 9, true
			c.Sessions = sessions(50, false)
			for i, s := range sessions(50, true) {
				c.Sessions[i].UE6 = s.UE
			}
			server6 := bed.N6.Peer.Address6.Addr()
			c.Streams = []Stream{
				{Payloads: []int{18, 33, 548, 1400}, Sessions: 20, Access: Uniform, Share: 3},
				{Payloads: []int{47, 48, 60, 1350}, Server: server6, First: 10, Access: Zipf, DSCP: []Weighted{{18, 1}}},
				{Payloads: []int{18}, Access: Each, QFI: []Weighted{{1, 1}, {2, 1}}, Train: 3, Share: 2},
				{Payloads: []int{18, 99}, Server: server6, Access: Same},
			}
			compareFrames(t, &c, 400, func(uint64) bool { return true })
		})
	}
}

func testFrames(t *testing.T, bed *topology.Topology, d Direction, ipv6 bool, shape Config) {
	c := config(bed, d, ipv6)
	c.PayloadOctets, c.Mix, c.OuterChecksum, c.Sessions, c.Access = shape.PayloadOctets, shape.Mix, shape.OuterChecksum, sessions(200, ipv6), Uniform
	c.Streams = shape.Streams
	l := newLayout(&c)
	if l.unlike() {
		compareFrames(t, &c, 300, func(uint64) bool { return true })
		return
	}
	f := &l.frames[0]
	sequence := f.headers + 8
	if f.short {
		sequence = f.headers + 4
	}
	scribble(t, c.Link.UPF, sequence, f.stampEnd())
	compareFrames(t, &c, 300, func(sequence uint64) bool { return sequence%2 == 1 })
}

// compareFrames sends so many frames by each sender and compares those of them that
// arrive. The seed of all is the same, so each sends the same.
func compareFrames(t *testing.T, c *Config, frames uint64, arrives func(sequence uint64) bool) {
	t.Helper()
	for _, c.Sender = range []Sender{Live, XDPSocket, Packet} {
		compareFramesBy(t, c, frames, arrives)
	}
}

func compareFramesBy(t *testing.T, c *Config, frames uint64, arrives func(sequence uint64) bool) {
	t.Helper()
	g := mustNew(t, *c)
	link := newCapture(t, c.Link.UPF)
	before := now()
	result, err := g.Run(context.Background(), Load{Rate: 100_000, Frames: frames, CPU: -1})
	if err != nil {
		t.Fatal(err)
	}
	after := now()
	order, next, octets := c.entries(), make([]uint64, len(g.layout.streams)), make([]uint64, len(g.layout.streams))
	for i := range frames {
		e := &order[i%uint64(len(order))]
		sequence := next[e.stream]
		next[e.stream]++
		octets[e.stream] += uint64(len(g.layout.frame(int(e.stream), sequence).octets))
		if !arrives(sequence) {
			continue
		}
		got := link.next(t)
		stamp := stampOf(t, c, e, g.layout.frame(int(e.stream), sequence), got, before)
		if stamp.Sequence != sequence || stamp.IntendedNs < before || stamp.SentNs < stamp.IntendedNs || stamp.SentNs > after {
			t.Fatalf("frame %d: got number %d, intended at %d, sent at %d, want number %d in a run from %d to %d",
				i, stamp.Sequence, stamp.IntendedNs, stamp.SentNs, sequence, before, after)
		}
		if want := wantFrame(t, c, e, stamp); !bytes.Equal(got, want) {
			t.Fatalf("%v: frame %d\n got %x\nwant %x", c.Sender, i, got, want)
		}
	}
	for i, s := range result.Streams {
		if s.Sent != next[i] || s.SentOctets != octets[i] || s.First != 0 {
			t.Errorf("stream %d: got %+v, want %d frames of %d octets from 0", i, s, next[i], octets[i])
		}
	}
}

// stampOf returns the stamp that the frame carries. Of a short one, times are completed
// and the rest is taken from the entry.
func stampOf(t *testing.T, c *Config, e *entry, f *frame, got []byte, since uint64) Stamp {
	t.Helper()
	if len(got) != len(f.octets) {
		t.Fatalf("got %d octets, want %d: %x", len(got), len(f.octets), got)
	}
	if !f.short {
		stamp, err := DecodeStamp(got[f.headers:])
		if err != nil {
			t.Fatal(err)
		}
		return stamp
	}
	short, err := decodeShortStamp(got[f.headers:])
	if err != nil {
		t.Fatal(err)
	}
	s := wantStamp(c, e)
	s.Sequence = uint64(short.Sequence)
	s.IntendedNs = since + (short.IntendedNs-since)&(1<<shortTimeBits-1)
	s.SentNs = s.IntendedNs
	return s
}

// wantStamp is the stamp of an entry, without number and times.
func wantStamp(c *Config, e *entry) Stamp {
	s := &c.Sessions[e.session]
	ue := s.address(c.streams()[e.stream].Server.Is6())
	return Stamp{Run: c.Run, Stream: c.Stream + e.stream, Session: e.session, TEID: s.TEID, QFI: e.qfi, DSCP: e.dscp, UE: FoldUE(ue)}
}

// wantFrame builds the frame that ought to have this stamp: numbers and times
// are taken from it, all else from the configuration.
func wantFrame(t *testing.T, c *Config, e *entry, got Stamp) []byte {
	t.Helper()
	s, stream := c.Sessions[e.session], c.streams()[e.stream]
	ue := s.address(stream.Server.Is6())
	stamp := wantStamp(c, e)
	stamp.Sequence, stamp.IntendedNs, stamp.SentNs = got.Sequence, got.IntendedNs, got.SentNs
	payload := stream.Payloads[got.Sequence%uint64(len(stream.Payloads))]
	data := stamp.Append(nil)
	if payload < StampOctets {
		data = stamp.Short().Append(nil)
	}
	at := map[Direction]int{Uplink: 14 + 44, Downlink: 14}[c.Direction] + map[bool]int{false: 28, true: 48}[ue.Is6()]
	for len(data) < payload {
		data = append(data, byte(at+len(data)))
	}
	src, dst := ue.AsSlice(), stream.Server.AsSlice()
	if c.Direction == Downlink {
		src, dst = dst, src
	}
	udp := &layers.UDP{SrcPort: Port, DstPort: Port}
	ether := &layers.Ethernet{SrcMAC: c.Link.Peer.MAC, DstMAC: c.Link.UPF.MAC, EthernetType: layers.EthernetTypeIPv4}
	tos := e.dscp << 2
	ip4 := &layers.IPv4{Version: 4, TTL: 64, TOS: tos, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
	var ip interface {
		gopacket.SerializableLayer
		gopacket.NetworkLayer
	} = ip4
	if ue.Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: 64, TrafficClass: tos, NextHeader: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
	}
	udp.SetNetworkLayerForChecksum(ip)
	user := serialize(t, ip, udp, gopacket.Payload(data))
	if c.Direction == Downlink {
		if ue.Is6() {
			ether.EthernetType = layers.EthernetTypeIPv6
		}
		return serialize(t, ether, gopacket.Payload(user))
	}
	gtpu := binary.BigEndian.AppendUint16([]byte{0x34, 0xff}, uint16(8+len(user)))
	gtpu = binary.BigEndian.AppendUint32(gtpu, s.TEID)
	gtpu = append(gtpu, 0, 0, 0, 0x85, 1, 0x10, e.qfi, 0)
	outer := *ip4
	outer.SrcIP, outer.DstIP = c.Link.Peer.Address.Addr().AsSlice(), c.Link.UPF.Address.Addr().AsSlice()
	if c.OuterChecksum {
		return serialize(t, ether, &outer, outerUDP(&outer), gopacket.Payload(append(gtpu, user...)))
	}
	outerUDP := binary.BigEndian.AppendUint16([]byte{0x08, 0x68, 0x08, 0x68}, uint16(8+len(gtpu)+len(user)))
	outerUDP = append(outerUDP, 0, 0) // no checksum
	return serialize(t, ether, &outer, gopacket.Payload(append(append(outerUDP, gtpu...), user...)))
}

// outerUDP is a header whose checksum gopacket computes over all that follows.
func outerUDP(outer *layers.IPv4) *layers.UDP {
	udp := &layers.UDP{SrcPort: 2152, DstPort: 2152}
	udp.SetNetworkLayerForChecksum(outer)
	return udp
}

func serialize(t *testing.T, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestChecksumNeverZero: a UDP checksum that comes out as 0 is sent as 0xffff, for
// 0 means none, which IPv6 forbids. One frame in 65536 is of that sort.
// Source: RFC 768; RFC 8200, 8.1.
func TestChecksumNeverZero(t *testing.T) {
	const frames = 1 << 20
	bed := newBed(t, "plt-zero")
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { seen.Close() })
	countChecksums(t, bed.N6.UPF, seen, 14+40+6)
	g := mustNew(t, config(bed, Downlink, true))
	if _, err := g.Run(context.Background(), Load{Frames: frames, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		checksum uint32
		want     bool
	}{{0, false}, {0xffff, true}} {
		var perCPU []uint64
		if err := seen.Lookup(tc.checksum, &perCPU); err != nil {
			t.Fatal(err)
		}
		total := uint64(0)
		for _, n := range perCPU {
			total += n
		}
		if got := total > 0; got != tc.want {
			t.Errorf("checksum %#04x: got %d of %d frames", tc.checksum, total, frames)
		}
	}
}

// countChecksums puts a program on a port that counts, by the 16-bit word at the
// offset, the IPv6 frames that arrive, and drops them.
func countChecksums(t *testing.T, p topology.Port, counts *ebpf.Map, offset int16) {
	t.Helper()
	attach(t, p, asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(offset)+2),
		asm.JGT.Reg(asm.R4, asm.R3, "out"),
		asm.LoadMem(asm.R5, asm.R2, offset, asm.Half),
		asm.StoreMem(asm.R10, -4, asm.R5, asm.Word),
		asm.LoadMapPtr(asm.R1, counts.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("out"),
		asm.Return(),
	})
}
