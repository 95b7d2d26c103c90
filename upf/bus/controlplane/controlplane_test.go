package controlplane

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/agent"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// TestApply: what is accepted is in the driver when Apply returns; what is
// refused says why as the driver did, and leaves the driver and Redis as they
// were.
func TestApply(t *testing.T) {
	b := newBed(t)
	if err := b.apply(1, 1); err != nil {
		t.Fatal(err)
	}
	if d := b.holds(map[uint64]uint32{1: 1}); d != "" {
		t.Error(d)
	}
	b.driver.mu.Lock()
	b.driver.refuse = func(c *api.Change) error {
		if c.Session.GetSlice() != 2 {
			return nil
		}
		return &datapath.RuleError{Type: api.RuleType_FAR_RULE, ID: 7, Err: fmt.Errorf("no way: %w", datapath.ErrUnsupported)}
	}
	b.driver.mu.Unlock()
	err := b.apply(1, 2)
	var rule *datapath.RuleError
	if !errors.As(err, &rule) || rule.Type != api.RuleType_FAR_RULE || rule.ID != 7 || !errors.Is(err, datapath.ErrUnsupported) {
		t.Errorf("refused: %v", err)
	}
	if err := b.apply(2, 2); err == nil {
		t.Error("a new session that the driver refuses was accepted")
	}
	b.waitHolds(map[uint64]uint32{1: 1})
	b.wait("Redis has what was accepted", func() bool {
		all := b.redis.Client.HGetAll(t.Context(), "plumbline:{one}:desired").Val()
		d := new(api.Desired)
		return len(all) == 1 && wire.Unmarshal(all[wire.SEIDField(1)], d) == nil && len(d.GetSession()) > 0 && d.GetSession()[0] != 0
	})
	if err := b.apply(1, removed); err != nil {
		t.Fatal(err)
	}
	if d := b.holds(nil); d != "" {
		t.Error(d)
	}
	if err := b.upper.Apply(t.Context(), &api.Change{Seid: 9<<56 | 1}); !errors.Is(err, ErrNoAgent) {
		t.Errorf("agent 9: %v, want %v", err, ErrNoAgent)
	}
}

// TestUsageAndDrops come from the agent.
func TestUsageAndDrops(t *testing.T) {
	b := newBed(t)
	if err := b.apply(5, 1); err != nil {
		t.Fatal(err)
	}
	if u, err := b.upper.Usage(5); err != nil || u.GetRules()[0].GetPackets() != 5 {
		t.Errorf("Usage: %v, %v", u, err)
	}
	if _, err := b.upper.Usage(6); !errors.Is(err, datapath.ErrNoSession) {
		t.Errorf("no such session: %v", err)
	}
	if d, err := b.upper.Drops(); err != nil || d["no_pdr"] != 3 {
		t.Errorf("Drops: %v, %v", d, err)
	}
	if c := b.upper.Capabilities(); c.GetMaxSessions() != 100 || !c.GetUsage() || c.GetBuffering() {
		t.Errorf("Capabilities: %v", c)
	}
}

// TestTimeoutTakesBack: a change that the agent did not answer in time is refused,
// and although it reaches the agent later, what was there before is there again.
func TestTimeoutTakesBack(t *testing.T) {
	b := newBed(t)
	if err := b.apply(1, 1); err != nil {
		t.Fatal(err)
	}
	hold := make(chan struct{})
	b.driver.mu.Lock()
	b.driver.hold = hold
	b.driver.mu.Unlock()
	if err := b.apply(1, 2); !errors.Is(err, ErrTimeout) {
		t.Errorf("modification: %v, want %v", err, ErrTimeout)
	}
	if err := b.apply(2, 1); !errors.Is(err, ErrTimeout) {
		t.Errorf("establishment: %v, want %v", err, ErrTimeout)
	}
	if err := b.apply(1, removed); !errors.Is(err, ErrTimeout) {
		t.Errorf("removal: %v, want %v", err, ErrTimeout)
	}
	b.driver.mu.Lock()
	b.driver.hold = nil
	b.driver.mu.Unlock()
	close(hold)
	if err := b.apply(3, 1); err != nil { // behind all the others
		t.Fatal(err)
	}
	if d := b.holds(map[uint64]uint32{1: 1, 3: 1}); d != "" {
		t.Error(d)
	}
	if got := fmt.Sprint(b.driver.effects[1][:2]); got != "[1 2]" {
		t.Errorf("the change did not reach the driver, the test shows nothing: %v", b.driver.effects[1])
	}
}

// TestAgentDown: while an agent is down its sessions stay desired, no new one is
// accepted, one can be removed; when it is back it holds exactly those.
func TestAgentDown(t *testing.T) {
	b := newBed(t)
	for seid := range uint64(5) {
		if err := b.apply(seid+1, 1); err != nil {
			t.Fatal(err)
		}
	}
	b.stopAgent()
	b.wait("the agent is down", func() bool { return !b.upper.Up(0) })
	for seid, version := range map[uint64]uint32{9: 1, 2: 2} {
		if err := b.apply(seid, version); !errors.Is(err, ErrAgentDown) {
			t.Errorf("session %d: %v, want %v", seid, err, ErrAgentDown)
		}
	}
	if err := b.apply(3, removed); err != nil {
		t.Errorf("removal: %v", err)
	}
	if _, err := b.upper.Usage(1); !errors.Is(err, ErrAgentDown) {
		t.Errorf("usage: %v, want %v", err, ErrAgentDown)
	}
	b.startAgent()
	b.waitUp()
	if d := b.holds(map[uint64]uint32{1: 1, 2: 1, 4: 1, 5: 1}); d != "" {
		t.Error(d)
	}
	for seid, want := range map[uint64]string{1: "[1]", 3: fmt.Sprint([]uint32{1, removed})} {
		if got := fmt.Sprint(b.driver.effects[seid]); got != want {
			t.Errorf("session %d: effects %s, want %s", seid, got, want)
		}
	}
}

