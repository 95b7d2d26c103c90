package conformance

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// asked is a request of P7 that came from a VNF under test.
type asked struct {
	id        nfapi.MessageID
	phy       uint16
	slot      slot.Number
	valid     bool // there is such a slot
	lead      time.Duration
	known     bool // the slot was announced: lead is
	sequence  uint8
	timestamp uint32
	pdsch     bool // DL_TTI has one
}

// air is the slot clock of the PNF that a VNF under test sees, and what came.
type air struct {
	bench *vnfBench
	mu_   slot.Numerology
	quit  chan struct{}
	done  chan struct{}
	live  bool

	mu    sync.Mutex
	at    slot.Number // that begins next
	begun map[slot.Number]time.Time
	count int
	tardy int // slots that were announced more than a slot too late, since forget
	// script, if set, makes what is sent in a slot.
	script func(n slot.Number) [][]byte
	list   []asked
	syncs  []nfapi.DLNodeSync
	failed error
}

// announced is how many slots ahead SLOT.indication is: enough for a machine that is
// slow now and then.
const announced = 8

func newAir() *air { return &air{begun: map[slot.Number]time.Time{}} }

// start begins with a slot.
func (a *air) start(b *vnfBench, from slot.Number) {
	a.bench, a.mu_, a.at, a.live = b, b.cell.Numerology, from, true
	a.quit, a.done = make(chan struct{}), make(chan struct{})
	go a.run()
}

// stop ends the slots.
func (a *air) stop() {
	if a.live {
		close(a.quit)
		<-a.done
		a.live = false
	}
}

func (a *air) ended() bool { return !a.live }

// run has slots begin at their times.
func (a *air) run() {
	defer close(a.done)
	p7 := a.bench.p7
	next := time.Now()
	for {
		select {
		case <-a.quit:
			return
		case <-time.After(time.Until(next)):
		}
		a.mu.Lock()
		n := a.at
		a.at = a.mu_.Add(n, 1)
		ahead := a.mu_.Add(n, announced)
		now := time.Now()
		a.begun[ahead] = now.Add(announced * a.mu_.Duration()) // a VNF has nothing to do with our delay
		if now.Sub(next) > a.mu_.Duration() {
			a.tardy++
		}
		a.count++
		script := a.script
		a.mu.Unlock()
		var all [][]byte
		if script != nil {
			all = script(ahead)
		} else {
			all = a.tick(ahead)
		}
		if err := p7.send(all...); err != nil {
			a.mu.Lock()
			a.failed = err
			a.mu.Unlock()
		}
		next = a.skip(next.Add(a.mu_.Duration()))
	}
}

// skip leaves out the slots that a pause of this machine went through: no burst follows
// it, and the slots after it begin at their times all the same, as those of a PNF do.
// next is when the next one is to begin, and so is what is returned.
func (a *air) skip(next time.Time) time.Time {
	late := time.Since(next)
	if late < 20*time.Millisecond {
		return next
	}
	n := int(late / a.mu_.Duration())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = a.mu_.Add(a.at, n)
	a.count += n
	return next.Add(time.Duration(n) * a.mu_.Duration())
}

// tick is SLOT.indication of a slot.
func (a *air) tick(n slot.Number) [][]byte {
	sfn, s := a.mu_.Split(n)
	return a.messages(&nfapi.SlotIndication{SFN: sfn, Slot: s})
}

// messages makes datagrams that are right. What cannot be encoded is left out.
func (a *air) messages(all ...nfapi.Message) [][]byte {
	var out [][]byte
	for _, m := range all {
		if d, err := a.bench.p7.datagrams(a.bench.phy, m, whole, checksumRight, 0); err == nil {
			out = append(out, d...)
		}
	}
	return out
}

// take takes a message in.
func (a *air) take(h *nfapi.Header, m nfapi.Message, from netip.AddrPort, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := m.(*nfapi.DLNodeSync); ok {
		if len(a.syncs) < maxSeen {
			a.syncs = append(a.syncs, *s)
		}
		return
	}
	sfn, s, ok := nfapi.SlotOf(m)
	if !ok || len(a.list) >= maxSeen {
		return
	}
	one := asked{id: m.MessageID(), phy: h.PhyID, sequence: h.Sequence(), timestamp: h.Timestamp}
	one.slot, one.valid = a.mu_.Number(sfn, s)
	if begin, known := a.begun[one.slot]; known && one.valid {
		one.lead, one.known = begin.Sub(at), true
	}
	if d, ok := m.(*nfapi.DLTTIRequest); ok {
		one.pdsch = slices.ContainsFunc(d.PDUs, func(p nfapi.DLTTIPDU) bool { return p.Type == 1 })
	}
	a.list = append(a.list, one)
}

// requests is how many requests have come for slots that were announced.
func (a *air) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for i := range a.list {
		if a.list[i].known {
			n++
		}
	}
	return n
}

// slots is how many slots have begun.
func (a *air) slots() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// forget forgets what came.
func (a *air) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list, a.tardy = nil, 0
}

// slow reports whether one slot in twenty was announced too late: then this machine has
// no time to judge others by.
func (a *air) slow() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return 20*a.tardy > listenFrames*a.mu_.PerFrame()
}

func (a *air) came() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

func (a *air) play(script func(n slot.Number) [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script = script
}

// jump continues with another slot.
func (a *air) jump(n slot.Number) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = n
}

func (a *air) nodeSyncs() []nfapi.DLNodeSync {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.syncs)
}

// sides returns which request was the first for the end of the SFN cycle, and which behind
// it the first for its begin; below 0: none. The begin is where requests for the slots
// before can overtake none any more.
func (a *air) sides() (before, after int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	half := a.mu_.PerCycle() / 2
	before = slices.IndexFunc(a.list, func(r asked) bool { return r.known && int(r.slot) > half })
	if before < 0 {
		return -1, -1
	}
	after = slices.IndexFunc(a.list[before:], func(r asked) bool {
		return r.known && int(r.slot) >= 2*announced && int(r.slot) < 50*a.mu_.PerFrame()
	})
	if after >= 0 {
		after += before
	}
	return before, after
}
