package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestUsageExact is the property that usage reports are for: whatever happens to
// packets, requests, answers and the process, what the CP function was told of a
// URR, each UR-SEQN once, is in the end what the datapath has counted.
//
// The process ends (kill -9) at any call that it makes to the datapath or the
// store: the datapath lives on, of what was saved since the last Flush any part
// may be lost, and a new process is started from the store.
func TestUsageExact(t *testing.T) {
	const seeds = uint64(6) // a minute's work for 100 of them
	var crashes, reports, repeated, deleted int
	for seed := range seeds {
		w := newUsageWorld(t, seed)
		for range 400 {
			w.run(w.step)
		}
		w.finish()
		w.check()
		if t.Failed() {
			t.Fatalf("seed %d, after %v", seed, w.log)
		}
		crashes, reports, repeated, deleted = crashes+w.crashes, reports+len(w.heard), repeated+w.repeated, deleted+w.deleted
	}
	if crashes < 20 || reports < 200 || repeated < 20 || deleted < 20 {
		t.Errorf("%d crashes, %d reports, %d of them repeated, %d deletions: the test does not test", crashes, reports, repeated, deleted)
	}
}

// usageWorld is a CP function, a UP function's process, and what outlives it.
type usageWorld struct {
	t   *testing.T
	r   *rand.Rand
	now int64
	m   *Manager
	log []string

	mu      sync.Mutex        // guards what follows while a process starts
	loading bool              // nothing happens meanwhile, nor in the end
	stored  map[uint64][]byte // flushed
	pending []savedRecord     // saved, not flushed

	datapath map[uint64]*meteredSession
	counted  map[[2]uint64]Counts // all that was ever counted, by SEID and URR ID
	fuse     int                  // calls until the process ends; negative: it does not

	heard     map[heardReport]UsageReport
	sessions  []uint64        // that the CP function has
	known     map[uint64]bool // that it has or had
	ues       int             // UE addresses that were given
	crashes   int
	repeated  int
	deleted   int
	toldSince map[uint64]bool // SEIDs that the process has told to report
}

// heardReport is what a CP function knows a report by. A URR that was removed and
// created again begins with UR-SEQN 0 again, and later.
type heardReport struct {
	seid  uint64
	urr   uint32
	seqn  uint32
	start int64
}

type savedRecord struct {
	seid   uint64
	record []byte // nil: dropped
}

// meteredSession is what the datapath holds of a session.
type meteredSession struct {
	pdrs   map[uint16][]uint32 // URRs of each PDR
	limits map[uint32]Limits
	counts map[uint32]Counts
}

// errKilled is what a process panics with that is killed.
var errKilled = errors.New("killed")

func newUsageWorld(t *testing.T, seed uint64) *usageWorld {
	w := &usageWorld{
		t: t, r: rand.New(rand.NewPCG(seed, 7)), now: 1_800_000_000 * second, fuse: -1,
		stored: map[uint64][]byte{}, datapath: map[uint64]*meteredSession{}, counted: map[[2]uint64]Counts{},
		heard: map[heardReport]UsageReport{}, known: map[uint64]bool{},
	}
	w.start()
	return w
}

