// Package p4 is the UPF on a P4 target: the pipeline of p4/*.p4 does with packets what it can,
// and the stages of package vector do all the rest, as the slow path of the target.
//
//	           ┌──────────── target: executor in the process, or a switch ───────────┐
//	frames ───►│ parse ► detect ► forward ► enforce ► measure ► emit                 │───► frames
//	           └──────┬───────────────────────────────────────────────────────▲──────┘
//	                  │ CPU port                          P4Runtime: entries, │ counters
//	                  ▼                                                       │
//	           package afxdp ► package vector: all sessions ──── offload ─────┘
//
// Every session is in the engine of package vector, so a packet that comes to the CPU port is
// always treated right. The offload puts into the target what the pipeline can do of it, and
// takes it out before a rule changes.
//
// Source: P4Runtime Specification v1.4.1.
package p4

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// Config says where the UPF stands.
type Config struct {
	// Config is that of the stages and of the devices, which are the ports of a target in the
	// process, or the TAP devices that stand for those of another one.
	afxdp.Config
	Target *Target // nil: in the process
}

// Driver is a running P4 datapath.
type Driver struct {
	*afxdp.Driver
	offload    *offload
	connection *connection
	pipeline   *pipeline
	schema     *schema
	local      *local  // nil: the target is
	remote     *remote // outside of the process; nil: it is in it
	log        *slog.Logger
	stop       context.CancelFunc
	ctx        context.Context
	running    sync.WaitGroup
	closing    sync.Once

	linking sync.Mutex
	links   *links
	relink  chan struct{}

	headers chan headerSeen

	dropped, handed *reasonCounts
	keep            atomic.Bool
}

var (
	_ datapath.Movable        = (*Driver)(nil)
	_ datapath.TableReporter  = (*Driver)(nil)
	_ datapath.SliceReporter  = (*Driver)(nil)
	_ datapath.TargetReporter = (*Driver)(nil)
	_ datapath.Keeper         = (*Driver)(nil)
)

