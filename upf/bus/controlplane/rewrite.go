package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// fillMax is how many sessions are written at once when all is.
const fillMax = 256

// takeOver makes us the one who writes to the agent, and reads what it is to
// hold.
func (l *link) takeOver(ctx context.Context) error {
	for {
		err := l.tryTakeOver(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, wire.ErrMessage) {
			return err
		}
		l.log.Warn("waiting for redis", "agent", l.name, "error", err)
		if wire.Pause(ctx, 10*retryInterval) != nil {
			return err
		}
	}
}

var errRaced = errors.New("another control plane takes over at the same time")

func (l *link) tryTakeOver(ctx context.Context) error {
	values, err := l.client.HMGet(ctx, l.keys.Head, wire.HeadFields...).Result()
	var head wire.Head
	if err == nil {
		head, err = wire.ParseHead(values)
	}
	if errors.Is(err, wire.ErrMessage) || redisconn.NotOurs(err) {
		l.log.Error("the head in redis is not one of the bus; all is written again", "agent", l.name, "error", err)
		head, err = wire.Head{}, nil // not complete
	}
	if err != nil {
		return err
	}
	if err := l.lookAlive(ctx); err != nil {
		return err
	}
	now := uint64(time.Now().UnixNano())
	l.epoch = max(now, head.Epoch+1)
	l.version = head.Version
	l.next = max(now, head.Version, l.alive.GetVersion())
	// An agent that is further than Redis: Redis has gone back to older data.
	l.complete = head.Complete && l.alive.GetVersion() <= head.Version
	if !l.complete {
		return l.begin(ctx)
	}
	old := ""
	if head.Epoch != 0 {
		old = wire.Number(head.Epoch)
	}
	answer, err := wire.TakeOver.Run(ctx, l.client, []string{l.keys.Head}, wire.Number(l.epoch), old).Text()
	if err != nil {
		return err
	}
	if answer != wire.OK {
		return errRaced
	}
	return l.loadDesired(ctx)
}

// loadDesired reads what the agent is to hold.
func (l *link) loadDesired(ctx context.Context) error {
	clear(l.desired)
	clear(l.untouched)
	for cursor := uint64(0); ; {
		pairs, next, err := redisconn.Scan(ctx, l.client, l.keys.Desired, cursor, fillMax)
		if redisconn.NotOurs(err) {
			l.log.Error("what is desired in redis is not a hash; all is written again", "agent", l.name, "error", err)
			return l.begin(ctx)
		}
		if err != nil {
			return err
		}
		for _, p := range pairs {
			seid, err := wire.ParseSEIDField(p.Field)
			d := new(api.Desired)
			if err == nil {
				err = p.Err
			}
			if err == nil {
				err = wire.Unmarshal(p.Value, d)
			}
			if err != nil {
				l.log.Error("desired session skipped", "agent", l.name, "key", l.keys.Desired, "field", fmt.Sprintf("%#x", p.Field), "error", err)
				continue
			}
			l.desired[seid] = d.GetSession()
			l.untouched[seid] = struct{}{}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// rewrite writes all that is desired again, as often as it takes.
func (l *link) rewrite(ctx context.Context) error {
	l.log.Warn("redis lost its data; all is written again", "agent", l.name)
	l.requeue(&batch{})
	for {
		err := l.tryRewrite(ctx)
		if err == nil || errors.Is(err, ErrFenced) {
			return err
		}
		if err := wire.Pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}

func (l *link) tryRewrite(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.stats.Rewrites++
	l.reread = true // the stream of replies may begin anew
	seids := make([]uint64, 0, len(l.desired))
	for seid := range l.desired {
		seids = append(seids, seid)
	}
	l.mu.Unlock()
	for len(seids) > 0 {
		n := min(fillMax, len(seids))
		if err := l.fill(ctx, seids[:n]); err != nil {
			return err
		}
		seids = seids[n:]
	}
	if !l.isSettled() {
		return nil
	}
	return l.finishAll(ctx)
}

// begin makes Redis forget what it has, and agents wait, under a new epoch and
// a version that is higher than all before.
func (l *link) begin(ctx context.Context) error {
	now := uint64(time.Now().UnixNano())
	l.mu.Lock()
	l.next = max(now, l.next, l.alive.GetVersion()) + 1
	version := l.next
	l.mu.Unlock()
	l.epoch = max(now, l.epoch+1)
	l.complete = false
	answer, err := wire.Begin.Run(ctx, l.client, []string{l.keys.Head, l.keys.Desired, l.keys.Changes},
		wire.Number(l.epoch), wire.Number(version)).Text()
	if err != nil {
		return err
	}
	l.version = version
	return answered(answer)
}

// fill writes some sessions. What has changed since it was asked for stands in
// the queue, too.
func (l *link) fill(ctx context.Context, seids []uint64) error {
	args := []any{wire.Number(l.epoch)}
	l.mu.Lock()
	for _, seid := range seids {
		session, ok := l.desired[seid]
		if !ok {
			continue
		}
		value, err := wire.Marshal(&api.Desired{Version: l.version, Session: session})
		if err != nil {
			l.mu.Unlock()
			return err
		}
		args = append(args, wire.SEIDField(seid), value)
	}
	l.mu.Unlock()
	answer, err := wire.Fill.Run(ctx, l.client, []string{l.keys.Head, l.keys.Desired}, args...).Text()
	if err != nil {
		return err
	}
	return answered(answer)
}

// finishAll says that Redis has all, and has the agent look.
func (l *link) finishAll(ctx context.Context) error {
	b, err := wire.Marshal(&api.Batch{Previous: l.version, Last: l.version})
	if err != nil {
		return err
	}
	answer, err := wire.Complete.Run(ctx, l.client, []string{l.keys.Head, l.keys.Changes}, wire.Number(l.epoch), b).Text()
	if err != nil {
		return wire.Pause(ctx, retryInterval) // it is tried again
	}
	if err := answered(answer); err != nil {
		return err
	}
	l.complete = true
	return nil
}

// lookAlive reads the agent's last sign of life.
func (l *link) lookAlive(ctx context.Context) error {
	s, err := l.client.Get(ctx, l.keys.Alive).Result()
	var alive *api.Alive
	switch {
	case errors.Is(err, redis.Nil):
	case redisconn.NotOurs(err):
		l.log.Error("sign of life passed over", "agent", l.name, "error", err)
	case err != nil:
		return err
	default:
		alive = new(api.Alive)
		if err := wire.Unmarshal(s, alive); err != nil { // the next one comes soon
			l.log.Error("sign of life passed over", "agent", l.name, "error", err)
			alive = nil
		}
	}
	l.setAlive(alive)
	return nil
}