// start starts the process: all that it knows is in the store.
func (w *usageWorld) start() {
	m, err := NewManager(Config{
		MaxSessions: 64, Endpoints: []Endpoint{{IPv4: n3}}, Store: w,
		Now: func() time.Time { return time.Unix(0, w.now) },
	}, w)
	if err != nil {
		w.t.Fatal(err)
	}
	w.m, w.toldSince = m, map[uint64]bool{}
	m.usages.tell = func(n Notice) { w.toldSince[n.SEID] = true }
	kept := w.pending
	w.pending = nil
	for _, s := range kept[:w.r.IntN(len(kept)+1)] { // what had got to the medium
		w.apply(s)
	}
	records := maps.Clone(w.stored)
	w.loading = true
	defer func() { w.loading = false }()
	loaded, err := m.Load(w.t.Context(), func(_ context.Context, each func(byte, uint64, []byte) error) error {
		for seid, record := range records {
			if err := each(KindSession, seid, record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(loaded.Failed) > 0 {
		w.t.Fatal(err, loaded.Failed)
	}
	for seid := range w.datapath { // Settle
		if w.m.table.find(seid) == nil {
			delete(w.datapath, seid)
		}
	}
}

// run does something, and starts the process anew if that ended it.
func (w *usageWorld) run(f func()) (killed bool) {
	defer func() {
		if e := recover(); e != nil {
			if e != any(errKilled) {
				panic(e)
			}
			w.fuse, killed = -1, true
			w.crashes++
			w.log = append(w.log, "killed")
			w.start()
		}
	}()
	f()
	return false
}

// call is a call that the process makes, and perhaps its last.
func (w *usageWorld) call() {
	if w.loading {
		return
	}
	if w.fuse == 0 {
		panic(errKilled)
	}
	w.fuse--
	if w.r.IntN(3) == 0 {
		w.packets()
	}
}

// Save, Drop and Flush are the store.
func (w *usageWorld) Save(_ byte, seid uint64, record []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	w.pending = append(w.pending, savedRecord{seid, slices.Clone(record)})
}

func (w *usageWorld) Drop(_ byte, seid uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	w.pending = append(w.pending, savedRecord{seid, nil})
}

func (w *usageWorld) Flush(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	for _, s := range w.pending {
		w.apply(s)
	}
	w.pending = nil
	return nil
}

func (w *usageWorld) apply(s savedRecord) {
	if s.record == nil {
		delete(w.stored, s.seid)
	} else {
		w.stored[s.seid] = s.record
	}
}

// Install, Remove and Usage are the datapath: a URR counts as long as its session
// has it, without a break.
func (w *usageWorld) Install(_ context.Context, c *Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	old := w.datapath[c.Session.SEID]
	d := &meteredSession{map[uint16][]uint32{}, map[uint32]Limits{}, map[uint32]Counts{}}
	for i := range c.Session.URRs {
		u := &c.Session.URRs[i]
		d.limits[u.ID] = u.Limits()
		if d.counts[u.ID] = (Counts{}); old != nil {
			d.counts[u.ID] = old.counts[u.ID]
		}
	}
	for i := range c.Session.PDRs {
		d.pdrs[c.Session.PDRs[i].ID] = slices.Clone(c.Session.PDRs[i].URRIDs)
	}
	w.datapath[c.Session.SEID] = d
	return nil
}

func (w *usageWorld) Remove(_ context.Context, seid uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	delete(w.datapath, seid)
	return nil
}

func (w *usageWorld) Usage(_ context.Context, seid uint64, u *Usage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call()
	d := w.datapath[seid]
	if d == nil {
		return ErrNoSession
	}
	*u = Usage{URRs: u.URRs[:0]}
	for _, id := range slices.Sorted(maps.Keys(d.counts)) {
		u.URRs = append(u.URRs, URRCounts{URRID: id, Counts: d.counts[id]})
		u.Packets += d.counts[id].packets()
	}
	return nil
}

// packets lets packets through the datapath, whether the process is there or not.
func (w *usageWorld) packets() {
	for _, seid := range slices.Sorted(maps.Keys(w.datapath)) {
		d := w.datapath[seid]
		for _, pdr := range slices.Sorted(maps.Keys(d.pdrs)) {
			ids := d.pdrs[pdr]
			if w.r.IntN(2) == 0 || slices.ContainsFunc(ids, func(id uint32) bool { return d.closed(id) }) {
				continue
			}
			for _, id := range ids {
				more := octets(100*w.r.Uint64N(20), 0)
				if pdr == 1 {
					more = octets(0, 100*w.r.Uint64N(20))
				}
				d.counts[id] = plus(d.counts[id], more)
				at := [2]uint64{seid, uint64(id)}
				w.counted[at] = plus(w.counted[at], more)
			}
		}
	}
}

// closed reports whether the URR lets nothing more pass.
func (d *meteredSession) closed(id uint32) bool {
	l := d.limits[id]
	return l.Exhausted || l.Quota.reached(d.counts[id])
}

func plus(a, b Counts) Counts {
	return Counts{
		a.UplinkOctets + b.UplinkOctets, a.DownlinkOctets + b.DownlinkOctets,
		a.UplinkPackets + b.UplinkPackets, a.DownlinkPackets + b.DownlinkPackets,
	}
}

// step does one thing, in the course of which the process may end.
func (w *usageWorld) step() {
	w.now += 1 + w.r.Int64N(2*second)
	w.packets()
	if w.r.IntN(6) == 0 {
		w.fuse = w.r.IntN(8)
	}
	defer func() { w.fuse = -1 }()
	seid := uint64(0)
	if len(w.sessions) > 0 {
		seid = w.sessions[w.r.IntN(len(w.sessions))]
	}
	what := w.r.IntN(12)
	w.log = append(w.log, fmt.Sprintf("%d(%x)", what, seid&0xffffff))
	switch {
	case seid == 0 || what == 0 && len(w.sessions) < 6:
		w.establish()
	case what == 1:
		w.delete(seid)
	case what < 5:
		w.modify(seid)
	case what < 7: // the datapath tells of a limit
		w.m.look(w.t.Context(), hint{seid: seid})
	case what < 9:
		for _, due := range w.m.timers.due(nil, w.now) {
			w.m.look(w.t.Context(), hint{seid: due, due: true})
		}
	default:
		w.tell()
	}
}
