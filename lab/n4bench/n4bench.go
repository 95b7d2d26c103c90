// Package n4bench measures the control plane of our UPF: on one CPU, on two, with a store, polling,
// and while packets flow. Each of these has a UPF of its own.
package n4bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/scratch"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf"
)

// Config says what to measure of the UPF's control plane.
type Config struct {
	Binary   string        // plumb; empty: this program
	XDPMode  string        // upf.ModeAuto, ...
	Sessions []int         // numbers of sessions to measure with, ascending
	Duration time.Duration // of each load
	Rate     float64       // of the open loops, requests per second

	CommandLine, Version, Commit string // for the result

	// OnStep is called at the start of each step. It may be nil.
	OnStep func(report.Step)
}

// n4Variant is one way to run the UPF.
type n4Variant struct {
	name    string
	cores   int
	store   bool // an embedded store
	poll    bool // busy polling
	forward bool // and packets meanwhile, at the end
}

var n4Variants = []n4Variant{
	{name: "1 core", cores: 1, forward: true},
	{name: "1 core, store", cores: 1, store: true},
	{name: "1 core, polling", cores: 1, poll: true},
	{name: "2 cores", cores: 2},
}

const (
	n4Window  = 64 // requests in flight in the closed loops
	n4CPs     = 4  // CP functions, all in one thread
	n4WarmUp  = 500 * time.Millisecond
	n4Poll    = 100 * time.Microsecond
	n4Forward = 0.5 // of the bed limit, while the control plane is loaded
	n4Payload = 1400
)

// n4Template is a session of the usual shape: 2 PDR, 2 FAR, 1 QER, 1 URR.
func n4Template(t *topology.Topology) n4load.Template {
	return n4load.Template{
		UE: t.Config.UEPools[0].Addr().Next(), GNB: t.N3.Peer.Address.Addr(), DLTEID: 1, QFI: system.QFI, URR: true,
	}
}

// n4Run is the measurement of one variant.
type n4Run struct {
	Config
	system     *system.System
	variant    n4Variant
	out        *report.N4Result
	directory  string // of the store
	group      *n4load.Group
	population *n4load.Population
	resident   uint64 // octets, before the first session
}

// Run measures establishment, modification and deletion of sessions by the UPF
// on loopback, in closed loops for the highest rate and in open loops for the
// response times, with the UPF on one CPU and the CP functions on another. It
// leaves nothing behind. Errors: [errors.ErrUnsupported] for what this machine or kernel lacks, or for missing privilege.
func Run(ctx context.Context, c Config) (*report.N4Result, error) {
	cpus, err := host.CPUs()
	if err != nil {
		return nil, err
	}
	if len(cpus) < 2 {
		return nil, fmt.Errorf("%w: one CPU: the UPF and the CP functions need one each", errors.ErrUnsupported)
	}
	out := &report.N4Result{
		Schema: report.N4Schema, Started: time.Now().UTC().Truncate(time.Second),
		Host: host.Describe(c.Version, c.Commit, c.CommandLine),
		Setup: report.N4Setup{
			Threads: 1, T1NS: n4load.DefaultT1.Nanoseconds(), N1: n4load.DefaultN1, SpinNS: n4load.DefaultSpin.Nanoseconds(),
			Shape:    "2 PDR + 2 FAR + 1 QER + 1 URR, F-TEID chosen by the UP function",
			Sessions: slices.Max(c.Sessions),
			Pacing:   fmt.Sprintf("on a CPU of its own, sleeps in ppoll without timer slack, and polls for the last %v", n4load.DefaultSpin),
		},
	}
	for i, v := range n4Variants {
		if c.OnStep != nil {
			each := n4Time(&c)
			c.OnStep(report.Step{Name: v.name, Expected: each, Before: time.Duration(i) * each, Total: time.Duration(len(n4Variants)) * each})
		}
		if err := n4One(ctx, c, v, cpus, out); err != nil {
			err = fmt.Errorf("%s: %w", v.name, err)
			if !out.End(err) {
				out = nil
			}
			return out, err
		}
		runtime.GC()
	}
	return out, out.Validate()
}

// n4Time is what a variant takes, about.
func n4Time(c *Config) time.Duration {
	const start, sessionsPerSecond = 2 * time.Second, 22_000
	install := time.Duration(float64(slices.Max(c.Sessions)) / sessionsPerSecond * float64(time.Second))
	return start + install + time.Duration(2*len(c.Sessions)+1)*(c.Duration+n4WarmUp)
}

