package capture

import (
	"bytes"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestStreamEnds: what is sent again of a connection that has ended is no other connection, and
// one that begins anew is.
func TestStreamEnds(t *testing.T) {
	messages := p5Stream(t, nfapi.OAI2025)
	whole := bytes.Join(messages[:3], nil)
	last := 100 + uint32(len(whole))
	for name, test := range map[string]struct {
		end   layers.TCP
		then  []layers.TCP
		count int
	}{
		"FIN with the last octets again": {layers.TCP{FIN: true}, []layers.TCP{{Seq: 100, FIN: true}}, 3},
		"some again":                     {layers.TCP{FIN: true}, []layers.TCP{{Seq: 100}, {Seq: 100}}, 3},
		"after RST":                      {layers.TCP{RST: true}, []layers.TCP{{Seq: 100}}, 3},
		"another one":                    {layers.TCP{FIN: true}, []layers.TCP{{Seq: 1 << 30}}, 6},
		"another one, later numbers":     {layers.TCP{FIN: true}, []layers.TCP{{Seq: last + 1}}, 6},
		"another one, the same numbers":  {layers.TCP{FIN: true}, []layers.TCP{{Seq: 99, SYN: true}, {Seq: 100}}, 6},
	} {
		f := &file{t: t}
		f.from(true, layers.TCP{Seq: 99, SYN: true}, nil)
		f.from(true, layers.TCP{Seq: 100, ACK: true}, whole)
		test.end.Seq, test.end.ACK = last, true
		f.from(true, test.end, nil)
		for _, segment := range test.then {
			segment.ACK = true
			if segment.SYN {
				f.from(true, segment, nil)
			} else {
				f.from(true, segment, whole)
			}
		}
		if got, stats := read(t, f.pcap()); stats != (Stats{Packets: len(f.packets), Messages: test.count}) || len(got) != test.count {
			t.Errorf("%s: got %q, %+v, want %d messages", name, got, stats, test.count)
		}
	}
}

// BenchmarkManyMessagesAtOnce is a gap that is closed at last, with 900 KB behind it.
func BenchmarkManyMessagesAtOnce(b *testing.B) {
	const octets, segments = 1800, 500
	t := &testing.T{}
	whole := bytes.Repeat(p5Stream(t, nfapi.OAI2025)[0], octets*segments/10)
	f := &file{t: t}
	f.from(true, layers.TCP{Seq: 99, SYN: true}, nil)
	for i := 1; i <= segments; i++ {
		at := i % segments * octets // the first ones come last
		f.from(true, layers.TCP{Seq: 100 + uint32(at), ACK: true}, whole[at:at+octets])
	}
	octetsOfFile := f.pcap()
	for b.Loop() {
		if _, stats := read(t, octetsOfFile); stats.Messages != len(whole)/10 {
			b.Fatalf("got %+v", stats)
		}
	}
}
