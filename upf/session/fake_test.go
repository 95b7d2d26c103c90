package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

var n3 = IPv4{10, 3, 0, 1}

var errFake = errors.New("fake datapath: told to fail")

// fakeDatapath keeps the records of what it was given and fails when told to.
type fakeDatapath struct {
	mu         sync.Mutex
	sessions   map[uint64]*Session
	markers    []EndMarker
	dropped    int          // changes with DropBuffered
	fail       func() error // nil: never
	installing uint64       // SEID, while fail is asked
	usage      Usage
}

func (f *fakeDatapath) Install(_ context.Context, c *Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.installing = c.Session.SEID; f.fail != nil {
		if err := f.fail(); err != nil {
			return err
		}
	}
	f.sessions[c.Session.SEID] = copySession(c.Session)
	f.markers = append(f.markers, c.EndMarkers...)
	if c.DropBuffered {
		f.dropped++
	}
	return nil
}

func (f *fakeDatapath) Remove(_ context.Context, seid uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return err
		}
	}
	delete(f.sessions, seid)
	return nil
}

func (f *fakeDatapath) Usage(_ context.Context, _ uint64, u *Usage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	*u = Usage{URRs: append(u.URRs[:0], f.usage.URRs...), Packets: f.usage.Packets}
	return nil
}

// copySession returns a session with memory of its own, by way of its record.
func copySession(s *Session) *Session {
	var w writer
	appendRecord(&w, s)
	c := new(Session)
	if err := readRecord(c, s.SEID, w.b, &reader{texts: new(texts)}); err != nil {
		panic(err)
	}
	return c
}

func newManager(t testing.TB, maxSessions int) (*Manager, *fakeDatapath) {
	t.Helper()
	return newManagerOf(t, Config{
		MaxSessions: maxSessions, Endpoints: []Endpoint{{Name: "n3", IPv4: n3}},
	})
}

func newManagerOf(t testing.TB, c Config) (*Manager, *fakeDatapath) {
	t.Helper()
	dp := &fakeDatapath{sessions: make(map[uint64]*Session)}
	m, err := NewManager(c, dp)
	if err != nil {
		t.Fatal(err)
	}
	return m, dp
}

// establish and modify return the session as it is, in memory of its own.
func establish(m *Manager, req *Establishment) (*Session, error) {
	r := new(Result)
	if err := m.Establish(context.Background(), req, r); err != nil {
		return nil, err
	}
	return r.Session, nil
}

func modify(m *Manager, req *Modification) (*Session, error) {
	r := new(Result)
	if err := m.Modify(context.Background(), req, r); err != nil {
		return nil, err
	}
	return r.Session, nil
}

func remove(m *Manager, seid uint64, owner uint32) error {
	return m.Delete(context.Background(), seid, owner, new(Result))
}

// lastCP is the CP function's SEID of the last establishment.
var lastCP atomic.Uint64

// establishment is a session of the usual shape: PDR 1 from Core to FAR 1, PDR
// 2 from Access, F-TEID to be chosen, to FAR 2, both by QER 1.
func establishment(ue IPv4) *Establishment {
	return &Establishment{
		Owner: 1,
		CP:    FSEID{SEID: lastCP.Add(1), IPv4: IPv4{127, 0, 0, 1}},
		CreatePDRs: []PDR{
			{
				ID: 1, Precedence: 255, FARID: 1, QERIDs: []uint32{1},
				PDI: PDI{SourceInterface: Core, UEAddress: UEAddress{IPv4: ue}, NetworkInstance: "internet"},
			},
			{
				ID: 2, Precedence: 255, FARID: 2, QERIDs: []uint32{1}, OuterHeaderRemoval: true,
				PDI: PDI{SourceInterface: Access, Choose: Choose{CH: true}, UEAddress: UEAddress{IPv4: ue}, Filters: []SDFFilter{{}}},
			},
		},
		CreateFARs: []FAR{
			{ID: 1, ApplyAction: Forward, HasForwarding: true, Forwarding: ForwardingParameters{
				DestinationInterface: Access,
				OuterHeaderCreation:  OuterHeaderCreation{TEID: 2, IPv4: IPv4{10, 3, 0, 2}},
			}},
			{ID: 2, ApplyAction: Forward, HasForwarding: true, Forwarding: ForwardingParameters{DestinationInterface: Core}},
		},
		CreateQERs: []QER{{ID: 1, QFI: 9, HasMBR: true, MBR: Rate{1e9, 2e9}}},
	}
}

// checkEmpty fails unless the manager holds nothing at all.
func checkEmpty(t testing.TB, m *Manager, dp *fakeDatapath) {
	t.Helper()
	if n := m.Len(); n != 0 {
		t.Errorf("%d sessions counted, want 0", n)
	}
	for range m.All() {
		t.Error("a session is left")
	}
	if n := len(dp.sessions); n != 0 {
		t.Errorf("datapath holds %d sessions, want 0", n)
	}
	for i := range m.claims.shards {
		s := &m.claims.shards[i]
		if n := len(s.ipv4) + len(s.ipv6) + len(s.framed); n != 0 {
			t.Errorf("shard %d of the claims: %d UE addresses are held", i, n)
		}
	}
	checkFree(t, "TEIDs", &m.claims.teids.slots)
	if n := len(m.claims.teids.others); n != 0 {
		t.Errorf("%d TEIDs beside the slots are held", n)
	}
	for _, p := range m.claims.pools.list {
		checkFree(t, "UE addresses", &p.places)
	}
	for i := range m.tables.slices.counts {
		if n := m.tables.slices.counts[i].Load(); n != 0 {
			t.Errorf("slice %d: %d sessions counted, want 0", m.config.Slices[i].Number, n)
		}
	}
	for i := range m.tables.slices.agents {
		if n := m.tables.slices.agents[i].Load(); n != 0 {
			t.Errorf("agent %d: %d sessions counted, want 0", i, n)
		}
	}
}

// checkFree fails unless every place is free, and those that were used are in the
// queue, once.
func checkFree(t testing.TB, what string, p *places) {
	t.Helper()
	if p.taken != 0 {
		t.Errorf("%s: %d taken, want 0", what, p.taken)
	}
	queued := uint32(0)
	for i := p.first; i != 0; i = p.at(i - 1).next {
		if pl := p.at(i - 1); pl.holder != 0 || !pl.queued {
			t.Errorf("%s: place %d in the queue: %+v", what, i-1, *pl)
		}
		if queued++; queued > p.fresh {
			t.Fatalf("%s: the queue has no end", what)
		}
	}
	if queued != p.fresh {
		t.Errorf("%s: %d places in the queue, %d were used", what, queued, p.fresh)
	}
}
