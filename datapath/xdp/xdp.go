// Package xdp is the UPF on XDP: the stages in bpf/ run on the devices on which
// GTP-U is terminated (N3, N9, S1-U, S5/S8-U) and on that of N6, and this
// package keeps their tables.
//
//	 GTP-U device                                       N6 device
//	─────────► parse ► detect ► forward ► enforce ► measure ► emit ────────────►
//	◄───────── emit ◄ measure ◄ enforce ◄ forward ◄ detect ◄ parse ◄────────────
//	     │                                                       │
//	     └─ GTP-U sockets ─► slow path (package model) ◄── ring ─┘
//
// Tables are memory-mapped arrays: a session is installed with a few stores and
// no system call. A packet that the kernel part cannot finish (a fragment, a next
// hop that is not resolved yet, a rule that is being changed or asks for more
// than one cache line holds, more than the MTU) goes through the slow path, over
// the same tables, and is not lost.
package xdp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Mode says how the programs are attached.
type Mode string

// Modes of attachment. Auto takes native XDP where the device's driver has it,
// else generic.
const (
	Auto    Mode = "auto"
	Native  Mode = "native"
	Generic Mode = "generic"
)

// Config says where the UPF stands.
type Config struct {
	Endpoints []datapath.Endpoint // where GTP-U is terminated, at most 16; several may be on one device
	// N6 is where user packets leave bare and come from. A device may be that of
	// an endpoint.
	N6 datapath.N6
	// ChoosePort returns a number below n: where a NAT begins to look for a free
	// port; nil: anywhere.
	ChoosePort func(n int) int
	Mode       Mode
	Hook       Hook // where the programs run
	// SuperPackets says that whoever is behind the GTP-U endpoints takes G-PDUs that are
	// longer than the link's MTU, with the checksum of the user packet left to be made:
	// the packets of a sender on this machine that the kernel keeps whole until a device
	// cuts them (GSO). Only [HookTC] knows of them.
	SuperPackets bool
	// Spread are the CPUs on which the stages run, each with the packets of its UEs,
	// whichever CPU they arrive on; empty: where they arrive. At most 64.
	Spread      []int
	MaxSessions int // F-TEIDs, and UE addresses, that can be held
	// MaxListedPDRs is how many PDRs the fast path can hold that do not fit in one
	// cache line: of several to one F-TEID or UE address, with SDF filters, several
	// meters or URRs. 0: half of MaxSessions, and at least 1024. What is beyond is
	// done by the slow path.
	MaxListedPDRs int
	// Pin is a directory in bpffs where tables and attachments stay when the
	// process ends, so that packets flow on until [New] takes them over; "":
	// nothing outlives the driver.
	Pin string
	// EchoInterval is how often GTP-U peers in use are asked whether they are
	// there; 0: never. Source: TS 29.281 V18.1.0, 7.2.1: not below 60 s.
	EchoInterval time.Duration
	Buffer       stages.BufferLimits // zero value: [stages.DefaultBufferLimits]
	// Advertise is what UEs are told that solicit a router; nil: that is the CP
	// function's.
	Advertise *stages.RouterAdvertisement
	// MeterBurst is how much of a QER's rate may come at once, but never less than
	// three packets; 0: [stages.DefaultBurst].
	MeterBurst time.Duration
	// Quiet says when no Error Indication is sent: see [datapath.Restart].
	Quiet *datapath.Quiet
	// Paused: nothing is attached, listened to or pinned until [Driver.Resume] and
	// [Driver.Settle].
	Paused bool
	Log    *slog.Logger

	// Tests give a clock of their own to meters, buffers and limits, and to the
	// programs. Nil: the kernel's.
	now  func() (ns uint64)
	edit func(spec *ebpf.CollectionSpec) error
	// clsact lets TC do without tcx.
	clsact bool
	// programs are those that a test runs without devices; nil: those of the devices.
	programs []string
}

