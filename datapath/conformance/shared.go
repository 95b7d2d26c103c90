package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Shared is a datapath on which scripts run one behind the other, because opening
// one takes long. What a script leaves is removed, and that nothing of it remains
// is a test of its own.
type Shared interface {
	Datapath
	// Pass lets the clock of meters, buffers and limits go on.
	Pass(d time.Duration)
	// Remains says what of sessions is there although no session is; nil: nothing.
	Remains() []string
}

// longAgo is after how long a datapath has forgotten all that was: mappings of a
// NAT, names of flows, what it has told.
const longAgo = 3 * time.Hour

// lent is a shared datapath as one script sees it: no session has ever been there,
// and no packet was dropped.
type lent struct {
	Shared
	seids map[uint64]bool
	drops map[string]uint64 // when the script began
}

func lend(t *testing.T, d Shared) *lent {
	t.Helper()
	drops, err := d.Drops()
	if err != nil {
		t.Fatal(err)
	}
	return &lent{d, map[uint64]bool{}, drops}
}

// Apply implements [datapath.Driver].
func (l *lent) Apply(ctx context.Context, c *api.Change) error {
	err := l.Shared.Apply(ctx, c)
	if err == nil {
		l.seids[c.GetSeid()] = c.GetSession() != nil
	}
	return err
}

// Drops implements [datapath.Driver].
func (l *lent) Drops() (map[string]uint64, error) {
	drops, err := l.Shared.Drops()
	for reason := range drops {
		drops[reason] -= l.drops[reason]
	}
	return drops, err
}

// giveBack removes what the script has left, and reports what remains.
func (l *lent) giveBack(t *testing.T) {
	t.Helper()
	for seid, is := range l.seids {
		if !is {
			continue
		}
		if err := l.Shared.Apply(context.Background(), &api.Change{Seid: seid, DropBuffered: true}); err != nil {
			t.Errorf("remove session %d: %v", seid, err)
		}
	}
	l.Pass(longAgo)
	l.Sent(t)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		if _, err := l.Next(over); err != nil {
			break
		}
	}
	for _, what := range l.Remains() {
		t.Errorf("without sessions: %s", what)
	}
}
