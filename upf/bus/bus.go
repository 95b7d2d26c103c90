// Package bus carries rules from the control plane down to a datapath and
// usage back up. In process it is a function call; the interface is such that
// the two layers can also be separate processes.
package bus

import (
	"context"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Bus reaches one datapath. Its methods have the contracts and errors of the
// methods of the same name of datapath.Driver.
type Bus interface {
	Capabilities() *api.Capabilities
	Apply(ctx context.Context, c *api.Change) error
	Usage(seid uint64) (*api.SessionUsage, error)
	Next(ctx context.Context) (*api.Event, error)
	Settle(ctx context.Context) error
	Drops() (map[string]uint64, error)
}
