package bmv2

import (
	"slices"
	"sync"
	"time"
)

// Instance is a program with its state. Its methods may be called from any goroutine.
type Instance struct {
	p      *Program
	clock  func() int64
	start  int64
	passes int

	tables    []*table
	counters  [][]uint64 // packets and octets of each cell
	meters    [][]meterCell
	registers []registerState
	sessions  map[int32]*CloneSession
	groups    map[uint64][]Replica

	mu      sync.Mutex // held by Update and View
	workers []*Worker  // under mu
}

// registerState has the cells of a register array, each in whole words.
type registerState struct {
	mu sync.Mutex
	w  []uint64
}

// New makes an instance of the program: its tables with the entries that the program gives, and all counters zero.
func (p *Program) New(c Config) *Instance {
	s := &Instance{p: p, clock: c.Clock, passes: c.Passes, sessions: map[int32]*CloneSession{},
		groups: map[uint64][]Replica{}, registers: make([]registerState, len(p.registers))}
	if s.clock == nil {
		began := time.Now()
		s.clock = func() int64 { return int64(time.Since(began)) }
	}
	if s.passes <= 0 {
		s.passes = 16
	}
	s.start = s.clock()
	for i := range p.tdefs {
		t := newTable(&p.tdefs[i])
		for k := range t.def.entries {
			// Load has tried them all.
			_, _ = t.add(p, &t.def.entries[k], rowConst, 0)
		}
		s.tables = append(s.tables, t)
	}
	for i := range p.counters {
		var cells []uint64
		if p.counters[i].Table < 0 {
			cells = make([]uint64, 2*p.counters[i].Size)
		}
		s.counters = append(s.counters, cells)
	}
	for i := range p.meters {
		var cells []meterCell
		if p.meters[i].Table < 0 {
			cells = make([]meterCell, p.meters[i].Size)
		}
		s.meters = append(s.meters, cells)
	}
	for i := range p.registers {
		s.registers[i].w = make([]uint64, p.registers[i].Size*((p.registers[i].Width+63)/64))
	}
	return s
}

// Program is the program that this runs.
func (s *Instance) Program() *Program { return s.p }

// now is the time since New, in nanoseconds.
func (s *Instance) now() int64 { return s.clock() - s.start }

// NewWorker makes a worker. Each goroutine has its own, and closes it when it ends.
func (s *Instance) NewWorker() *Worker {
	w := &Worker{s: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers = append(s.workers, w)
	return w
}

// Close says that the worker is not used any more.
func (w *Worker) Close() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.workers = slices.DeleteFunc(w.s.workers, func(o *Worker) bool { return o == w })
}

// Update lets fn change the instance. No batch of frames sees a part of the changes: workers wait from the first change
// until fn has returned. Each method says for itself whether it was done; a change that was refused has changed nothing.
func (s *Instance) Update(fn func(*Tx)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Tx{s: s}
	defer t.end()
	fn(t)
}

// View lets fn read the instance while packets are processed. Changes are refused with ErrInvalid.
func (s *Instance) View(fn func(*Tx)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&Tx{s: s, read: true})
}
