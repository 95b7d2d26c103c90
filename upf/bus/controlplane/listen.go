package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// listen takes the agent's replies until ctx is done.
func (l *link) listen(ctx context.Context) error {
	position := "" // not known yet: from the present end on
	for {
		var err error
		if position == "" {
			position, err = wire.Last(ctx, l.client, l.keys.Replies)
		} else {
			position, err = l.listenOnce(ctx, position)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if err := wire.Pause(ctx, retryInterval); err != nil {
				return err
			}
		}
	}
}

func (l *link) listenOnce(ctx context.Context, position string) (string, error) {
	l.mu.Lock()
	if l.reread { // what is old finds nobody who waits for it
		position, l.reread = "0-0", false
	}
	l.mu.Unlock()
	entries, err := wire.Read(ctx, l.client, l.keys.Replies, position)
	if errors.Is(err, redis.Nil) {
		return position, nil
	}
	if err != nil {
		return position, err
	}
	for _, m := range entries {
		position = m.ID
		r := new(api.Replies)
		if err := wire.Entry(m.Values, r); err != nil {
			l.log.Error("reply skipped", "agent", l.name, "stream", l.keys.Replies, "entry", m.ID, "error", err)
			continue
		}
		l.replied(r)
	}
	return position, nil
}

// replied gives answers to those who wait. Those of a process that another has
// taken the place of say nothing about the datapath.
func (l *link) replied(r *api.Replies) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.GetInstance() < l.instance {
		return
	}
	l.instance = r.GetInstance()
	for _, a := range r.GetApplied() {
		if a.GetVersion() == 0 && a.GetSeid() != 0 { // it cannot read what is desired
			l.log.Error("agent cannot read a session in redis; it is written again", "agent", l.name,
				"seid", fmt.Sprintf("%#x", a.GetSeid()), "error", wire.ErrorOf(a.GetFailure()))
			l.push(&op{seid: a.GetSeid(), correction: true})
			continue
		}
		o := l.waiting[a.GetVersion()]
		if o == nil || o.seid != a.GetSeid() {
			continue
		}
		delete(l.waiting, o.version)
		if f := a.GetFailure(); f != nil {
			l.stats.Refused++
			l.push(&op{seid: o.seid, correction: true})
			o.finish(wire.ErrorOf(f))
			continue
		}
		l.stats.Applied++
		if len(o.session) == 0 {
			delete(l.desired, o.seid)
		} else {
			l.desired[o.seid] = o.session
		}
		o.finish(nil)
	}
	for _, u := range r.GetUsages() {
		if c := l.usages[u.GetId()]; c != nil {
			delete(l.usages, u.GetId())
			c <- u
		}
	}
}

// usage asks the agent.
func (l *link) usage(seid uint64) (*api.SessionUsage, error) {
	l.mu.Lock()
	switch {
	case l.ended != nil:
		defer l.mu.Unlock()
		return nil, l.ended
	case l.up() == nil:
		l.mu.Unlock()
		return nil, fmt.Errorf("agent %s: %w", l.name, ErrAgentDown)
	}
	l.lastID++
	id, answer := l.lastID, make(chan *api.UsageReply, 1)
	l.usages[id] = answer
	l.requests = append(l.requests, &api.UsageRequest{Id: id, Seid: seid})
	l.wakeUp()
	l.mu.Unlock()
	timer := time.NewTimer(l.timeout)
	defer timer.Stop()
	select {
	case u, ok := <-answer:
		if !ok {
			return nil, fmt.Errorf("agent %s: %w", l.name, ErrClosed)
		}
		if f := u.GetFailure(); f != nil {
			return nil, wire.ErrorOf(f)
		}
		return u.GetUsage(), nil
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.usages, id)
	l.requests = slices.DeleteFunc(l.requests, func(r *api.UsageRequest) bool { return r.GetId() == id })
	return nil, fmt.Errorf("agent %s: %w (%v)", l.name, ErrTimeout, l.timeout)
}

// watchInterval is how often signs of life are looked for.
const watchInterval = 250 * time.Millisecond

// watch looks for signs of life until ctx is done.
func (l *link) watch(ctx context.Context) error {
	for {
		if err := l.lookAlive(ctx); err != nil && ctx.Err() == nil {
			l.log.Debug("no sign of life read", "agent", l.name, "error", err)
		}
		if err := wire.Pause(ctx, watchInterval); err != nil {
			return err
		}
	}
}

// setAlive notes a sign of life, or that there is none.
func (l *link) setAlive(alive *api.Alive) {
	l.mu.Lock()
	if alive.GetInstance() < l.instance {
		alive = nil // of a process that another has taken the place of
	}
	l.instance = max(l.instance, alive.GetInstance())
	before := l.up() != nil
	l.alive = alive
	if alive != nil {
		l.figures = alive
	}
	after := l.up() != nil
	sessions := len(l.desired)
	l.mu.Unlock()
	if before == after {
		return
	}
	if after {
		l.log.Info("agent is up", "agent", l.name, "datapath", alive.GetCapabilities().GetName(),
			"sessions", alive.GetSessions(), "refused", alive.GetRefused())
	} else {
		l.log.Warn("agent is down; its sessions wait for it", "agent", l.name, "sessions", sessions)
	}
	if l.changed != nil {
		l.changed()
	}
}
