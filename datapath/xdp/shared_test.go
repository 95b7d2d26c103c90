package xdp

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// sharedBed is a bed with a clock of its own, on which tests run one behind the
// other.
type sharedBed struct {
	*bed
	*clock
	peers int // references to next hops that the bed itself has
}

func openShared(t testing.TB, cfg Config, p *ports) sharedBed {
	t.Helper()
	c := newClock(t)
	cfg.MaxSessions, cfg.now, cfg.edit = cmp.Or(cfg.MaxSessions, conformance.MaxSessions), c.read, c.edit
	b := sharedBed{bed: openConfig(t, cfg, p), clock: c}
	b.peers = b.peerRefs()
	return b
}

// Pass implements [conformance.Shared]: the clock goes on, and what has to be
// looked after is. Each session comes to its turn in so many.
func (b sharedBed) Pass(d time.Duration) {
	const turns = 64
	b.clock.Pass(d)
	b.mu.RLock()
	for range turns {
		b.slow.stages.Sweep()
	}
	b.mu.RUnlock()
	b.slow.stages.N6.Expire(b.clock.read())
	b.slow.resume()
}

func (b sharedBed) peerRefs() (n int) {
	for _, p := range b.Peers() {
		n += p.Sessions
	}
	return n
}

// Remains implements [conformance.Shared].
func (b sharedBed) Remains() (all []string) {
	left := func(what string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	b.mu.RLock()
	for _, t := range []*table{b.teids, b.ues} {
		left("rules", t.held)
		left("rules beside their home", len(t.guests))
		for slot := range t.slots {
			if key := t.slots[slot].Key; key != 0 {
				all = append(all, fmt.Sprintf("key %#x in slot %d", key, slot))
			}
		}
	}
	left("guests that the programs look for", b.overflows)
	left("framed routes", len(b.framed.key)+len(b.framed.prefixes))
	left("meters", 2*len(b.meters.slots)-2-b.meters.places.free())
	left("shared meters", len(b.meters.shared))
	left("URRs", len(b.urrs.slots)-1-b.urrs.places.free())
	left("rules of the slow path", len(b.slowRules)+len(b.slowSessions))
	for seid := range b.sessions.all() {
		all = append(all, fmt.Sprintf("session %#x", seid))
	}
	for slot := range b.queues.slots {
		left("packets in a queue", int(b.queues.slots[slot].Packets))
		left("queues that are stopped", int(b.queues.slots[slot].Full))
	}
	b.mu.RUnlock()
	for _, u := range b.TableUse() {
		left("of "+u.Name, u.Used)
	}
	o := b.Buffered()
	left("buffered packets, and sessions that have some", o.Packets+o.Sessions)
	left("references to next hops", b.peerRefs()-b.peers)
	return all
}

var _ conformance.Shared = sharedBed{}

// TestRemains: what a session has is seen to remain, one thing after the other.
func TestRemains(t *testing.T) {
	b := openShared(t, Config{programs: []string{}}, bedPorts())
	if all := b.Remains(); all != nil {
		t.Fatalf("without sessions: %q", all)
	}
	for name, leave := range map[string]func(){
		"rule":    func() { b.teids.slots[3].Key = 7 },
		"meter":   func() { _, _ = b.meters.reserve(0) },
		"URR":     func() { _, _ = b.urrs.reserve(1, 1, 0) },
		"packet":  func() { b.queues.slots[1].Packets = 1 },
		"hop":     func() { b.hops.uses[1].refs++ },
		"list":    func() { b.lists.freeEntries.take(3) },
		"mapping": func() { b.nat.take() },
		"session": func() { b.slowRules[tableKey{}] = []*stages.Rule{{}} },
	} {
		before := len(b.Remains())
		if leave(); len(b.Remains()) == before {
			t.Errorf("%s: not seen", name)
		}
	}
}
