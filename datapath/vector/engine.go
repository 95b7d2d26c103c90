package vector

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/trace"
)

// Config says where the UPF stands.
type Config struct {
	// About is what the datapath around the engine can do: what
	// [stages.Capabilities] says, less what its I/O cannot. Nil: all of that.
	About       *api.Capabilities
	Name        string // of the datapath: "tun"
	Endpoints   []datapath.Endpoint
	N6          datapath.N6
	MaxSessions int
	Links       Links
	Hosts       *Hosts // this host's addresses, to which no user packet may go; nil: none
	Buffer      stages.BufferLimits
	Advertise   *stages.RouterAdvertisement
	MeterBurst  time.Duration      // 0: [stages.DefaultBurst]
	Echo        time.Duration      // how often GTP-U peers are asked whether they are there; 0: never
	Now         func() (ns uint64) // monotonic; nil: the kernel's
	ChoosePort  func(n int) int    // where a NAT's search begins; nil: anywhere
	Secret      []byte             // of [stages.Redirects]; nil: one of its own
	Log         *slog.Logger       // nil: nobody reads it
	// Device names the device behind a way of N6, for traces; nil: as N6 has it.
	Device func(way int) string
	// PeerDevice names the device by which GTP-U messages to a peer leave, for traces; "",
	// or nil: that of the endpoint, or the endpoint, if the kernel picks devices.
	PeerDevice func(o *stages.Outer) string
	// Quiet says when no Error Indication is sent: see [datapath.Restart].
	Quiet *datapath.Quiet
	// Sockets: GTP-U messages leave through UDP sockets, so that the source port is theirs.
	Sockets bool

	// Send takes what leaves of its own accord: released packets, End Markers, Echo
	// Requests. At most [MaxVector] at a time, by one goroutine at a time. No rule
	// changes meanwhile. It must not call the engine, nor keep the packets.
	Send func(out []*Packet)
}

// Links is what the engine knows of the devices. Its methods are called for
// packets: they must be fast, and for several goroutines.
type Links interface {
	stages.Links
	// Least returns an MTU that no link falls below: what is not longer, outer
	// headers included, is sent without asking further. 0: not known.
	Least() int
	// MTUs returns the MTU of the device of a data network, by its index, and the
	// smallest one of the devices of tunnels: for [datapath.DataNetwork.MSS].
	MTUs(network int) (n6, tunnel int)
}

// Engine is the UPF between the I/O of workers. It is a [datapath.Driver].
type Engine struct {
	cfg      Config
	stages   stages.Stages
	events   datapath.Events
	sessions *stages.Sessions
	tables   *tables
	bare     []bool // by number of the data network: it is there, and for IP packets
	mappings mappings

	// mu is held for reading while a vector is treated, and for writing while a
	// session changes.
	mu      sync.RWMutex
	restart datapath.Restart
	closed  bool

	own     *Worker // sends what leaves of its own accord
	ownMu   sync.Mutex
	workers []*Worker // guarded by ownMu

	peers              peers
	retired            totals
	totalsMu           sync.Mutex // held for a sum, before mu
	totals             totals     // last returned
	traces             trace.Set
	errored            *stages.Errored
	paths              *stages.Paths[peer]
	answers, strangers limiter
}

// answersPerSecond bounds what strangers can make the UPF send.
const answersPerSecond = 100

// New returns an engine without sessions. Its owner runs [Engine.Tend].
func New(cfg Config) *Engine {
	cfg.complete()
	e := &Engine{
		cfg: cfg, mappings: mappings{max: datapath.MaxMappings}, peers: peers{map[peer]int{}, map[netip.Addr]int{}},
		retired: totals{}, totals: totals{}, errored: stages.NewErrored(),
		restart: datapath.Restart{Quiet: cfg.Quiet},
	}
	e.paths = e.newPaths()
	e.answers.PerSecond, e.strangers.PerSecond = answersPerSecond, answersPerSecond
	e.tables = newTables(cfg.MaxSessions, e.compile)
	e.bare = make([]bool, 1+len(cfg.N6.Networks))
	for i := range cfg.N6.Networks {
		e.bare[1+i] = !cfg.N6.Networks[i].Ethernet
	}
	e.sessions = stages.NewSessions(stages.SessionsConfig{
		Name: cfg.Name, Endpoints: cfg.Endpoints, N6: &e.cfg.N6, Max: uint64(cfg.MaxSessions), MeterBurst: cfg.MeterBurst,
		Now: cfg.Now, Index: e.tables, Stages: &e.stages,
	})
	e.own = e.newWorker()
	e.stages = stages.Stages{
		Tables: e.sessions, Now: cfg.Now, Post: e.events.Post,
		Buffer: stages.NewBuffer(cfg.Buffer, cfg.Now, e.own.count),
		Links:  cfg.Links, Answers: stages.NewAnswers(), Advertise: cfg.Advertise, Bridge: stages.NewBridge(nil),
		N6:        e.networks(),
		Redirects: stages.NewRedirects(cfg.Secret), Names: stages.NewNames(nil), Endpoints: cfg.Endpoints, Hosts: cfg.Hosts,
	}
	return e
}