// New opens the datapath, in the network namespace of the caller.
//
// Errors: those of [afxdp.New], and of the target.
func New(cfg Config) (*Driver, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Driver{
		log: cfg.Log, relink: make(chan struct{}, 1), headers: make(chan headerSeen, 64), connection: &connection{},
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	if err := d.open(&cfg); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// open connects to the target, opens the devices, and begins to bring sessions from one to the
// other.
func (d *Driver) open(cfg *Config) (err error) {
	if err := d.readPipeline(); err != nil {
		return err
	}
	front, c, err := d.openTarget(cfg)
	if err != nil {
		return err
	}
	d.connection.now.Store(c)
	paused := cfg.Paused
	cfg.Front, cfg.Name, cfg.Paused = front, name, true
	if d.Driver, err = afxdp.New(cfg.Config); err != nil {
		return fmt.Errorf("p4: %w", err)
	}
	number := portOf
	if d.remote != nil {
		d.remote.setMACs(d.Ports())
		number = d.remote.portOf(d.Ports())
	}
	d.offload = newOffload(cfg, d.Driver, d.connection, d.schema, d.Ports())
	d.offload.relink, d.offload.lost = d.link, d.leave
	d.links = &links{
		schema: d.schema, own: d.Own, ports: d.Ports, exits: d.Exits, routes: d.Routes, n6: &cfg.N6, number: number,
		peers: d.offload.peersInUse, shares: d.offload.sharesInUse, hops: newNumbers[afxdp.Exit](uint32(d.schema.tables[tableHops].size - 1)),
	}
	if d.remote != nil && c.kept {
		d.offload.holds = true // until Settle
	} else if err := d.begin(c); err != nil {
		return err
	}
	for _, run := range []func(){func() { d.offload.run(d.ctx) }, func() { d.offload.watch(d.ctx) }, d.followLinks, d.followHeaders} {
		d.running.Go(run)
	}
	if d.remote != nil {
		d.remote.client.Store(c)
		d.remote.start()
		d.running.Go(d.follow)
		d.running.Go(func() { d.offload.readOn(d.ctx) })
	}
	if paused {
		return nil
	}
	return d.Resume()
}

// readPipeline makes what is known of the pipeline.
func (d *Driver) readPipeline() (err error) {
	if d.pipeline, err = newPipeline(compiled.V1Model()); err != nil {
		return err
	}
	if d.schema, err = newSchema(d.pipeline.info); err != nil {
		return err
	}
	d.dropped = newReasonCounts(d.schema.counters[counterDropped], datapath.Reason.IsDrop)
	d.handed = newReasonCounts(d.schema.counters[counterHanded], func(r datapath.Reason) bool { return !r.IsDrop() })
	return nil
}

// openTarget connects to the target, and returns what stands before the stages.
func (d *Driver) openTarget(cfg *Config) (afxdp.Front, *client, error) {
	if cfg.Target == nil {
		d.local = newLocal(cfg.Clock(), cfg.Log)
		d.local.changed, d.local.seen = d.changed, d.seen
		conn, err := d.local.server.Dial()
		if err != nil {
			return nil, nil, fmt.Errorf("p4: target: %w", err)
		}
		c, err := connectBy(d.ctx, conn, d.local.server.Local(conn), localDevice, 1, d.pipeline, false, nil)
		if err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
		return d.local, c, nil
	}
	var err error
	if d.remote, err = openRemote(cfg.Target, cfg.Log); err != nil {
		return nil, nil, err
	}
	d.remote.notify, d.remote.learn = d.changed, d.seen
	c, err := d.remote.connect(d.ctx, d.pipeline)
	return d.remote, c, err
}

const name = "p4"

func newOffload(cfg *Config, e engine, t target, s *schema, ports []afxdp.Port) *offload {
	room := func(table string) uint32 { return uint32(s.tables[table].size - 1) } // number 0 is none
	o := &offload{
		log: cfg.Log, engine: e, target: t, schema: s, endpoints: cfg.Endpoints, n6: &cfg.N6, numberOf: map[netip.Addr]uint64{},
		sessions: map[uint64]*session{}, entries: map[uint32]int{}, keys: map[datapath.Key]*keyState{}, rest: map[datapath.Key][]uint64{},
		peers: newNumbers[nexthop.Peer](room(tablePeers)), uses: map[nexthop.Peer]int{},
		slots: pool{most: room(tableRules)}, cells: map[uint32][2]count{},
		lists:   newNumbers[listKey](1<<listBits - 1),
		buckets: buckets{most: room(tableRules), of: map[*stages.Meter]*bucket{}, now: cfg.Clock()},
		shares:  buckets{most: room(tableSlices) / 2, of: map[*stages.Meter]*bucket{}, now: cfg.Clock()}, now: cfg.Clock(),
	}
	o.changed.L = &o.mu
	for i, a := range endpoints(ports) {
		o.numberOf[a] = uint64(i + 1)
	}
	return o
}

// listBits is LIST_BITS of p4/sizes.p4.
const listBits = 18

// Apply implements [datapath.Driver]. The session's packets go to the CPU before its rules
// change; what the target can do of the new ones is put into it afterwards. While the target is
// away sessions can be removed, and not changed otherwise.
func (d *Driver) Apply(ctx context.Context, c *api.Change) error {
	ctx = context.WithoutCancel(ctx) // a change is written as a whole
	seid := c.GetSeid()
	if err := d.offload.begin(ctx, c); err != nil {
		return err
	}
	err := d.Driver.Apply(ctx, c)
	_, gone := d.Driver.Keys(seid)
	d.offload.end(seid, gone != nil)
	return err
}

// Settle implements [datapath.Driver]: a target that was there before the driver forwards until
// now by the entries that it had; now it gets those of the sessions that there are.
func (d *Driver) Settle(ctx context.Context) error {
	if c := d.connection.now.Load(); c != nil && d.offload.waits() {
		if err := d.begin(c); err != nil {
			return err
		}
		d.offload.flush()
	}
	return d.Driver.Settle(ctx)
}

// Usage implements [datapath.Driver].
func (d *Driver) Usage(seid uint64) (*api.SessionUsage, error) {
	d.offload.collect(d.ctx, seid)
	return d.Driver.Usage(seid)
}

// SliceTotals returns what the sessions of each slice have counted since the start.
func (d *Driver) SliceTotals() []datapath.SliceTotal {
	d.offload.catchUp(d.ctx)
	return d.Driver.SliceTotals()
}

// Drops implements [datapath.Driver].
func (d *Driver) Drops() (map[string]uint64, error) {
	all, err := d.Driver.Drops()
	if err != nil {
		return nil, err
	}
	d.tell(d.dropped)
	for r, n := range d.dropped.all() {
		all[r.String()] += n
	}
	if d.remote != nil {
		all[datapath.DropRxFull.String()] += d.remote.lostIn.Load()
		all[datapath.DropTxRefused.String()] += d.remote.lostOut.Load()
	}
	return all, nil
}

// tell has counts know what the target has counted; of one that is away it knows what that had
// counted before.
func (d *Driver) tell(t *reasonCounts) {
	if d.offload.failure() != nil || d.offload.waits() {
		return
	}
	if err := t.read(d.ctx, d.connection); err != nil {
		d.offload.lose(err)
	}
}

// TableUse tells how full the tables of the stages are, and those of the target.
func (d *Driver) TableUse() []datapath.TableUse {
	all := d.Driver.TableUse()
	d.offload.mu.Lock()
	defer d.offload.mu.Unlock()
	for _, name := range []string{tableTunnels, tableUEs4, tableUEs6, tableRules, tableFilters4, tableFilters6} {
		t := d.schema.tables[name]
		all = append(all, datapath.TableUse{Name: "p4_" + name, Used: d.offload.entries[t.id], Max: int(t.size)})
	}
	return all
}

// Forwarded returns how many frames the target in the process has sent; 0: it is not there.
func (d *Driver) Forwarded() uint64 {
	if d.local == nil {
		return 0
	}
	return d.local.sent.Load()
}

// Flush waits until all sessions that can be in the target are.
func (d *Driver) Flush() { d.offload.flush() }

// Keep lets a target outside of the process go on after Close by the entries that it has: the
// sessions will be back.
func (d *Driver) Keep() { d.keep.Store(true) }

// leaveTarget removes all entries from a target outside of the process. It would forward packets
// without counting them for any usage.
func (d *Driver) leaveTarget() {
	if d.remote == nil || d.keep.Load() {
		return
	}
	err := errAway
	if c := d.connection.now.Load(); c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		err = c.setPipeline(ctx, d.pipeline)
	}
	if err != nil {
		d.log.Warn("the target could not be emptied: it goes on by the entries that it has", "target", d.remote.target.Address, "err", err)
	}
}

// Close implements [datapath.Driver].
func (d *Driver) Close() error {
	var errs []error
	d.closing.Do(func() {
		if d.offload != nil {
			d.offload.close()
			d.leaveTarget()
		}
		d.stop()
		if d.Driver != nil {
			errs = append(errs, d.Driver.Close())
		}
		d.running.Wait()
		if c := d.connection.now.Swap(nil); c != nil {
			errs = append(errs, c.close())
		}
		if d.local != nil {
			d.local.server.Close()
		}
		if d.remote != nil {
			errs = append(errs, d.remote.close())
		}
	})
	return errors.Join(errs...)
}

// changed is told that links have changed.
func (d *Driver) changed() {
	select {
	case d.relink <- struct{}{}:
	default: // it is known already
	}
}

// linkPause is for how long changes of links are gathered.
const linkPause = 5 * time.Millisecond

func (d *Driver) followLinks() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.relink:
		}
		d.link()
		select {
		case <-d.ctx.Done():
			return
		case <-time.After(linkPause):
		}
	}
}

// link makes the target know the links as they are.
func (d *Driver) link() {
	d.linking.Lock()
	defer d.linking.Unlock()
	if d.links == nil || d.offload.failure() != nil || d.offload.waits() {
		return // they are made when all is there
	}
	if d.remote != nil {
		d.remote.setMACs(d.links.ports())
	}
	if err := d.links.sync(d.ctx, d.connection); err != nil && d.ctx.Err() == nil {
		d.log.Error("next hops of the target", "err", err)
	}
}