// Driver is a running XDP datapath.
type Driver struct {
	cfg   Config
	hook  *hook
	cut   *cutter // of TC; nil: there is none
	log   *slog.Logger
	ports *ports
	objs  objects
	about *api.Capabilities

	// mu is held for writing while tables change; the slow path reads under it.
	mu           sync.RWMutex
	teids, ues   *table
	accounts     mapped[upfAccount] // of meters and urrs
	meters       *meterTable
	urrs         *urrTable
	lists        *listTable
	framed       *framedTable
	stations     *stationTable
	queues       mapped[upfQueue]    // by slot of ues, and behind them of teids
	waits        mapped[upfNameWait] // packets of flows that wait for their names
	names        *learntNames
	hops         *hopTable
	ways         mapped[upfN6Way] // by number
	numbers      *wayNumbers
	routes       *routeTable
	networks     []*network // by index in Config.N6.Networks
	nat          *natTables
	own          ownTable
	sessions     *sessionTable       // nil once the driver is closed
	slowSessions map[uint64]*session // those of them with a rule of the slow path
	slowRules    map[tableKey][]*stages.Rule
	copied       map[uint32]*stages.Rule // that ask for copies, by slot of their counters
	retired      totals                  // counted by rules that are gone
	overflows    int
	peers        *nexthop.PeerWatcher // nil until started
	waiting      *nexthop.Waiting
	scratch      change

	totalsMu sync.Mutex // held for a scan, before mu
	totals   totals     // last returned

	spreadCounts *ebpf.Map // packets by CPU; nil: none are spread, or nobody can count

	pins     *pins
	adopting bool    // the tables are those of a process before this one
	beside   *beside // nil: there are no old tables beside ours
	attends  int     // socket in the map attended; -1: none

	slow    *slowPath
	tracer  *tracer // nil until started
	errored *stages.Errored
	paths   *stages.Paths[hopKey]
	ending  ending
	restart datapath.Restart
	events  datapath.Events
	detach  []func() error        // in the order in which it was made, what Close undoes
	serving []func() error        // the same of what Pause undoes
	links   map[string]attachment // attachments, by the name of their pins
	pausing sync.Mutex            // held while it is paused or resumed
	closing sync.Once
	done    error
}

var (
	_ datapath.Movable        = (*Driver)(nil)
	_ datapath.MemoryReporter = (*Driver)(nil)
	_ datapath.PeerReporter   = (*Driver)(nil)
	_ datapath.PassReporter   = (*Driver)(nil)
	_ datapath.BufferReporter = (*Driver)(nil)
	_ datapath.TableReporter  = (*Driver)(nil)
	_ datapath.SliceReporter  = (*Driver)(nil)
	_ datapath.KeyReporter    = (*Driver)(nil)
	_ datapath.Failer         = (*Driver)(nil)
	_ datapath.Keeper         = (*Driver)(nil)
	_ datapath.Tracer         = (*Driver)(nil)
	_ datapath.TracePreparer  = (*Driver)(nil)
	_ stages.Inheritor        = (*Driver)(nil)
)

