package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

var (
	// errGap: something was missed; what is desired has to be read as a whole.
	errGap = errors.New("changes were missed")
	// errNotReady: the control plane has not yet written all that is desired.
	errNotReady = errors.New("the control plane has not written all yet")
)

// follow applies what comes, until ctx is done.
func (a *Agent) follow(ctx context.Context) error {
	missed := true
	for {
		var err error
		if missed {
			err = a.reconcile(ctx)
		} else {
			err = a.read(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			missed = false
			a.connected()
			continue
		case errors.Is(err, errGap):
			a.log.Info("reading all that is desired", "agent", a.name, "reason", err)
			missed = true
			a.published(false)
			continue
		case errors.Is(err, errNotReady):
			a.connected()
		default:
			a.disconnected(err)
		}
		if err := wire.Pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}

// read waits for entries behind the last one and applies them.
func (a *Agent) read(ctx context.Context) error {
	if err := a.reply(ctx); err != nil { // of before, if Redis was away
		return err
	}
	entries, err := wire.Read(ctx, a.waiter, a.keys.Changes, a.position)
	if errors.Is(err, redis.Nil) {
		return a.idle(ctx)
	}
	if err != nil {
		return err
	}
	a.expected = 0
	for _, m := range entries {
		if err := a.entry(ctx, m); err != nil {
			return err
		}
	}
	return a.reply(ctx)
}

// idle looks, when nothing came, whether something should have.
func (a *Agent) idle(ctx context.Context) error {
	if a.expected > a.watermark {
		return fmt.Errorf("%w: head is at %d, the stream at %d", errGap, a.expected, a.watermark)
	}
	head, err := a.head(ctx, a.client)
	switch {
	case err != nil:
		return err
	case !head.Complete || head.Version < a.watermark:
		return fmt.Errorf("%w: redis lost its data", errGap)
	}
	a.expected = head.Version
	return nil
}

// head reads the head.
func (a *Agent) head(ctx context.Context, c redis.Cmdable) (wire.Head, error) {
	values, err := c.HMGet(ctx, a.keys.Head, wire.HeadFields...).Result()
	if err != nil {
		return wire.Head{}, err
	}
	return wire.ParseHead(values)
}

// entry applies an entry of the stream. One that was applied already is skipped.
func (a *Agent) entry(ctx context.Context, m redis.XMessage) error {
	b, err := wire.ParseBatch(m.Values)
	if err != nil {
		// Whoever wrote it, what is desired stands in the hash, too.
		a.log.Error("entry of the stream of changes skipped", "agent", a.name, "stream", a.keys.Changes,
			"entry", m.ID, "error", err)
		a.position = m.ID
		return nil
	}
	switch {
	case b.GetLast() > a.watermark && b.GetPrevious() != a.watermark:
		return fmt.Errorf("%w: version %d follows %d, the last is %d", errGap, b.GetLast(), b.GetPrevious(), a.watermark)
	case b.GetLast() > a.watermark:
		for _, c := range b.GetChanges() {
			if err := a.change(ctx, c); err != nil {
				return err
			}
		}
		a.watermark = b.GetLast()
	}
	for _, u := range b.GetUsages() {
		a.usage(u)
	}
	a.position = m.ID
	err = a.settle(ctx)
	a.published(a.settled)
	return err
}

// settle removes what the datapath had from before and is not desired any more,
// once all that is desired has been applied.
func (a *Agent) settle(ctx context.Context) error {
	if a.settled || a.watermark < a.settleAt {
		return nil
	}
	if err := a.driver.Settle(ctx); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	a.settled = true
	a.log.Info("the datapath holds what is desired", "agent", a.name, "sessions", len(a.held))
	a.renewNow()
	return nil
}

// usage answers a request.
func (a *Agent) usage(r *api.UsageRequest) {
	u, err := a.driver.Usage(r.GetSeid())
	a.replies.Usages = append(a.replies.Usages, &api.UsageReply{Id: r.GetId(), Usage: u, Failure: wire.FailureOf(err)})
}

// Replies that could not be sent are kept up to repliesMax; the control plane
// takes those it never sees for refusals.
const (
	repliesMax   = 1 << 16
	repliesEntry = 512 // in one entry
)

// reply sends what is to be replied.
func (a *Agent) reply(ctx context.Context) error {
	for len(a.replies.Applied)+len(a.replies.Usages) > 0 {
		r := &api.Replies{
			Instance: a.instance,
			Applied:  a.replies.Applied[:min(repliesEntry, len(a.replies.Applied))],
			Usages:   a.replies.Usages[:min(repliesEntry, len(a.replies.Usages))],
		}
		b, err := wire.Marshal(r)
		if err != nil {
			return err
		}
		err = a.client.XAdd(ctx, &redis.XAddArgs{
			Stream: a.keys.Replies, MaxLen: wire.RepliesMax, Approx: true, Values: []any{wire.Field, b},
		}).Err()
		if redisconn.NotOurs(err) { // not a key of the bus
			a.log.Error("key in the place of the stream of replies removed", "agent", a.name, "error", err)
			a.client.Del(ctx, a.keys.Replies)
		}
		if err != nil {
			a.replies.Applied = a.replies.Applied[max(0, len(a.replies.Applied)-repliesMax):]
			a.replies.Usages = a.replies.Usages[max(0, len(a.replies.Usages)-repliesMax):]
			return err
		}
		a.replies.Applied = a.replies.Applied[len(r.Applied):]
		a.replies.Usages = a.replies.Usages[len(r.Usages):]
	}
	a.replies.Applied, a.replies.Usages = a.replies.Applied[:0], a.replies.Usages[:0]
	return nil
}
