package agent

import (
	"context"
	"errors"
	"hash/maphash"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// change applies a change unless it was, and notes what is to be replied.
//
// Errors: that of ctx; what the driver says is a reply.
func (a *Agent) change(ctx context.Context, c *api.VersionedChange) error {
	seid := c.GetSeid()
	old, held := a.held[seid]
	if held && old.version >= c.GetVersion() {
		return nil // by reconcile, which has replied
	}
	hash := maphash.Bytes(a.seed, c.GetSession())
	removed := len(c.GetSession()) == 0
	if held && !removed && old.hash == hash && len(c.GetEndMarkers()) == 0 && !c.GetDropBuffered() {
		a.held[seid] = holding{c.GetVersion(), hash}
		a.applied(c, nil)
		return nil
	}
	err := a.drive(ctx, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case err == nil && removed:
		delete(a.held, seid)
	case err == nil:
		a.held[seid] = holding{c.GetVersion(), hash}
	case held:
		a.held[seid] = holding{c.GetVersion(), old.hash} // it holds what it held
	}
	a.applied(c, err)
	return nil
}

// drive hands a change to the driver.
func (a *Agent) drive(ctx context.Context, c *api.VersionedChange) error {
	s, err := wire.ParseSession(c.GetSeid(), c.GetSession())
	if err != nil {
		a.garbled = true
		return err
	}
	err = a.driver.Apply(ctx, &api.Change{Seid: c.GetSeid(), Session: s, EndMarkers: c.GetEndMarkers(), DropBuffered: c.GetDropBuffered()})
	if s == nil && errors.Is(err, datapath.ErrNoSession) {
		return nil
	}
	return err
}

func (a *Agent) applied(c *api.VersionedChange, err error) {
	a.replies.Applied = append(a.replies.Applied,
		&api.Applied{Version: c.GetVersion(), Seid: c.GetSeid(), Failure: wire.FailureOf(err)})
}
