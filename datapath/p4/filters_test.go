package p4

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// oracle is package model with the same sessions as the bed.
type oracle struct {
	testing.TB
	*stages.UPF
	sent int // answers
}

func newOracle(t testing.TB) *oracle {
	o := &oracle{TB: t}
	o.UPF = stages.New(stages.Config{
		Endpoints: bedEndpoints, N6: bedN6, MaxSessions: bedSessions, MTU: bedMTU, Router4: n3, Router6: n36,
		Now: func() uint64 { return 1e9 }, Send: func([]byte) { o.sent++ },
	})
	return o
}

// pdr names a PDR.
type pdr struct {
	seid uint64
	id   uint32
}

// counts returns what has been counted for all PDRs of sessions.
func (o *oracle) counts(seids []uint64) map[pdr]datapath.Total {
	o.Helper()
	all := map[pdr]datapath.Total{}
	for _, seid := range seids {
		u, err := o.Usage(seid)
		if err != nil {
			o.Fatal(err)
		}
		for _, r := range u.GetRules() {
			all[pdr{seid, r.GetPdrId()}] = datapath.Total{Packets: r.GetPackets(), Octets: r.GetOctets(), Dropped: r.GetDroppedPackets()}
		}
	}
	return all
}

func (o *oracle) frame(device int, frame []byte) stages.Frame {
	if device == 0 {
		return o.FromN3(frame)
	}
	return o.FromNetwork(device, frame)
}

// counts returns what the target has counted, as the engine was told.
func (b *bed) counts(seids []uint64) map[pdr]datapath.Total {
	b.Helper()
	b.check(b.offload.collectAll(b.ctx))
	all := map[pdr]datapath.Total{}
	for _, seid := range seids {
		rules, _ := b.host.sessions.Rules(seid)
		for _, r := range rules {
			all[pdr{seid, r.PDRID}] = b.host.counted[r.Counters]
		}
	}
	return all
}

// dropped returns what the target has dropped, by reason.
func (b *bed) dropped() map[datapath.Reason]uint64 {
	b.Helper()
	i, all := b.local.live.Load().instance, map[datapath.Reason]uint64{}
	array, _ := i.Program().Counter("UPFIngress.dropped")
	i.View(func(tx *bmv2.Tx) {
		for _, r := range datapath.Reasons() {
			c, err := tx.Counter(array, int(r))
			b.check(err)
			if c.Packets > 0 {
				all[r] = c.Packets
			}
		}
	})
	return all
}

// moved returns what of now is not in was.
func moved[K comparable](was, now map[K]datapath.Total) map[K]datapath.Total {
	all := map[K]datapath.Total{}
	for k, n := range now {
		n.Packets, n.Octets, n.Dropped = n.Packets-was[k].Packets, n.Octets-was[k].Octets, n.Dropped-was[k].Dropped
		if n != (datapath.Total{}) {
			all[k] = n
		}
	}
	return all
}

// trial is one set of sessions in the bed and at the oracle.
type trial struct {
	*bed
	oracle *oracle
	seids  []uint64
	drawn  map[uint64]*api.Session
	seen   tally
	// What both had counted after the last packet; nil: a session has changed.
	byModel, byTarget map[pdr]datapath.Total
}

// tally is how many frames had which fate in the target.
type tally struct{ forwarded, dropped, cpu int }

// change applies to both.
func (tr *trial) change(c *api.Change) {
	tr.Helper()
	tr.byModel = nil
	want, got := tr.oracle.Apply(tr.ctx, c), tr.apply(c)
	if (want == nil) != (got == nil) {
		tr.Fatalf("the model says %v, the engine %v", want, got)
	}
	if got == nil && c.GetSession() != nil {
		tr.drawn[c.GetSeid()] = c.GetSession()
	}
	if got == nil && c.GetSession() != nil && indexOf(tr.seids, c.GetSeid()) < 0 {
		tr.seids = append(tr.seids, c.GetSeid())
	}
}

