package capture

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/nfapi"
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
	c := binary.BigEndian.AppendUint32([]byte{chunkData, flags, byte((16 + len(b)) >> 8), byte(16 + len(b))}, tsn)
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
		"further than waited for":   {slices.Concat(packets, [][]byte{sctpPacket(5, dataChunk(3, uint32(1<<32-5+len(packets)+5000), messages[0]))}), Stats{Messages: 8, LostChunks: 5000}},
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
}

// TestSCTPCutOff: chunks of which the capture has not all are counted, and their messages are
// not there.
func TestSCTPCutOff(t *testing.T) {
	f := &file{t: t}
	for _, b := range sctpPackets(p5Stream(t, nfapi.OAI2025), 30) {
		f.sctp(b)
	}
	n := len(f.packets)
	// 46 octets of headers, 16 of a chunk's, 10 to 30 of a fragment and 2 of padding
	for octets, want := range map[int]Stats{
		60: {Cut: n, LostChunks: n},
		70: {Cut: n, LostChunks: n},
		80: {Messages: 6, Cut: 3, LostChunks: 3},
		94: {Messages: 7},
	} {
		want.Packets = n
		if got, stats := read(t, f.snapped(octets)); stats != want || len(got) != want.Messages {
			t.Errorf("%d octets: got %q, %+v, want %+v", octets, got, stats, want)
		}
	}
}

// TestSCTPBounds: fragments that wait for others have a bound, and so have associations: a
// packet of a further one counts once, however many chunks it has.
func TestSCTPBounds(t *testing.T) {
	messages := p5Stream(t, nfapi.OAI2025)
	f := &file{t: t}
	const octets = 1000
	for i := range maxHeld/octets + 3 { // none of them ends
		f.sctp(sctpPacket(5, dataChunk(0, uint32(i), make([]byte, octets))))
	}
	if _, stats := read(t, f.pcap()); stats != (Stats{Packets: len(f.packets), Unheld: 3}) {
		t.Errorf("got %+v, want 3 chunks for which there is no room", stats)
	}
	f = &file{t: t}
	for port := range maxFlows + 2 {
		b := sctpPacket(5, dataChunk(3, 1, messages[0]), dataChunk(3, 2, messages[1]), dataChunk(3, 3, messages[2]))
		binary.BigEndian.PutUint16(b[2:], uint16(port))
		f.sctp(b)
	}
	if got, stats := read(t, f.pcap()); stats != (Stats{Packets: maxFlows + 2, Messages: 3 * maxFlows, Unwatched: 2}) {
		t.Errorf("got %d messages, %+v", len(got), stats)
	}
}
