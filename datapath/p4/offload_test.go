package p4

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// steps returns what has been written since the last call, write by write.
func (b *bed) steps() (all [][]string) {
	for _, w := range b.recorder.writes {
		all = append(all, b.says(w))
	}
	b.recorder.writes = nil
	return all
}

// TestOffloadOrder: what is in the target of a session is changed only while its keys say "cpu",
// and before the rules of the engine change.
func TestOffloadOrder(t *testing.T) {
	b := newBed(t)
	b.set(filteredSession(1, 50, 60))
	if got := b.steps(); len(got) > 0 {
		t.Errorf("before there is a session %q is written", got)
	}
	b.settle()
	want := [][]string{{"INSERT filters4", "INSERT rules"}, {"INSERT tunnels", "INSERT ues4"}}
	if diff := cmp.Diff(want, b.steps()); diff != "" {
		t.Errorf("a new session (-want +got):\n%s", diff)
	}
	b.set(filteredSession(1, 70, 80))
	if diff := cmp.Diff([][]string{{"MODIFY tunnels cpu", "MODIFY ues4 cpu"}}, b.steps()); diff != "" {
		t.Errorf("before the rules change (-want +got):\n%s", diff)
	}
	b.wantCPU(0, uplink(1, 100))
	b.wantCPU(1, downlink(1, 55, 100))
	b.settle()
	want = [][]string{{"DELETE filters4"}, {"INSERT filters4", "MODIFY rules"}, {"MODIFY tunnels", "MODIFY ues4"}}
	if diff := cmp.Diff(want, b.steps()); diff != "" {
		t.Errorf("a changed session (-want +got):\n%s", diff)
	}
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	b.wantTarget(1, downlink(1, 55, 100), pdr{1, 2})
	b.wantTarget(1, downlink(1, 75, 100), pdr{1, 3})

	b.set(plainSession(1))
	b.steps()
	b.settle()
	want = [][]string{{"DELETE filters4"}, {"MODIFY rules"}, {"MODIFY tunnels", "MODIFY ues4"}, {"DELETE rules"}}
	if diff := cmp.Diff(want, b.steps()); diff != "" {
		t.Errorf("without filters (-want +got):\n%s", diff)
	}
	b.wantTarget(1, downlink(1, 75, 100), pdr{1, 2})
	b.set(&api.Session{Seid: 1})
	b.settle()
	want = [][]string{{"MODIFY tunnels cpu", "MODIFY ues4 cpu"}, {"DELETE tunnels", "DELETE ues4"}, {"DELETE rules"}}
	if diff := cmp.Diff(want, b.steps()); diff != "" {
		t.Errorf("a session that goes (-want +got):\n%s", diff)
	}
	b.wantEmpty()
	b.wantQuiet()
}

// TestOffloadUsage: counts go on, whatever becomes of a session and of places in the target.
func TestOffloadUsage(t *testing.T) {
	b := newBed(t)
	b.offload.slots.most = 2 // the next session has the same places
	want := uint64(0)
	for round := range 3 {
		s := plainSession(1)
		s.Rules[0].Forward.NetworkInstance = []string{"internet", "corp", "internet"}[round]
		b.set(s)
		b.settle()
		for size := range 3 {
			b.send(0, uplink(1, 100+size))
			b.send(1, downlink(1, 0, 300+size))
			want += uint64(400 + 2*size)
		}
		if round == 1 {
			continue // the change has it counted
		}
		if got := b.usage(1); got != want {
			t.Errorf("round %d: %d octets, want %d", round, got, want)
		}
	}
	b.send(0, uplink(1, 77))
	counters := b.host.Candidates(datapath.Key{TEID: 1, Local: n3})[0].Counters
	b.set(&api.Session{Seid: 1})
	if got := b.host.counted[counters].Octets; got != 9*101+77 {
		t.Errorf("%d octets uplink when the session is gone, want %d", got, 9*101+77)
	}
	b.settle()
	b.set(plainSession(2))
	b.settle()
	if got := b.usage(2); got != 0 {
		t.Errorf("%d octets of a session that has had no packet", got)
	}
	b.wantTarget(0, uplink(2, 100), pdr{2, 1})
	b.set(&api.Session{Seid: 2})
	b.settle()
	b.wantEmpty()
	b.wantQuiet()
}

