// Package xdp is the UPF on XDP: the stages in bpf/ run on the N3 and N6
// devices, and this package keeps their tables.
//
//	 N3 device                                          N6 device
//	─────────► parse_n3 ► detect ► forward ► enforce ► measure ► emit ─────────►
//	◄───────── emit ◄ measure ◄ enforce ◄ forward ◄ detect ◄ parse_n6 ◄─────────
//	     │                                                       │
//	     └─ GTP-U socket ──► slow path (package model) ◄── ring ─┘
//
// Tables are memory-mapped arrays: a session is installed with a few stores and
// no system call. A packet that the kernel part cannot finish (a fragment on N3,
// a next hop that is not resolved yet, a rule that is being changed, more than
// the MTU) goes through the slow path, over the same tables, and is not lost.
package xdp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"net/netip"
	"sync"

	"github.com/cilium/ebpf"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/nexthop"
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
	N3Device, N6Device string     // may be the same
	N3Address          netip.Addr // IPv4, of the N3 device
	// Gateway4 and Gateway6 are the next hops on N6 of all that is not on-link;
	// not valid: those of the kernel's default routes on the device.
	Gateway4, Gateway6 netip.Addr
	Mode               Mode
	MaxSessions        int // F-TEIDs, and UE addresses, that can be held
	Log                *slog.Logger
}

// Driver is a running XDP datapath.
type Driver struct {
	cfg  Config
	log  *slog.Logger
	objs upfObjects

	// mu is held for writing while tables change; the slow path reads under it.
	mu               sync.RWMutex
	uplink, downlink *table
	meters           *meterTable
	hops             *hopTable
	sessions         map[uint64]*session
	overflows        int
	n3               *nexthop.Watcher // nil until started
	n3MTU            int              // octets of IP packet

	totalsMu sync.Mutex // held for a scan, before mu
	totals   [2]Total   // last returned, uplink and downlink

	slow    *slowPath
	events  datapath.Events
	detach  []func() error
	closing sync.Once
	done    error
}

var _ datapath.Driver = (*Driver)(nil)

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
	if err := d.start(ports); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// load makes the tables and loads the programs, and attaches nothing.
