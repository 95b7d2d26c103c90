// Package tun is the UPF in user space between UDP sockets and TUN or TAP devices:
// the datapaths tun and tap. Any machine with Linux can do it, over whatever devices,
// tunnels and tables its kernel has.
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
// The kernel does the rest: outer IP headers, next hops, fragments, what is beyond the
// device. It forwards if it is told to, which is checked at the start; routes to UEs
// follow the sessions.
package tun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/model"
	"plumbline/datapath/vector"
)

// Limits and defaults of [Config].
const (
	DefaultPrefix = "plumb"
	DefaultMTU    = 1500
	MaxWorkers    = 64
	// MaxRoutes is how many routes to single UEs and behind them there can be: each is
	// one of the kernel's.
	MaxRoutes = 1 << 16
)

// Config says where the UPF stands.
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
	// Addresses are those of the device of the first data network; none are needed.
	Addresses []netip.Prefix
	// Pools are led to that device as long as it is there. UE addresses beside them get
	// routes of their own while their session is there.
	Pools []netip.Prefix

	EchoInterval time.Duration // see [vector.Config]
	Buffer       model.BufferLimits
	Advertise    *model.RouterAdvertisement
	MeterBurst   time.Duration
	Log          *slog.Logger

	secret []byte             // tests: of [vector.Config]
	choose func(n int) int    // tests: its ChoosePort
	now    func() (ns uint64) // tests: its Now
}

// loop carries packets of one socket, or of one queue of a device.
type loop interface {
	run() error // until that is closed; the error is why the datapath cannot go on
	free()      // when run has returned
}

// Driver is a running datapath.
type Driver struct {
	*vector.Engine
	cfg     Config
	log     *slog.Logger
	devices []*device // by index of the data network, then those of policies
	ways    []*device // by way
	sockets *sockets
	host    *host
	routes  *routes
	own     *output // of what leaves of its own accord
	loops   []loop

	running sync.WaitGroup
	cancel  context.CancelFunc
	closing sync.Once
	closed  error

	ended chan struct{}
	once  sync.Once
	why   error
}

var _ datapath.Driver = (*Driver)(nil)

// New opens sockets and devices in the network namespace of the caller and carries
// packets until it is closed.
//
// Errors: [errors.ErrUnsupported] is wrapped where this machine cannot do it; EADDRINUSE
// if somebody has the port; and what is to be done so that the kernel forwards.
func New(cfg Config) (*Driver, error) {
	cfg.complete()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg, log: cfg.Log, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Engine's part of the configuration.
func (d *Driver) engine() vector.Config {
	return vector.Config{
		Name: d.cfg.name(), Endpoints: d.cfg.Endpoints, N6: d.cfg.N6, MaxSessions: d.cfg.MaxSessions,
		Links: d.host, Hosts: &d.host.own, Buffer: d.cfg.Buffer, Advertise: d.cfg.Advertise, MeterBurst: d.cfg.MeterBurst,
		Echo: d.cfg.EchoInterval, Log: d.log, Secret: d.cfg.secret, ChoosePort: d.cfg.choose, Now: d.cfg.now,
		Send: func(out []*vector.Packet) { d.own.send(out) },
	}
}

func (c *Config) name() string {
	if c.TAP {
		return "tap"
	}
	return "tun"
}

// open opens all that there is, and lets packets flow.
func (d *Driver) open(ctx context.Context) error {
	var err error
	if err = checkForwarding(&d.cfg, d.log); err != nil {
		return err
	}
	if d.sockets, err = listen(d.cfg.Endpoints, d.cfg.Workers); err != nil {
		return err
	}
	if err = d.openDevices(); err != nil {
		return err
	}
	if d.host, err = openHost(d); err != nil {
		return err
	}
	d.routes = newRoutes(d)
	if err = d.routes.addPools(); err != nil {
		return err
	}
	d.Engine = vector.New(d.engine())
	d.own = d.newOutput(0)
	if err = d.openLoops(); err != nil {
		return err
	}
	d.running.Go(func() { d.host.watch(ctx) })
	d.running.Go(func() { d.Tend(ctx) })
	for _, l := range d.loops {
		d.running.Go(func() { d.fail(l.run()) })
	}
	return nil
}

// openLoops makes what carries packets: for each worker one of each socket and device.
func (d *Driver) openLoops() error {
	for w := range d.cfg.Workers {
		for _, s := range d.sockets.all[w] {
			up, err := d.newUplink(w, s)
			if err != nil {
				return err
			}
			d.loops = append(d.loops, up)
		}
		for i := range d.cfg.N6.Networks {
			down, err := d.newDownlink(w, i+1, d.devices[i])
			if err != nil {
				return err
			}
			d.loops = append(d.loops, down)
		}
	}
	return nil
}

// fail notes why the datapath cannot go on, if it is so.
func (d *Driver) fail(err error) {
	if err == nil {
		return
	}
	d.once.Do(func() {
		d.why = err
		close(d.ended)
	})
}

// Ended is closed when the datapath cannot go on: a device has gone.
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
		d.cancel()
		var errs []error
		if d.sockets != nil {
			errs = append(errs, d.sockets.close())
		}
		if d.routes != nil {
			errs = append(errs, d.routes.close())
		}
		for _, dev := range d.devices {
			errs = append(errs, dev.close())
		}
		d.running.Wait()
		for _, l := range d.loops {
			l.free()
		}
		if d.Engine != nil {
			errs = append(errs, d.Engine.Close())
		}
		if d.host != nil {
			d.host.close()
		}
		d.closed = errors.Join(errs...)
	})
	return d.closed
}

// Devices returns the names of the devices, in the order of the data networks.
func (d *Driver) Devices() []string {
	var names []string
	for _, dev := range d.devices {
		names = append(names, dev.Name)
	}
	return names
}

func errorf(format string, args ...any) error { return fmt.Errorf("tun: "+format, args...) }
