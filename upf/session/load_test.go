package session

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memoryStore is a store without a medium.
type memoryStore struct {
	mu      sync.Mutex
	records map[uint64][]byte
}

func newMemoryStore() *memoryStore { return &memoryStore{records: make(map[uint64][]byte)} }

func (s *memoryStore) Save(_ byte, id uint64, record []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[id] = append([]byte(nil), record...)
}

func (s *memoryStore) Drop(_ byte, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, id)
}

func (s *memoryStore) Flush(context.Context) error { return nil }

// load is what a store's Load is.
func (s *memoryStore) load(_ context.Context, each func(byte, uint64, []byte) error) error {
	s.mu.Lock()
	records := maps.Clone(s.records)
	s.mu.Unlock()
	for id, r := range records {
		if err := each(KindSession, id, r); err != nil {
			return err
		}
		if err := each('a', id, []byte("of somebody else")); err != nil {
			return err
		}
	}
	return nil
}

func loadConfig(s *memoryStore) Config {
	return Config{
		MaxSessions: 64, Endpoints: []Endpoint{{IPv4: n3}}, Store: s,
		Pools:  []Pool{{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.60.0.0/24"), netip.MustParsePrefix("2001:db8:60::/56")}}},
		Slices: []Slice{{Number: 3, DNNs: []string{"internet"}}},
	}
}

// TestLoad: a new process holds what the old one held, and goes on with it.
func TestLoad(t *testing.T) {
	store := newMemoryStore()
	m, dp := newManagerOf(t, loadConfig(store))
	if err := m.SetPFDs(t.Context(), "dns", []SDFFilter{{Protocol: Some(uint8(17))}}); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		req := usual()
		if setUE(req, i); i%2 == 0 {
			setUE(req, 0)
			for j := range req.CreatePDRs {
				req.CreatePDRs[j].PDI.UEAddress, req.CreatePDRs[j].PDI.ChooseUE = UEAddress{}, ChooseUE{V4: true, V6: i%4 == 0}
			}
		}
		if i%5 == 0 {
			req.CreatePDRs[0].PDI.ApplicationID, req.CreatePDRs[0].PDI.Filters = "dns", nil
		}
		must(t, m, req)
	}
	again, dp2 := newManagerOf(t, loadConfig(store))
	if err := again.SetPFDs(t.Context(), "dns", []SDFFilter{{Protocol: Some(uint8(17))}}); err != nil {
		t.Fatal(err)
	}
	got, err := again.Load(t.Context(), store.load)
	if err != nil || got.Sessions != 40 || len(got.Failed) != 0 || again.Len() != 40 || again.SliceLen(3) != 40 || again.agentLen(0) != 40 {
		t.Fatalf("%+v, %v; %d sessions, %d in the slice", got, err, again.Len(), again.SliceLen(3))
	}
	for s := range m.All() {
		if d := cmp.Diff(s, again.Get(s.SEID), equal); d != "" {
			t.Fatalf("session %#x (-before +after):\n%s", s.SEID, d)
		}
		if d := cmp.Diff(dp.sessions[s.SEID], dp2.sessions[s.SEID], equal); d != "" {
			t.Fatalf("session %#x in the datapath (-before +after):\n%s", s.SEID, d)
		}
		for _, r := range s.resources(nil) {
			if h := again.claims.holder(r); h != holderOf(s.SEID) {
				t.Errorf("%v of session %#x is held by %d", r, s.SEID, h)
			}
		}
	}
	if _, err := again.DeleteOwned(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	again.flushOnce(t)
	checkEmpty(t, again, dp2)
}

// flushOnce does what Run does about sessions that were deleted.
func (m *Manager) flushOnce(t *testing.T) {
	t.Helper()
	m.usages.mu.Lock()
	rests := maps.Clone(m.usages.rests)
	m.usages.mu.Unlock()
	for seid, since := range rests {
		m.tidy(t.Context(), seid, since)
	}
}

// TestLoadFailures: what cannot be restored is reported, dropped from the store and
// costs nothing; the others are restored.
func TestLoadFailures(t *testing.T) {
	store := newMemoryStore()
	m, _ := newManagerOf(t, loadConfig(store))
	r := rand.New(rand.NewPCG(1, 1))
	var good, refused, absent *Session
	for i := range 9 {
		req := usual()
		setUE(req, i)
		s := must(t, m, req)
		switch i {
		case 0:
			good = s
		case 1:
			refused = s
		case 2: // cut off
			store.records[s.SEID] = store.records[s.SEID][:20]
		case 3: // at an address that is no longer ours
			s.PDRs[1].PDI.FTEID.IPv4 = IPv4{9, 9, 9, 9}
			store.records[s.SEID] = record(s)
		case 4: // the UE address of another one
			clash := *s
			clash.PDRs = append([]PDR(nil), s.PDRs...)
			clash.PDRs[0].PDI.UEAddress = good.PDRs[0].PDI.UEAddress
			store.records[s.SEID] = record(&clash)
		case 5: // the slot of another one
			delete(store.records, s.SEID)
			other := *s
			other.SEID = good.SEID ^ 1<<40
			store.records[other.SEID] = record(&other)
		case 6: // noise
			for j := range store.records[s.SEID] {
				store.records[s.SEID][j] ^= byte(r.Uint32())
			}
		case 8:
			absent = s
		case 7: // no such SEID
			store.records[0] = store.records[s.SEID]
			delete(store.records, s.SEID)
		}
	}
	again, dp := newManagerOf(t, loadConfig(store))
	dp.fail = func() error {
		switch dp.installing {
		case refused.SEID:
			return &Error{Cause: CauseRuleFailure, HasRule: true, Rule: RulePDR, RuleID: 1, Err: errFake}
		case absent.SEID:
			return errFake
		}
		return nil
	}
	got, err := again.Load(t.Context(), store.load)
	// Of two that exclude each other the one that comes first is restored: the good
	// one, or the two that want its slot and its UE address.
	n := got.Sessions
	if err != nil || n != 2 && n != 3 || len(got.Failed) != 9-n || len(store.records) != n {
		t.Errorf("%d restored, %d records left, %v, failures:", got.Sessions, len(store.records), err)
		for _, f := range got.Failed {
			t.Errorf("%#x: %v", f.SEID, f.Err)
		}
	}
	var held []*Session
	for s := range again.All() {
		held = append(held, s)
	}
	// A datapath that fails does not cost the session: it is tried again.
	if len(got.Absent) != 1 || got.Absent[0].SEID != absent.SEID || !errors.Is(got.Absent[0].Err, errFake) || again.Get(absent.SEID) == nil {
		t.Errorf("absent: %+v, want %#x", got.Absent, absent.SEID)
	}
	dp.fail = nil
	if again.flushOnce(t); dp.sessions[absent.SEID] == nil {
		t.Error("the datapath that failed does not have the session now")
	}
	if len(held) != n || again.Len() != n || len(dp.sessions) != n || int(again.claims.teids.slots.taken) != n {
		t.Errorf("%d sessions, %d in the datapath, %d TEIDs; want %d", len(held), len(dp.sessions), again.claims.teids.slots.taken, n)
	}
	source := errors.New("the store fails")
	if _, err := again.Load(t.Context(), func(context.Context, func(byte, uint64, []byte) error) error { return source }); !errors.Is(err, source) {
		t.Errorf("%v, want %v", err, source)
	}
}

// BenchmarkLoad restores 100000 sessions of the usual shape.
func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	store := newMemoryStore()
	m, err := NewManager(Config{MaxSessions: n, Endpoints: []Endpoint{{IPv4: n3}}, Store: store}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	req, r := usual(), new(Result)
	for i := range n {
		setUE(req, i)
		if err := m.Establish(b.Context(), req, r); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		b.StopTimer()
		m := benchManager(b, n)
		b.StartTimer()
		start := time.Now()
		got, err := m.Load(b.Context(), store.load)
		if err != nil || got.Sessions != n {
			b.Fatalf("%d restored, %v", got.Sessions, err)
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "ns/session")
	}
}
