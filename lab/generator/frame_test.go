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

	"plumbline/lab/topology"
)

// TestFrames compares every octet of frames on the link with what gopacket
// builds: each direction and family, even and odd payloads, and pages that have
// been scribbled over.
func TestFrames(t *testing.T) {
	for _, d := range []Direction{Uplink, Downlink} {
		for _, ipv6 := range []bool{false, true} {
			for _, payload := range []int{StampOctets, 64, 127, 1400} {
				t.Run(fmt.Sprintf("%v/IPv6 %v/%d", d, ipv6, payload), func(t *testing.T) {
					testFrames(t, d, ipv6, Config{PayloadOctets: payload})
				})
			}
			t.Run(fmt.Sprintf("%v/IPv6 %v/IMIX, outer checksum", d, ipv6), func(t *testing.T) {
				testFrames(t, d, ipv6, Config{Mix: IMIX, OuterChecksum: true})
			})
		}
	}
}

func testFrames(t *testing.T, d Direction, ipv6 bool, shape Config) {
	const frames = 300 // pages are used again after a batch of 64
	bed := newBed(t, "plt-frames")
	c := config(bed, d, ipv6)
	c.PayloadOctets, c.Mix, c.OuterChecksum, c.Sessions, c.Access = shape.PayloadOctets, shape.Mix, shape.OuterChecksum, sessions(200, ipv6), Uniform
	g := mustNew(t, c)
	stampOffset := g.FrameOctets() - c.shapes()[0]
	scribble(t, c.Link.UPF, stampOffset+8, stampOffset+StampOctets)
	link := newCapture(t, c.Link.UPF)
	before := now()
	if _, err := g.Run(context.Background(), Load{Rate: 100_000, Frames: frames, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	after := now()
	for i, got := range link.frames(t, frames/2, stampOffset) {
		stamp, err := DecodeStamp(got[stampOffset:])
		if err != nil {
			t.Fatal(err)
		}
		if stamp.Sequence != uint64(2*i+1) {
			t.Fatalf("frame %d: got sequence number %d, want %d", i, stamp.Sequence, 2*i+1)
		}
		if stamp.IntendedNs < before || stamp.SentNs < stamp.IntendedNs || stamp.SentNs > after {
			t.Errorf("frame %d: intended at %d, sent at %d, run from %d to %d", i, stamp.IntendedNs, stamp.SentNs, before, after)
		}
		if want := wantFrame(t, &c, stamp); !bytes.Equal(got, want) {
			t.Fatalf("frame %d\n got %x\nwant %x", i, got, want)
		}
	}
}

// wantFrame builds the frame that ought to have this stamp: numbers and times
// are taken from it, all else from the configuration.
func wantFrame(t *testing.T, c *Config, stamp Stamp) []byte {
	t.Helper()
	s := c.Sessions[stamp.Session]
	data := Stamp{
		Run: c.Run, Stream: c.Stream, Sequence: stamp.Sequence, IntendedNs: stamp.IntendedNs, SentNs: stamp.SentNs,
		Session: stamp.Session, TEID: s.TEID, QFI: s.QFI, UE: FoldUE(s.UE),
	}.Append(nil)
	turns := c.turns()
	for len(data) < turns[stamp.Sequence%uint64(len(turns))] {
		data = append(data, byte(len(data)))
	}
	src, dst := s.UE.AsSlice(), c.Server.AsSlice()
	if c.Direction == Downlink {
		src, dst = dst, src
	}
	udp := &layers.UDP{SrcPort: Port, DstPort: Port}
	ether := &layers.Ethernet{SrcMAC: c.Link.Peer.MAC, DstMAC: c.Link.UPF.MAC, EthernetType: layers.EthernetTypeIPv4}
	ip4 := &layers.IPv4{Version: 4, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
	var ip interface {
		gopacket.SerializableLayer
		gopacket.NetworkLayer
	} = ip4
	if c.Server.Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: src, DstIP: dst}
	}
	udp.SetNetworkLayerForChecksum(ip)
	user := serialize(t, ip, udp, gopacket.Payload(data))
	if c.Direction == Downlink {
		if c.Server.Is6() {
			ether.EthernetType = layers.EthernetTypeIPv6
		}
		return serialize(t, ether, gopacket.Payload(user))
	}
	gtpu := binary.BigEndian.AppendUint16([]byte{0x34, 0xff}, uint16(8+len(user)))
	gtpu = binary.BigEndian.AppendUint32(gtpu, s.TEID)
	gtpu = append(gtpu, 0, 0, 0, 0x85, 1, 0x10, s.QFI, 0)
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
