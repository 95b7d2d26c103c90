package bmv2

import (
	"math/rand/v2"
	"testing"
)

// nothing takes what comes out and leaves it.
type nothing struct{ frames, drops int }

func (n *nothing) Emit(*Out)               { n.frames++ }
func (n *nothing) Digest(int, int, []byte) {}
func (n *nothing) Drop(int, Drop)          { n.drops++ }

const benchSessions = 100_000

// benchRig has sessions, a filter for each, and a default route.
func benchRig(b *testing.B) *rig {
	r := newRig(b, "upf.json")
	up, ue := r.entry("I.uplink", "I.decap", nil)
	down, de := r.entry("I.downlink", "I.encap", nil)
	apps, ae := r.entry("I.apps", "I.set_app", [][]byte{{0}})
	r.s.Update(func(tx *Tx) {
		for i := range uint32(benchSessions) {
			ue.Match = []Match{exact(u32(i + 1)), exact(u32(0x64000000 + i))}
			ue.Params = [][]byte{u32(i), {9}}
			de.Match = []Match{exact(u32(0x64000000 + i))}
			de.Params = [][]byte{u32(i), u32(i + 1), u32(0x0a000002), {9}}
			ae.Priority = int32(i%7 + 1)
			ae.Match = []Match{{Value: u32(i), Mask: u32(0xffffffff)}, {}, {Value: []byte{50}, High: []byte{60}}, {}}
			for _, err := range []error{tx.Insert(up, ue), tx.Insert(down, de), tx.Insert(apps, ae)} {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	r.insert("I.routes", "I.forward", [][]byte{octets("020000000001"), octets("020000000002"), {3}}, Match{})
	return r
}

func bench(b *testing.B, frames func(i uint32) []byte) {
	r := benchRig(b)
	const batch = 32
	pool := make([][]Frame, 1024)
	for i := range pool {
		for range batch {
			pool[i] = append(pool[i], Frame{Port: 1, Data: frames(rand.Uint32N(benchSessions))})
		}
	}
	var out nothing
	r.w.Process(pool[0], &out)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += batch {
		r.w.Process(pool[i/batch%len(pool)], &out)
	}
	if out.drops > 0 {
		b.Errorf("%d frames left, %d were dropped", out.frames, out.drops)
	}
}

// BenchmarkUplink is one G-PDU: parse, two exact or ternary tables of 100,000 entries, LPM, decapsulate, checksums.
func BenchmarkUplink(b *testing.B) {
	bench(b, func(i uint32) []byte { return gpdu(i+1, 0x64000000+i, 64) })
}

// BenchmarkDownlink is one packet to a UE: parse, an exact table of 100,000 entries, LPM, encapsulate, checksums.
func BenchmarkDownlink(b *testing.B) {
	bench(b, func(i uint32) []byte {
		f := octets("0200000000aa 0200000000bb 0800")
		f = append(f, ipv4(20+8+64, 17, 0x08080808, 0x64000000+i)...)
		return append(f, make([]byte, 8+64)...)
	})
}

// BenchmarkPipeline is the UPF pipeline with one session: uplink without an MBR, uplink with one, and downlink.
func BenchmarkPipeline(b *testing.B) {
	for _, bb := range []struct {
		name  string
		port  uint32
		frame []byte
		rig   func() *pipe
	}{
		{"uplink", pipeN3, gpdu(0x1001, pipeUE, 64), func() *pipe { return newPipe(b) }},
		{"uplink_mbr", pipeN3, gpdu(0x1001, pipeUE, 64), func() *pipe { return metered(b, 1<<39) }},
		{"downlink", pipeN6, toUE("", 64), func() *pipe { return newPipe(b) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := bb.rig()
			batch := make([]Frame, 32)
			for i := range batch {
				batch[i] = Frame{Port: bb.port, Data: bb.frame}
			}
			var out nothing
			p.w.Process(batch, &out)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += len(batch) {
				p.now += 32 * 100e6
				p.w.Process(batch, &out)
			}
			if out.drops > 0 {
				b.Errorf("%d frames left, %d were dropped", out.frames, out.drops)
			}
		})
	}
}

// BenchmarkLoad reads and compiles the program.
func BenchmarkLoad(b *testing.B) {
	for range b.N {
		newRig(b, "upf.json")
	}
}
