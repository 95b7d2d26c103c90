package upf

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
)

// TestSliceIsolation: while one slice offers far more than it may have, it gets
// what it may have, and of the other slice no packet is lost. Latencies are
// logged, not judged.
func TestSliceIsolation(t *testing.T) {
	const (
		calmRate = 5_000   // frames/s of the slice that keeps to itself
		loudRate = 100_000 // and of the other: 1.1 Gbit/s
		loudMBR  = 100_000_000
		payload  = 1372
		seconds  = 2
	)
	b := newBed(t)
	b.config.Slices = []Slice{
		{Name: "calm", SNSSAI: SNSSAI{SST: 1, SD: NoSD, Set: true}},
		{Name: "loud", SNSSAI: SNSSAI{SST: 2, SD: 0x0a0b0c, Set: true}, UplinkMBR: loudMBR},
	}
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	calm := b.smf.sliced(t, "10.64.0.1", ie.NewSNSSAI(1, 0xffffff))
	loud := b.smf.sliced(t, "10.64.0.2", ie.NewSNSSAI(2, 0x0a0b0c))

	m, err := meter.Attach(meter.Config{Port: b.N6.Peer, N3: b.N3, N6: b.N6, Direction: generator.Uplink, Run: 1, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	senders := [2]*generator.Generator{
		newSender(t, b, 0, payload, calm, "10.64.0.1"), newSender(t, b, 1, payload, loud, "10.64.0.2"),
	}
	var sentCalm, gotLoud uint64
	for _, phase := range []struct {
		name string
		loud bool
	}{{"before", false}, {"during", true}, {"after", false}} {
		if err := m.Reset(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var sent [2]generator.Result
		run := func(i int, rate uint64) {
			wg.Go(func() {
				var err error
				sent[i], err = senders[i].Run(context.Background(), generator.Load{Rate: rate, Duration: seconds * time.Second, CPU: -1})
				if err != nil {
					t.Error(err)
				}
			})
		}
		run(0, calmRate)
		if phase.loud {
			run(1, loudRate)
		}
		wg.Wait()
		s, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		c, l := s.Streams[0], s.Streams[1]
		t.Logf("%s: calm %d of %d frames, p50 %d ns, p99 %d ns; loud %d of %d frames", phase.name, c.Received, sent[0].Sent,
			c.FromIntended.ValueAtQuantile(50), c.FromIntended.ValueAtQuantile(99), l.Received, sent[1].Sent)
		if c.Received != sent[0].Sent || c.MisdeliveredTotal() != 0 {
			t.Errorf("%s: slice calm: %d of %d frames arrived, %d wrong", phase.name, c.Received, sent[0].Sent, c.MisdeliveredTotal())
		}
		sentCalm += sent[0].Sent
		gotLoud += l.Received
		if phase.loud {
			checkRate(t, l.Received*(payload+28)*8, sent[1].Elapsed, loudMBR)
		}
	}
	b.checkSliceMetrics(t, sentCalm, gotLoud)
}

// checkRate: what passed is the MBR times the time, and the burst. On a
// machine that keeps the generator waiting it may be less, but never more.
func checkRate(t *testing.T, bits uint64, elapsed time.Duration, mbr float64) {
	t.Helper()
	want := mbr * (elapsed.Seconds() + stages.DefaultBurst.Seconds())
	if got := float64(bits); got > want*1.01 || got < want*0.5 {
		t.Errorf("slice loud: %.0f bit passed in %v, want %.0f", got, elapsed, want)
	}
}

// sliced establishes a session for uplink and downlink with the S-NSSAI.
func (s *smf) sliced(t *testing.T, ue string, snssai *ie.IE) established {
	t.Helper()
	return s.chainSession(t, ue, 9, []*ie.IE{
		snssai,
		pdr(1, accessTunnel(ue), true, 1, 9), far(1, ie.DstInterfaceCore, 0, ""),
		pdr(2, coreAddress(ue), false, 2, 9), far(2, ie.DstInterfaceAccess, gnbTEID, "10.3.0.2"),
	})[0]
}

func newSender(t *testing.T, b *bed, stream uint16, payload int, s established, ue string) *generator.Generator {
	t.Helper()
	g, err := generator.New(generator.Config{
		Link: b.N3, Direction: generator.Uplink, Run: 1, Stream: stream, Server: b.Config.N6DN.Addr(), PayloadOctets: payload,
		Sessions: []generator.Session{{TEID: uint32(s.teid), UE: netip.MustParseAddr(ue), QFI: 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// checkSliceMetrics: each slice's packets are its own.
func (b *bed) checkSliceMetrics(t *testing.T, calm, loud uint64) {
	t.Helper()
	page := b.scrape(t)
	for _, m := range []struct {
		name, labels string
		want         float64
	}{
		{"upf_slice_sessions", "slice=calm ", 1},
		{"upf_slice_sessions", "slice=loud ", 1},
		{"upf_slice_forwarded_packets_total", "direction=uplink slice=calm ", float64(calm)},
		{"upf_slice_forwarded_packets_total", "direction=uplink slice=loud ", float64(loud)},
		{"upf_slice_dropped_packets_total", "direction=uplink slice=calm ", 0},
	} {
		if got, ok := page[m.name][m.labels]; !ok || got != m.want {
			t.Errorf("%s{%s}: got %v (%t), want %v", m.name, m.labels, got, ok, m.want)
		}
	}
	if got := page["upf_slice_dropped_packets_total"]["direction=uplink slice=loud "]; got == 0 {
		t.Error("slice loud: no packet dropped")
	}
}
