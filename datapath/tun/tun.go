// Package tun is the UPF in user space between UDP sockets and TUN or TAP devices:
// the datapaths tun and tap. It runs on any Linux, over all devices, tunnels and tables of its kernel.
//
//	       ┌── UDP 2152, each endpoint ──┐              ┌── TUN or TAP, each data network ──┐
//	gNB ──►│ uplink: GRO ─► datagrams    │─► vector ───►│ packets ─► super-packets          │──► kernel
//	    ◄──│ UDP_SEGMENT ◄── datagrams   │◄── vector ◄──│ packets ◄─ super-packets: downlink│◄── routes
//	       └─────────────────────────────┘              └───────────────────────────────────┘
//
// The stages are those of package vector, over batches. There is a goroutine for each
// queue of each device and for each socket, which sleeps while nothing comes; a worker
// is one of all of them, and several workers share the load by flow: the kernel gives
// each of them a part of the flows (SO_REUSEPORT, IFF_MULTI_QUEUE). So the packets of
// a flow stay in their order.
//
// The kernel does the rest: outer IP headers, next hops, fragments, the path after the device.
// Forwarding must be enabled, which is checked at the start; routes to UEs follow the sessions.
package tun

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// Limits and defaults of [Config].
const (
	DefaultPrefix = "plumb"
	DefaultMTU    = 1500
	MaxWorkers    = 64
	// MaxRoutes is how many routes to single UEs and behind them there can be: each is
	// one of the kernel's.
	MaxRoutes = 1 << 16

	ringMemory = 8 << 20 // octets
)

// Config is the configuration of the datapath.
type Config struct {
	TAP         bool // Ethernet frames towards the kernel, else IP packets
	Endpoints   []datapath.Endpoint
	N6          datapath.N6
	MaxSessions int
	// Prefix and the index of a data network are the name of its device; "":
	// DefaultPrefix. An Ethernet data network always has a TAP device.
	Prefix string
	// MTU of the devices, octets of IP packet; 0: DefaultMTU.
	MTU int
	// Workers is how many share the load; 0: one for each CPU.
	Workers int
	// Ring has what the kernel sends to a device, but that of an Ethernet data network,
	// come by memory that is shared with it. The device counts these packets as dropped.
	// It takes CAP_NET_RAW, and is not done without.
	Ring bool
	// Addresses are those of the device of the first data network; none are needed.
	Addresses []netip.Prefix
	// Pools are routed to that device while it exists. Other UE addresses get their own routes for
	// the lifetime of their session.
	Pools []netip.Prefix

	EchoInterval time.Duration // see [vector.Config]
	Buffer       stages.BufferLimits
	Advertise    *stages.RouterAdvertisement
	MeterBurst   time.Duration
	Log          *slog.Logger

	Quiet *datapath.Quiet // see [vector.Config]
	// Paused: nothing is opened before [Driver.Resume].
	Paused bool

	secret []byte             // tests: of [vector.Config]
	choose func(n int) int    // tests: its ChoosePort
	now    func() (ns uint64) // tests: its Now
	most   int                // tests: octets that a link takes at most; 0: as its MTU says

	ringOctets int // tests: of memory of a ring; 0: ringMemory
}

// Driver is a datapath.
type Driver struct {
	*vector.Engine
	cfg     Config
	log     *slog.Logger
	host    *host
	answers *answers
	fence   *fence
	routes  *routes
	workers []*vector.Worker // that traffic has had, to be used again

	mu      sync.Mutex                             // held while traffic begins and ends
	traffic *traffic                               // nil: paused
	own     atomic.Pointer[func([]*vector.Packet)] // sends what leaves of its own accord; nil: paused

	names atomic.Pointer[[]string] // of devices, by way

	tending sync.WaitGroup
	cancel  context.CancelFunc
	closing sync.Once
	closed  error

	ended chan struct{}
	once  sync.Once
	why   error
}

var (
	_ datapath.Movable = (*Driver)(nil)
	_ datapath.Failer  = (*Driver)(nil)
)

