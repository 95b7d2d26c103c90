package p4

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
)

// local is a target within the process: the executor of the pipeline, to which package afxdp
// brings frames, with a P4Runtime server in front of it as any other target has.
//
//	AF_XDP ─► lane ─► executor ─► AF_XDP
//	                     └ CPU port ─► stages of package vector
type local struct {
	live    atomic.Pointer[machine]
	server  *p4rt.Server
	clock   func() uint64
	sent    atomic.Uint64 // frames
	changed func()
	seen    func(frame []byte)
}

// machine is a program with its entries.
type machine struct {
	p4rt.State
	instance *bmv2.Instance
}

func newLocal(clock func() uint64, log *slog.Logger) *local {
	l := &local{clock: clock}
	l.server = p4rt.New(p4rt.Config{DeviceID: localDevice}, l, log)
	return l
}

const localDevice = 1

// Load implements [p4rt.Switch].
func (l *local) Load(json []byte) (p4rt.Program, error) {
	p, err := bmv2.Load(json)
	if err != nil {
		return nil, err // and no program that is nil
	}
	return p, nil
}

// New implements [p4rt.Switch].
func (l *local) New(p p4rt.Program) (p4rt.State, error) {
	program, ok := p.(*bmv2.Program)
	if !ok {
		return nil, errors.New("p4: a program that this executor has not loaded")
	}
	i := program.New(bmv2.Config{Clock: func() int64 { return int64(l.clock()) }})
	return &machine{p4rt.Instance(i), i}, nil
}

// Run implements [p4rt.Switch].
func (l *local) Run(s p4rt.State) error {
	m, ok := s.(*machine)
	if !ok {
		return errors.New("p4: a state that this executor has not made")
	}
	l.live.Store(m)
	return nil
}

// PacketOut implements [p4rt.Switch]. The stages send by themselves.
func (l *local) PacketOut([]byte) error { return errors.ErrUnsupported }

// NewLane implements [afxdp.Front].
func (l *local) NewLane() afxdp.Lane { return &lane{l: l} }

// Changed implements [afxdp.Front].
func (l *local) Changed() { l.changed() }

// lane is one worker of the executor.
type lane struct {
	l      *local
	live   *machine // whose worker it has
	worker *bmv2.Worker
	in     []bmv2.Frame
	frames [][]byte
	sent   uint64
	out    afxdp.Outcome
}

// Process implements [afxdp.Lane].
func (n *lane) Process(device int, frames [][]byte, out afxdp.Outcome) {
	if !n.follow() {
		return
	}
	n.in = n.in[:0]
	for _, f := range frames {
		n.in = append(n.in, bmv2.Frame{Port: uint32(portOf(device)), Data: f})
	}
	n.frames, n.out = frames, out
	n.sent = 0
	n.worker.Process(n.in, n)
	n.l.sent.Add(n.sent)
}

// portOf is the number of a device's port in the pipeline.
func portOf(device int) uint64 { return uint64(device) + 1 }

// follow makes the worker one of what is to run. It reports whether there is something.
func (n *lane) follow() bool {
	live := n.l.live.Load()
	if live != n.live {
		n.Close()
		n.live, n.worker = live, live.instance.NewWorker()
	}
	return live != nil
}

// Close implements [afxdp.Lane].
func (n *lane) Close() {
	if n.worker != nil {
		n.worker.Close()
		n.live, n.worker = nil, nil
	}
}

// Emit implements [bmv2.Sink].
func (n *lane) Emit(o *bmv2.Out) {
	if o.Port != cpuPort {
		n.sent++
		n.out.Send(o.Frame, int(o.Port)-1, o.Head, o.Payload, o.InPlace)
		return
	}
	const reasonAt = 2 // header packet_in of p4/headers.p4
	if len(o.Head) > reasonAt && datapath.Reason(o.Head[reasonAt]) == datapath.PassRules {
		n.l.seen(n.frames[o.Frame])
	}
}

// cpuPort is CPU_PORT of p4/upf_v1model.p4.
const cpuPort = 510

// Digest implements [bmv2.Sink]. The pipeline makes none.
func (n *lane) Digest(int, int, []byte) {}

// Drop implements [bmv2.Sink]. What the pipeline drops it has counted; what the executor gives
// up is for the stages.
func (n *lane) Drop(frame int, why bmv2.Drop) {
	if why == bmv2.DropIngress {
		n.out.Drop(frame)
	}
}
