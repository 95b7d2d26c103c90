package n4

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// memoryStore is a store whose flushed records a test can look at, and that
// fails when told to.
type memoryStore struct {
	mu      sync.Mutex
	now     map[record][]byte // saved
	kept    map[record][]byte // flushed
	flushes int
	fails   error
}

type record struct {
	kind byte
	id   uint64
}

func newMemoryStore() *memoryStore { return &memoryStore{now: make(map[record][]byte)} }

func (s *memoryStore) Save(kind byte, id uint64, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[record{kind, id}] = bytes.Clone(b)
}

func (s *memoryStore) Drop(kind byte, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, record{kind, id})
}

func (s *memoryStore) Flush(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails
	}
	s.flushes++
	s.kept = maps.Clone(s.now)
	return nil
}

// fail makes Flush fail; nil: not any more.
func (s *memoryStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// flushed is how often it was flushed.
func (s *memoryStore) flushed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushes
}

// after is what a process finds that begins after this one was killed.
func (s *memoryStore) after() *memoryStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &memoryStore{now: maps.Clone(s.kept), kept: maps.Clone(s.kept)}
}

// of lists the flushed records of a kind.
func (s *memoryStore) of(kind byte) (list [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, b := range s.kept {
		if k.kind == kind {
			list = append(list, b)
		}
	}
	return list
}

// reopen returns a bed as it is after a restart with what the store has.
func (s *memoryStore) reopen(t *testing.T, c Config) *bed {
	t.Helper()
	c.Store = s.after()
	return newBedFrom(t, c, time.Minute, func(e *Endpoint) {
		for k, b := range c.Store.(*memoryStore).kept {
			if err := e.Restore(k.kind, k.id, b); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestRestart: associations, PFDs and the Recovery Time Stamp are as before,
// heartbeats go on, the peer goes on without setting up anything, and a new
// association has another owner number.
func TestRestart(t *testing.T) {
	p := port(t)
	store, config := newMemoryStore(), Config{PeerPort: p, HeartbeatInterval: 20 * time.Millisecond}
	first := config
	first.Store = store
	b := newBed(t, first)
	c := b.client(t, "127.0.0.2")
	var setup pfcp.AssociationSetupResponse
	c.do(0, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{FQDN: pfcp.NewName("smf.example")}, RecoveryTimeStamp: 7, SMFSetID: pfcp.NewName("set.example"),
		CPFunctionFeatures: pfcp.Some(pfcp.CPFeatureLOAD), Alternatives: []pfcp.CPAddress{{IPv4: netip.MustParseAddr("127.0.0.4")}},
	}, &setup)
	var pfd pfcp.PFDManagementResponse
	if c.do(0, pfdRequest("app", "permit out tcp from 192.0.2.1 443 to assigned"), &pfd); pfd.Cause != pfcp.CauseRequestAccepted {
		t.Fatalf("PFDs: %v", pfd.Cause)
	}
	before := b.Associations()
	before[0].Since = before[0].Since.Round(0).UTC() // without the monotonic clock
	b.Close()

	again := store.reopen(t, config)
	cp := newCPFunction(t, "127.0.0.2", p)
	after := again.Associations()
	if len(after) != 1 || after[0] != before[0] {
		t.Errorf("associations %+v, before %+v", after, before)
	}
	a := again.peers.list()[0]
	if a.smfSet() != string(pfcp.NewName("set.example")) || a.features.Load() != uint32(pfcp.CPFeatureLOAD) ||
		!again.peers.at(netip.MustParseAddr("127.0.0.4")).speaksFor(a) || again.sessions.Applications() != 1 {
		t.Errorf("association of set %q, features %#x, others %v; %d applications",
			a.smfSet(), a.features.Load(), again.peers.others(a), again.sessions.Applications())
	}
	if got := await[*pfcp.HeartbeatRequest](t, cp, 0).RecoveryTimeStamp; got != pfcp.NewTimeStamp(recoveryTime) {
		t.Errorf("Recovery Time Stamp %v, want that of before", got.Time())
	}
	d := again.client(t, "127.0.0.2")
	m := usual("127.0.0.2", "10.45.0.2")
	m.NodeID = pfcp.NodeID{FQDN: pfcp.NewName("smf.example")}
	d.establish(m)
	d.associate("127.0.0.2", recoveryTime)
	if list := again.Associations(); len(list) != 2 || list[1].Owner <= list[0].Owner {
		t.Errorf("associations %+v", list)
	}
}

// TestStoreFails: what the store would have to keep is refused with Cause 77 while it
// fails, whether it was begun before or not; heartbeats and deletions are answered, and
// sessions that are there stay. When the store is well all goes on by itself.
func TestStoreFails(t *testing.T) {
	for _, handlers := range []int{0, 4} {
		t.Run(fmt.Sprintf("%d handlers", handlers), func(t *testing.T) {
			store := newMemoryStore()
			b := newBed(t, Config{Store: store, Sockets: 1, Handlers: handlers})
			c := b.client(t, "127.0.0.2")
			c.associate("127.0.0.2", recoveryTime)
			there := c.establish(usual("127.0.0.2", "10.45.0.1")).UPFSEID.Value.SEID
			gone := c.establish(usual("127.0.0.2", "10.45.0.3")).UPFSEID.Value.SEID
			store.fail(errors.New("told to fail"))

			// Its session is set up when the store fails, and is not there when it is answered.
			c.seq++
			request := mustAppend(t, c.seq, usual("127.0.0.2", "10.45.0.2"))
			var r pfcp.SessionEstablishmentResponse
			for range 2 { // the second time it is a repetition
				h := c.decode(c.ask(request), &r)
				if r.Cause != pfcp.CauseSystemFailure || h.SEID != usual("127.0.0.2", "10.45.0.2").CPFSEID.SEID || b.sessions.Len() != 2 || len(b.driver.held()) != 2 {
					t.Errorf("%v, SEID %#x, %d sessions, %d in the datapath", r.Cause, h.SEID, b.sessions.Len(), len(b.driver.held()))
				}
			}
			changes := b.driver.changed()
			for range 3 {
				if c.do(0, usual("127.0.0.2", "10.45.0.2"), &r); r.Cause != pfcp.CauseSystemFailure {
					t.Errorf("establishment: %v", r.Cause)
				}
			}
			var m pfcp.SessionModificationResponse
			if c.do(there, &pfcp.SessionModificationRequest{}, &m); m.Cause != pfcp.CauseSystemFailure {
				t.Errorf("modification: %v", m.Cause)
			}
			if cause := b.client(t, "127.0.0.3").associate("127.0.0.3", recoveryTime); cause != pfcp.CauseSystemFailure {
				t.Errorf("association: %v", cause)
			}
			c.heartbeat()
			if b.driver.changed() != changes || len(b.Associations()) != 1 || int(b.Associations()[0].Sessions) != 2 {
				t.Errorf("%d changes, associations %+v", b.driver.changed()-changes, b.Associations())
			}
			var d pfcp.SessionDeletionResponse
			if c.do(gone, &pfcp.SessionDeletionRequest{}, &d); d.Cause != pfcp.CauseRequestAccepted || b.sessions.Len() != 1 {
				t.Errorf("deletion: %v, %d sessions", d.Cause, b.sessions.Len())
			}

			store.fail(nil)
			eventually(t, "the store is well", func() bool { return !b.storeDown.Load() })
			c.establish(usual("127.0.0.2", "10.45.0.2"))
			if cause := b.client(t, "127.0.0.3").associate("127.0.0.3", recoveryTime); cause != pfcp.CauseRequestAccepted {
				t.Errorf("association: %v", cause)
			}
			flushes := store.flushed()
			c.heartbeat()
			if store.flushed() != flushes {
				t.Error("the store is flushed for a heartbeat")
			}
		})
	}
}

// TestGivenUp: a CP function that sets up its association anew without having
// restarted is sent a newer Recovery Time Stamp than before if that cost it sessions,
// it alone, in all messages and after restarts. Else it would not restore them.
func TestGivenUp(t *testing.T) {
	p := port(t)
	store, config := newMemoryStore(), Config{PeerPort: p, HeartbeatInterval: 20 * time.Millisecond}
	first := config
	first.Store = store
	var driver atomic.Pointer[fakeDriver]
	var restoring atomic.Int64 // how often it was said while the sessions were there
	first.Restoring = func() {
		if len(driver.Load().held()) > 0 {
			restoring.Add(1)
		}
	}
	b := newBed(t, first)
	driver.Store(b.driver)
	own := pfcp.NewTimeStamp(recoveryTime)
	setup := func(c *client, node string, recovery pfcp.TimeStamp) pfcp.TimeStamp {
		t.Helper()
		var r pfcp.AssociationSetupResponse
		c.do(0, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, RecoveryTimeStamp: recovery}, &r)
		if r.Cause != pfcp.CauseRequestAccepted {
			t.Fatalf("%v", r.Cause)
		}
		return r.RecoveryTimeStamp
	}
	heartbeat := func(c *client) pfcp.TimeStamp {
		t.Helper()
		var r pfcp.HeartbeatResponse
		c.do(0, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}, &r)
		return r.RecoveryTimeStamp
	}
	c, other := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	if got := setup(other, "127.0.0.3", 7); got != own {
		t.Errorf("the other one: %v", got.Time())
	}
	var last pfcp.TimeStamp
	for i, step := range []struct {
		recovery pfcp.TimeStamp
		session  bool // there is one before
		newer    bool
	}{
		{recovery: 7}, {recovery: 7}, {7, true, true}, {recovery: 7}, {7, true, true}, {8, true, false}, {8, true, true}, {recovery: 9},
	} {
		if step.session {
			c.establish(usual("127.0.0.2", "10.45.0.2"))
		}
		before := restoring.Load()
		got := setup(c, "127.0.0.2", step.recovery)
		if said := restoring.Load() - before; said > 0 != step.newer {
			t.Errorf("step %d: restoring said %d times", i, said)
		}
		if i > 0 && newer(got, last) != step.newer || !step.newer && i > 0 && got != last || i == 0 && got != own {
			t.Errorf("step %d: %v after %v", i, got.Time(), last.Time())
		}
		if h := heartbeat(c); h != got {
			t.Errorf("step %d: %v in a heartbeat, %v when set up", i, h.Time(), got.Time())
		}
		last = got
	}
	if got := heartbeat(other); got != own {
		t.Errorf("the other one: %v", got.Time())
	}
	b.Close()

	again := store.reopen(t, config)
	cp := newCPFunction(t, "127.0.0.2", p)
	if got := await[*pfcp.HeartbeatRequest](t, cp, 0).RecoveryTimeStamp; got != last {
		t.Errorf("after a restart %v, want %v", got.Time(), last.Time())
	}
	if got := heartbeat(again.client(t, "127.0.0.3")); got != own {
		t.Errorf("the other one after a restart: %v", got.Time())
	}
}

// FuzzRecords: a record is refused, or is what it is written as again; one of an
// earlier version is written in today's.
func FuzzRecords(f *testing.F) {
	m, _ := newManager(f, 4)
	c, err := Config{Listen: netip.MustParseAddrPort("10.4.0.1:8805")}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	e := newEndpoint(c, m)
	a := e.newAssociation(pfcp.NodeID{FQDN: pfcp.NewName("smf.example")}, netip.MustParseAddr("10.4.0.2"), recoveryTime)
	a.setSMFSet("set")
	f.Add(byte(KindAssociation), a.record([]netip.Addr{netip.MustParseAddr("2001:db8::1")}))
	f.Add(byte(KindAssociation), slices.Concat([]byte{1, 4, 10, 4, 0, 2, 0, 4, 10, 4, 0, 2}, make([]byte, 18)))
	f.Add(byte(KindPFDs), (&application{provider: "smf", flows: []flow{{description: "permit out ip from any to assigned"}, {host: "*.example.org", path: "/a"}}}).record("app"))
	f.Add(byte(KindMeta), recoveryRecord(5))
	f.Add(byte(KindLoss), loss{5, 1}.record(netip.MustParseAddr("10.4.0.2")))
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		var again []byte
		switch kind {
		case KindAssociation:
			a := &association{}
			if a.read(1, b) != nil {
				return
			}
			again = a.record(a.others)
			if b[0] == recordVersion {
				b = slices.Concat([]byte{associationVersion}, b[1:], make([]byte, 4))
			}
		case KindPFDs:
			name, app, err := readPFDs(1, b)
			if err != nil {
				return
			}
			again = app.record(name)
		case KindLoss:
			addr, l, err := readLoss(1, b)
			if err != nil {
				return
			}
			again = l.record(addr)
		case KindMeta:
			v, err := readRecovery(b)
			if err != nil {
				return
			}
			again = recoveryRecord(v)
		default:
			return
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%c %x is written as %x", kind, b, again)
		}
	})
}

// pfdRequest provisions Flow Descriptions for an application; none: it has none
// any more.
func pfdRequest(app string, flows ...string) *pfcp.PFDManagementRequest {
	a := pfcp.ApplicationPFDs{ApplicationID: []byte(app)}
	for _, f := range flows {
		a.Contexts = append(a.Contexts, pfcp.PFDContext{Contents: []pfcp.PFDContents{{FlowDescription: []byte(f)}}})
	}
	return &pfcp.PFDManagementRequest{Applications: []pfcp.ApplicationPFDs{a}}
}

var _ session.Store = (*memoryStore)(nil)
