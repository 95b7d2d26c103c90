package p4

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
)

// connection is the way to the target: the client that there is now.
type connection struct{ now atomic.Pointer[client] }

var errAway = errors.New("p4: not connected to the target")

func (c *connection) write(ctx context.Context, updates []*p4rt.Update) (map[int]error, error) {
	if now := c.now.Load(); now != nil {
		return now.write(ctx, updates)
	}
	return nil, errAway
}

func (c *connection) read(ctx context.Context, cells []cell) (map[cell]count, error) {
	if now := c.now.Load(); now != nil {
		return now.read(ctx, cells)
	}
	return nil, errAway
}

// retryTime is how long is waited before a target is asked anew that is away.
const retryTime = time.Second

// sayPeriod is how often is logged that a target is away, as long as the reason is the same.
const sayPeriod = time.Minute

// askPeriod is how often a target is asked whether it is still there.
const askPeriod = time.Second

// follow keeps the connection to a target outside of the process until the driver is closed.
// While it is away the target goes on by the entries that it has, and changes are refused.
func (d *Driver) follow() {
	for {
		c := d.connection.now.Load()
		for d.answers(c) {
			select {
			case <-d.ctx.Done():
				return
			case <-c.ended:
			case <-time.After(askPeriod):
			}
		}
		d.lost(c.why)
		said, at := "", time.Time{}
		for {
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(retryTime):
			}
			err := d.again()
			if err == nil {
				d.log.Info("target is back", "target", d.remote.target.Address)
				break
			}
			if said != err.Error() || time.Since(at) > sayPeriod {
				d.log.Warn("target is away", "target", d.remote.target.Address, "err", err)
				said, at = err.Error(), time.Now()
			}
		}
	}
}

// answers reports whether a target does. One that hangs keeps its connections open: the stream
// is ended here then.
func (d *Driver) answers(c *client) bool {
	select {
	case <-c.ended:
		return false
	default:
	}
	if err := c.ask(d.ctx); err != nil && d.ctx.Err() == nil {
		d.offload.lose(err)
		c.leave()
		return false
	}
	return true
}

// lost is for a client whose stream has ended.
func (d *Driver) lost(why error) {
	if d.ctx.Err() != nil {
		return
	}
	d.offload.lose(why)
	if c := d.connection.now.Swap(nil); c != nil {
		_ = c.close() // what it says is why
	}
	d.remote.client.Store(nil)
}

// leave ends the connection to a target that does not do what it is told, though it is there: what
// it has is not known any more, and [Driver.follow] begins anew.
func (d *Driver) leave() {
	if c := d.connection.now.Load(); c != nil && d.remote != nil {
		c.end()
	}
}

// again connects to the target and gives it all that it is to have.
func (d *Driver) again() error {
	c, err := d.remote.connect(d.ctx, d.pipeline)
	if err != nil {
		return err
	}
	d.connection.now.Store(c)
	d.remote.client.Store(c)
	if err := d.begin(c); err != nil {
		d.connection.now.Store(nil)
		d.remote.client.Store(nil)
		return errors.Join(err, c.close())
	}
	return nil
}

// begin has a target run the pipeline, and tells it everything. One that has run it until now
// hands everything to the CPU first, or it would go on after its counters were read.
func (d *Driver) begin(c *client) error {
	if c.kept {
		if err := d.halt(); err != nil {
			return err
		}
		if err := d.tellLast(); err != nil {
			return err
		}
	}
	return d.offload.reset(d.ctx, c.kept, func() error { return d.empty(c) })
}

// empty has a target run the pipeline, without entries of sessions.
func (d *Driver) empty(c *client) error {
	d.linking.Lock()
	defer d.linking.Unlock()
	err := d.dropped.empty(func() error {
		return d.handed.empty(func() error { return c.setPipeline(d.ctx, d.pipeline) })
	})
	if err != nil {
		return err
	}
	d.links.clear()
	return d.links.sync(d.ctx, d.connection)
}

// tellLast reads the counters of the target before they restart. What it counted before this driver
// controlled it belongs to no figure.
func (d *Driver) tellLast() error {
	if d.offload.waits() {
		return nil
	}
	for _, t := range []*reasonCounts{d.dropped, d.handed} {
		if err := t.read(d.ctx, d.connection); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) halt() error {
	d.linking.Lock()
	defer d.linking.Unlock()
	return d.links.halt(d.ctx, d.connection)
}