// complete fills in what was left out.
func (c *Config) complete() {
	if c.About == nil {
		c.About = stages.Capabilities(c.Name, c.Endpoints, &c.N6, uint64(c.MaxSessions))
	}
	if c.Buffer == (stages.BufferLimits{}) {
		c.Buffer = stages.DefaultBufferLimits
	}
	if c.Now == nil {
		c.Now = Monotonic
	}
	if c.ChoosePort == nil {
		c.ChoosePort = rand.IntN
	}
	if c.Secret == nil {
		c.Secret = newSecret()
	}
	if c.Device == nil {
		n6 := c.N6
		c.Device = func(way int) string { return n6.Networks[n6.Of(way)].Device }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Send == nil {
		c.Send = func([]*Packet) {}
	}
}

var (
	_ datapath.Driver         = (*Engine)(nil)
	_ datapath.MemoryReporter = (*Engine)(nil)
	_ datapath.PassReporter   = (*Engine)(nil)
	_ datapath.BufferReporter = (*Engine)(nil)
	_ datapath.TableReporter  = (*Engine)(nil)
	_ datapath.SliceReporter  = (*Engine)(nil)
	_ datapath.KeyReporter    = (*Engine)(nil)
	_ datapath.Tracer         = (*Engine)(nil)
	_ stages.Inheritor        = (*Engine)(nil)
)

// Capabilities implements [datapath.Driver].
func (e *Engine) Capabilities() *api.Capabilities { return e.cfg.About }

// Apply implements [datapath.Driver]. It waits for the vectors that are under way,
// and what it releases is sent before the next one is treated.
func (e *Engine) Apply(_ context.Context, c *api.Change) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return datapath.ErrClosed
	}
	before, was := e.sessions.Rules(c.GetSeid())
	err := e.sending(func(w *Worker) error {
		return e.sessions.Apply(c, e.cfg.About, w.finish, w.signal)
	})
	if err != nil {
		return err
	}
	after, is := e.sessions.Rules(c.GetSeid())
	e.peers.add(after, 1)
	e.peers.add(before, -1)
	e.retired.changed(before, was, after, is)
	return nil
}

// sending lets do give packets to the engine's own worker, and sends them. The
// caller holds mu, for reading at least.
func (e *Engine) sending(do func(w *Worker) error) error {
	e.ownMu.Lock()
	defer e.ownMu.Unlock()
	e.own.send = e.cfg.Send
	if t := e.own.trace(); t != nil {
		t.arrived(nil)
		defer e.own.untrace()
	}
	err := do(e.own)
	e.own.treatAgain()
	e.own.flush()
	return err
}

// Usage implements [datapath.Driver].
func (e *Engine) Usage(seid uint64) (*api.SessionUsage, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sessions.Usage(seid)
}

// Keys returns by which keys packets find the rules of a session.
func (e *Engine) Keys(seid uint64) ([]datapath.Key, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sessions.Keys(seid)
}

// Next implements [datapath.Driver].
func (e *Engine) Next(ctx context.Context) (*api.Event, error) { return e.events.Next(ctx) }

// Settle implements [datapath.Driver]. The engine holds nothing from before. Who
// sends to a TEID that we do not have is told so from now on only.
func (e *Engine) Settle(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.restart.Settle()
	return nil
}

// Drops implements [datapath.Driver].
func (e *Engine) Drops() (map[string]uint64, error) { return e.counted(true), nil }

// Passes returns how many packets were not dropped and not forwarded either, by
// reason.
func (e *Engine) Passes() (map[string]uint64, error) { return e.counted(false), nil }

func (e *Engine) counted(drops bool) map[string]uint64 {
	e.ownMu.Lock()
	defer e.ownMu.Unlock()
	all := map[string]uint64{}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() != drops {
			continue
		}
		n := uint64(0)
		for _, w := range e.workers {
			n += atomic.LoadUint64(&w.counts[r])
		}
		all[r.String()] = n
	}
	return all
}

// Close implements [datapath.Driver]. Nobody may run a worker any more.
func (e *Engine) Close() error {
	e.traces.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for s := range e.sessions.All() {
		e.stages.Release(s.SEID, nil, true, nil)
	}
	e.events.Close()
	return nil
}

// Buffered is what waits for UEs that are idle.
func (e *Engine) Buffered() datapath.Buffered { return e.stages.Buffer.Occupancy() }

// TableUse tells how full the tables are that can be full before all sessions are
// there: MAC addresses and, if there is one, the NAT's mappings and blocks of ports.
func (e *Engine) TableUse() []datapath.TableUse {
	all := []datapath.TableUse{e.stages.Bridge.Occupancy()}
	blocks := datapath.TableUse{Name: "nat_port_blocks"}
	for _, n := range e.stages.N6.NATs {
		if n != nil {
			used, most := n.Blocks()
			blocks.Used, blocks.Max = blocks.Used+used, blocks.Max+most
		}
	}
	if blocks.Max == 0 {
		return all
	}
	return append(all, e.mappings.occupancy(), blocks)
}
