package xsk

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// testRing is a ring in memory of the test's, which is the kernel: its counters begin
// just below where they wrap.
func testRing(size int) (r Ring, producer, consumer *uint32) {
	words := make([]uint32, 3*16) // in cache lines of their own, as the kernel has them
	producer, consumer = &words[0], &words[16]
	start := ^uint32(0) - uint32(size)/2
	return NewRing(producer, consumer, &words[32], size, start), producer, consumer
}

// TestRingsAgainstQueues: whatever is put and taken in whatever pieces, a ring holds
// what a queue of its size holds, in the same order.
func TestRingsAgainstQueues(t *testing.T) {
	const size, steps = 16, 20000
	random := rand.New(rand.NewPCG(1, 2))
	t.Run("fill", func(t *testing.T) {
		base, producer, consumer := testRing(size)
		r := FillRing{base, make([]uint64, size)}
		var queue []uint64
		next := uint64(0)
		for range steps {
			var frames []uint64
			for range random.IntN(size + 4) {
				frames = append(frames, next)
				next++
			}
			n := r.Put(frames)
			if want := min(len(frames), size-len(queue)); n != want {
				t.Fatalf("put %d of %d frames beside %d, want %d", n, len(frames), len(queue), want)
			}
			queue = append(queue, frames[:n]...)
			next -= uint64(len(frames) - n)
			for range random.IntN(len(queue) + 1) { // the kernel
				if got := r.Entries[*consumer&(size-1)]; got != queue[0] || *consumer == *producer {
					t.Fatalf("the kernel reads %d, want %d", got, queue[0])
				}
				queue = queue[1:]
				atomic.AddUint32(consumer, 1)
			}
		}
	})
	t.Run("completion", func(t *testing.T) {
		base, producer, consumer := testRing(size)
		r := CompletionRing{base, make([]uint64, size)}
		var queue []uint64
		next := uint64(0)
		for range steps {
			for range random.IntN(size - len(queue) + 1) { // the kernel
				r.Entries[*producer&(size-1)] = next
				queue = append(queue, next)
				next++
				atomic.AddUint32(producer, 1)
			}
			got := make([]uint64, random.IntN(size+4))
			n := r.Take(got)
			// What came since the ring was looked at may be left for the next time.
			if n > len(queue) || n == 0 && len(queue) > 0 && len(got) > 0 || !slices.Equal(got[:n], queue[:n]) {
				t.Fatalf("took %v, the queue has %v", got[:n], queue)
			}
			queue = queue[n:]
			if int(*producer-*consumer) != len(queue) {
				t.Fatalf("%d left in the ring, want %d", *producer-*consumer, len(queue))
			}
		}
	})
}

// TestDescriptorRings: what is sent comes to the kernel whole, and what arrives to us.
func TestDescriptorRings(t *testing.T) {
	const size = 8
	base, _, consumer := testRing(size)
	tx := TXRing{base, make([]unix.XDPDesc, size)}
	base, producer, _ := testRing(size)
	rx := RXRing{base, make([]unix.XDPDesc, size)}
	got := make([]unix.XDPDesc, size)
	for i := range uint64(5 * size) {
		sent := []unix.XDPDesc{{Addr: 4096 * i, Len: 100}, {Addr: 4096*i + 256, Len: 64}}
		if n := tx.Put(sent); n != 2 || tx.Left() != 2 {
			t.Fatalf("put %d, left %d", n, tx.Left())
		}
		for range sent { // the kernel's wire leads back to us
			rx.Entries[*producer&(size-1)] = tx.Entries[*consumer&(size-1)]
			atomic.AddUint32(consumer, 1)
			atomic.AddUint32(producer, 1)
		}
		if n := rx.Take(got); n != 2 || !slices.Equal(got[:2], sent) || tx.Unread() != 0 {
			t.Fatalf("took %v, sent %v", got[:n], sent)
		}
	}
}

// TestRingsBetweenGoroutines: one writes, one reads, as kernel and worker do on two
// CPUs. Under the race detector an entry that is read before it is published, or
// written before it is released, is a race.
func TestRingsBetweenGoroutines(t *testing.T) {
	const size, count = 64, 200_000
	words := make([]uint32, 48)
	entries := make([]uint64, size)
	writer := FillRing{Ring{Producer: &words[0], Consumer: &words[16], Flags: &words[32], Size: size}, entries}
	reader := CompletionRing{Ring{Producer: &words[0], Consumer: &words[16], Flags: &words[32], Size: size}, entries}
	go func() {
		batch := make([]uint64, 7)
		for next := uint64(0); next < count; {
			for i := range batch {
				batch[i] = next + uint64(i)
			}
			next += uint64(writer.Put(batch[:min(len(batch), int(count-next))]))
		}
	}()
	got := make([]uint64, 5)
	for want := uint64(0); want < count; {
		for _, f := range got[:reader.Take(got)] {
			if f != want {
				t.Fatalf("read %d, want %d", f, want)
			}
			want++
		}
	}
}
