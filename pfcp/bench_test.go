package pfcp

import (
	"testing"

	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// hot are the messages of the hot path, by the names of their vectors.
var hot = []struct{ name, vector string }{
	{"heartbeat", "simple-client-heartbeat-request"},
	{"establishment", "simple-client-establishment-qer"},
	{"establishment-urr", "gopfcp-establishment-urr"}, // 2 PDR, 2 FAR, 1 QER, 1 URR
	{"usage-report", "gopfcp-report-usage"},
	{"establishment-choose", "gopfcp-establishment-choose"},
	{"modification", "gopfcp-path-switch"},
	{"deletion", "scapy-deletion"},
	{"establishment-response", "gopfcp-establishment-response"},
}

// TestNoAllocation decodes and encodes the hot path's messages, header
// included, without allocating.
func TestNoAllocation(t *testing.T) {
	for _, tc := range hot {
		b := pfcptest.Get(t, tc.vector).Octets
		h, m := decode(t, b)
		if n := testing.AllocsPerRun(100, func() {
			_, body, _, err := Parse(b)
			if err != nil || m.Decode(body) != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations to decode, want 0", tc.name, n)
		}
		room := make([]byte, 0, 2*len(b))
		if n := testing.AllocsPerRun(100, func() {
			if _, err := Append(room, h, m); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations to encode, want 0", tc.name, n)
		}
	}
}

// BenchmarkDecode reads each message of the hot path with this package and
// with go-pfcp, which reads less of it: grouped IEs as lists of IEs.
func BenchmarkDecode(b *testing.B) {
	for _, tc := range hot {
		octets := pfcptest.Get(b, tc.vector).Octets
		_, m := decode(b, octets)
		b.Run(tc.name+"/plumbline", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(octets)))
			for b.Loop() {
				_, body, _, err := Parse(octets)
				if err != nil || m.Decode(body) != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(tc.name+"/go-pfcp", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(octets)))
			for b.Loop() {
				if _, err := message.Parse(octets); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode writes each message of the hot path with both.
func BenchmarkEncode(b *testing.B) {
	for _, tc := range hot {
		octets := pfcptest.Get(b, tc.vector).Octets
		h, m := decode(b, octets)
		other, err := message.Parse(octets)
		if err != nil {
			b.Fatal(err)
		}
		room := make([]byte, 0, 1500)
		b.Run(tc.name+"/plumbline", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Append(room, h, m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(tc.name+"/go-pfcp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := other.MarshalTo(room[:other.MarshalLen()]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
