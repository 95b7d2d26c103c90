package session

import (
	"context"
	"errors"
	"sync"
	"testing"
)

var n3 = IPv4{10, 3, 0, 1}

var errFake = errors.New("fake datapath: told to fail")

// fakeDatapath keeps what it was given and fails when told to.
type fakeDatapath struct {
	mu       sync.Mutex
	sessions map[uint64]*Session
	fail     func() error // nil: never
}

func (f *fakeDatapath) Install(_ context.Context, s *Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return err
		}
	}
	f.sessions[s.SEID] = s
	return nil
}

func (f *fakeDatapath) Remove(_ context.Context, s *Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(); err != nil {
			return err
		}
	}
	delete(f.sessions, s.SEID)
	return nil
}

func newManager(t testing.TB, maxSessions int) (*Manager, *fakeDatapath) {
	t.Helper()
	dp := &fakeDatapath{sessions: make(map[uint64]*Session)}
	m, err := NewManager(Config{MaxSessions: maxSessions, N3: []IPv4{n3}}, dp)
	if err != nil {
		t.Fatal(err)
	}
	return m, dp
}

// establishment is a session of the usual shape: PDR 1 from Core to FAR 1, PDR
// 2 from Access, F-TEID to be chosen, to FAR 2, both by QER 1.
func establishment(ue IPv4) *Establishment {
	return &Establishment{
		Owner: 1,
		CP:    FSEID{SEID: 0x1122, IPv4: IPv4{127, 0, 0, 1}},
		CreatePDRs: []CreatePDR{
			{PDR: PDR{
				ID: 1, Precedence: 255, FARID: 1, QERIDs: []uint32{1},
				PDI: PDI{SourceInterface: Core, UEAddress: UEAddress{IPv4: ue}, NetworkInstance: "internet"},
			}},
			{PDR: PDR{
				ID: 2, Precedence: 255, FARID: 2, QERIDs: []uint32{1}, OuterHeaderRemoval: true,
				PDI: PDI{SourceInterface: Access, Choose: Choose{CH: true}, UEAddress: UEAddress{IPv4: ue}},
			}, SDFFilters: [][]byte{[]byte("permit  out ip from any to assigned ")}},
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

// queued walks the queue of free slots both ways.
func queued(t testing.TB, a *teids) int {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	end := uint32(len(a.slots) - 1)
	forth, back := 0, 0
	for i := a.slots[end].next; i != end; i = a.slots[i].next {
		forth++
	}
	for i := a.slots[end].prev; i != end; i = a.slots[i].prev {
		back++
	}
	if forth != back {
		t.Errorf("queue of %d slots forth, %d back", forth, back)
	}
	return forth
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
	for i := range m.shards {
		if n := len(m.shards[i].sessions); n != 0 {
			t.Errorf("shard %d has %d entries, want 0", i, n)
		}
	}
	for i := range m.claims.shards {
		for r, seid := range m.claims.shards[i].holder {
			t.Errorf("%v is still held by %#x", r, seid)
		}
	}
	if got, want := queued(t, m.teids), len(m.teids.slots)-1; got != want {
		t.Errorf("%d of %d TEID slots free, want all", got, want)
	}
	for i, s := range m.teids.slots[:len(m.teids.slots)-1] {
		if s.use != 0 {
			t.Errorf("TEID slot %d: use %#x, want 0", i, s.use)
		}
	}
}
