package agent

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// renew gives signs of life until ctx is done.
func (a *Agent) renew(ctx context.Context) error {
	tick := time.NewTicker(wire.AliveInterval)
	defer tick.Stop()
	for {
		if err := a.renewOnce(ctx); errors.Is(err, ErrReplaced) {
			return err
		} else if err != nil && ctx.Err() == nil {
			a.log.Debug("no sign of life sent", "agent", a.name, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-a.kick:
		}
	}
}

// renewNow has a sign of life given at once.
func (a *Agent) renewNow() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// renewOnce says that we live and how, and hears which events were dealt with.
func (a *Agent) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*wire.AliveInterval)
	defer cancel()
	b, err := wire.Marshal(a.alive())
	if err != nil {
		return err
	}
	state, err := wire.Renew.Run(ctx, a.client, []string{a.keys.Owner, a.keys.Alive},
		wire.Number(a.instance), b, wire.AliveExpiry.Milliseconds()).Int()
	switch {
	case err != nil:
		return err
	case state == 0:
		return ErrReplaced
	case state == 2: // Redis is new, to us: what we told it may be lost
		a.events.tellAgain()
	}
	return a.acknowledged(ctx)
}

func (a *Agent) alive() *api.Alive {
	s := a.Status()
	drops, err := a.driver.Drops()
	if err != nil {
		a.log.Debug("no drops", "agent", a.name, "error", err)
	}
	alive := &api.Alive{
		Instance: a.instance, Capabilities: a.driver.Capabilities(), Version: s.Version,
		Sessions: uint64(s.Sessions), Refused: uint64(s.Refused), Reconciled: s.Reconciled, Drops: drops,
	}
	a.figures(alive)
	return alive
}

// acknowledged forgets the events that were dealt with.
func (a *Agent) acknowledged(ctx context.Context) error {
	s, err := a.client.Get(ctx, a.keys.Acknowledged).Result()
	if errors.Is(err, redis.Nil) || redisconn.NotOurs(err) {
		return nil
	}
	if err != nil {
		return err
	}
	k := new(api.Acknowledged)
	if err := wire.Unmarshal(s, k); err != nil {
		return err
	}
	if k.GetInstance() == a.instance {
		a.events.acknowledged(k.GetSequence())
	}
	return nil
}
