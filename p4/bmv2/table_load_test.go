package bmv2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// TestTableMemory fills an exact and a ternary table with 163,840 entries: key of 20 octets, parameters of 24, a counter.
func TestTableMemory(t *testing.T) {
	const entries = 163_840
	for _, kind := range []string{"exact", "ternary"} {
		p := newProgram()
		p.header("h", false, "a", 128, "b", 32)
		p.state("start", list{extractOf("h")}, nil, "", "")
		a := p.action("a", []int{64, 64, 64})
		none := p.action("none", nil)
		tb := p.table("t", list{obj{"match_type": kind, "name": "a", "target": list{"h", "a"}},
			obj{"match_type": kind, "name": "b", "target": list{"h", "b"}}}, none, nil, nil, a)
		tb["max_size"], tb["with_counters"] = entries, true
		rig := newRigOf(t, p.json())
		used := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := used()
		rig.s.Update(func(tx *Tx) {
			e := &Entry{Action: a, Params: [][]byte{{1}, {2}, {3}}, Match: []Match{{}, {}}}
			for i := range uint32(entries) {
				e.Match[0].Value, e.Match[1].Value = append(make([]byte, 12), u32(i)...), u32(i)
				if kind == "ternary" {
					e.Priority = 1
					e.Match[0].Mask, e.Match[1].Mask = bytes.Repeat([]byte{255}, 16), u32(0xffffffff)
				}
				if err := tx.Insert(0, e); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Insert(0, &Entry{Action: a, Priority: e.Priority, Params: e.Params,
				Match: []Match{{Value: []byte{1}, Mask: []byte{1}}, {Value: []byte{0}, Mask: []byte{1}}}}); !errors.Is(err, ErrFull) {
				t.Errorf("%s: one entry more: %v, want ErrFull", kind, err)
			}
		})
		if each := (used() - before) / entries; each > 128 {
			t.Errorf("%s: %d octets for an entry, want 128 at most", kind, each)
		}
		runtime.KeepAlive(rig)
	}
}

// TestBatchUnderTraffic changes two entries at once, again and again, while workers send packets that meet both: no frame of
// a batch may show one of them without the other, and every packet is counted.
func TestBatchUnderTraffic(t *testing.T) {
	p := tableProgram(64, "exact")
	rig := newRigOf(t, p.json())
	one := &Entry{Match: []Match{exact([]byte{1})}, Params: [][]byte{{0}}}
	two := &Entry{Match: []Match{exact([]byte{2})}, Params: [][]byte{{0}}}
	rig.s.Update(func(tx *Tx) {
		for _, e := range []*Entry{one, two} {
			if err := tx.Insert(0, e); err != nil {
				t.Fatal(err)
			}
		}
	})
	const workers, batches = 3, 2000
	var wg sync.WaitGroup
	for range workers {
		w := rig.s.NewWorker()
		wg.Go(func() {
			defer w.Close()
			zero := [4][]byte{{0, 1}, make([]byte, 4), make([]byte, 16), {0}}
			a := keyFrame(zero)
			zero[0] = []byte{0, 2}
			b := keyFrame(zero)
			for range batches {
				var s sink
				w.Process([]Frame{{Data: a}, {Data: b}, {Data: a}}, &s)
				if s.frames[0] != s.frames[1] || s.frames[0] != s.frames[2] {
					t.Errorf("a batch met %v", s.frames)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	changes := 0
	for i := uint32(1); ; i++ {
		select {
		case <-done:
			if changes == 0 {
				t.Errorf("no change fell between batches")
			}
			for e, want := range map[*Entry]uint64{one: 2 * workers * batches, two: workers * batches} {
				rig.s.View(func(tx *Tx) {
					if got, err := tx.Entry(0, e); err != nil || got.Counter.Packets != want {
						t.Errorf("%v, %v, want %d packets", got.Counter, err, want)
					}
				})
			}
			return
		default:
			rig.s.Update(func(tx *Tx) {
				one.Params, two.Params = [][]byte{u32(i)}, [][]byte{u32(i)}
				if tx.Modify(0, one) != nil || tx.Modify(0, two) != nil {
					t.Error("modify")
				}
			})
			changes++
		}
	}
}

// TestGrowth keeps what entries have counted and metered while the table grows.
func TestGrowth(t *testing.T) {
	rig := newRigOf(t, tableProgram(1000, "exact").json())
	frame := keyFrame([4][]byte{{0, 1}, make([]byte, 4), make([]byte, 16), {0}})
	first := &Entry{Match: []Match{exact([]byte{1})}, Params: [][]byte{{9}}}
	rig.s.Update(func(tx *Tx) { _ = tx.Insert(0, first) })
	rig.send(0, frame)
	rig.s.Update(func(tx *Tx) {
		for i := range uint16(900) {
			e := &Entry{Match: []Match{exact(binary.BigEndian.AppendUint16(nil, i+2))}, Params: [][]byte{{9}}}
			if err := tx.Insert(0, e); err != nil {
				t.Fatal(err)
			}
		}
		got, err := tx.Entry(0, first)
		if err != nil || *got.Counter != (CounterValue{1, uint64(len(frame))}) {
			t.Errorf("%v, %v", got.Counter, err)
		}
	})
}
