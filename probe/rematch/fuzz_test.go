package rematch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// FuzzRead reads any file: its counts agree with each other.
func FuzzRead(f *testing.F) {
	f.Add([]byte("upf_m1 a ts=1 len=158 teid=1\nupf_m3 a ts=2 len=100 teid=0\n"))
	f.Add([]byte("CPU:1 [LOST 7 EVENTS]\nupf_m1 a ts=9 len=158 teid=0\nupf_m3 a ts=2 len=100\nupf_m1 b ts=3 len=1"))
	f.Add([]byte("ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice\n1,2,0.001,3,a,b\n5,99999999,1,3,a,b\n2,3,1,1,a,c\n"))
	f.Add([]byte("slice,ts_tx_ns,ts_rx_ns\na,5,1\nts_rx_ns,ts_tx_ns\n4,4\n4000000000,4000000001\n1,2\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Read(bytes.NewReader(file), Options{})
		if err != nil {
			return
		}
		events := uint64(0)
		for _, s := range r.Slices {
			events += s.Entries + s.Exits + s.Signalling + s.Late + 2*s.TooLong
			c := s.Candidates
			if c.One+c.Several+s.Strangers != s.Exits || c.Sum < c.One+2*c.Several || c.One != s.Only.Pairs {
				t.Errorf("%s: %d exits, %d strangers, candidates %+v, only %+v", s.Name, s.Exits, s.Strangers, c, s.Only)
			}
			if s.Bounds.Pairs != s.OldestFirst.Pairs || s.OldestFirst.Pairs > min(s.Entries, s.Exits) {
				t.Errorf("%s: %d entries, %d exits, bounds over %d pairs, oldest first %d", s.Name, s.Entries, s.Exits, s.Bounds.Pairs, s.OldestFirst.Pairs)
			}
			b := s.Bounds
			for _, q := range []Range{b.P50, b.P90, b.P99, b.P999} {
				if q.From > q.To || q.To > r.WindowNS || (b.Pairs > 0 && q.To == 0) {
					t.Errorf("%s: bounds %+v", s.Name, b)
				}
			}
			if p := s.Nearest; p.Chosen > p.Pairs || p.WrongLength > p.Pairs || p.Overtaken > p.Pairs || p.MaxNS < p.P50NS {
				t.Errorf("%s: nearest %+v", s.Name, p)
			}
		}
		if events != r.Events {
			t.Errorf("got %d events of %d", events, r.Events)
		}
	})
}

// BenchmarkRead reads a text of bursts with some loss, as of a slice of 50 Mbit/s.
func BenchmarkRead(b *testing.B) {
	var text, rows bytes.Buffer
	rows.WriteString("ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice\n")
	rng := rand.New(rand.NewPCG(1, 1))
	for burst := range uint64(20_000) {
		at := 1e9 + burst*1e6
		for i := range uint64(5) {
			fmt.Fprintf(&text, "          <idle>-0       [001] ..s2.   100.000000: bpf_trace_printk: upf_m1 eMBB ts=%d len=1458 teid=1\n", at+i*2000)
		}
		for i := range uint64(5) {
			if left := at + 60e3 + i*9000; rng.IntN(100) > 0 {
				fmt.Fprintf(&text, "    open5gs-upfd-812     [001] ..s2.   100.000000: bpf_trace_printk: upf_m3 eMBB ts=%d len=1400 teid=0\n", left)
				fmt.Fprintf(&rows, "%d,%d,%.3f,1458,eMBB,eMBB\n", at+i*2000, left, float64(left-at-i*2000)/1000)
			}
		}
	}
	for _, bc := range []struct {
		name string
		file []byte
	}{{"text", text.Bytes()}, {"csv", rows.Bytes()}} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.file)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(bc.file), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
