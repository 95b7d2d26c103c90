package stopwatch

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// Bounds of what a histogram tells apart: nanoseconds up to 2^magnitudeBits, that is
// 68 s, each bucket 1/128 of its value wide at most.
const (
	fractionBits  = 7
	magnitudeBits = 36
	numBuckets    = (magnitudeBits - fractionBits + 1) << fractionBits
)

// histogram counts times without a lock: a thread of real time must never wait for
// one that was put aside while it held it.
type histogram struct {
	positive half
	negative atomic.Pointer[half] // by magnitude; nil: there were none
	sum      atomic.Int64
	min, max atomic.Int64
}

type half [numBuckets]atomic.Uint64

// Times collects times, from several goroutines. It takes memory when the first one
// comes. The zero value has none.
type Times struct{ p atomic.Pointer[histogram] }

// Record adds a time, which may be negative.
func (t *Times) Record(d time.Duration) {
	h := t.p.Load()
	if h == nil {
		h = &histogram{}
		h.min.Store(math.MaxInt64)
		h.max.Store(math.MinInt64)
		if !t.p.CompareAndSwap(nil, h) {
			h = t.p.Load()
		}
	}
	h.record(int64(d))
}

// Distribution is what was recorded, nil if nothing was.
func (t *Times) Distribution() *Distribution {
	if h := t.p.Load(); h != nil {
		return h.distribution()
	}
	return nil
}

func (h *histogram) record(ns int64) {
	if ns >= 0 {
		h.positive[bucketOf(uint64(ns))].Add(1)
	} else {
		h.below()[bucketOf(uint64(-ns))].Add(1)
	}
	h.sum.Add(ns)
	for old := h.min.Load(); ns < old && !h.min.CompareAndSwap(old, ns); old = h.min.Load() {
	}
	for old := h.max.Load(); ns > old && !h.max.CompareAndSwap(old, ns); old = h.max.Load() {
	}
}

func (h *histogram) below() *half {
	if n := h.negative.Load(); n != nil {
		return n
	}
	h.negative.CompareAndSwap(nil, &half{})
	return h.negative.Load()
}

// bucketOf is where a magnitude is counted.
func bucketOf(v uint64) int {
	v = min(v, 1<<magnitudeBits-1)
	e := max(0, bits.Len64(v)-fractionBits-1)
	return e<<fractionBits + int(v>>e)
}

// boundsOf are the magnitudes that a bucket begins with, and ends before.
func boundsOf(bucket int) (low, high int64) {
	e := max(0, bucket>>fractionBits-1)
	low = int64(bucket-e<<fractionBits) << e
	return low, low + 1<<e
}

func (h *histogram) distribution() *Distribution {
	d := &Distribution{Sum: h.sum.Load(), Min: h.min.Load(), Max: h.max.Load()}
	if n := h.negative.Load(); n != nil {
		for i := numBuckets - 1; i >= 0; i-- {
			if count := n[i].Load(); count > 0 {
				low, high := boundsOf(i)
				d.add(Bucket{1 - high, 1 - low, count})
			}
		}
	}
	for i := range h.positive {
		if count := h.positive[i].Load(); count > 0 {
			low, high := boundsOf(i)
			d.add(Bucket{low, high, count})
		}
	}
	if d.Count == 0 { // its first value is being recorded
		return nil
	}
	return d
}
