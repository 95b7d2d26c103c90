package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// scanCount is how many sessions Redis is asked for at a time: so many that
// asking is not what it costs, so few that others are not kept waiting.
const scanCount = 500

// reconcile makes the driver hold what is desired, as a whole.
//
// The end of the stream and the head are read at one moment, then all of the
// hash. Whatever changes in the hash meanwhile stands in the stream, too, behind
// that moment; it is applied when the stream is followed from there, and what
// the hash had of it already is known by its version. HSCAN returns whatever
// was in the hash all the time, so a session that it did not return was removed,
// or is going to come by the stream.
//
// Errors: [errNotReady] while the hash is known not to have everything: then
// what is missing there says nothing.
func (a *Agent) reconcile(ctx context.Context) error {
	position, begin, err := a.keys.Snapshot(ctx, a.client)
	switch {
	case err != nil:
		return err
	case !begin.Complete || begin.Version < a.watermark:
		return errNotReady
	}
	seen, refused, err := a.scan(ctx)
	if err != nil {
		return err
	}
	end, err := a.head(ctx, a.client)
	switch {
	case err != nil:
		return err
	case end.Epoch != begin.Epoch || !end.Complete:
		return errNotReady // it was written anew under our eyes
	}
	if err := a.removeOthers(ctx, seen, begin.Version); err != nil {
		return err
	}
	a.watermark, a.position, a.expected = begin.Version, position, 0
	a.settleAt = max(a.settleAt, end.Version)
	a.mu.Lock()
	a.status.Refused = refused
	a.mu.Unlock()
	if err := a.settle(ctx); err != nil {
		return err
	}
	a.published(a.settled)
	a.renewNow()
	return a.reply(ctx)
}

// scan applies all of the hash. It returns which sessions there are, and how
// many the driver refused.
func (a *Agent) scan(ctx context.Context) (seen map[uint64]struct{}, refused int, err error) {
	seen = make(map[uint64]struct{}, len(a.held))
	for cursor := uint64(0); ; {
		pairs, next, err := redisconn.Scan(ctx, a.client, a.keys.Desired, cursor, scanCount)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range pairs {
			c, err := parseDesired(p)
			if err != nil {
				a.unreadable(p.Field, err, seen)
				continue
			}
			seen[c.GetSeid()], a.garbled = struct{}{}, false
			if err := a.change(ctx, c); err != nil {
				return nil, 0, err
			}
			if a.garbled {
				a.replies.Applied[len(a.replies.Applied)-1].Version = 0 // as for one that cannot be read
			}
		}
		refused += a.countRefused()
		if err := a.reply(ctx); err != nil {
			return nil, 0, err
		}
		if cursor = next; cursor == 0 {
			return seen, refused, nil
		}
	}
}

// unreadable deals with a session of the hash that cannot be read: what is held of it
// stays, and the control plane is told, which writes it again. It is counted and logged
// as refused.
func (a *Agent) unreadable(field string, why error, seen map[uint64]struct{}) {
	seid, err := wire.ParseSEIDField(field)
	if err != nil {
		a.log.Error("field of the desired sessions passed over", "agent", a.name, "key", a.keys.Desired,
			"field", fmt.Sprintf("%#x", field), "error", why)
		return
	}
	seen[seid] = struct{}{}
	a.replies.Applied = append(a.replies.Applied, &api.Applied{Seid: seid, Failure: wire.FailureOf(why)})
}

// parseDesired reads a session of the hash.
func parseDesired(p redisconn.Pair) (*api.VersionedChange, error) {
	seid, err := wire.ParseSEIDField(p.Field)
	if err != nil {
		return nil, err
	}
	if p.Err != nil {
		return nil, p.Err
	}
	d := new(api.Desired)
	if err := wire.Unmarshal(p.Value, d); err != nil {
		return nil, err
	}
	if len(d.GetSession()) == 0 {
		return nil, fmt.Errorf("SEID %#x without a session: %w", seid, wire.ErrMessage)
	}
	return &api.VersionedChange{Version: d.GetVersion(), Seid: seid, Session: d.GetSession()}, nil
}

// countRefused counts, and logs one of, the refusals that are to be replied.
func (a *Agent) countRefused() int {
	n := 0
	for _, r := range a.replies.Applied {
		if r.GetFailure() == nil {
			continue
		}
		if n++; n == 1 {
			a.log.Error("desired session refused", "agent", a.name,
				"seid", fmt.Sprintf("%#x", r.GetSeid()), "error", wire.ErrorOf(r.GetFailure()))
		}
	}
	return n
}

// removeOthers removes what is held but was not seen in the hash.
func (a *Agent) removeOthers(ctx context.Context, seen map[uint64]struct{}, version uint64) error {
	var errs []error
	for seid, h := range a.held {
		if _, ok := seen[seid]; ok {
			continue
		}
		c := &api.VersionedChange{Version: max(version, h.version), Seid: seid}
		if err := a.drive(ctx, c); err != nil {
			errs = append(errs, fmt.Errorf("remove %#x: %w", seid, err))
			continue
		}
		delete(a.held, seid)
	}
	return errors.Join(errs...)
}