// New loads the programs, attaches them and starts the slow path, in the
// network namespace of the caller.
//
// Errors: those of the kernel with what to do about them; [errors.ErrUnsupported]
// is wrapped where this machine or device cannot do it at all.
func New(cfg Config) (*Driver, error) {
	ports, err := findPorts(cfg)
	if err != nil {
		return nil, err
	}
	d, err := load(cfg, ports)
	if err != nil {
		return nil, err
	}
	start := d.start
	if cfg.Paused {
		start = d.stand
	}
	if err := start(); err != nil {
		d.pins.giveUp(d.adopting)
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// load makes the tables and loads the programs, and attaches nothing.
func load(cfg Config, p *ports) (*Driver, error) {
	if cfg.now == nil {
		cfg.now = monotonic
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.MeterBurst = cmp.Or(cfg.MeterBurst, stages.DefaultBurst)
	if cfg.MaxSessions < 1 || cfg.MaxSessions > 1<<24 {
		return nil, fmt.Errorf("xdp: %d sessions: want 1 to %d", cfg.MaxSessions, 1<<24)
	}
	if cfg.MaxListedPDRs < 0 || cfg.MaxListedPDRs > 1<<24 {
		return nil, fmt.Errorf("xdp: %d PDRs of lists: want 0 to %d", cfg.MaxListedPDRs, 1<<24)
	}
	if cfg.Buffer == (stages.BufferLimits{}) {
		cfg.Buffer = stages.DefaultBufferLimits
	}
	h, err := cfg.Hook.get()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		hook: h, cfg: cfg, log: cfg.Log, ports: p, about: stages.Capabilities(cmp.Or(string(cfg.Hook), "xdp"), cfg.Endpoints, &cfg.N6, uint64(cfg.MaxSessions)),
		sessions: newSessionTable(), slowSessions: map[uint64]*session{}, slowRules: map[tableKey][]*stages.Rule{}, copied: map[uint32]*stages.Rule{},
		retired: totals{}, totals: totals{}, errored: stages.NewErrored(), attends: -1,
		restart: datapath.Restart{Quiet: cfg.Quiet},
	}
	d.own.d = d
	d.paths = d.newPaths()
	d.waiting = nexthop.NewWaiting(d.unanswered)
	if err := d.openCutter(); err != nil {
		return nil, err
	}
	if err := d.loadObjects(); err != nil {
		return nil, errors.Join(err, d.objs.Close(), d.cut.giveUp())
	}
	d.detach = append(d.detach, d.closeCutter)
	for _, step := range []func() error{d.mapTables, d.attend} {
		if err := step(); err != nil {
			d.pins.giveUp(d.adopting)
			return nil, errors.Join(err, d.Close())
		}
	}
	if d.adopting {
		d.adopt()
	}
	d.lookBeside()
	return d, nil
}

func (d *Driver) mapTables() error {
	var err error
	if d.teids, err = newTable(ruleByTEID, d.slots(), d.objs.RuleByTeid, d.objs.GuestByTeid, d.retired); err != nil {
		return err
	}
	if d.ues, err = newTable(ruleByUE, d.slots(), d.objs.RuleByUe, d.objs.GuestByUe, d.retired); err != nil {
		return err
	}
	d.teids.overflowed, d.ues.overflowed = d.overflowed, d.overflowed
	if d.accounts, err = mapMemory[upfAccount](d.objs.Accounts); err != nil {
		return err
	}
	d.meters = newMeterTable(d.accounts.slots, uint32(len(d.ues.slots)))
	if d.urrs, err = newURRTable(d.accounts.slots, d.objs.UrrOwners, d.objs.UrrDrops, uint32(len(d.ues.slots))); err != nil {
		return err
	}
	if d.queues, err = mapMemory[upfQueue](d.objs.Queues); err != nil {
		return err
	}
	if d.waits, err = mapMemory[upfNameWait](d.objs.NameWaits); err != nil {
		return err
	}
	d.names = &learntNames{table: d.objs.Names, sets: map[uint64]*hostSet{}, failed: func(err error) {
		d.log.Error("xdp: names of flows", "err", err)
	}}
	if d.lists, err = newListTable(&d.objs); err != nil {
		return err
	}
	d.framed = newFramedTable(d.objs.FramedByPrefix, d.framedChanged, d.releaseRoute)
	d.stations = newStationTable(d)
	if d.hops, err = newHopTable(d.objs.Hops, d.objs.HopByIp, d.cfg.Endpoints); err != nil {
		return err
	}
	return d.openNetworks()
}

// overflowed tells the programs whether they have to look beyond a rule's home.
func (d *Driver) overflowed(change int) {
	d.overflows += change
	if err := d.objs.Overflows.Set(uint32(d.overflows)); err != nil {
		d.log.Error("xdp: set overflows", "err", err)
	}
}

// framedChanged tells the programs whether there are framed routes.
func (d *Driver) framedChanged(routes int) {
	if err := d.objs.FramedRoutes.Set(uint32(routes)); err != nil {
		d.log.Error("xdp: set framed_routes", "err", err)
	}
}

func (d *Driver) table(k kind) *table {
	if k == ruleByTEID {
		return d.teids
	}
	return d.ues
}

// Peers lists the next hops.
func (d *Driver) Peers() []datapath.Peer {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.sessions == nil { // closed, and the tables' memory with it
		return nil
	}
	return d.hops.list(d.ports)
}

// Capabilities implements [datapath.Driver].
func (d *Driver) Capabilities() *api.Capabilities { return d.about }

// MemoryOctets returns what the tables take in the kernel, whether used or not.
func (d *Driver) MemoryOctets() uint64 {
	var sum uint64
	for _, m := range []*ebpf.Map{
		d.objs.RuleByTeid, d.objs.RuleByUe, d.objs.Accounts, d.objs.UrrOwners, d.objs.UrrDrops, d.objs.Hops, d.objs.Queues,
		d.objs.Entries, d.objs.Pdrs, d.objs.PdrCounters, d.objs.Flows,
	} {
		sum += uint64(m.MaxEntries()) * uint64(m.ValueSize())
	}
	return sum
}

// Drops implements [datapath.Driver].
func (d *Driver) Drops() (map[string]uint64, error) { return d.counts(true) }

// Passes returns how many packets were handed to the host or the slow path, by
// reason, since start.
func (d *Driver) Passes() (map[string]uint64, error) { return d.counts(false) }

// lookBeside finds tables of a process before this one that cannot be adopted.
func (d *Driver) lookBeside() {
	if d.pins == nil || d.adopting || len(d.pins.others) == 0 {
		return
	}
	var err error
	if d.beside, err = openBeside(d.pins.others[0]); err != nil {
		d.log.Warn("usage in old tables cannot be read", "err", err)
		d.beside = &beside{}
	}
}
