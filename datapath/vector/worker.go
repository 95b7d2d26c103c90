package vector

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// cacheLine is how many octets counters of workers keep away from each other.
const cacheLine = 64

// Worker treats vectors of packets, one after the other. It is for one goroutine.
type Worker struct {
	e      *Engine
	counts []uint64 // by reason; by atomic operations

	works  [MaxVector]work
	slow   uint64 // packets that the model has treated
	now    uint64 // ns: when the vector came
	least  int    // MTU of all links
	header [256]byte
	room   []byte // for packets that have none for their headers
	flows  []flow // of long lists
	sink   uint64

	tracing *tracing // of the packet that is treated; nil: nobody traces
	kept    *tracing // the same, kept for the next one

	send func(out []*Packet)
	out  []*Packet
	made []*Packet // packets of which the model made the octets
	used int       // of made

	next   []*Packet // to be treated again: see again.go
	passes int       // how often what is treated has been so before
	spare  []*Packet // memory for next
}

// NewWorker returns a worker. It is there as long as the engine.
func (e *Engine) NewWorker() *Worker {
	e.ownMu.Lock()
	defer e.ownMu.Unlock()
	return e.newWorker()
}

func (e *Engine) newWorker() *Worker {
	const apart = cacheLine / 8
	n := len(datapath.Reasons()) + 1
	w := &Worker{e: e, counts: make([]uint64, n+2*apart)[apart:][:n], out: make([]*Packet, 0, MaxVector)}
	e.workers = append(e.workers, w)
	return w
}

// Run treats a vector of at most [MaxVector] packets and gives what leaves to send,
// in its order: packets of in, where they are, and others. send is called with at
// most MaxVector packets at a time, any number of times, and keeps none of them; all
// that it was given has left, or is on its way in order, when it returns. No rule
// changes until Run returns. Afterwards the buffers are the caller's again.
//
// Where to go stands in each packet that leaves, and in each one of in what became
// of it: Reason. A packet of no session, PassHost, is the caller's.
func (w *Worker) Run(in []*Packet, send func(out []*Packet)) {
	w.e.mu.RLock()
	defer w.e.mu.RUnlock()
	w.run(in, send)
}

func (w *Worker) run(in []*Packet, send func(out []*Packet)) {
	w.send = send
	w.now, w.least = w.e.cfg.Now(), w.e.cfg.Links.Least()
	w.treat(in)
	w.treatAgain()
	w.flush()
}

// RunAfter is Run for what first returns, which has treated other packets before. No rule
// changes from before first until RunAfter returns.
func (w *Worker) RunAfter(first func() []*Packet, send func(out []*Packet)) {
	w.e.mu.RLock()
	defer w.e.mu.RUnlock()
	w.run(first(), send)
}

// treat takes a vector through the stages.
func (w *Worker) treat(in []*Packet) {
	w.parse(in)
	w.find(len(in))
	w.detect(len(in))
	if w.e.traces.On() {
		w.finishTraced(len(in))
		return
	}
	for i := range in {
		w.finishOne(&w.works[i])
	}
}

// finishOne does with a packet what its rule says, or has the model treat it. One
// comes after the other here, since what becomes of a packet may depend on those
// before: meters, quotas, and what the model has learnt of them.
func (w *Worker) finishOne(k *work) {
	p := k.packet
	if k.reason != datapath.ReasonNone && w.unmatched(k) {
		return
	}
	if k.rule == nil || !w.forward(k) {
		w.slowly(p)
		return
	}
	if p.Reason = w.enforce(k); p.Reason != datapath.ReasonNone {
		return
	}
	w.measure(k)
	w.emit(k)
}

// flush sends what has been collected.
func (w *Worker) flush() {
	if len(w.out) > 0 {
		w.send(w.out)
		clear(w.out)
		w.out = w.out[:0]
	}
	if len(w.next) > 0 || w.passes > 0 { // their octets may be there
		return
	}
	for _, p := range w.made[:w.used] {
		*p = Packet{}
	}
	w.used = 0
	w.room = w.room[:0]
}

// add lets a packet leave.
func (w *Worker) add(p *Packet) {
	w.out = append(w.out, p)
	if len(w.out) == cap(w.out) {
		w.flush()
	}
}

// fresh returns a packet whose octets are not in the buffer of one that came.
func (w *Worker) fresh() *Packet {
	if w.used == len(w.made) {
		w.made = append(w.made, &Packet{})
	}
	w.used++
	return w.made[w.used-1]
}

func (w *Worker) count(r datapath.Reason) { w.countMany(r, 1) }

func (w *Worker) countMany(r datapath.Reason, n int) {
	if r != datapath.ReasonNone && n > 0 {
		atomic.AddUint64(&w.counts[r], uint64(n))
	}
}

// signal lets a GTP-U message of the UPF's own leave.
func (w *Worker) signal(d stages.Datagram) {
	p := w.fresh()
	p.Outer = &stages.Outer{Peer: d.To.Addr(), Local: d.From.Addr(), DSCP: int(d.DSCP)}
	p.Buf = d.Packet()
	p.End = len(p.Buf)
	p.takeOuter()
	if !w.e.stages.IsOwn(p.Outer) {
		w.add(p)
	} else if w.mayPass() == datapath.ReasonNone { // it is no packet of a user that is lost
		w.again(p)
	}
}
