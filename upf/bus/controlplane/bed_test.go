package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
	"github.com/plumbline-upf/plumbline/upf/bus/agent"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// memory is a driver that notes what was done to it. It outlives an agent's
// process, as pinned tables do.
type memory struct {
	mu       sync.Mutex
	sessions map[uint64][]byte
	dropped  map[uint64]int  // how often what was buffered was to be dropped
	applied  map[uint64]bool // since it was opened
	effects  map[uint64][]uint32
	refuse   func(*api.Change) error
	hold     chan struct{} // not nil: Apply waits until it is closed
	settled  int
	events   chan *api.Event
}

func newMemory() *memory {
	return &memory{
		sessions: map[uint64][]byte{}, dropped: map[uint64]int{}, applied: map[uint64]bool{}, effects: map[uint64][]uint32{},
		events: make(chan *api.Event, 1000),
	}
}

// removed stands in effects for the removal of a session.
const removed = ^uint32(0)

func (m *memory) Capabilities() *api.Capabilities {
	return &api.Capabilities{Name: "memory", MaxSessions: 100, Usage: true, N3Ipv4: []uint32{0x0a030001}}
}

func (m *memory) Apply(ctx context.Context, c *api.Change) error {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		if err := m.refuse(c); err != nil {
			return err
		}
	}
	m.applied[c.Seid] = true
	if c.DropBuffered {
		m.dropped[c.Seid]++
	}
	if c.Session == nil {
		if _, ok := m.sessions[c.Seid]; ok {
			m.effects[c.Seid] = append(m.effects[c.Seid], removed)
		}
		delete(m.sessions, c.Seid)
		return nil
	}
	b, err := wire.Marshal(c.Session)
	if err != nil {
		return err
	}
	if !bytes.Equal(m.sessions[c.Seid], b) {
		m.effects[c.Seid] = append(m.effects[c.Seid], c.Session.Slice)
	}
	m.sessions[c.Seid] = b
	return nil
}

func (m *memory) Usage(seid uint64) (*api.SessionUsage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[seid] == nil {
		return nil, datapath.ErrNoSession
	}
	return &api.SessionUsage{Rules: []*api.Usage{{Packets: seid}}}, nil
}

func (m *memory) Next(ctx context.Context) (*api.Event, error) {
	select {
	case e := <-m.events:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Settle(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled++
	for seid := range m.sessions {
		if !m.applied[seid] {
			m.effects[seid] = append(m.effects[seid], removed)
			delete(m.sessions, seid)
		}
	}
	return nil
}

func (m *memory) Drops() (map[string]uint64, error) { return map[string]uint64{"no_pdr": 3}, nil }

// What a datapath may tell of itself.
func (m *memory) Passes() (map[string]uint64, error) { return map[string]uint64{"buffer": 4}, nil }
func (m *memory) Buffered() datapath.Buffered {
	return datapath.Buffered{Sessions: 1, Packets: 2, MaxPackets: 3, Octets: 4, MaxOctets: 5}
}
func (m *memory) TableUse() []datapath.TableUse {
	return []datapath.TableUse{{Name: "pdrs", Used: 6, Max: 7}}
}
func (m *memory) SliceTotals() []datapath.SliceTotal {
	return []datapath.SliceTotal{{Slice: 8, Uplink: datapath.Total{Packets: 9, Octets: 10, Dropped: 11}, Downlink: datapath.Total{Packets: 12}}}
}

func (m *memory) Close() error { return nil }

// reopen is what a new process does to pinned tables.
func (m *memory) reopen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.applied)
}

func testLog() *slog.Logger {
	if os.Getenv("PLUMBLINE_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// bed is one control plane, one agent and Redis between them.
type bed struct {
	t         testing.TB
	redis     *redistest.Server
	driver    *memory
	upper     *Upper
	agent     *agent.Agent
	stopAgent func()
}

func newBed(t testing.TB) *bed {
	b := &bed{t: t, redis: redistest.Start(t), driver: newMemory()}
	b.startAgent()
	b.startUpper()
	b.settle()
	b.waitUp()
	return b
}

func (b *bed) startAgent() {
	b.t.Helper()
	b.driver.reopen()
	a, err := agent.New(agent.Config{
		Server: redisconn.Config{Address: b.redis.Address}, Name: "one", Driver: b.driver, Log: testLog()})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	b.agent = a
	b.stopAgent = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("agent: %v", err)
		}
	})
	b.t.Cleanup(b.stopAgent)
}

// runAgent runs another agent of the same name.
func (b *bed) runAgent(d datapath.Driver) <-chan error {
	b.t.Helper()
	b.stopAgent()
	a, err := agent.New(agent.Config{
		Server: redisconn.Config{Address: b.redis.Address}, Name: "one", Driver: d, Log: testLog()})
	if err != nil {
		b.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(b.t.Context()) }()
	b.wait("the agent runs", func() bool { return a.Status().Reconciled })
	return done
}

func (b *bed) startUpper() {
	b.t.Helper()
	u, err := Open(b.t.Context(), Config{
		Server: redisconn.Config{Address: b.redis.Address}, Agents: map[uint8]string{0: "one"},
		Timeout: time.Second, Log: testLog()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.upper = u
	b.t.Cleanup(func() { u.Close() })
}

func (b *bed) settle() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if err := b.upper.Settle(ctx); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) wait(what string, ok func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not within %v: %s; agent %+v, upper %+v", patience, what, b.agent.Status(), b.upper.Agents())
		}
	}
}

func (b *bed) waitUp() {
	b.t.Helper()
	b.wait("the agent is up", func() bool { return b.upper.Up(0) })
}

// session number n of a kind of its own in each version.
func testSession(seid uint64, version uint32) *api.Session {
	return &api.Session{Seid: seid, Slice: version}
}

func (b *bed) apply(seid uint64, version uint32) error {
	c := &api.Change{Seid: seid}
	if version != removed {
		c.Session = testSession(seid, version)
	}
	return b.upper.Apply(b.t.Context(), c)
}

// holds compares what the driver has with versions by SEID.
func (b *bed) holds(want map[uint64]uint32) string {
	b.driver.mu.Lock()
	defer b.driver.mu.Unlock()
	for seid, version := range want {
		w, err := wire.Marshal(testSession(seid, version))
		if err != nil {
			return err.Error()
		}
		if !bytes.Equal(b.driver.sessions[seid], w) {
			got := new(api.Session)
			if err := wire.Unmarshal(string(b.driver.sessions[seid]), got); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("session %d: has version %d, want %d; effects %v", seid, got.Slice, version, b.driver.effects[seid])
		}
	}
	for seid := range b.driver.sessions {
		if _, ok := want[seid]; !ok {
			return fmt.Sprintf("session %d: want none; effects %v", seid, b.driver.effects[seid])
		}
	}
	return ""
}

func (b *bed) waitHolds(want map[uint64]uint32) {
	b.t.Helper()
	differs := "?"
	for end := time.Now().Add(patience); differs != ""; time.Sleep(2 * time.Millisecond) {
		if differs = b.holds(want); differs != "" && time.Now().After(end) {
			b.t.Fatalf("not within %v: %s; agent %+v, upper %+v", patience, differs, b.agent.Status(), b.upper.Agents())
		}
	}
}
