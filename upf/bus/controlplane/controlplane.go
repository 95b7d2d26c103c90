// Package controlplane is the upper side of the bus over Redis: a bus.Bus whose
// datapaths are agents in other processes or on other machines.
//
// A session is on the agent whose number is in the highest octet of its SEID.
// For each agent there is a link, on its own: what one agent, or the way to it,
// does to its link costs the others nothing.
//
//	Apply ─► queue ─► one writer ─► Redis: desired (hash) and changes (stream), at once
//	  ▲                                            │
//	  └──────────── replies (stream) ◄──────── agent
//
// Apply returns nil when the agent has said that its datapath holds the change.
// When it does not say so in time, Apply returns an error, and what was there
// before is written again with a higher version: so the change that was refused
// comes to nothing, whenever the agent reads of it.
//
// A link keeps in memory what its agent is to hold, encoded. So it can write
// everything again when Redis has lost its data, or gone back to older data,
// which it notices by the version in the head.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// Config is what the upper side has to know.
type Config struct {
	Server redisconn.Config
	Prefix string // of all keys; empty: [wire.DefaultPrefix]
	// Agents are the names of the agents, by their number: 0 to 255.
	Agents map[uint8]string
	// Timeout is how long an agent has to answer; 0: 2 s. It should be shorter
	// than the time after which a CP function repeats a request.
	Timeout time.Duration
	// Changed is called, if it is not nil, when an agent came or went.
	Changed func()
	Log     *slog.Logger // nil: [slog.Default]
}

const defaultTimeout = 2 * time.Second

// Errors of the methods of [Upper].
var (
	ErrNoAgent   = errors.New("no such agent is configured")
	ErrAgentDown = errors.New("the agent is down")
	ErrTimeout   = errors.New("the agent did not answer in time")
	// ErrFenced: another control plane writes to the agents. This one must end.
	ErrFenced = errors.New("another control plane has taken over")
	ErrClosed = errors.New("the bus is closed")
)

// Upper is a bus to agents.
type Upper struct {
	config Config
	client *redis.Client
	log    *slog.Logger
	links  [256]*link
	events chan eventItem
	cancel context.CancelFunc
	group  *errgroup.Group
	ended  chan struct{} // closed when the links have ended
	err    error         // why, once they have
}

var (
	_ bus.Bus                = (*Upper)(nil)
	_ datapath.PassReporter  = (*Upper)(nil)
	_ datapath.SliceReporter = (*Upper)(nil)
	_ datapath.Failer        = (*Upper)(nil)
)

// Open takes over from whoever wrote to the agents before, and reads what they
// are to hold. It waits for Redis as long as ctx allows.
//
// Until [Upper.Settle] what is applied is what was accepted before a restart: it
// is noted and written, and no agent has to answer.
func Open(ctx context.Context, c Config) (*Upper, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Server.Connections == 0 {
		c.Server.Connections = 10 + 4*len(c.Agents) // each link has three that wait for news
	}
	client, err := redisconn.Open(c.Server)
	if err != nil {
		return nil, err
	}
	u := &Upper{config: c, client: client, log: c.Log, events: make(chan eventItem), ended: make(chan struct{})}
	for number, name := range c.Agents {
		if !wire.ValidAgent(name) {
			client.Close()
			return nil, fmt.Errorf("agent %q: want letters, digits, '-', '_' and '.'", name)
		}
		u.links[number] = newLink(u, name)
	}
	for _, l := range u.all() {
		if err := l.takeOver(ctx); err != nil {
			client.Close()
			return nil, fmt.Errorf("bus: agent %s: %w", l.name, err)
		}
	}
	u.run()
	return u, nil
}

// run starts the goroutines of all links.
func (u *Upper) run() {
	running, cancel := context.WithCancel(context.Background())
	u.cancel = cancel
	u.group, running = errgroup.WithContext(running)
	for _, l := range u.all() {
		u.group.Go(func() error {
			err := l.write(running)
			l.end(err) // nobody has to wait for the other goroutines
			return err
		})
		u.group.Go(func() error { return l.listen(running) })
		u.group.Go(func() error { return l.watch(running) })
		u.group.Go(func() error { return l.hear(running) })
	}
	go func() {
		<-running.Done()
		u.client.Close() // whoever reads waits no longer
		u.err = u.group.Wait()
		for _, l := range u.all() {
			l.end(u.err)
		}
		close(u.ended)
	}()
}

