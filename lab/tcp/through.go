package tcp

import (
	"context"
	"errors"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// limit is how long a flow may last beyond its time: then it hangs.
const limit = 20 * time.Second

// Through attaches the UE of a flow, sends it, and detaches the UE.
func Through(ctx context.Context, t *topology.Topology, f Flow) (r Result, err error) {
	detach, err := Attach(ctx, t, f.UE)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, detach()) }()
	test, err := Start(ctx, t, f)
	if err != nil {
		return r, err
	}
	return test.Wait(ctx, f.Duration+f.Omit+limit)
}
