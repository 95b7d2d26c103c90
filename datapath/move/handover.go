package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// handover is sessions on their way from one datapath to another.
type handover struct {
	from    Source
	to      datapath.Movable
	resumed time.Time // when to took its first packet
	learnt  stages.Inherited

	mu      sync.Mutex
	held    map[uint64]bool // sessions of to; true: counts come before the first packet
	refused []Refusal
	more    int // refusals beyond maxRefusals
}

// Refusal is why a session cannot go over.
type Refusal struct {
	SEID uint64
	Err  error
}

// maxRefusals is the maximum number of reported refusals.
const maxRefusals = 16

// RefusedError is sessions that the next datapath cannot take; nothing has changed.
type RefusedError struct {
	Refusals []Refusal // the first of them
	Sessions int       // all
}

// Error lists them.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%d %v", e.Sessions, ErrRefused)
	for _, r := range e.Refusals {
		text += fmt.Sprintf("; SEID %#x: %v", r.SEID, r.Err)
	}
	return text
}

// Unwrap makes it [ErrRefused].
func (e *RefusedError) Unwrap() error { return ErrRefused }

func newHandover(from Source, to datapath.Movable) *handover {
	return &handover{from: from, to: to, held: map[uint64]bool{}}
}

// apply gives a change to the next datapath, where nothing leaves yet.
func (h *handover) apply(ctx context.Context, c *api.Change) error {
	err := h.to.Apply(ctx, &api.Change{Seid: c.GetSeid(), Session: c.GetSession(), DropBuffered: c.GetDropBuffered()})
	if c.GetSession() == nil && errors.Is(err, datapath.ErrNoSession) {
		err = nil
	}
	h.note(c, err)
	return err
}

// note records the sessions of the next datapath, and its refusals.
func (h *handover) note(c *api.Change, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && len(h.refused) == maxRefusals:
		h.more++
	case err != nil:
		h.refused = append(h.refused, Refusal{c.GetSeid(), err})
	case c.GetSession() == nil:
		delete(h.held, c.GetSeid())
	default:
		h.held[c.GetSeid()] = isCareful(c.GetSession())
	}
}

// isCareful reports whether the counts must be known before the first packet: for a quota, which no
// packet may exceed, and the start of traffic, which is reported once.
func isCareful(s *api.Session) bool {
	for _, u := range s.GetUrrs() {
		q := u.GetQuota()
		if u.GetStartOfTraffic() || q.GetTotal()|q.GetUplink()|q.GetDownlink() != 0 {
			return true
		}
	}
	return false
}

func (h *handover) refusal() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) == 0 {
		return nil
	}
	return &RefusedError{h.refused, len(h.refused) + h.more}
}

// run takes the one datapath off and lets the other one take packets. On an error it
// is paused still.
func (h *handover) run(log *slog.Logger) error {
	if err := h.from.Pause(); err != nil {
		return err
	}
	h.carry(log, true)
	h.learnt = inherit(h.to, h.from)
	if err := h.to.Resume(); err != nil {
		return err
	}
	h.resumed = time.Now()
	return nil
}

// inherit transfers state learned from packets from one datapath to another, if both support it.
func inherit(to datapath.Driver, from any) stages.Inherited {
	old, leaves := from.(stages.Inheritor)
	next, takes := to.(stages.Inheritor)
	if !leaves || !takes {
		return stages.Inherited{}
	}
	return next.Inherit(old.Stages())
}

// carry carries what was counted of sessions, of those that are careful or of the
// others.
func (h *handover) carry(log *slog.Logger, careful bool) {
	for seid, is := range h.held {
		if is != careful {
			continue
		}
		u, err := h.from.Usage(seid)
		if errors.Is(err, datapath.ErrNoSession) {
			continue // new
		}
		if err == nil {
			err = h.to.Carry(seid, u)
		}
		if err != nil {
			log.Error("usage is lost", "seid", fmt.Sprintf("%#x", seid), "error", err)
		}
	}
}

// filler is the next datapath, as seen by the code that installs all sessions.
type filler struct {
	datapath.Driver
	over *handover
}

// Apply implements [datapath.Driver].
func (f filler) Apply(ctx context.Context, c *api.Change) error { return f.over.apply(ctx, c) }
