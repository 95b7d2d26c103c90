package bmv2

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"
	"testing"
)

// TestPipelineFilters has a tunnel with two PDRs, which SDF filters tell apart.
func TestPipelineFilters(t *testing.T) {
	p := newPipe(t)
	p.add("detect.tunnels", "detect.several", [][]byte{{3}, {beforeUser}, {1}, {1}, u32(pipeUE), {0}}, exacts([]byte{1}, u32(0x1003))...)
	filter := func(priority int32, action string, param byte, qfi, low, high []byte) {
		m := []Match{exact([]byte{3}), {}, {}, {Value: []byte{17}, Mask: []byte{0xff}}, {}, {}, {}, {}, {Value: low, High: high}}
		if qfi != nil {
			m[2] = Match{Value: qfi, Mask: []byte{0x7f}}
		}
		p.insertPriority(priority, pipeIngress+"detect.filters4", pipeIngress+"detect."+action, [][]byte{{param}}, m...)
	}
	const other = 9
	p.add("forward.rules", "forward.refuse", [][]byte{{dropGate}}, exact([]byte{other}))
	filter(20, "filtered", pipeUL, []byte{9}, []byte{50}, []byte{60})
	filter(10, "filtered", other, nil, []byte{40}, []byte{70})
	p.insertPriority(1, pipeIngress+"detect.filters4", pipeIngress+"detect.unfiltered", [][]byte{{dropSDF}},
		exact([]byte{3}), Match{}, Match{}, Match{}, Match{}, Match{}, Match{}, Match{}, Match{})
	tests := []struct {
		name string
		qfi  byte
		port byte
		drop int // reason, with 0 it leaves
		rule int
	}{
		{"in both", 9, 53, 0, pipeUL},
		{"lowest port", 9, 50, 0, pipeUL},
		{"highest port", 9, 60, 0, pipeUL},
		{"port above", 9, 61, dropGate, other},
		{"another QFI", 8, 53, dropGate, other},
		{"highest port of the other", 8, 70, dropGate, other},
		{"in none", 9, 71, dropSDF, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := gpdu(0x1003, pipeUE, 10)
			in[56] = tt.qfi
			in[beforeUser+23] = tt.port
			dropped, refused := p.cell("dropped", tt.drop), p.cell("measure.refused", tt.rule)
			got := p.send(pipeN3, in)
			if tt.drop == 0 {
				wantFrame(t, got, pipeN6, hopped(macRouter, in[beforeUser:]))
				return
			}
			if len(got.frames) != 0 || got.drops[DropIngress] != 1 {
				t.Errorf("frames %v, drops %v, want a drop", got.frames, got.drops)
			}
			if n := p.cell("dropped", tt.drop).Packets - dropped.Packets; n != 1 {
				t.Errorf("%d were dropped for reason %d, want 1", n, tt.drop)
			}
			want := uint64(1)
			if tt.rule == 0 {
				want = 0
			}
			if n := p.cell("measure.refused", tt.rule).Packets - refused.Packets; n != want {
				t.Errorf("rule %d refused %d, want %d", tt.rule, n, want)
			}
		})
	}
}

