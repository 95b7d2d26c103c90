package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Queue is how many packets wait for the reader of a trace, at most.
const Queue = 1024

// Set is the traces of a datapath in user space. The zero value has none. Its methods
// may be called by several goroutines.
type Set struct {
	on atomic.Int32
	// list is never changed, but replaced, so that workers do not wait for each other.
	list atomic.Pointer[[]*Trace]

	mu    sync.Mutex // of who replaces it
	ended bool
}

// On reports whether there are traces.
func (s *Set) On() bool { return s.on.Load() != 0 }

// Start begins a trace; now is the clock of its rate, in ns.
//
// Errors: as [datapath.Tracer] says.
func (s *Set) Start(f datapath.TraceFilter, now func() uint64) (*Trace, error) {
	if err := Check(&f); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.traces()
	switch {
	case s.ended:
		return nil, fmt.Errorf("trace: %w", datapath.ErrClosed)
	case len(all) == datapath.MaxTraces:
		return nil, fmt.Errorf("%w: %d", datapath.ErrTraces, len(all))
	}
	x := &Trace{set: s, now: now, packets: make(chan *datapath.TracePacket, Queue), rate: stages.Limiter{PerSecond: uint64(f.Rate)}}
	x.filter.Store(&f)
	s.replace(append(all[:len(all):len(all)], x))
	return x, nil
}

func (s *Set) traces() []*Trace {
	if l := s.list.Load(); l != nil {
		return *l
	}
	return nil
}

func (s *Set) replace(all []*Trace) {
	s.list.Store(&all)
	s.on.Store(int32(len(all)))
}

// Close ends all traces, and those that would come.
func (s *Set) Close() {
	s.mu.Lock()
	s.ended = true
	all := s.traces()
	s.mu.Unlock()
	for _, x := range all {
		x.Close()
	}
}

// May reports whether a packet can be wanted, whatever becomes of it: its frame has to be
// kept as it is.
func (s *Set) May(a *About) bool {
	for _, x := range s.traces() {
		if f := x.filter.Load(); f.All || len(f.Reasons) > 0 || WantsTarget(&f.TraceTargets, a) {
			return true
		}
	}
	return false
}

// Choose appends the traces to list that take a packet, which they count.
func (s *Set) Choose(list []*Trace, a *About) []*Trace {
	for _, x := range s.traces() {
		if x.takes(a) {
			list = append(list, x)
		}
	}
	return list
}

// Deliver gives a packet to traces that were chosen. They take copies of its frames.
func Deliver(list []*Trace, p *datapath.TracePacket) {
	for _, x := range list {
		own, snap := *p, x.filter.Load().Snap
		own.Arrived.Data, own.Left.Data = clip(p.Arrived.Data, snap), clip(p.Left.Data, snap)
		x.put(&own)
	}
}

func clip(frame []byte, snap int) []byte { return bytes.Clone(frame[:min(len(frame), snap)]) }

// Trace is one of a [Set]. It is a [datapath.Trace].
type Trace struct {
	set                   *Set
	now                   func() uint64
	filter                atomic.Pointer[datapath.TraceFilter]
	wanted, limited, lost atomic.Uint64

	mu      sync.Mutex // of what follows
	rate    stages.Limiter
	packets chan *datapath.TracePacket
	closed  bool
}

var _ datapath.Trace = (*Trace)(nil)

// takes reports whether the trace takes a packet, by its filter, sample and rate.
func (x *Trace) takes(a *About) bool {
	f := x.filter.Load()
	if !Wants(f, a) {
		return false
	}
	x.wanted.Add(1)
	if f.Sample > 1 && rand.IntN(f.Sample) != 0 {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rate.Allow(x.now()) {
		return true
	}
	x.limited.Add(1)
	return false
}

func (x *Trace) put(p *datapath.TracePacket) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	select {
	case x.packets <- p:
	default:
		x.lost.Add(1)
	}
}

// Packets implements [datapath.Trace].
func (x *Trace) Packets() <-chan *datapath.TracePacket { return x.packets }

// Retarget implements [datapath.Trace].
func (x *Trace) Retarget(t datapath.TraceTargets) error {
	if err := checkTargets(&t); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return fmt.Errorf("trace: %w", datapath.ErrClosed)
	}
	f := *x.filter.Load()
	f.TraceTargets = t
	x.filter.Store(&f)
	return nil
}

// Counts implements [datapath.Trace].
func (x *Trace) Counts() datapath.TraceCounts {
	return datapath.TraceCounts{Wanted: x.wanted.Load(), Limited: x.limited.Load(), Lost: x.lost.Load()}
}

// Close implements [datapath.Trace].
func (x *Trace) Close() {
	x.set.mu.Lock()
	defer x.set.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.closed = true
	close(x.packets)
	var rest []*Trace
	for _, o := range x.set.traces() {
		if o != x {
			rest = append(rest, o)
		}
	}
	x.set.replace(rest)
}
