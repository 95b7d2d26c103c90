package xdp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	traces "github.com/plumbline-upf/plumbline/datapath/trace"
)

const (
	traceBurst = 100 * time.Millisecond
)

// tracer is all traces of a driver.
type tracer struct {
	d  *Driver
	on atomic.Int32 // traces; the slow path asks

	loading sync.Mutex // held while the twins of the programs are loaded, before mu

	mu     sync.Mutex       // of what follows
	coll   *ebpf.Collection // the twins; nil: not loaded yet
	wants  mapped[tracedTraceWant]
	traces [datapath.MaxTraces]*trace
	ring   *ringbuf.Reader // nil while there is no trace
	done   chan struct{}   // closed when the reader of ring has ended
	ended  bool
}

// trace implements [datapath.Trace].
type trace struct {
	t       *tracer
	slot    int
	filter  datapath.TraceFilter
	since   uint64 // monotonic
	packets chan *datapath.TracePacket
	lost    atomic.Uint64
	wanted  atomic.Uint64        // by the slow path
	limited atomic.Uint64        // of those, above the rate
	rate    stages.Limiter       // of those; with the tracer's lock
	final   datapath.TraceCounts // with closed
	closed  bool
}

// Trace implements [datapath.Tracer].
func (d *Driver) Trace(f datapath.TraceFilter) (datapath.Trace, error) {
	t := d.tracer
	if t == nil {
		return nil, fmt.Errorf("xdp: trace: %w", datapath.ErrClosed)
	}
	if err := traces.Check(&f); err != nil {
		return nil, fmt.Errorf("xdp: trace: %w", err)
	}
	want, err := traceWant(&f)
	if err != nil {
		return nil, err
	}
	if err := d.PrepareTraces(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	slot := 0
	for slot < len(t.traces) && t.traces[slot] != nil {
		slot++
	}
	switch {
	case t.ended:
		return nil, fmt.Errorf("xdp: trace: %w", datapath.ErrClosed)
	case slot == len(t.traces):
		return nil, fmt.Errorf("xdp: %w: %d", datapath.ErrTraces, slot)
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	x := &trace{t: t, slot: slot, filter: f, since: monotonic(),
		packets: make(chan *datapath.TracePacket, traces.Queue), rate: stages.Limiter{PerSecond: uint64(f.Rate)}}
	t.traces[slot] = x
	// The sample, which makes the entry one, is written last.
	sample := want.Sample
	want.Sample = 0
	t.wants.slots[slot] = want
	atomic.StoreUint32(&t.wants.slots[slot].Sample, sample)
	t.on.Add(1)
	return x, nil
}

// traceWant returns f as the programs have it.
func traceWant(f *datapath.TraceFilter) (tracedTraceWant, error) {
	w := tracedTraceWant{
		Sample: uint32(f.Sample), Snap: uint32(f.Snap), IntervalNs: uint64(time.Second) / uint64(f.Rate), BurstNs: uint64(traceBurst),
	}
	for _, r := range f.Reasons {
		w.Reasons |= 1 << r
	}
	if f.All {
		w.All = 1
	}
	return w, traceTargets(&w, f.TraceTargets)
}

func traceTargets(w *tracedTraceWant, targets datapath.TraceTargets) error {
	if len(targets.TEIDs) > len(w.Teid) {
		return fmt.Errorf("xdp: trace: %d TEIDs: at most %d", len(targets.TEIDs), len(w.Teid))
	}
	clear(w.Teid[copy(w.Teid[:], targets.TEIDs):])
	n4, n6 := 0, 0
	for _, a := range targets.UEs {
		switch a = a.Unmap(); {
		case a.Is4() && n4 < len(w.UeIp4):
			w.UeIp4[n4] = traces.Number4(a)
			n4++
		case a.Is6() && n6 < len(w.UeIp6):
			w.UeIp6[n6] = traces.Prefix6(a)
			n6++
		default:
			return fmt.Errorf("xdp: trace: UE address %v: not valid, or more than %d", a, len(w.UeIp4))
		}
	}
	clear(w.UeIp4[n4:])
	clear(w.UeIp6[n6:])
	return nil
}

// Packets implements [datapath.Trace].
func (x *trace) Packets() <-chan *datapath.TracePacket { return x.packets }

// Retarget implements [datapath.Trace]. A packet that comes meanwhile may be
// judged by a mixture of both.
func (x *trace) Retarget(targets datapath.TraceTargets) error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.closed {
		return fmt.Errorf("xdp: trace: %w", datapath.ErrClosed)
	}
	w := tracedTraceWant{}
	if err := traceTargets(&w, targets); err != nil {
		return err
	}
	x.filter.TraceTargets = targets
	s := &x.t.wants.slots[x.slot]
	s.Teid, s.UeIp4, s.UeIp6 = w.Teid, w.UeIp4, w.UeIp6
	return nil
}

// Counts implements [datapath.Trace].
func (x *trace) Counts() datapath.TraceCounts {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return x.counts()
}

// counts needs the lock.
func (x *trace) counts() datapath.TraceCounts {
	if x.closed {
		return x.final
	}
	w := &x.t.wants.slots[x.slot]
	return datapath.TraceCounts{
		Wanted:  atomic.LoadUint64(&w.Wanted) + x.wanted.Load(),
		Limited: atomic.LoadUint64(&w.Limited) + x.limited.Load(),
		Lost:    atomic.LoadUint64(&w.Lost) + x.lost.Load(),
	}
}

// Close implements [datapath.Trace].
func (x *trace) Close() {
	t := x.t
	t.mu.Lock()
	if x.closed {
		t.mu.Unlock()
		return
	}
	x.final, x.closed = x.counts(), true
	atomic.StoreUint32(&t.wants.slots[x.slot].Sample, 0)
	t.traces[x.slot] = nil
	close(x.packets) // whoever sends holds the lock
	var ring *ringbuf.Reader
	done := t.done
	if t.on.Add(-1) == 0 {
		ring, t.ring = t.ring, nil
		if err := t.turn(0); err != nil {
			t.d.log.Error("packets go on through the traced programs", "err", err)
		}
	}
	t.mu.Unlock()
	if ring != nil {
		ring.Close()
		<-done
	}
}

// put gives p to the trace; the tracer's lock is held.
func (x *trace) put(p *datapath.TracePacket) {
	select {
	case x.packets <- p:
	default:
		x.lost.Add(1)
	}
}