// New opens sockets and devices in the network namespace of the caller and forwards packets until
// it is closed.
//
// Errors: [errors.ErrUnsupported] is wrapped where this machine lacks support; EADDRINUSE if the
// port is in use; instructions if kernel forwarding is off.
func New(cfg Config) (*Driver, error) {
	cfg.complete()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := checkForwarding(&cfg); err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg, log: cfg.Log, fence: &fence{log: cfg.Log}, ended: make(chan struct{})}
	var err error
	if d.host, err = openHost(d); err != nil {
		return nil, err
	}
	if d.answers, err = openAnswers(d); err != nil {
		d.host.close()
		return nil, err
	}
	d.routes = newRoutes(d)
	d.Engine = vector.New(d.engine())
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	d.tending.Go(func() { d.host.watch(ctx) })
	if cfg.now == nil {
		d.tending.Go(func() { d.Tend(ctx) })
	}
	if cfg.Paused {
		return d, nil
	}
	if err := d.Resume(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// engine is the engine's part of the configuration.
func (d *Driver) engine() vector.Config {
	return vector.Config{
		Name: d.cfg.name(), Endpoints: d.cfg.Endpoints, N6: d.cfg.N6, MaxSessions: d.cfg.MaxSessions,
		Links: d.host, Hosts: &d.host.own, Buffer: d.cfg.Buffer, Advertise: d.cfg.Advertise, MeterBurst: d.cfg.MeterBurst,
		Echo: d.cfg.EchoInterval, Log: d.log, Secret: d.cfg.secret, ChoosePort: d.cfg.choose, Now: d.cfg.now,
		Send: d.send, Device: d.wayDevice, Sockets: true, Quiet: d.cfg.Quiet,
	}
}

// send sends what leaves of its own accord. While the datapath is paused it is lost.
func (d *Driver) send(out []*vector.Packet) {
	if own := d.own.Load(); own != nil {
		(*own)(out)
	}
}

// wayDevice names the device of a way, for traces.
func (d *Driver) wayDevice(way int) string {
	if names := d.names.Load(); names != nil && way < len(*names) {
		return (*names)[way]
	}
	return ""
}

func (c *Config) name() string {
	if c.TAP {
		return "tap"
	}
	return "tun"
}

// Resume implements [datapath.Movable], in the network namespace of the caller.
func (d *Driver) Resume() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.traffic != nil {
		return nil
	}
	t, err := d.open()
	if err != nil {
		return errors.Join(err, t.close())
	}
	names := make([]string, 0, len(t.ways))
	for _, dev := range t.ways {
		names = append(names, dev.Name)
	}
	d.names.Store(&names)
	d.traffic = t
	t.start()
	return nil
}

// Pause implements [datapath.Movable]. The devices are gone when it returns, and with them
// the routes.
func (d *Driver) Pause() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.traffic == nil {
		return nil
	}
	d.own.Store(nil)
	err := d.traffic.close()
	d.traffic = nil
	return err
}

// fail records the reason why the datapath failed, if it did.
func (d *Driver) fail(err error) {
	if err == nil {
		return
	}
	d.once.Do(func() {
		d.why = err
		close(d.ended)
	})
}

// Ended is closed when the datapath has failed: a device was removed.
func (d *Driver) Ended() <-chan struct{} { return d.ended }

// Err says why. It is for after Ended.
func (d *Driver) Err() error { return d.why }

// Apply implements [datapath.Driver]. Routes to what the session has are there before its
// rules are, and go after them.
func (d *Driver) Apply(ctx context.Context, c *api.Change) error {
	undo, done, err := d.routes.prepare(c.GetSeid(), c.GetSession())
	if err != nil {
		return err
	}
	if err := d.Engine.Apply(ctx, c); err != nil {
		undo()
		return err
	}
	done()
	return nil
}

// Close implements [datapath.Driver]: devices and their routes are gone when it returns.
func (d *Driver) Close() error {
	d.closing.Do(func() {
		err := d.Pause()
		d.cancel()
		d.tending.Wait()
		d.closed = errors.Join(err, d.Engine.Close())
		d.host.close()
		d.answers.close()
	})
	return d.closed
}

// worker returns the nth worker of the engine that sockets and devices have.
func (d *Driver) worker(n int) *vector.Worker {
	for n >= len(d.workers) {
		d.workers = append(d.workers, d.NewWorker())
	}
	return d.workers[n]
}
