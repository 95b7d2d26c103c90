package bmv2

import "sync"

// The values of standard_metadata.instance_type.
const (
	instanceNormal       = 0
	instanceIngressClone = 1
	instanceEgressClone  = 2
	instanceRecirculated = 4
	instanceReplicated   = 5
	instanceResubmitted  = 6
)

// maxCopies is how many copies may be made of one frame.
const maxCopies = 4096

// maxNesting is how deep clones may be made of clones.
const maxNesting = 64

// Worker is what one goroutine needs to let frames through an instance.
type Worker struct {
	gate sync.Mutex // held while a batch is under way
	_    [56]byte   // so that workers do not share a cache line
	s    *Instance
	out  Sink
	free []*ctx
	head []byte
	dig  []byte
	sent Out

	frame  int // in the batch
	port   uint32
	now    int64
	passes int
	copies int
	depth  int // of clones of clones and of what was recirculated
}

// Process lets a batch of frames through. All of a batch arrive at one time, and no update falls within it. The frames
// have to stay as they are until the next frame's results come, or Process returns.
func (w *Worker) Process(frames []Frame, out Sink) {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.out = out
	w.now = w.s.now()
	c := w.get()
	for i := range frames {
		f := &frames[i]
		w.frame, w.port = i, f.Port
		w.passes, w.copies = w.s.passes, maxCopies
		if len(f.Data) > MaxFrame {
			out.Drop(i, DropSize)
			continue
		}
		c.reset(f.Data, w.now)
		c.set(w.s.p.std.ingressPort, uint64(f.Port))
		c.set(w.s.p.std.packetLength, uint64(len(f.Data)))
		c.set(w.s.p.std.ingressTime, uint64(w.now)/1000)
		c = w.ingress(c, true)
	}
	w.put(c)
	w.out = nil
}

// get gives memory for a packet, put takes it back.
func (w *Worker) get() *ctx {
	if n := len(w.free); n > 0 {
		c := w.free[n-1]
		w.free = w.free[:n-1]
		return c
	}
	return newCtx(w.s)
}

func (w *Worker) put(c *ctx) { w.free = append(w.free, c) }

// ingress lets a packet through parser and ingress, and what they make of it through egress. It gives the memory of a
// packet back, which may be another's. own says that the data is the frame that came in.
func (w *Worker) ingress(c *ctx, own bool) *ctx {
	std := &w.s.p.std
	for {
		if w.passes--; w.passes < 0 {
			w.out.Drop(w.frame, DropPasses)
			return c
		}
		c.parse()
		c.verifyAll()
		c.set(std.parserError, uint64(c.parsErr))
		c.set(std.checksumError, b2d(c.csumErr))
		c.run(&w.s.p.ingress)
		if c.dead {
			w.out.Drop(w.frame, c.why)
			return c
		}
		c.exit = false
		if c.clone >= 0 {
			w.cloneIngress(c)
		}
		if c.digest >= 0 {
			w.dig = c.appendDigest(w.dig[:0], &w.s.p.learn[c.digest])
			w.out.Digest(w.frame, int(c.digest), w.dig)
		}
		if c.resubmit < 0 {
			break
		}
		n := w.get()
		n.reset(c.data, w.now)
		c.keep(c.resubmit, n)
		n.set(std.instanceType, instanceResubmitted)
		n.set(std.packetLength, uint64(len(c.data)))
		w.swapBuffer(c, n)
		w.put(c)
		c = n
	}
	group := uint64(0)
	if std.mcastGroup.off >= 0 {
		group = c.f[std.mcastGroup.off]
	}
	spec := c.f[std.egressSpec.off]
	switch {
	case group != 0:
		w.multicast(c, group, own)
	case spec == DropPort:
		w.out.Drop(w.frame, DropIngress)
	default:
		c.set(std.instanceType, instanceNormal)
		w.egress(c, uint32(spec), own)
	}
	return c
}

// swapBuffer moves the buffer of a frame along with the frame.
func (w *Worker) swapBuffer(from, to *ctx) { from.own, to.own = to.own, from.own }

func (w *Worker) multicast(c *ctx, group uint64, own bool) {
	replicas := w.s.groups[group]
	if len(replicas) == 0 {
		w.out.Drop(w.frame, DropGroup)
		return
	}
	c.set(w.s.p.std.instanceType, instanceReplicated)
	w.replicate(c, replicas, own)
}

