// Package target is a software switch: frames of Ethernet devices go through a P4 program, and back to devices or to a
// controller.
//
//	port ─► lane ─► program ─► port        one lane for each worker, with a receiver of its own of each port
//	                   │
//	controller ─► CPU port ─► lane          one lane more for what controllers send
//	controller ◄─ CPU port ◄┘
//
// A lane gives a batch of frames to the program, and to the devices what comes out of it, before it takes the next one.
// Frames that leave with other headers in front of the same payload stay where they are.
package target

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
)

// Worker lets frames through a state. It is for one goroutine.
type Worker interface {
	Process(frames []bmv2.Frame, out bmv2.Sink)
	Close()
}

// Machine is a state that frames can go through.
type Machine interface {
	p4rt.State
	NewWorker() Worker
}

// Executor runs programs.
type Executor interface {
	Load(json []byte) (p4rt.Program, error)
	New(p p4rt.Program) (Machine, error)
}

// Controller receives the messages of the program: a [p4rt.Server].
type Controller interface {
	PacketIn(from p4rt.State, head, payload []byte)
	Digest(from p4rt.State, index int, data []byte)
}

// Config is what a switch is made of.
type Config struct {
	// Ports by their numbers.
	Ports map[uint32]port.Port
	// CPUPort is the number of the port that leads to the controller.
	CPUPort uint32
	// Workers is how many receivers each port has.
	Workers int
	// Executor runs the programs; nil: package bmv2.
	Executor Executor
	Log      *slog.Logger
}

// Bounds.
const (
	maxPort      = 1<<16 - 1
	cpuQueue     = 1024 // frames from controllers that wait
	cpuQueueSize = 16 << 20
)

// Switch is a running switch. It is what a [p4rt.Server] controls.
type Switch struct {
	config  Config
	numbers []uint32 // of the ports, in ascending order
	byPort  []int32  // position in numbers; -1: there is no such port

	live       atomic.Pointer[liveState] // nil: none yet
	controller Controller
	lanes      []*lane
	fromCPU    chan []byte
	waiting    atomic.Int64 // octets in fromCPU
	stopping   atomic.Bool
	stop       chan struct{} // closed when stopping
	running    sync.WaitGroup
}

// liveState is what frames go through.
type liveState struct{ machine Machine }

// New makes a switch. Ports stay the caller's. Start begins.
func New(c Config) (*Switch, error) {
	if c.Executor == nil {
		c.Executor = executor{}
	}
	c.Workers = max(c.Workers, 1)
	s := &Switch{config: c, byPort: make([]int32, maxPort+1), fromCPU: make(chan []byte, cpuQueue), stop: make(chan struct{})}
	for i := range s.byPort {
		s.byPort[i] = -1
	}
	for _, number := range slices.Sorted(maps.Keys(c.Ports)) {
		switch {
		case number > maxPort:
			return nil, fmt.Errorf("port %d: want at most %d", number, maxPort)
		case number == c.CPUPort:
			return nil, fmt.Errorf("port %d is the one that leads to the controller", number)
		case number == bmv2.DropPort:
			return nil, fmt.Errorf("port %d is the one that drops", number)
		}
		s.byPort[number] = int32(len(s.numbers))
		s.numbers = append(s.numbers, number)
	}
	for i := range c.Workers + 1 {
		l, err := s.newLane(i)
		if err != nil {
			return nil, errors.Join(err, s.closeLanes())
		}
		s.lanes = append(s.lanes, l)
	}
	return s, nil
}

func (s *Switch) closeLanes() error {
	var errs []error
	for _, l := range s.lanes {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// Start lets frames through, and tells c.
func (s *Switch) Start(c Controller) {
	s.controller = c
	for i, l := range s.lanes {
		run := l.run
		if i == s.config.Workers {
			run = l.runCPU
		}
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			run()
		}()
	}
}

// Close stops. Ports may be closed afterwards.
func (s *Switch) Close() error {
	s.stopping.Store(true)
	for _, l := range s.lanes {
		l.wake()
	}
	close(s.stop)
	s.running.Wait()
	return s.closeLanes()
}

// Load checks a program.
func (s *Switch) Load(json []byte) (p4rt.Program, error) { return s.config.Executor.Load(json) }

// New makes a state of a program.
func (s *Switch) New(p p4rt.Program) (p4rt.State, error) { return s.config.Executor.New(p) }

// Run has frames go through a state.
func (s *Switch) Run(state p4rt.State) error {
	m, ok := state.(Machine)
	if !ok {
		return fmt.Errorf("state of type %T: it is not of this switch", state)
	}
	s.live.Store(&liveState{m})
	for _, l := range s.lanes { // so that they let the old one go
		l.wake()
	}
	return nil
}

// errNoRoom says that controllers send faster than the switch takes it.
var errNoRoom = errors.New("too many packets wait at the CPU port")

// PacketOut has a frame come in at the CPU port.
func (s *Switch) PacketOut(frame []byte) error {
	if s.stopping.Load() || s.waiting.Add(int64(len(frame))) > cpuQueueSize {
		s.waiting.Add(-int64(len(frame)))
		return errNoRoom
	}
	select {
	case s.fromCPU <- frame:
		return nil
	default:
		s.waiting.Add(-int64(len(frame)))
		return errNoRoom
	}
}

// executor is package bmv2.
type executor struct{}

// Load checks a program.
func (executor) Load(json []byte) (p4rt.Program, error) {
	p, err := bmv2.Load(json)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// New makes a state.
func (executor) New(p p4rt.Program) (Machine, error) {
	program, ok := p.(*bmv2.Program)
	if !ok {
		return nil, fmt.Errorf("program of type %T: it is not of this switch", p)
	}
	start := time.Now()
	i := program.New(bmv2.Config{Clock: func() int64 { return int64(time.Since(start)) }})
	return &machine{p4rt.Instance(i), i}, nil
}

type machine struct {
	p4rt.State
	instance *bmv2.Instance
}

// NewWorker makes a worker.
func (m *machine) NewWorker() Worker { return m.instance.NewWorker() }
