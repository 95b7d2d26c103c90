package xdp

import (
	"math/bits"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
)

// runs hands out contiguous runs of slots of a table, in powers of two. Slot 0 is
// never handed out. What is given back is used again when no packet can be under
// way with it any more.
type runs struct {
	size  uint32
	next  uint32 // all from here on were never handed out
	freed [runClasses]lateQueue
	spare uint32 // slots in freed
	given bool   // something was since they were joined
}

// runClasses is how many sizes of runs there are: 1 to 1024 slots.
const runClasses = 11

func newRuns(size int) runs { return runs{size: uint32(size), next: 1} }

func runClass(n int) int { return bits.Len(uint(n - 1)) }

// take returns the first slot of a run of n, or false if there is no room.
func (r *runs) take(n int) (uint32, bool) {
	class := runClass(n)
	slot, ok := r.takeClass(class)
	if !ok && r.given && r.spare+r.size-r.next >= 1<<class {
		r.join()
		return r.takeClass(class)
	}
	return slot, ok
}

// takeClass is take of a run of 2^class slots, of what lies ready.
func (r *runs) takeClass(class int) (uint32, bool) {
	if slot, ok := r.freed[class].take(); ok {
		r.spare -= 1 << class
		return slot, true
	}
	if length := uint32(1) << class; r.size-r.next >= length {
		r.next += length
		return r.next - length, true
	}
	for larger := class + 1; larger < runClasses; larger++ {
		slot, ok := r.freed[larger].take()
		if !ok {
			continue
		}
		r.spare -= 1 << class
		for larger--; larger >= class; larger-- { // what is not needed of it
			r.freed[larger].put(slot+1<<larger, 0)
		}
		return slot, true
	}
	return 0, false
}

// give gives a run of n back, which packets may still see until now_ns has passed
// by a grace.
func (r *runs) give(slot uint32, n int, nowNs uint64) {
	r.freed[runClass(n)].put(slot, nowNs)
	r.spare += 1 << runClass(n)
	r.given = true
}

// join makes as few and as long runs as it can of those that are free. It is done
// when there is no run of a length, which a table that has been in use for long
// comes to: what is free then lies in many short ones, side by side.
func (r *runs) join() {
	var free []run
	late := [runClasses]lateQueue{}
	for class := range r.freed {
		for _, s := range r.freed[class].slots[r.freed[class].head:] {
			if s.isLate() {
				late[class].slots = append(late[class].slots, s)
			} else {
				free = append(free, run{s.slot, 1 << class})
				r.spare -= 1 << class
			}
		}
	}
	r.freed, r.given = late, slices.ContainsFunc(late[:], func(q lateQueue) bool { return len(q.slots) > 0 })
	slices.SortFunc(free, func(a, b run) int { return int(a.first) - int(b.first) })
	for i := 0; i < len(free); {
		first, end := free[i].first, free[i].first
		for ; i < len(free) && free[i].first == end; i++ {
			end += free[i].length
		}
		if end == r.next {
			r.next = first
		} else {
			r.gap(first, end)
		}
	}
}

// use is how many slots are handed out, of how many.
func (r *runs) use(name string) datapath.TableUse {
	return datapath.TableUse{Name: name, Used: int(r.next - 1 - r.spare), Max: int(r.size) - 1}
}

// run is one that is in use.
type run struct{ first, length uint32 }

// adopt takes the runs that are in use already.
func (r *runs) adopt(used []run) {
	slices.SortFunc(used, func(a, b run) int { return int(a.first) - int(b.first) })
	r.next = 1
	for _, u := range used {
		r.gap(r.next, u.first)
		r.next = max(r.next, u.first+1<<runClass(int(u.length)))
	}
}

// gap gives the slots from first up to end, without it.
func (r *runs) gap(first, end uint32) {
	for first < end {
		class := min(bits.Len32(end-first)-1, runClasses-1)
		r.freed[class].put(first, 0)
		r.spare += 1 << class
		first += 1 << class
	}
}

// lateQueue gives back first what was put in first, and only after a grace.
type lateQueue struct {
	slots []lateSlot
	head  int
}

type lateSlot struct {
	slot  uint32
	freed uint64 // ns, monotonic
}

// held is how many slots wait in q.
func (q *lateQueue) held() int { return len(q.slots) - q.head }

// isLate reports whether packets may still see it.
func (s lateSlot) isLate() bool { return s.freed != 0 && monotonic() < s.freed+uint64(grace) }

func (q *lateQueue) put(slot uint32, nowNs uint64) { q.slots = append(q.slots, lateSlot{slot, nowNs}) }

func (q *lateQueue) take() (uint32, bool) {
	if q.head == len(q.slots) {
		return 0, false
	}
	s := q.slots[q.head]
	if s.isLate() {
		return 0, false
	}
	q.head++
	if q.head > 1024 && q.head*2 > len(q.slots) {
		q.slots = append(q.slots[:0], q.slots[q.head:]...)
		q.head = 0
	}
	return s.slot, true
}
