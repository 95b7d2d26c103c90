// Package afxdp is the UPF in user space on AF_XDP sockets: whole frames come out of
// the queues of the devices and leave through them.
//
//	 queue i of N3                      worker i                          queue i of N6
//	────► program ─► RX ─► parse ► package vector: detect ► enforce ► ... ► TX ────►
//	◄──── TX ◄─ emit ◄ ... ◄ detect ◄ package vector ◄ parse ◄ RX ◄─ program ◄────
//	         └─ all other traffic stays with the kernel ─┘
//
// A program on each device (bpf/upf/afxdp.bpf.c) redirects what is the UPF's. A worker
// has a thread, one queue of each device and the frames of these (the UMEM): a packet
// leaves from the frame in which it arrived. Its way through the rings:
//
//	free ─► fill ring ─► kernel ─► RX ring ─► vector ─► TX ring ─► kernel ─► completion ring ─► free
//
// Next hops are those of the kernel, which package nexthop follows. What needs the
// kernel (a next hop that is not resolved, a packet that is to be fragmented outside,
// outer fragments that came) goes through its sockets.
//
// Source: Linux, Documentation/networking/af_xdp.rst.
package afxdp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/vector"
)

// Config is the configuration of the datapath.
type Config struct {
	Endpoints []datapath.Endpoint // where GTP-U is terminated, at most 16; several may be on one device
	// N6 is where user packets leave bare and come from. A device may be that of an
	// endpoint, but not of two data networks.
	N6 datapath.N6
	// ChoosePort returns a number below n: where a NAT begins to look for a free
	// port; nil: anywhere.
	ChoosePort  func(n int) int
	MaxSessions int  // F-TEIDs, and UE addresses, that can be held
	Mode        Mode // "": [Adaptive]
	// Queues is how many workers there are, each with one queue of each device, or
	// more; 0: as many as every device has queues.
	Queues int
	CPUs   []int // worker i runs on CPUs[i % len]; empty: on any
	Frames int   // of each worker; 0: [DefaultFrames]
	Copy   bool  // no zero copy, also where the devices can

	EchoInterval time.Duration       // interval of Echo Requests to GTP-U peers in use; 0: never
	Buffer       stages.BufferLimits // zero value: [stages.DefaultBufferLimits]
	// Advertise is the answer to Router Solicitations of UEs; nil: the CP function answers them.
	Advertise *stages.RouterAdvertisement
	// MeterBurst is how much of a QER's rate may come at once; 0: [stages.DefaultBurst].
	MeterBurst time.Duration
	// Quiet says when no Error Indication is sent: see [datapath.Restart].
	Quiet *datapath.Quiet
	// Front processes frames before the stages; nil: none.
	Front Front
	Name  string // of the datapath, where it is not "afxdp"
	// Paused: [New] opens a driver that touches no device before [Driver.Resume].
	Paused bool
	Log    *slog.Logger

	// Tests give a clock and a secret of their own. Nil: the kernel's, any.
	now    func() (ns uint64)
	secret []byte
}

// DefaultFrames is how many frames a worker has: rings that bridge some milliseconds in
// which something else has its CPU. More of them, and what is in them leaves the caches.
const DefaultFrames = 16384

// Driver is a running AF_XDP datapath.
type Driver struct {
	*vector.Engine
	cfg      Config
	log      *slog.Logger
	devices  []*device
	networks []*network
	ways     []*way // by number
	peers    *peerTable
	tables   *tables
	kernel   *netlink.Handle
	host     *rawip.Host
	hosts    vector.Hosts // this host's addresses
	owns     *nexthop.OwnWatcher
	ownAddrs atomic.Pointer[[]netip.Addr]
	least    atomic.Int32  // MTU of which no link falls short
	lost     atomic.Uint64 // by sockets that are closed
	workers  []*vector.Worker
	own      *vector.Worker // that counts what leaves of its own accord and cannot
	stop     context.CancelFunc
	tended   sync.WaitGroup

	// using is held for reading by readers of machine without mu, and for writing when it is removed.
	using   sync.RWMutex
	mu      sync.Mutex // of changes, and of what follows
	held    map[uint64]held
	machine atomic.Pointer[machine] // nil while paused
	slow    map[netip.Addr]*vector.Worker
	closed  bool
	err     error
	failing sync.Once
	ended   chan struct{}
}

// held is what a session has of the driver's tables.
type held struct {
	keys  map[datapath.Key]bool
	peers []nexthop.Peer
}

var (
	_ datapath.Movable        = (*Driver)(nil)
	_ datapath.MemoryReporter = (*Driver)(nil)
	_ datapath.CopyReporter   = (*Driver)(nil)
	_ datapath.PeerReporter   = (*Driver)(nil)
	_ datapath.PassReporter   = (*Driver)(nil)
	_ datapath.Failer         = (*Driver)(nil)
	_ datapath.MemoryLocker   = (*Driver)(nil)
)