// replicate lets a copy for each replica through egress; the last one is the packet itself.
func (w *Worker) replicate(c *ctx, replicas []Replica, own bool) {
	for i, r := range replicas {
		if i == len(replicas)-1 {
			c.set(w.s.p.std.egressRID, uint64(r.Instance))
			w.egress(c, r.Port, own)
			return
		}
		if w.copies--; w.copies < 0 {
			w.out.Drop(w.frame, DropPasses)
			return
		}
		n := w.get()
		n.copyOf(c)
		n.set(w.s.p.std.egressRID, uint64(r.Instance))
		w.egress(n, r.Port, false)
		w.put(n)
	}
}

// session finds a clone session.
func (w *Worker) session(id int32) *CloneSession {
	s := w.s.sessions[id]
	if s == nil || len(s.Replicas) == 0 {
		w.out.Drop(w.frame, DropSession)
		return nil
	}
	if w.copies--; w.copies < 0 {
		w.out.Drop(w.frame, DropPasses)
		return nil
	}
	return s
}

// cloneIngress lets the packet as it came through egress too. It is parsed again; of its metadata it has what the field list
// names.
func (w *Worker) cloneIngress(c *ctx) {
	s := w.session(c.clone)
	if s == nil {
		return
	}
	n := w.get()
	n.reset(c.data, w.now)
	n.set(w.s.p.std.ingressPort, uint64(w.port))
	n.parse()
	if n.dead {
		w.out.Drop(w.frame, n.why)
		w.put(n)
		return
	}
	n.clearMeta()
	c.keep(c.cloneList, n)
	n.set(w.s.p.std.instanceType, instanceIngressClone)
	w.limit(n, s)
	w.replicate(n, s.Replicas, false)
	w.put(n)
}

func (w *Worker) limit(c *ctx, s *CloneSession) {
	if s.PacketLength > 0 {
		c.limit = min(c.limit, s.PacketLength)
	}
}

// cloneEgress lets the packet as it is through egress once more.
func (w *Worker) cloneEgress(c *ctx) {
	s := w.session(c.clone)
	if s == nil {
		return
	}
	n := w.get()
	n.copyOf(c)
	n.clearMeta()
	c.keep(c.cloneList, n)
	n.set(w.s.p.std.instanceType, instanceEgressClone)
	w.limit(n, s)
	w.replicate(n, s.Replicas, false)
	w.put(n)
}

func (c *ctx) clearMeta() {
	for _, s := range c.s.p.metaWords {
		clear(c.f[s.off : s.off+s.n])
	}
}

// egress lets a packet through egress and deparser, and out or around.
func (w *Worker) egress(c *ctx, port uint32, own bool) {
	std := &w.s.p.std
	if w.depth >= maxNesting {
		w.out.Drop(w.frame, DropPasses)
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	c.clearAsked()
	c.set(std.egressTime, uint64(w.now)/1000)
	c.set(std.egressPort, uint64(port))
	// Not the drop port; a field of 9 bits has zero.
	c.set(std.egressSpec, DropPort+1)
	c.set(std.packetLength, uint64(c.length))
	c.run(&w.s.p.egress)
	if c.dead {
		w.out.Drop(w.frame, c.why)
		return
	}
	c.exit = false
	if c.clone >= 0 {
		w.cloneEgress(c)
	}
	if c.f[std.egressSpec.off] == DropPort {
		w.out.Drop(w.frame, DropEgress)
		return
	}
	w.head = c.deparse(w.head[:0])
	head, payload := w.head, c.data[c.pos:]
	if c.dead {
		w.out.Drop(w.frame, c.why)
		return
	}
	if limit := c.limit; limit < len(head)+len(payload) {
		own = false // the payload is no more the end of the frame
		head = head[:min(len(head), limit)]
		payload = payload[:limit-len(head)]
	}
	if c.recirculate >= 0 {
		w.recirculate(c, head, payload)
		return
	}
	if len(head)+len(payload) == 0 {
		w.out.Drop(w.frame, DropSize)
		return
	}
	w.sent = Out{Frame: w.frame, Port: port, Head: head, Payload: payload, InPlace: own}
	w.out.Emit(&w.sent)
}

// recirculate restarts the pipeline with the outgoing frame.
func (w *Worker) recirculate(c *ctx, head, payload []byte) {
	n := w.get()
	n.own = append(append(n.own[:0], head...), payload...)
	n.reset(n.own, w.now)
	c.keep(c.recirculate, n)
	n.set(w.s.p.std.instanceType, instanceRecirculated)
	n.set(w.s.p.std.packetLength, uint64(len(n.data)))
	w.put(w.ingress(n, false))
}