// treat has both treat a frame. What the target does not hand to the CPU it does as the model
// does: the packet, the reason, the PDR, the octets counted, and nobody is answered.
func (tr *trial) treat(device int, frame []byte) fate {
	tr.Helper()
	if tr.byModel == nil {
		tr.byModel, tr.byTarget = tr.oracle.counts(tr.seids), tr.counts(tr.seids)
	}
	modelBefore, targetBefore, sentBefore := tr.byModel, tr.byTarget, tr.oracle.sent
	wantDrops := tr.dropped()
	want, got := tr.oracle.frame(device, frame), tr.send(device, frame)
	tr.byModel, tr.byTarget = tr.oracle.counts(tr.seids), tr.counts(tr.seids)
	byModel, byTarget := moved(modelBefore, tr.byModel), moved(targetBefore, tr.byTarget)
	drops := tr.dropped()
	switch {
	case got.cpu:
		tr.seen.cpu++
		byModel = nil // the engine's
	case got.dropped:
		tr.seen.dropped++
		wantDrops[want.Reason]++
		if !want.Reason.IsDrop() {
			tr.Errorf("device %d: dropped, want %v\n%x", device, want.Reason, frame)
		}
	default:
		tr.seen.forwarded++
		if want.Reason != datapath.ReasonNone || !bytes.Equal(want.Packet, got.frame[inet.LenEthernet:]) {
			tr.Errorf("device %d: left by device %d as\n%x, want %v\n%x\nof %x", device, got.device, got.frame[inet.LenEthernet:], want.Reason, want.Packet, frame)
		}
		if exit := tr.exit(want); got.device != exit {
			tr.Errorf("left by device %d, want %d", got.device, exit)
		}
	}
	if len(byModel)+len(byTarget) > 0 {
		if diff := cmp.Diff(byModel, byTarget, cmp.AllowUnexported(pdr{})); diff != "" {
			tr.Errorf("counts (-model +target):\n%s\n%x", diff, frame)
		}
	}
	if diff := cmp.Diff(wantDrops, drops); diff != "" {
		tr.Errorf("drops (-model +target):\n%s\n%x", diff, frame)
	}
	if n := tr.oracle.sent - sentBefore; n > 0 && !got.cpu {
		tr.Errorf("the model sends %d answers to what the target did not hand to the CPU: %x", n, frame)
	}
	return got
}

// sessions returns those that there are.
func (tr *trial) sessions() (all []*api.Session) {
	for _, seid := range tr.seids {
		all = append(all, tr.drawn[seid])
	}
	return all
}

// exit is the device by which a packet leaves.
func (tr *trial) exit(f stages.Frame) int {
	if f.Tunnel {
		return 0
	}
	rules, _ := tr.host.sessions.Rules(f.SEID)
	for _, r := range rules {
		if r.PDRID == f.PDRID {
			return 1 + bedN6.Of(r.Way)
		}
	}
	return -1
}

// end takes all sessions out, and states that nothing is left.
func (tr *trial) end() {
	tr.Helper()
	for _, seid := range tr.seids {
		tr.change(&api.Change{Seid: seid})
	}
	tr.settle()
	tr.wantEmpty()
	tr.wantQuiet()
	tr.seids = nil
	clear(tr.host.counted)
}

// play draws sessions and packets, and has both treat them.
func (tr *trial) play(choices []byte) {
	tr.Helper()
	tr.oracle, tr.drawn = newOracle(tr), map[uint64]*api.Session{}
	d := &dice{left: choices}
	d.usual = pick(d, 0, 2, 3, 5)
	for seid := range uint64(1 + d.roll(3)) {
		tr.change(&api.Change{Seid: 1 + seid, Session: d.session(1 + seid)})
	}
	tr.settle()
	for n := 0; n < 50 && (n < 1 || len(d.left) > 0); n++ {
		if d.one(16) && len(tr.seids) > 0 { // a session changes between packets
			seid := pick(d, tr.seids...)
			tr.change(&api.Change{Seid: seid, Session: d.session(seid)})
			if d.roll(2) == 0 {
				tr.settle()
			}
			if d.roll(2) == 0 {
				tr.offload.retry()
				tr.settle()
			}
			continue
		}
		device, frame := d.frame(tr.sessions())
		if tr.treat(device, frame).cpu && tr.learn() {
			tr.treat(device, frame) // the target knows now what is in front
		}
	}
	tr.end()
}

// FuzzFilters: for any PDRs and packets, the target says what package model's detect does, or
// hands the packet to the CPU.
func FuzzFilters(f *testing.F) {
	for _, seed := range drawn(20, 1200) {
		f.Add(seed)
	}
	tr := &trial{bed: newBed(f)}
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 3000 {
			t.Skip()
		}
		tr.TB = t
		tr.play(choices)
	})
}

// drawn returns octets to draw from, always the same.
func drawn(n, octets int) (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		b := make([]byte, octets)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		all = append(all, b)
	}
	return all
}

// TestFilters plays many games of FuzzFilters, in which the target has its part.
func TestFilters(t *testing.T) {
	tr := &trial{bed: newBed(t)}
	for i, choices := range drawn(100, 1500) {
		tr.play(choices)
		if t.Failed() {
			for _, s := range tr.drawn {
				t.Log(prototext.Format(s))
			}
			t.Fatalf("game %d", i)
		}
	}
	t.Logf("%+v", tr.seen)
	if s := tr.seen; s.forwarded < 150 || s.dropped < 150 {
		t.Errorf("%+v: the target has done too little for this to say anything", s)
	}
}