// New opens the datapath, in the network namespace of the caller.
//
// Errors: those of the kernel with what to do about them; [errors.ErrUnsupported] is
// wrapped where this machine or device cannot do it at all.
func New(cfg Config) (*Driver, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	devices, err := findDevices(&cfg)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		cfg: cfg, log: cfg.Log, devices: devices, held: map[uint64]held{}, slow: map[netip.Addr]*vector.Worker{},
		ended: make(chan struct{}),
	}
	d.peers = newPeerTable(cfg.Endpoints, devices, d.unanswered)
	d.networks, d.ways = newNetworks(&cfg.N6, devices)
	d.setLeast()
	if d.kernel, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("afxdp: netlink: %w", err)
	}
	d.host = rawip.NewHost(d.kernel, d.networks[0].dev.index, d.log)
	if d.tables, err = openTables(&cfg); err != nil {
		d.kernel.Close()
		return nil, err
	}
	if d.owns, err = nexthop.WatchOwn(d.log, d.setOwn); err != nil {
		err = errors.Join(err, d.tables.close())
		d.kernel.Close()
		return nil, err
	}
	d.Engine = vector.New(d.engineConfig())
	d.own = d.NewWorker()
	for range cfg.workers(devices) {
		d.workers = append(d.workers, d.NewWorker())
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	d.tended.Go(func() { d.Tend(ctx) })
	if !cfg.Paused {
		if err := d.Resume(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// complete checks what was given, and fills in what was left out.
func (c *Config) complete() error {
	if c.MaxSessions < 1 || c.MaxSessions > 1<<24 {
		return fmt.Errorf("afxdp: %d sessions: want 1 to %d", c.MaxSessions, 1<<24)
	}
	if c.Frames == 0 {
		c.Frames = DefaultFrames
	}
	if c.Frames < 2*minEntries || c.Frames > maxFrames || c.Queues < 0 {
		return fmt.Errorf("afxdp: %d frames, %d queues: want %d to %d frames", c.Frames, c.Queues, 2*minEntries, maxFrames)
	}
	switch c.Mode {
	case "":
		c.Mode = Adaptive
	case Adaptive, Poll, Interrupt:
	default:
		return fmt.Errorf("afxdp: mode %q: want %s, %s or %s", c.Mode, Adaptive, Poll, Interrupt)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

const maxFrames = 1 << 20

// workers returns how many there are: no more than the queues of any device, since
// each sends on one of every device.
func (c *Config) workers(devices []*device) int {
	n := devices[0].queues
	for _, d := range devices {
		n = min(n, d.queues)
	}
	if c.Queues > 0 {
		n = min(n, c.Queues)
	}
	return n
}

// Clock is the time that the stages go by, ns.
func (c *Config) Clock() func() uint64 {
	if c.now != nil {
		return c.now
	}
	return vector.Monotonic
}

func (d *Driver) engineConfig() vector.Config {
	c := &d.cfg
	return vector.Config{
		Name: cmp.Or(c.Name, "afxdp"), Endpoints: c.Endpoints, N6: c.N6, MaxSessions: c.MaxSessions, Links: links{d}, Hosts: &d.hosts,
		Buffer: c.Buffer, Advertise: c.Advertise, MeterBurst: c.MeterBurst, Echo: c.EchoInterval,
		Now: c.now, ChoosePort: c.ChoosePort, Secret: c.secret, Log: c.Log, Send: d.release, Quiet: c.Quiet, PeerDevice: d.peers.deviceTo,
	}
}

// Apply implements [datapath.Driver]. Before the session is there the programs know
// its destinations, and after it has gone they forget them.
func (d *Driver) Apply(ctx context.Context, c *api.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("afxdp: %w", datapath.ErrClosed)
	}
	now := held{keysOf(c.GetSession()), d.peers.of(c.GetSession())}
	if err := d.tables.keys.use(now.keys); err != nil {
		return err
	}
	d.peers.use(now.peers)
	old, gone := d.held[c.GetSeid()], now
	err := d.Engine.Apply(ctx, c)
	if err == nil {
		gone = old
		if d.held[c.GetSeid()] = now; c.GetSession() == nil {
			delete(d.held, c.GetSeid())
		}
	}
	d.peers.release(gone.peers)
	if left := d.tables.keys.release(gone.keys); left != nil {
		d.log.Error("destinations of a session", "seid", c.GetSeid(), "err", left)
	}
	return err
}

// unanswered counts packets that were handed to the kernel, and it has not sent.
func (d *Driver) unanswered(packets uint64) {
	for range packets {
		d.own.Refuse(datapath.DropNextHop)
	}
}

// Close implements [datapath.Driver].
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	err := d.pause()
	d.stop()
	d.tended.Wait()
	err = errors.Join(err, d.Engine.Close(), d.tables.close())
	d.owns.Close()
	d.kernel.Close()
	return err
}