// all are the links, by the number of their agents.
func (u *Upper) all() []*link {
	var list []*link
	for _, l := range u.links {
		if l != nil {
			list = append(list, l)
		}
	}
	return list
}

// link returns that of the session's agent.
func (u *Upper) link(seid uint64) (*link, error) {
	if l := u.links[seid>>56]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("agent %d of session %#x: %w", seid>>56, seid, ErrNoAgent)
}

// Apply implements [bus.Bus]. Besides the errors of a driver there are
// [ErrNoAgent], [ErrAgentDown], [ErrTimeout], [ErrFenced] and [ErrClosed]. A
// session can be removed while its agent is down.
func (u *Upper) Apply(ctx context.Context, c *api.Change) error {
	l, err := u.link(c.GetSeid())
	if err != nil {
		return err
	}
	var session []byte
	if c.GetSession() != nil {
		if session, err = wire.Marshal(c.GetSession()); err != nil {
			return err
		}
	}
	return l.apply(ctx, c, session)
}

// Usage implements [bus.Bus]; its errors are those of Apply and of a driver.
func (u *Upper) Usage(seid uint64) (*api.SessionUsage, error) {
	l, err := u.link(seid)
	if err != nil {
		return nil, err
	}
	return l.usage(seid)
}

// Settle implements [bus.Bus]: what agents were to hold and was not applied
// since [Open] is removed. It returns when Redis has it all.
func (u *Upper) Settle(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range u.all() {
		group.Go(func() error { return l.settle(ctx) })
	}
	return group.Wait()
}

// Capabilities implements [bus.Bus]: what all agents can do that are up; if
// there is none, nothing. It changes when Config.Changed is called.
func (u *Upper) Capabilities() *api.Capabilities {
	all := new(api.Capabilities)
	for i, c := range u.able() {
		if i == 0 {
			all = proto.CloneOf(c)
			continue
		}
		all.MaxSessions += c.GetMaxSessions()
		all.N3Ipv4 = append(all.N3Ipv4, c.GetN3Ipv4()...)
		all.N3Ipv6 = append(all.N3Ipv6, c.GetN3Ipv6()...)
		all.ForwardingPolicies = slices.DeleteFunc(all.ForwardingPolicies, func(name string) bool {
			return !slices.Contains(c.GetForwardingPolicies(), name)
		})
		keepCommon(all.ProtoReflect(), c.ProtoReflect())
	}
	all.Name, all.NetworkInstances = "redis", nil
	return all
}

// able is what each of the agents can do that are up.
func (u *Upper) able() (list []*api.Capabilities) {
	for _, l := range u.all() {
		if c := l.capabilities(); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// keepCommon takes what c cannot do out of all. What can be done or not is each
// bool of the message, so that a new one needs no line here.
func keepCommon(all, c protoreflect.Message) {
	fields := all.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Kind() == protoreflect.BoolKind && !c.Get(f).Bool() {
			all.Clear(f)
		}
	}
}

// Up reports whether new sessions can be placed on an agent.
func (u *Upper) Up(agent uint8) bool {
	l := u.links[agent]
	return l != nil && l.isUp()
}

// Ended is closed when the bus has ended by itself, as [Upper.Err] says.
func (u *Upper) Ended() <-chan struct{} { return u.ended }

// Err says why the bus has ended: [ErrFenced]. It waits until then.
func (u *Upper) Err() error {
	<-u.ended
	if errors.Is(u.err, context.Canceled) {
		return nil
	}
	return u.err
}

// Close ends the bus. What the agents are to hold stays in Redis, and they go on.
func (u *Upper) Close() error {
	u.cancel()
	<-u.ended
	return nil
}
