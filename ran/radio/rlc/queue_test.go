package rlc

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestQueueBounds: what does not fit is refused, and what was refused leaves no trace.
func TestQueueBounds(t *testing.T) {
	for _, test := range []struct {
		name                 string
		limit, unacked, sdus int
		size                 int
		want                 int // SDUs that fit
	}{
		{"octets", 1000, 0, 100, 100, 10},
		{"SDUs", 1000, 0, 8, 10, 8},
		{"too long", 1 << 20, 0, 8, MaxSDU + 1, 0},
		{"the longest", 1 << 20, 0, 8, MaxSDU, 8},
		{"empty", 1000, 0, 8, 0, 0},
	} {
		q := NewQueue(test.limit, test.unacked, test.sdus)
		put := 0
		for range 200 {
			if q.Put(test.size, func([]byte, uint64) { put++ }) != (put <= test.want) {
				break
			}
		}
		if put != test.want || q.Waiting() != put*test.size {
			t.Errorf("%s: %d fit, %d octets wait, want %d", test.name, put, q.Waiting(), test.want)
		}
	}
}

// TestQueueConcurrent: several goroutines put, one takes; each SDU is whole, and the
// numbers that fill is told are those that it comes out with.
func TestQueueConcurrent(t *testing.T) {
	const writers, each = 4, 3000
	q := NewQueue(20_000, 5000, 64)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for n := 0; n < each; {
				size := 16 + random.IntN(2000)
				if q.Put(size, func(sdu []byte, count uint64) {
					binary.BigEndian.PutUint64(sdu, count)
					for i := 8; i < len(sdu); i++ {
						sdu[i] = byte(count)
					}
				}) {
					n++
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	taken := uint64(0)
	for taken < writers*each {
		if taken == q.put.Load() {
			continue
		}
		s := q.at(taken)
		b := q.bytes(s)
		if got := binary.BigEndian.Uint64(b); got != taken || b[8] != byte(taken) || b[len(b)-1] != byte(taken) {
			t.Fatalf("SDU %d is %x", taken, b[:16])
		}
		q.take(s)
		taken++
		if taken%3 == 0 {
			q.release(taken)
		}
	}
	<-done
	if q.Waiting() != 0 {
		t.Errorf("%d octets wait", q.Waiting())
	}
}

func TestQueueReset(t *testing.T) {
	q := NewQueue(1000, 1000, 8)
	for range 3 {
		q.Put(100, func([]byte, uint64) {})
	}
	if base := q.reset(); base != 3 || q.Waiting() != 0 {
		t.Errorf("base %d, %d octets wait", base, q.Waiting())
	}
	first := uint64(99)
	for range 10 {
		q.Put(100, func(_ []byte, count uint64) { first = min(first, count) })
	}
	if first != 0 || q.Waiting() != 800 {
		t.Errorf("numbers begin at %d, %d octets wait", first, q.Waiting())
	}
}