// n4One measures one variant with a UPF of its own.
func n4One(ctx context.Context, c Config, v n4Variant, cpus []int, out *report.N4Result) (err error) {
	r := &n4Run{Config: c, variant: v, out: out}
	defer func() { err = errors.Join(system.Explain(ctx, err), r.end()) }()
	if err := r.start(ctx, cpus); err != nil {
		return err
	}
	return r.system.Watch(ctx, func(ctx context.Context) error {
		for _, n := range c.Sessions {
			if err := r.measureHeld(ctx, n); err != nil {
				return err
			}
		}
		if v.forward {
			return r.measureForwarding(ctx)
		}
		return nil
	})
}

// start builds the bed, starts the UPF on its CPUs and associates.
func (r *n4Run) start(ctx context.Context, cpus []int) error {
	var err error
	if r.variant.store {
		if r.directory, err = scratch.Directory("n4"); err != nil {
			return err
		}
	}
	kind := dut.Plumbline(upf.DatapathXDP, func(u *upf.Config) {
		u.XDP.Mode = r.XDPMode
		if r.variant.poll {
			u.N4.BusyPoll = upf.Duration(n4Poll)
		}
		if r.variant.store {
			u.Store.Path = filepath.Join(r.directory, "journal")
		}
	})
	kind.Path = r.Binary
	c := system.Config{
		Run: n4RunName, Name: upf.DatapathXDP, MTU: system.MTU(n4Payload + inet.LenIPv4 + inet.LenUDP), MaxSessions: slices.Max(r.Sessions), Kind: kind,
		CPUs: system.CPUs{Senders: cpus[len(cpus)-1:], UPF: cpus[:r.variant.cores]},
	}
	if r.system, err = system.New(ctx, c); err != nil {
		return err
	}
	if r.resident, err = r.ownOctets(); err != nil {
		return err
	}
	return r.associateAll(ctx, cpus[len(cpus)-1:])
}

const n4RunName = "plumb-n4"

// ownOctets is the resident set of the UPF without BPF maps.
func (r *n4Run) ownOctets() (uint64, error) {
	m, err := r.system.DUT().Memory()
	return m.AnonymousOctets, err
}

func (r *n4Run) associateAll(ctx context.Context, cpus []int) error {
	t := r.system.Topology()
	c := t.Config
	configs := make([]n4load.Config, n4CPs)
	r.out.Setup.UPFunction, r.out.Setup.CPFunctions = netip.AddrPortFrom(c.N4UPF, pfcp.Port).String(), nil
	for i := range configs {
		configs[i] = n4load.Config{Local: netip.AddrPortFrom(c.N4SMF, 0), Remote: netip.AddrPortFrom(c.N4UPF, 0), Window: 4096}
		if i == 0 {
			configs[i].Local = netip.AddrPortFrom(c.N4SMF, pfcp.Port) // heartbeats go there
		} else {
			configs[i].NodeID = pfcp.NodeID{FQDN: pfcp.NewName(fmt.Sprintf("cp%d.n4load", i))}
		}
	}
	err := t.UPF.Do(func() (err error) {
		r.group, err = n4load.DialGroup(n4load.Options{Spin: n4load.DefaultSpin, CPUs: cpus}, configs...)
		return err
	})
	if err != nil {
		return err
	}
	for _, client := range r.group.Clients() {
		r.out.Setup.CPFunctions = append(r.out.Setup.CPFunctions, client.LocalAddr().String())
		if _, err := client.Associate(ctx); err != nil {
			return fmt.Errorf("%w; the end of the UPF's log:\n%s", err, r.system.DUT().Log())
		}
	}
	template := n4Template(t)
	r.population = n4load.NewPopulation(&template, slices.Max(r.Sessions), n4Window, r.group)
	return nil
}

// end undoes start.
func (r *n4Run) end() error {
	var errs []error
	if r.group != nil {
		errs = append(errs, r.group.Close())
	}
	if r.system != nil {
		errs = append(errs, r.system.Close())
	}
	if r.directory != "" {
		errs = append(errs, os.RemoveAll(r.directory))
	}
	return errors.Join(errs...)
}
