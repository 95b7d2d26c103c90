package controlplane

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// eventItem is an event, or, behind the last event of an entry, what is to be
// done when all of it has been dealt with.
type eventItem struct {
	event *api.Event
	done  func()
}

// Next implements [bus.Bus]. An event counts as dealt with when Next is called
// again; until then it comes again after a restart.
func (u *Upper) Next(ctx context.Context) (*api.Event, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-u.ended:
			return nil, fmt.Errorf("bus: %w", datapath.ErrClosed)
		case item := <-u.events:
			if item.event != nil {
				return item.event, nil
			}
			item.done()
		}
	}
}

// hear hands on the agent's events until ctx is done.
func (l *link) hear(ctx context.Context) error {
	position := "0-0" // what was dealt with is not in the stream any more
	for {
		next, err := l.hearOnce(ctx, position)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		position = next
		if err == nil {
			continue
		}
		if err := wire.Pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}

// hearOnce hands on the entries behind position. It begins again at the
// beginning when nothing came: the stream may be a new one.
func (l *link) hearOnce(ctx context.Context, position string) (string, error) {
	entries, err := wire.Read(ctx, l.client, l.keys.Events, position)
	if errors.Is(err, redis.Nil) {
		return "0-0", nil
	}
	if err != nil {
		return position, err
	}
	for _, m := range entries {
		if err := l.handOn(ctx, m); err != nil {
			return position, err
		}
		position = m.ID
	}
	return position, nil
}

// handOn gives the events of an entry to who calls Next.
func (l *link) handOn(ctx context.Context, m redis.XMessage) error {
	e := new(api.Events)
	if err := wire.Entry(m.Values, e); err != nil {
		l.log.Error("events skipped", "agent", l.name, "stream", l.keys.Events, "entry", m.ID, "error", err)
	}
	for _, event := range e.GetEvents() {
		select {
		case l.events <- eventItem{event: event}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case l.events <- eventItem{done: func() { l.acknowledge(ctx, m.ID, e) }}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acknowledge notes that an entry has been dealt with. If that fails the entry
// comes again, which is allowed.
func (l *link) acknowledge(ctx context.Context, id string, e *api.Events) {
	b, err := wire.Marshal(&api.Acknowledged{Instance: e.GetInstance(), Sequence: e.GetSequence()})
	if err == nil {
		_, err = l.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.XDel(ctx, l.keys.Events, id)
			p.Set(ctx, l.keys.Acknowledged, b, 0)
			return nil
		})
	}
	if err != nil && ctx.Err() == nil {
		l.log.Debug("events not acknowledged", "agent", l.name, "error", err)
	}
}