func load(cfg Config, p ports) (*Driver, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxSessions < 1 || cfg.MaxSessions > 1<<24 {
		return nil, fmt.Errorf("xdp: %d sessions: want 1 to %d", cfg.MaxSessions, 1<<24)
	}
	d := &Driver{cfg: cfg, log: cfg.Log, sessions: map[uint64]*session{}, n3MTU: p.n3.mtu}
	if err := d.loadObjects(p); err != nil {
		return nil, err
	}
	if err := d.mapTables(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) loadObjects(p ports) error {
	spec, err := loadUpf()
	if err != nil {
		return fmt.Errorf("xdp: programs: %w", err)
	}
	slots := tableSize(d.cfg.MaxSessions)
	for name, n := range map[string]uint32{
		"uplink": slots, "downlink": slots, "uplink_by_key": slots, "downlink_by_key": slots,
		"meters": 2*slots + 1,
	} {
		spec.Maps[name].MaxEntries = n
	}
	n3 := d.cfg.N3Address.As4()
	for name, value := range map[string]any{
		"index_mask": slots - 1,
		"n3_ip4":     binary.NativeEndian.Uint32(n3[:]),
		"n3_ifindex": uint32(p.n3.index),
		"n6_ifindex": uint32(p.n6.index),
		"n3_mac":     p.n3.mac,
		"n6_mac":     p.n6.mac,
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	if err := spec.LoadAndAssign(&d.objs, nil); err != nil {
		return loadError(err)
	}
	return nil
}

// tableSize returns how many slots hold n rules: a power of two.
func tableSize(n int) uint32 { return 1 << bits.Len(uint(n-1)) }

func loadError(err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return fmt.Errorf("xdp: the kernel's verifier refuses the programs: %+v: %w", verifier, errors.ErrUnsupported)
	}
	return fmt.Errorf("xdp: load programs (needs CAP_BPF and CAP_NET_ADMIN): %w", err)
}

func (d *Driver) mapTables() error {
	var err error
	if d.uplink, err = newTable(d.objs.Uplink, d.objs.UplinkByKey); err != nil {
		return err
	}
	if d.downlink, err = newTable(d.objs.Downlink, d.objs.DownlinkByKey); err != nil {
		return err
	}
	d.uplink.overflowed, d.downlink.overflowed = d.overflowed, d.overflowed
	if d.meters, err = newMeterTable(d.objs.Meters); err != nil {
		return err
	}
	d.hops, err = newHopTable(d.objs.Hops, d.objs.HopByIp)
	return err
}

// overflowed tells the programs whether they have to look beyond a rule's home.
func (d *Driver) overflowed(change int) {
	d.overflows += change
	if err := d.objs.Overflows.Set(uint32(d.overflows)); err != nil {
		d.log.Error("xdp: set overflows", "err", err)
	}
}

// Peers lists the next hops.
func (d *Driver) Peers() []Peer { return d.hops.list() }

// Capabilities implements [datapath.Driver].
func (d *Driver) Capabilities() *api.Capabilities {
	n3 := d.cfg.N3Address.As4()
	return &api.Capabilities{
		Name:        "xdp",
		MaxSessions: uint64(d.cfg.MaxSessions),
		N3Ipv4:      []uint32{binary.BigEndian.Uint32(n3[:])},
	}
}

// MemoryOctets returns what the tables take in the kernel, whether used or not.
func (d *Driver) MemoryOctets() uint64 {
	var sum uint64
	for _, m := range []*ebpf.Map{d.objs.Uplink, d.objs.Downlink, d.objs.Meters, d.objs.Hops} {
		sum += uint64(m.MaxEntries()) * uint64(m.ValueSize())
	}
	return sum
}

// Drops implements [datapath.Driver].
func (d *Driver) Drops() (map[string]uint64, error) { return d.counts(true) }

// Passes returns how many packets were handed to the host or the slow path, by
// reason, since start.
func (d *Driver) Passes() (map[string]uint64, error) { return d.counts(false) }

func (d *Driver) counts(drops bool) (map[string]uint64, error) {
	counts := map[string]uint64{}
	var perCPU []uint64
	for _, r := range datapath.Reasons() {
		if r.IsDrop() != drops {
			continue
		}
		if err := d.objs.Counts.Lookup(uint32(r), &perCPU); err != nil {
			return nil, fmt.Errorf("xdp: read counter %v: %w", r, err)
		}
		for _, n := range perCPU {
			counts[r.String()] += n
		}
		if d.slow != nil {
			counts[r.String()] += d.slow.counts[r].Load()
		}
	}
	return counts, nil
}

// Close implements [datapath.Driver].
func (d *Driver) Close() error {
	d.closing.Do(func() {
		d.events.Close()
		var errs []error
		for i := len(d.detach) - 1; i >= 0; i-- {
			errs = append(errs, d.detach[i]())
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, t := range []interface{ unmap() error }{d.uplink, d.downlink, d.meters, d.hops} {
			errs = append(errs, t.unmap())
		}
		d.sessions = nil
		errs = append(errs, d.objs.Close())
		d.done = errors.Join(errs...)
	})
	return d.done
}

// Usage implements [datapath.Driver].
func (d *Driver) Usage(seid uint64) (*api.SessionUsage, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.sessions[seid]
	if s == nil {
		return nil, fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	return &api.SessionUsage{Rules: s.usage(d)}, nil
}

// Apply implements [datapath.Driver].
func (d *Driver) Apply(_ context.Context, c *api.Change) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.sessions[c.GetSeid()]
	if c.GetSession() == nil {
		if old == nil {
			return fmt.Errorf("xdp: SEID %#x: %w", c.GetSeid(), datapath.ErrNoSession)
		}
		d.remove(old)
		delete(d.sessions, c.GetSeid())
		return nil
	}
	if err := datapath.Check(c.GetSession()); err != nil {
		return err
	}
	s, err := d.replace(old, c.GetSession())
	if err != nil {
		return err
	}
	d.sessions[c.GetSeid()] = s
	return nil
}

// Next implements [datapath.Driver].
func (d *Driver) Next(ctx context.Context) (*api.Event, error) { return d.events.Next(ctx) }

// Settle implements [datapath.Driver].
func (d *Driver) Settle(context.Context) error { return nil }
