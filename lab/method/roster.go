package method

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/tcp"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// Roster says which systems take part, and what the words of cells stand for.
type Roster struct {
	Run   string // of the namespaces, before the system's name
	Kinds []dut.Kind
	// External is where the kind of that name is to be found.
	External *topology.External
	Sender   generator.Sender
	NoBed    bool // what is measured has no bed limit
	Threaded bool // devices of UPFs receive in threads of their own
	// OuterChecksum gives uplink frames an outer UDP checksum.
	OuterChecksum bool

	TimeStamps Stamps

	Access generator.Access
	Rules  map[string]system.Rules // by [report.LabCell.Rules]
	Churn  map[string]system.Churn // by [report.LabCell.Churn]

	CPUs        system.CPUs
	MaxSessions int      // those of churn included
	Also        []string // frames that methods send beside those of cells, as [report.LabCell.Frames]

	mtu  int  // that the frames need, in octets
	ipv6 bool // some frames are

	replayed []string // how capture files are replayed
}

// Systems returns the systems that are to be measured, none of them started: the bed, a
// second one if any has its frames metered as socket buffers, and the UPFs. Beside a UPF
// that is there already there is no bed.
func (r *Roster) Systems() []System {
	var list []System
	if !r.NoBed && slices.ContainsFunc(r.Kinds, func(k dut.Kind) bool { return !k.External }) {
		list = append(list, r.contender(report.SystemBed, report.SystemBed, system.Config{Bed: system.BedXDP}))
	}
	if !r.NoBed && slices.ContainsFunc(r.Kinds, func(k dut.Kind) bool { return k.Packets }) {
		list = append(list, r.contender(report.SystemBedTC, report.SystemBedTC, system.Config{Bed: system.BedSkbs, Skbs: true, Offload: true}))
	}
	for _, k := range r.Kinds {
		bed := report.SystemBed
		c := system.Config{Kind: k, Offload: k.Offloads, Skbs: k.Packets}
		switch {
		case k.External:
			bed, c.External = "", r.External
		case k.Packets:
			bed = report.SystemBedTC
		}
		if r.NoBed {
			bed = ""
		}
		list = append(list, r.contender(NameOf(&k), bed, c))
	}
	return list
}

// ethernetMTU is that of links if no frames need more.
const ethernetMTU = 1500

func (r *Roster) contender(name, bed string, c system.Config) *contender {
	c.Name, c.Run, c.MTU, c.CPUs, c.MaxSessions = name, r.Run, max(ethernetMTU, r.mtu), r.CPUs, r.MaxSessions
	c.Sender, c.TimeStamps = r.Sender, r.TimeStamps.Source
	c.Threaded, c.OuterChecksum = r.Threaded, r.OuterChecksum
	c.Skbs = c.Skbs || c.TimeStamps != timestamp.None
	return &contender{roster: r, config: c, bed: bed}
}

// Options are what results say of the systems beside themselves: the sender, the rules that
// a UPF accepts and does not enforce, and, after [Roster.Fit], how capture files are replayed.
func (r *Roster) Options() map[string]string {
	options := map[string]string{"sender": r.Sender.String()}
	var ignored []string
	for i := range r.Kinds {
		if k := &r.Kinds[i]; len(k.Ignores) > 0 {
			ignored = append(ignored, NameOf(k)+": "+strings.Join(k.Ignores, " "))
		}
	}
	if r.TimeStamps.Note != "" {
		options["time stamps"] = r.TimeStamps.Note
	}
	if len(r.replayed) > 0 {
		options["replay"] = strings.Join(r.replayed, ". ")
	}
	if len(ignored) > 0 {
		options["not enforced"] = strings.Join(ignored, " ")
	}
	return options
}

// shared reports whether a sender has a CPU together with the UPFs.
func (r *Roster) shared() bool {
	return slices.ContainsFunc(r.CPUs.Senders, func(cpu int) bool { return slices.Contains(r.CPUs.UPF, cpu) })
}

// NameOf is what a kind is called in results.
func NameOf(k *dut.Kind) string {
	if k.Own {
		return "plumbline " + k.Name
	}
	return k.Name
}

// contender is a [System] over package system.
type contender struct {
	roster *Roster
	config system.Config
	bed    string
	system *system.System // nil: not started, or closed
	churn  system.Churn   // of the cell that is open
}

