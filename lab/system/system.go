package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/verifier"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/upf"
)

// Bed says whether a program that only redirects is all that there is of a UPF.
type Bed uint8

// What forwards.
const (
	NoBed   Bed = iota // a UPF
	BedXDP             // a program that redirects frames
	BedSkbs            // one that redirects socket buffers
)

// Config describes a system.
type Config struct {
	Name string // of the system among others: the namespaces are called after it
	Run  string // of the measurement, before Name

	Bed  Bed
	Kind dut.Kind // what runs where there is no bed
	// External is where a Kind that is there already is to be found, in place of a test
	// bed of ours. The namespace of the thread that calls [New] is this machine.
	External *topology.External

	// MTU of all links, in octets; see [MTU]. 0: that of Ethernet.
	MTU int
	// Offload leaves checksums and segmentation of what gNB and data network send to
	// whoever is at the UPF's end of the links.
	Offload bool
	// Skbs has the meter take socket buffers and not frames.
	Skbs     bool
	Threaded bool // the UPF's devices receive in threads of their own
	Sender   generator.Sender
	// TimeStamps says what stamps frames of trials that ask for it; Skbs must be set, and
	// the sender [generator.Packet].
	TimeStamps timestamp.Source
	// OuterChecksum gives uplink frames an outer UDP checksum.
	OuterChecksum bool

	CPUs        CPUs
	MaxSessions int // that the UPF is configured for, those of churn included
}

// System is a UPF, or a bed alone, in a test bed of its own. Its methods are for one
// goroutine, but for [System.Restart].
type System struct {
	config   Config
	topology *topology.Topology
	bed      *topology.Bed
	n4       *n4load.Group
	rules    Rules
	sessions []n4load.Session // established so far
	lanes    []*lane          // that are open
	churn    *churn           // nil: none so far
	parked   bool             // the UPF's processes are stopped
	unstamp  []func() error   // has devices stamp as they did before
	install  report.Install
	about    report.System

	restarts atomic.Uint32 // begun so far

	mu    sync.Mutex
	dut   *dut.Instance // nil: a bed
	again chan struct{} // while a restart is under way; closed when it is over
}

// New builds the test bed and starts what forwards in it. It sweeps away what a dead
// process left of one.
//
// Errors: [errors.ErrUnsupported] for what this machine or kernel lacks.
func New(ctx context.Context, c Config) (*System, error) {
	s := &System{config: c, about: report.System{Name: c.Name, Offloads: offloads(&c)}}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// offloads says in words how frames come to the UPF and to the meter.
func offloads(c *Config) string {
	words := "checksum and TSO off, GRO on"
	if c.Offload {
		words = "checksum, TSO and GRO on"
	}
	if c.Skbs {
		words += "; meter: tcx, runs of UDP cut before it"
	}
	return words
}

func (s *System) start(ctx context.Context) (err error) {
	c := &s.config
	if c.External == nil {
		err = s.build()
	} else if s.topology, err = topology.NewExternal(*c.External); err == nil && !c.Kind.External {
		err = fmt.Errorf("%s: cannot be run where an external UPF is", c.Kind.Name)
	}
	if err == nil {
		err = s.stampDevices()
	}
	if err != nil {
		return err
	}
	switch c.Bed {
	case BedXDP:
		s.bed, err = s.topology.AttachBed()
	case BedSkbs:
		s.bed, err = s.topology.AttachBedTC()
	default:
		err = s.startUPF(ctx)
	}
	return err
}

// build makes a test bed, and sweeps away what a dead process left of one.
func (s *System) build() (err error) {
	c := &s.config
	name := c.Run + "-" + strings.ReplaceAll(c.Name, " ", "")
	if _, err := topology.Sweep(name); err != nil {
		return err
	}
	if s.topology, err = topology.New(topology.Config{Name: name, MTU: c.MTU, Offload: c.Offload}); err != nil {
		return err
	}
	if c.Threaded {
		return s.topology.SetThreaded(true)
	}
	return nil
}

// startUPF starts it, and waits until it has done what a start leaves to do.
func (s *System) startUPF(ctx context.Context) error {
	if err := s.startInstance(ctx); err != nil {
		return err
	}
	s.about.Version, s.about.Configuration, s.about.Mode = s.dut.Program.Version, s.dut.File, s.config.Kind.Mode
	if s.config.Kind.Own {
		answer, err := s.dut.Datapath(ctx)
		if err != nil {
			return err
		}
		s.about.Mode = xdpMode(answer)
	}
	return s.rest(ctx)
}

// startInstance starts it at its place.
func (s *System) startInstance(ctx context.Context) error {
	place := dut.At(s.topology)
	place.CPUs, place.Sessions = s.config.CPUs.UPF, s.config.MaxSessions
	d, err := dut.Start(ctx, s.config.Kind, place)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dut = d
	return nil
}

// xdpMode returns the mode of the UPF's devices, empty for a datapath that is not
// XDP.
func xdpMode(d *upf.Datapath) string {
	var modes []string
	for _, device := range d.Devices {
		if device.Mode != "" && !slices.Contains(modes, device.Mode) {
			modes = append(modes, device.Mode)
		}
	}
	return strings.Join(modes, " and ")
}

// MTU returns that of links over which user packets of so many octets go through a
// tunnel: with outer IPv4, UDP and GTP-U headers, the latter with a PDU Session
// Container. It is never less than that of Ethernet.
func MTU(packet int) int {
	const ethernet, gtpu = 1500, 16
	return max(ethernet, packet+inet.LenIPv4+inet.LenUDP+gtpu)
}

// Close ends all that there is of the system, and removes it.
func (s *System) Close() error {
	errs := []error{s.Shut()}
	if s.n4 != nil {
		errs = append(errs, s.release(), s.n4.Close())
	}
	if s.bed != nil {
		errs = append(errs, s.bed.Close())
	}
	if s.dut != nil {
		errs = append(errs, s.dut.Stop())
	}
	for _, undo := range s.unstamp {
		errs = append(errs, undo())
	}
	s.unstamp = nil
	if s.topology != nil {
		errs = append(errs, s.topology.Close())
	}
	s.n4, s.bed, s.dut, s.topology = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Describe returns what the system says of itself, for the result: without Missing.
func (s *System) Describe() report.System {
	about := s.about
	about.Memory = slices.Clone(about.Memory)
	return about
}

// Topology returns the test bed.
func (s *System) Topology() *topology.Topology { return s.topology }

// DUT returns the UPF, nil if there is a bed in its place.
func (s *System) DUT() *dut.Instance { return s.dut }

// Explain says why ctx is done, if it is, and what an error for want of privilege
// means. err is what came of measuring.
func Explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), context.Canceled):
		return errors.New("interrupted")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*ebpf.VerifierError)): // which is EACCES, too
		return verifier.Explain(err)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w: the laboratory makes network namespaces and attaches XDP programs: run it as root: %w",
			errors.ErrUnsupported, err)
	default:
		return err
	}
}

// rest waits until the UPF has done what it still has to do after a start or many new
// sessions, lest that be in what is measured first. One that never rests is not
// waited for for long.
func (s *System) rest(ctx context.Context) error {
	const often, most, idle = 250 * time.Millisecond, 5 * time.Second, 10 * time.Millisecond
	last := time.Duration(0)
	for waited := time.Duration(0); waited < most; waited += often {
		used, err := s.dut.CPUTime()
		if err != nil || used-last <= idle {
			return err
		}
		last = used
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