// TestOffloadKeyMoves: a UE address and an F-TEID go over to another session.
func TestOffloadKeyMoves(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first bool // session 2 is put into the target first
		alone bool // before the other one is looked at
	}{{name: "one batch"}, {name: "one batch, the new one first", first: true}, {name: "the new one is looked at first", first: true, alone: true}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBed(t)
			b.set(filteredSession(1, 50, 60))
			b.settle()
			b.set(as(1, plainSession(3))) // session 1 is another UE's now
			b.set(as(2, filteredSession(1, 70, 80)))
			if tt.first {
				b.offload.queue[0], b.offload.queue[1] = b.offload.queue[1], b.offload.queue[0]
			}
			if tt.alone {
				first := b.offload.sessions[b.offload.queue[0]]
				b.offload.queue, first.state = b.offload.queue[1:], busy
				b.check(b.offload.install(b.ctx, []*session{first}, []state{waiting}))
				b.wantTarget(1, downlink(1, 75, 100), pdr{2, 3})
				b.wantTarget(1, downlink(1, 55, 100), pdr{2, 2})
			}
			b.settle()
			b.wantTarget(0, uplink(1, 100), pdr{2, 1})
			b.wantTarget(1, downlink(1, 75, 100), pdr{2, 3})
			b.wantTarget(1, downlink(1, 55, 100), pdr{2, 2})
			b.wantTarget(0, uplink(3, 100), pdr{1, 1})
			b.set(&api.Session{Seid: 1})
			b.settle()
			b.wantTarget(1, downlink(1, 55, 100), pdr{2, 2})
			b.set(&api.Session{Seid: 2})
			b.settle()
			b.wantEmpty()
			b.wantQuiet()
		})
	}
}

// TestOffloadFull: a session for which there is no room is left to the CPU, and nothing of it is
// left behind. When there is room it gets it.
func TestOffloadFull(t *testing.T) {
	refuse := func(table string) func(b *bed) func() {
		return func(b *bed) func() {
			id := b.schema.tables[table].id
			b.recorder.refuse = func(u *p4rt.Update) error {
				if u.GetType() == p4rt.Update_INSERT && u.GetEntity().GetTableEntry().GetTableId() == id {
					return fmt.Errorf("table %s: %w", table, datapath.ErrFull)
				}
				return nil
			}
			return func() { b.recorder.refuse = nil }
		}
	}
	most := func(n *uint32, is uint32) func() {
		was := *n
		*n = is
		return func() { *n = was }
	}
	for name, fill := range map[string]func(b *bed) (empty func()){
		"rules": refuse(tableRules), "filters": refuse(tableFilters4), "tunnels": refuse(tableTunnels), "UEs": refuse(tableUEs4),
		"no place for a rule": func(b *bed) func() { return most(&b.offload.slots.most, 2) },
		"a place for one":     func(b *bed) func() { return most(&b.offload.slots.most, 3) },
		"no peer":             func(b *bed) func() { return most(&b.offload.peers.most, 1) },
		"no list":             func(b *bed) func() { return most(&b.offload.lists.most, 0) },
		"no bucket":           func(b *bed) func() { return most(&b.offload.buckets.most, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.set(plainSession(1))
			b.settle()
			empty, held := b.entries(), b.held()
			room := fill(b)
			s := limited(filteredSession(2, 50, 60), 1e9)
			s.Rules[1].Forward.OuterHeaderCreation.Ipv4 = word(gnb2)
			b.set(s)
			b.settle()
			held["sessions"]++
			held["rest"]++
			if diff := cmp.Diff([]map[string]int{empty, held}, []map[string]int{b.entries(), b.held()}); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
			b.wantCPU(0, uplink(2, 100))
			b.wantCPU(1, downlink(2, 55, 100))
			b.wantTarget(0, uplink(1, 100), pdr{1, 1})
			room()
			b.offload.retry()
			b.settle()
			b.wantTarget(0, uplink(2, 100), pdr{2, 1})
			b.wantTarget(1, downlink(2, 55, 100), pdr{2, 3})
			for seid := range uint64(2) {
				b.set(&api.Session{Seid: 1 + seid})
			}
			b.settle()
			b.wantEmpty()
			b.wantQuiet()
		})
	}
}