// metered lets the uplink have 1000 octets in a second: an octet takes 10^6 ns.
func metered(t testing.TB, tolerance uint64) *pipe {
	p := newPipe(t)
	be := func(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
	rules, e := p.entry(pipeIngress+"forward.rules", pipeIngress+"forward.to_n6", toN6(5, be(1e6<<24), be(tolerance<<8)), exact([]byte{pipeUL}))
	p.s.Update(func(tx *Tx) {
		if err := tx.Modify(rules, e); err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// TestPipelineMBR has user packets of 100 octets.
func TestPipelineMBR(t *testing.T) {
	p := metered(t, 250e6)
	p.now = 5e9
	in := gpdu(0x1001, pipeUE, 100-28)
	left := func(n int) (out int) {
		for range n {
			out += len(p.send(pipeN3, in).frames)
		}
		return out
	}
	if n := left(5); n != 3 {
		t.Errorf("%d packets left, want 3: the third is 200 ms ahead, the fourth 300", n)
	}
	p.now += 49e6
	if n := left(1); n != 0 {
		t.Errorf("a packet left that is 251 ms ahead")
	}
	p.now += 1e6
	if n := left(2); n != 1 {
		t.Errorf("%d packets left, want 1: it is 250 ms ahead", n)
	}
	if n := p.cell("dropped", dropMBR).Packets; n != 4 {
		t.Errorf("%d were dropped for the MBR, want 4", n)
	}
	if f, r := p.cell("measure.forwarded", pipeUL).Packets, p.cell("measure.refused", pipeUL).Packets; f != 4 || r != 4 {
		t.Errorf("the rule forwarded %d and refused %d, want 4 of each", f, r)
	}
}

// TestPipelineMBRWorkers lets several workers take from one bucket at one time: none of what they take is lost.
func TestPipelineMBRWorkers(t *testing.T) {
	const workers, each = 4, 500
	const allowed = 601 // packets: 600 of 100 ms are the tolerance
	p := metered(t, (allowed-1)*100e6)
	in := gpdu(0x1001, pipeUE, 100-28)
	var all sync.WaitGroup
	var outs [workers]nothing
	for i := range outs {
		w := p.s.NewWorker()
		defer w.Close()
		all.Go(func() {
			for range each {
				w.Process([]Frame{{Port: pipeN3, Data: in}}, &outs[i])
			}
		})
	}
	all.Wait()
	frames := 0
	for i := range outs {
		frames += outs[i].frames
	}
	if frames != allowed {
		t.Errorf("%d packets left, want %d", frames, allowed)
	}
	if c := p.cell("measure.forwarded", pipeUL).Packets + p.cell("measure.refused", pipeUL).Packets; c != workers*each {
		t.Errorf("%d packets were counted of %d", c, workers*each)
	}
}

// TestPipelineTags has tags on both sides.
func TestPipelineTags(t *testing.T) {
	p := newPipe(t)
	p.add("detect.ports", "detect.from_port", [][]byte{{1}, {0}}, exacts([]byte{pipeN3}, []byte{1}, []byte{100}, pipeMAC)...)
	p.add("detect.tunnels", "detect.one", [][]byte{{pipeUL}, {beforeUser + 4}, {1}, {1}, u32(pipeUE), {0}}, exacts([]byte{1}, u32(0x1004))...)
	hops, e := p.entry(pipeIngress+"forward.hops", pipeIngress+"forward.by_port",
		[][]byte{{pipeN6}, {1}, octets("0fff"), pipeMAC, macRouter, octets("05dc")}, exact([]byte{2}))
	p.s.Update(func(tx *Tx) {
		if err := tx.Modify(hops, e); err != nil {
			t.Fatal(err)
		}
	})
	in := gpdu(0x1004, pipeUE, 10)
	tagged := append(append(bytes.Clone(in[:12]), octets("8100 6064")...), in[12:]...)
	user := hopped(macRouter, in[beforeUser:])
	wantFrame(t, p.send(pipeN3, tagged), pipeN6, append(append(bytes.Clone(user[:12]), octets("8100 0fff")...), user[12:]...))
	p.wantCPU(t, p.send(pipeN3, in), pipeN3, passRules, in)
}

// TestPipelineMemory fills the tables of sessions. An entry of any of them takes less than 256 octets, index and all.
func TestPipelineMemory(t *testing.T) {
	const sessions = 163840
	p := newPipe(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, tt := range []struct {
		table, action string
		n             int
		params        [][]byte
		match         func(i uint32) []Match
	}{
		{"detect.tunnels", "detect.one", sessions, [][]byte{{1}, {1}, {1}, {1}, {1}, {1}}, func(i uint32) []Match { return exacts([]byte{2}, u32(i)) }},
		{"detect.ues4", "detect.one_bare", sessions, [][]byte{{1}, {1}}, func(i uint32) []Match { return exacts(u32(i)) }},
		{"forward.rules", "forward.to_peer", 2 * sessions, toPeer(1), func(i uint32) []Match { return exacts(u32(i)) }},
	} {
		table, e := p.entry(pipeIngress+tt.table, pipeIngress+tt.action, tt.params)
		before := heap()
		var last error
		n, had := 0, 0
		p.s.Update(func(tx *Tx) {
			had, _ = tx.Len(table)
			for i := range uint32(tt.n + 20) {
				e.Match = tt.match(i)
				switch err := tx.Insert(table, e); err {
				case nil:
					n++
				default:
					last = err
				}
			}
		})
		octets := float64(heap()-before) / float64(n)
		if n+had != tt.n {
			t.Errorf("%s has %d entries, want %d (%v)", tt.table, n+had, tt.n, last)
		}
		t.Logf("%s: %.0f octets an entry", tt.table, octets)
		if octets >= 256 {
			t.Errorf("%s: %.0f octets an entry", tt.table, octets)
		}
	}
	runtime.KeepAlive(p)
}
