// Package agent is the lower side of the bus over Redis: it runs a
// datapath.Driver and makes it hold what the control plane desires.
//
//	changes ─► follow ─► Driver.Apply ─► replies
//	desired ─► reconcile ─┘                       (at the start, and when something was missed)
//	events ◄─ tell ◄─ Driver.Next
//	alive ◄─ renew
//
// One goroutine applies, in the order of the versions. What it has applied is
// known by version and by a hash of the session, so nothing takes effect twice:
// neither an entry that is read again, nor a session that is given anew after
// Redis or the control plane came back.
//
// While Redis is away, or has lost its data and the control plane has not yet
// written all again, the datapath goes on with what it has.
package agent

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// Config is what an agent has to know.
type Config struct {
	Server redisconn.Config
	Prefix string // of all keys; empty: [wire.DefaultPrefix]
	Name   string // by which the control plane knows the agent
	Driver datapath.Driver
	Log    *slog.Logger // nil: [slog.Default]
}

// ErrReplaced ends an agent when another process has taken its name.
var ErrReplaced = errors.New("another process runs as this agent")

// Agent runs a driver.
type Agent struct {
	name     string
	keys     wire.Keys
	client   *redis.Client
	waiter   *redis.Client // for reads that wait, closed to end them
	driver   datapath.Driver
	log      *slog.Logger
	instance uint64
	seed     maphash.Seed

	// Of the goroutine that applies.
	held      map[uint64]holding // by SEID
	watermark uint64             // version of the last change dealt with
	position  string             // of the entry of changes read last
	expected  uint64             // version of the head when nothing came; 0: none
	settleAt  uint64             // version at which what is left from before is removed
	settled   bool
	replies   api.Replies
	reconnect bool // Redis did not answer
	garbled   bool // the session of a change could not be read

	events events
	kick   chan struct{} // renew at once

	mu     sync.Mutex
	status Status
}

// Status is what an agent says of itself.
type Status struct {
	Version    uint64 // of the last change dealt with
	Sessions   int    // that the datapath holds
	Refused    int    // desired ones that it refused when they were given to it anew
	Reconciled bool   // it holds what is desired, and nothing else
	Connected  bool   // Redis answers
}

// holding is what is known of a session that the driver holds.
type holding struct {
	version uint64
	hash    uint64 // of the encoded session
}

// New returns an agent, which does nothing until it runs.
func New(c Config) (*Agent, error) {
	if !wire.ValidAgent(c.Name) {
		return nil, fmt.Errorf("agent %q: want letters, digits, '-', '_' and '.'", c.Name)
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	client, err := redisconn.Open(c.Server)
	if err != nil {
		return nil, err
	}
	waiter, err := redisconn.Open(c.Server)
	if err != nil {
		return nil, err
	}
	a := &Agent{
		name: c.Name, keys: wire.KeysOf(c.Prefix, c.Name), client: client, waiter: waiter, driver: c.Driver, log: c.Log,
		seed: maphash.MakeSeed(), held: map[uint64]holding{}, kick: make(chan struct{}, 1),
	}
	a.events.init()
	return a, nil
}

// Status returns what the agent does.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// Run serves until ctx is done; then it returns nil. It does not close the driver.
//
// Errors: [ErrReplaced], and that with which the driver ended.
func (a *Agent) Run(ctx context.Context) error {
	defer a.client.Close()
	if err := a.begin(ctx); err != nil {
		return quietly(ctx, err)
	}
	group, ctx2 := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx2, func() { a.waiter.Close() })
	defer stop()
	group.Go(func() error { return a.follow(ctx2) })
	group.Go(func() error { return a.renew(ctx2) })
	group.Go(func() error { return a.collect(ctx2) })
	group.Go(func() error { return a.tell(ctx2) })
	err := group.Wait()
	if !errors.Is(err, ErrReplaced) {
		a.leave()
	}
	return quietly(ctx, err)
}

// quietly is err unless it only says that ctx is done.
func quietly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// begin finds the number of this process: higher than that of any before it,
// whatever the clock says.
func (a *Agent) begin(ctx context.Context) error {
	for {
		owner, err := a.client.Get(ctx, a.keys.Owner).Result()
		if err == nil || errors.Is(err, redis.Nil) || redisconn.NotOurs(err) {
			before, _ := strconv.ParseUint(owner, 10, 63) //nolint:errcheck // not ours: 0
			a.instance = max(uint64(time.Now().UnixNano()), before+1)
			return nil
		}
		a.disconnected(err)
		if err := wire.Pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}

// leave tells the control plane that this agent has ended in order.
func (a *Agent) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), wire.AliveInterval)
	defer cancel()
	if owner, err := a.client.Get(ctx, a.keys.Owner).Result(); err == nil && owner == wire.Number(a.instance) {
		a.client.Del(ctx, a.keys.Alive)
	}
}

// retryInterval is how long after an error Redis is asked again.
const retryInterval = 100 * time.Millisecond

// connected and disconnected log when that changes.
func (a *Agent) connected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.status.Connected {
		a.log.Info("redis answers", "agent", a.name)
	}
	a.status.Connected, a.reconnect = true, false
}

func (a *Agent) disconnected(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.reconnect {
		a.log.Warn("redis does not answer; the datapath goes on with what it has", "agent", a.name, "error", err)
	}
	a.status.Connected, a.reconnect = false, true
}

// published makes the state of the applying goroutine known.
func (a *Agent) published(reconciled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Version, a.status.Sessions, a.status.Reconciled = a.watermark, len(a.held), reconciled
}