// TestOffloadGivenUp: a session of which the target takes one key and not the other has packets
// by the one for a moment: they are counted.
func TestOffloadGivenUp(t *testing.T) {
	b := newBed(t)
	b.offload.slots.most = 2
	why := errors.New("not this one")
	b.recorder.refuse = func(u *p4rt.Update) error {
		if b.says([]*p4rt.Update{u})[0] == "INSERT ues4" {
			return why
		}
		return nil
	}
	sent := 0
	b.recorder.after = func(updates []*p4rt.Update) {
		if strings.Contains(strings.Join(b.says(updates), " "), "INSERT tunnels") && sent == 0 {
			sent++
			b.send(0, uplink(1, 100))
		}
	}
	b.set(plainSession(1))
	b.settle()
	b.recorder.refuse, b.recorder.after = nil, nil
	if got := b.usage(1); sent != 1 || got != 100 {
		t.Errorf("%d octets of %d packets, want 100 of 1", got, sent)
	}
	if len(b.entries()) > 0 || b.offload.sessions[1].state != apart {
		t.Errorf("%v is left", b.entries())
	}
	if !strings.Contains(b.logged.String(), why.Error()) {
		t.Errorf("not logged: %s", b.logged)
	}
	b.set(plainSession(2))
	b.settle()
	if got := b.usage(2); got != 0 {
		t.Errorf("%d octets of a session that has had no packet", got)
	}
	b.set(&api.Session{Seid: 1})
	b.set(&api.Session{Seid: 2})
	b.settle()
	b.wantEmpty()
}

// TestOffloadRefusesChange: a change is refused if the target does not take packets back, and the
// session is as it was.
func TestOffloadRefusesChange(t *testing.T) {
	b := newBed(t)
	b.set(plainSession(1))
	b.settle()
	why := errors.New("no")
	b.recorder.refuse = func(*p4rt.Update) error { return why }
	if err := b.apply(&api.Change{Seid: 1, Session: filteredSession(1, 1, 2)}); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	b.recorder.refuse = nil
	b.settle()
	b.wantTarget(1, downlink(1, 1, 100), pdr{1, 2})
	b.set(&api.Session{Seid: 1})
	b.settle()
	b.wantEmpty()
}

// TestOffloadComesAgain: a session is set up again under its SEID while it goes.
func TestOffloadComesAgain(t *testing.T) {
	b := newBed(t)
	b.set(plainSession(1))
	b.settle()
	b.set(&api.Session{Seid: 1})
	all, was, _ := b.offload.next()
	done := make(chan error)
	go func() { done <- b.apply(&api.Change{Seid: 1, Session: plainSession(1)}) }()
	b.check(b.offload.install(b.ctx, all, was))
	b.check(<-done)
	b.settle()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	// And one that there never was.
	if err := b.apply(&api.Change{Seid: 9}); !errors.Is(err, datapath.ErrNoSession) {
		t.Errorf("%v, want %v", err, datapath.ErrNoSession)
	}
	b.set(&api.Session{Seid: 1})
	b.settle()
	b.wantEmpty()
	b.wantQuiet()
}

// TestOffloadShapes: sessions of all kinds come, change and go, and nothing is left.
func TestOffloadShapes(t *testing.T) {
	at := place{endpoints: conformance.Endpoints, n6: &conformance.DataNetworks, ports: []afxdp.Port{{Name: "n3", MTU: bedMTU}}}
	for _, e := range at.endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if a.IsValid() {
				at.ports[0].Locals = append(at.ports[0].Locals, a)
			}
		}
	}
	for i, n := range at.n6.Networks {
		at.ports = append(at.ports, afxdp.Port{Number: 1 + i, Name: n.Device, MTU: bedMTU, Network: 1 + i, Ethernet: n.Ethernet})
	}
	b := newBedAt(t, at)
	taken := 0
	for i, choices := range drawn(300, 500) {
		d := &dice{left: choices}
		for _, c := range conformance.Shape(choices) {
			_ = b.apply(c) // a refusal is an answer, too
			if d.roll(2) == 0 {
				b.settle()
			}
			if d.one(4) {
				b.check(b.offload.lookAtLimits(b.ctx))
			}
		}
		b.settle()
		taken += b.entries()[tableRules]
		for seid := range uint64(4) {
			_ = b.apply(&api.Change{Seid: seid})
		}
		b.settle()
		b.wantEmpty()
		b.wantQuiet()
		if t.Failed() {
			t.Fatalf("game %d", i)
		}
	}
	if taken < 100 {
		t.Errorf("%d rules were in the target: too few for this to say anything", taken)
	}
}

// as gives a session another SEID.
func as(seid uint64, s *api.Session) *api.Session {
	s.Seid = seid
	return s
}
