package capture

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"plumbline/nfapi"
)

// sctp adds an SCTP packet from the VNF.
func (f *file) sctp(b []byte) {
	f.t.Helper()
	f.add(&layers.IPv4{Protocol: layers.IPProtocolSCTP}, gopacket.Payload(b))
}

// sctpPacket is one with chunks.
func sctpPacket(tag uint32, chunks ...[]byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0xc3, 0x51, 0xa0, 0x28}, tag)
	b = append(b, 0, 0, 0, 0)
	for _, c := range chunks {
		b = append(append(b, c...), make([]byte, -len(c)&3)...)
	}
	return b
}

// dataChunk is a chunk with a fragment of a message.
func dataChunk(flags byte, tsn uint32, b []byte) []byte {
	c := binary.BigEndian.AppendUint32([]byte{chunkData, flags, 0, byte(16 + len(b))}, tsn)
	return slices.Concat(c, []byte{0, 0, 0, 0, 0, 0, 0, 0}, b)
}

// sctpPackets are messages in fragments of at most that many octets, one to a packet.
func sctpPackets(messages [][]byte, octets int) (list [][]byte) {
	tsn := uint32(1<<32 - 5)
	for _, m := range messages {
		parts := slices.Collect(slices.Chunk(m, octets))
		for i, part := range parts {
			flags := byte(0)
			if i == 0 {
				flags |= flagBegin
			}
			if i == len(parts)-1 {
				flags |= flagEnd
			}
			list = append(list, sctpPacket(5, dataChunk(flags, tsn, part)))
			tsn++
		}
	}
	return list
}

// TestSCTP: P5 over SCTP, in fragments, in any order, again, several chunks to a packet, and
// in UDP.
func TestSCTP(t *testing.T) {
	for _, p := range []nfapi.Profile{nfapi.OAI2025, nfapi.OAI2024} {
		messages := p5Stream(t, p)
		packets := sctpPackets(messages, 30)
		f := &file{t: t}
		for _, b := range packets {
			f.sctp(b)
		}
		want, stats := read(t, f.pcap())
		if len(want) != len(messages) || stats != (Stats{Packets: len(packets), Messages: len(messages)}) || !strings.HasPrefix(want[4], p.String()+" CONFIG.request 89") {
			t.Fatalf("got %q, %+v", want, stats)
		}
		var all [][]byte
		for _, b := range packets {
			all = append(all, b[sctpHeader:])
		}
		again := slices.Concat(packets[:3], packets[1:6], packets[4:], packets)
		swapped := slices.Clone(packets)
		swapped[5], swapped[7] = swapped[7], swapped[5] // fragments of one message
		for name, list := range map[string][][]byte{"again": again, "out of order": swapped, "one packet": {sctpPacket(5, all...)}} {
			f, u := &file{t: t}, &file{t: t}
			for _, b := range list {
				f.sctp(b)
				u.add(&layers.IPv4{Protocol: layers.IPProtocolUDP}, &layers.UDP{SrcPort: 4242, DstPort: encapsulation}, gopacket.Payload(b))
			}
			for how, b := range map[string][]byte{"IP": f.pcap(), "UDP": u.pcap()} {
				if got, stats := read(t, b); !slices.Equal(got, want) || stats.Messages != len(want) || stats.LostChunks+stats.Unfinished > 0 {
					t.Errorf("%v, %s, in %s: got %q, %+v", p, name, how, got, stats)
				}
			}
		}
	}
}

// TestSCTPGaps counts what is missing, for an association that is there from its INIT on, and
// for one that ends and begins anew.
func TestSCTPGaps(t *testing.T) {
	messages := p5Stream(t, nfapi.OAI2025)
	packets := sctpPackets(messages, 30)
	init := func(tsn uint32) []byte {
		return binary.BigEndian.AppendUint32([]byte{chunkInit, 0, 0, 20, 0, 0, 0, 5, 0, 1, 0, 0, 0, 1, 0, 1}, tsn)
	}
	abort := []byte{chunkAbort, 0, 0, 4}
	for name, test := range map[string]struct {
		packets [][]byte
		want    Stats
	}{
		"one in the middle":         {slices.Concat(packets[:5], packets[6:]), Stats{Messages: 6, LostChunks: 1, Unfinished: 1}},
		"the first, no INIT":        {packets[1:], Stats{Messages: 6}},
		"the first, with INIT":      {slices.Concat([][]byte{sctpPacket(0, init(1<<32-5))}, packets[1:]), Stats{Messages: 6, LostChunks: 1}},
		"anew, the same numbers":    {slices.Concat(packets, [][]byte{sctpPacket(5, abort)}, packets), Stats{Messages: 14}},
		"anew, by INIT":             {slices.Concat(packets, [][]byte{sctpPacket(0, init(1<<32-5))}, packets), Stats{Messages: 14}},
		"another tag":               {slices.Concat(packets, [][]byte{sctpPacket(6, packets[0][sctpHeader:])}), Stats{Messages: 8}},
		"far off":                   {slices.Concat(packets, [][]byte{sctpPacket(5, dataChunk(3, 1<<30, messages[0]))}), Stats{Messages: 8}},
		"a length below a header":   {[][]byte{sctpPacket(5, []byte{0, 3, 0, 3}, packets[0][sctpHeader:])}, Stats{}},
		"I-DATA":                    {[][]byte{sctpPacket(5, append([]byte{chunkIData, 3, 0, 24}, make([]byte, 20)...))}, Stats{IData: 1}},
		"a message of wrong length": {[][]byte{sctpPacket(5, dataChunk(3, 1, append(bytes.Clone(messages[0]), 0)))}, Stats{Failed: 1}},
		"not of P5":                 {[][]byte{append([]byte{0, 1, 0, 2}, packets[0][4:]...)}, Stats{}},
	} {
		f := &file{t: t}
		for _, b := range test.packets {
			f.sctp(b)
		}
		test.want.Packets = len(test.packets)
		if _, stats := read(t, f.pcap()); stats != test.want {
			t.Errorf("%s: got %+v, want %+v", name, stats, test.want)
		}
	}
	f := &file{t: t}
	for _, b := range packets {
		f.sctp(b)
	}
	if got, stats := read(t, f.snapped(60)); len(got) != 0 && stats.LostChunks == 0 {
		t.Errorf("cut off: got %q, %+v", got, stats)
	}
}