func (c *contender) Name() string { return c.config.Name }
func (c *contender) Bed() string  { return c.bed }

func (c *contender) Start(ctx context.Context) (err error) {
	c.system, err = system.New(ctx, c.config)
	if err != nil {
		return err
	}
	return c.system.Park()
}

func (c *contender) Describe() report.System {
	if c.system == nil {
		return report.System{Name: c.config.Name}
	}
	return c.system.Describe()
}

func (c *contender) Turn(ctx context.Context, f func(context.Context) error) error {
	if c.system == nil {
		return f(ctx) // it is the start
	}
	return c.system.Turn(ctx, f)
}

func (c *contender) Establish(ctx context.Context, cell report.LabCell) error {
	rules := c.roster.Rules[cell.Rules]
	rules.IPv6 = rules.IPv6 || c.roster.ipv6
	return c.system.Establish(ctx, cell.Sessions, rules)
}

func (c *contender) Open(cell report.LabCell, run uint32) error {
	p, err := c.roster.profile(cell.Frames, cell.Direction)
	if err != nil {
		return err
	}
	c.churn = c.roster.Churn[cell.Churn]
	return c.system.Open(p, run)
}

func (c *contender) Trial(ctx context.Context, l system.Load) ([]report.Trial, error) {
	l.Churn = c.churn
	l.Realtime = l.Realtime && !c.roster.shared() // or the UPF would get what such a sender leaves
	return c.system.Trial(ctx, l)
}

// OpenProfile is [Opener].
func (c *contender) OpenProfile(p *traffic.Profile, run uint32) error { return c.system.Open(p, run) }

// Memory is [Weigher].
func (c *contender) Memory() (*report.Memory, error) { return c.system.Memory() }

// Restart is [Restarter].
func (c *contender) Restart(ctx context.Context) (system.Restart, error) {
	return c.system.Restart(ctx)
}

// Program is [ProgramSystem].
func (c *contender) Program(ctx context.Context, d report.Direction, l system.Load) (string, float64, error) {
	return c.system.Program(ctx, d, l)
}

// TCP is [TCPSystem].
func (c *contender) TCP(ctx context.Context, d report.Direction, duration, omitted time.Duration) (tcp.Result, error) {
	s := c.system.Sessions()[0]
	ue := tcp.UE{
		Address: s.UE, UplinkTEID: s.ULTEID, DownlinkTEID: s.DLTEID, QFI: system.QFI,
		SuperPackets: c.config.Kind.SuperPackets,
	}
	return tcp.Through(ctx, c.system.Topology(), tcp.Flow{UE: ue, Downlink: d == report.Downlink, Duration: duration, Omit: omitted})
}

func (c *contender) Close() error {
	if c.system == nil {
		return nil
	}
	err := c.system.Close()
	c.system = nil
	return err
}

// Fit looks at what all cells of some axes need of links and sessions, and has the
// systems made for it.
//
// Errors: [traffic.ErrProfile], and those of files with profiles.
func (r *Roster) Fit(a *Axes) error {
	for _, frames := range slices.Concat(a.Frames, r.Also) {
		for _, d := range a.Directions {
			p, err := r.profile(frames, d)
			if err != nil {
				return err
			}
			if least := slices.Min(a.Sessions); p.Sessions() > least {
				return fmt.Errorf("profile %s is of %d sessions: there are %d: %w", frames, p.Sessions(), least, traffic.ErrProfile)
			}
			r.mtu, r.ipv6 = max(r.mtu, p.MTU()), r.ipv6 || p.IPv6()
			for _, replayed := range p.Replayed() {
				if !slices.Contains(r.replayed, replayed) { // in both directions at once, and in one
					r.replayed = append(r.replayed, replayed)
				}
			}
		}
	}
	return nil
}

// profile is what a name of frames stands for in a direction, or in both.
func (r *Roster) profile(frames string, d report.Direction) (*traffic.Profile, error) {
	directions := []generator.Direction{generator.Uplink, generator.Downlink}
	switch d {
	case report.Uplink:
		directions = directions[:1]
	case report.Downlink:
		directions = directions[1:]
	}
	return traffic.Named(frames, r.Access, directions...)
}