// TestAgentEmpty: an agent whose tables are lost is given everything again.
func TestAgentEmpty(t *testing.T) {
	b := newBed(t)
	want := map[uint64]uint32{}
	for seid := range uint64(2000) {
		want[seid+1] = 1
	}
	var all errgroup.Group
	all.SetLimit(100) // each has to be answered within the timeout
	for seid := range want {
		all.Go(func() error { return b.apply(seid, 1) })
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	b.stopAgent()
	b.driver = newMemory()
	b.startAgent()
	b.waitHolds(want)
}

// TestRedisForgets: when Redis comes back empty, all is written again, and the
// agent keeps what it has meanwhile.
func TestRedisForgets(t *testing.T) {
	b := newBed(t)
	want := map[uint64]uint32{}
	for seid := range uint64(300) {
		want[seid+1] = 1
		if err := b.apply(seid+1, 1); err != nil {
			t.Fatal(err)
		}
	}
	b.redis.Kill()
	b.redis.Forget()
	b.redis.Run()
	b.wait("all is written again", func() bool {
		return b.upper.Agents()[0].Stats.Rewrites > 0 &&
			b.redis.Client.HLen(t.Context(), "plumbline:{one}:desired").Val() == int64(len(want))
	})
	b.wait("a change goes through", func() bool { return b.apply(1, 2) == nil })
	want[1] = 2
	if d := b.holds(want); d != "" {
		t.Error(d)
	}
	if got := fmt.Sprint(b.driver.effects[2]); got != "[1]" {
		t.Errorf("effects on a session that nobody changed: %v, want one", got)
	}
}

// TestUpperRestarts: a new control plane that has the same sessions changes
// nothing; what it does not have any more is removed.
func TestUpperRestarts(t *testing.T) {
	b := newBed(t)
	for seid := range uint64(5) {
		if err := b.apply(seid+1, 1); err != nil {
			t.Fatal(err)
		}
	}
	first := b.upper
	b.startUpper()
	for _, seid := range []uint64{1, 2, 3} {
		if err := b.apply(seid, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.apply(4, 2); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.waitHolds(map[uint64]uint32{1: 1, 2: 1, 3: 1, 4: 2})
	if got := fmt.Sprint(b.driver.effects[1]); got != "[1]" {
		t.Errorf("effects on a session that was the same: %v, want one", got)
	}
	// The first one, if it still runs, can do no harm.
	if err := first.Apply(t.Context(), &api.Change{Seid: 1}); !errors.Is(err, ErrFenced) {
		t.Errorf("the first control plane: %v, want %v", err, ErrFenced)
	}
	if err := first.Err(); !errors.Is(err, ErrFenced) {
		t.Errorf("the first control plane ended with %v", err)
	}
	if d := b.holds(map[uint64]uint32{1: 1, 2: 1, 3: 1, 4: 2}); d != "" {
		t.Error(d)
	}
}

// TestEvents: each event comes, also those of while the control plane or Redis
// was away.
func TestEvents(t *testing.T) {
	b := newBed(t)
	next := func(want uint64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			e, err := b.upper.Next(ctx)
			if err != nil {
				t.Fatalf("event %d: %v", want, err)
			}
			if e.GetSeid() == want {
				return
			} else if e.GetSeid() > want {
				t.Fatalf("event %d, want %d", e.GetSeid(), want)
			}
		}
	}
	b.driver.events <- &api.Event{Seid: 1}
	next(1)
	b.upper.Close()
	b.driver.events <- &api.Event{Seid: 2}
	b.startUpper()
	b.settle()
	next(2)
	b.redis.Kill()
	b.redis.Forget()
	b.driver.events <- &api.Event{Seid: 3}
	b.redis.Run()
	next(3)
	b.driver.events <- &api.Event{Seid: 4}
	next(4)
}

// TestAgentReplaced: of two processes with one name the later one goes on.
func TestAgentReplaced(t *testing.T) {
	b := newBed(t)
	ended := b.runAgent(newMemory())
	b.startAgent()
	select {
	case err := <-ended:
		if !errors.Is(err, agent.ErrReplaced) {
			t.Errorf("the first process ended with %v, want %v", err, agent.ErrReplaced)
		}
	case <-time.After(patience):
		t.Error("the first process goes on")
	}
}

// TestRefusesNames: names that would not be keys.
func TestRefusesNames(t *testing.T) {
	_, err := Open(t.Context(), Config{Server: redisconn.Config{Address: "127.0.0.1:1"}, Agents: map[uint8]string{0: "a}b"}})
	if err == nil {
		t.Error("want an error")
	}
}
