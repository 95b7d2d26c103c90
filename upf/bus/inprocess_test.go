package bus

import (
	"context"
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var errDriver = errors.New("driver")

// driver answers each call with what only it can have said.
type driver struct{ got *api.Change }

func (*driver) Capabilities() *api.Capabilities { return &api.Capabilities{Name: "test"} }
func (d *driver) Apply(_ context.Context, c *api.Change) error {
	d.got = c
	return errDriver
}
func (*driver) Usage(seid uint64) (*api.SessionUsage, error) {
	return &api.SessionUsage{Rules: []*api.Usage{{Packets: seid}}}, nil
}
func (*driver) Next(context.Context) (*api.Event, error) { return &api.Event{Seid: 4}, nil }
func (*driver) Settle(context.Context) error             { return errDriver }
func (*driver) Drops() (map[string]uint64, error)        { return map[string]uint64{"x": 3}, nil }
func (*driver) Close() error                             { return nil }

// TestInProcess: what goes in at one end comes out at the other, both ways.
func TestInProcess(t *testing.T) {
	d := new(driver)
	var _ datapath.Driver = d
	var b Bus = InProcess{d}
	change := &api.Change{Seid: 7}
	if err := b.Apply(t.Context(), change); !errors.Is(err, errDriver) || d.got != change {
		t.Errorf("Apply: %v, driver got %v", err, d.got)
	}
	if u, err := b.Usage(9); err != nil || len(u.GetRules()) != 1 || u.GetRules()[0].Packets != 9 {
		t.Errorf("Usage: %v, %v", u, err)
	}
	if e, err := b.Next(t.Context()); err != nil || e.GetSeid() != 4 {
		t.Errorf("Next: %v, %v", e, err)
	}
	if err := b.Settle(t.Context()); !errors.Is(err, errDriver) {
		t.Errorf("Settle: %v", err)
	}
	if drops, err := b.Drops(); err != nil || drops["x"] != 3 {
		t.Errorf("Drops: %v, %v", drops, err)
	}
	if got := b.Capabilities().Name; got != "test" {
		t.Errorf("Capabilities: name %q", got)
	}
}
