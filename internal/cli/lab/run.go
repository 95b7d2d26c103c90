package labcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// labRun is what the commands of the laboratory have in common in which systems take
// turns.
type labRun struct {
	DUT       []string           `name:"dut" default:"xdp" placeholder:"NAME" help:"What to measure, in turn: xdp, tc, afxdp, tun, tap, p4 (our UPF with that datapath), others by name or as name=/path/to/program, external, or all: all of ours and whatever else is installed. Default: xdp."`
	Sessions  []int              `placeholder:"N" help:"PFCP sessions, an axis: all numbers are measured. Default: above."`
	Frames    []string           `placeholder:"OCTETS" help:"Ethernet frames on N6, FCS included, an axis: octets from 64 on, imix, a built-in traffic profile, or a file with one. Default: above."`
	Direction []string           `default:"uplink,downlink" enum:"uplink,downlink,bidirectional" help:"An axis: ${enum} (both at once). Default: uplink, downlink."`
	Rules     []labRules         `placeholder:"RULES" help:"What sessions have beside a PDR, a FAR and a QFI each way, an axis: none, or of Npdr, mbr=KBPS, urr and ipv6 joined by +, such as 16pdr+mbr=100000000+urr. Default: none."`
	Churn     []labChurn         `placeholder:"E:M:D" help:"Other sessions established, modified and deleted per second while frames flow, an axis: none, or three numbers such as 100:800:100. Default: none."`
	Sender    *labSender         `placeholder:"SENDER" help:"What makes the frames: live (BPF_PROG_RUN), afxdp (AF_XDP sockets), packet (AF_PACKET). Default: live."`
	External  *topology.External `placeholder:"PLACE" help:"Where --dut external is: n3=DEV@ADDR,n6=DEV@ADDR,n4=ADDR,ue=PREFIX, devices of this machine and addresses of the UPF behind them."`
	Access    string             `default:"uniform" enum:"same,uniform,zipf" help:"Which session each frame belongs to: ${enum}."`
	Duration  *time.Duration     `placeholder:"TIME" help:"Of a trial. Default: above."`
	Repeat    *int               `placeholder:"N" help:"Turns of each system in each cell. Default: above."`
	Quick     bool               `help:"Short trials, once each: to see whether all works, and about what comes of it."`
	Resume    string             `placeholder:"FILE" type:"existingfile" help:"Go on with a result that was interrupted (--json), with the same flags otherwise."`
	Plain     bool               `help:"Show lines as a log has them, and no live view, on a terminal as well."`
	JSON      string             `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.lab/1), after each turn; - is standard output."`

	labOutputs

	timeStamps string     // as [method.FindStamps] takes them; empty: the method has no use for any
	also       []string   // frames that the method sends beside those of --frames
	kinds      []dut.Kind // in place of --dut
	brief      bool       // only figures that say the most are printed
	threaded   bool       // devices of UPFs receive in threads of their own
	checksum   bool       // uplink frames have an outer UDP checksum
}

// labDefaults are those of a command, for flags that are not there.
type labDefaults struct {
	sessions      []int
	frames        []string
	duration      time.Duration
	repeat        int
	quickDuration time.Duration // with --quick
	quickRepeat   int
}

// help is a paragraph for --help.
func (d labDefaults) help() string {
	sessions := strings.ReplaceAll(strings.Trim(fmt.Sprint(d.sessions), "[]"), " ", ",")
	return fmt.Sprintf("Defaults: --sessions %s --frames %s --duration %v --repeat %d; with --quick, --duration %v --repeat %d.",
		sessions, strings.Join(d.frames, ","), d.duration, d.repeat, d.quickDuration, d.quickRepeat)
}

// Bounds of flags.
const (
	labMinDuration = 50 * time.Millisecond
	labMaxDuration = time.Hour
	labMaxSessions = 1 << 22 // addresses in the UE pool
)

func (c *labRun) fillIn(d labDefaults) {
	if c.Quick {
		d.duration, d.repeat = d.quickDuration, d.quickRepeat
	}
	if c.Sessions == nil {
		c.Sessions = d.sessions
	}
	if c.Frames == nil {
		c.Frames = d.frames
	}
	if c.Duration == nil {
		c.Duration = &d.duration
	}
	if c.Repeat == nil {
		c.Repeat = &d.repeat
	}
}

// validate checks the flags that all these commands have.
func (c *labRun) validate() error {
	if err := c.unique(); err != nil {
		return err
	}
	for _, n := range c.Sessions {
		if n < 1 || n > labMaxSessions {
			return cli.Usage(fmt.Errorf("--sessions %d: want 1 to %d", n, labMaxSessions))
		}
	}
	switch {
	case *c.Duration < labMinDuration || *c.Duration > labMaxDuration:
		return cli.Usage(fmt.Errorf("--duration %v: want %v to %v", *c.Duration, labMinDuration, labMaxDuration))
	case *c.Repeat < 1 || *c.Repeat > method.MaxRepeats:
		return cli.Usage(fmt.Errorf("--repeat %d: want 1 to %d", *c.Repeat, method.MaxRepeats))
	case c.Resume != "" && c.JSON != "" && c.JSON != c.Resume:
		return cli.Usage(errors.New("--resume goes on with its file: --json is not for another one"))
	}
	return nil
}

// unique says which value is given twice: a cell is measured once.
func (c *labRun) unique() error {
	return errors.Join(
		once("dut", c.DUT), once("sessions", c.Sessions), once("frames", c.Frames), once("direction", c.Direction), once("rules", c.Rules), once("churn", c.Churn))
}

func once[T comparable](flag string, list []T) error {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return cli.Usage(fmt.Errorf("--%s %s is given twice", flag, cmp.Or(fmt.Sprint(v), "none")))
		}
	}
	return nil
}

// measure runs the methods with the flags, and prints and writes the result.
func (c *labRun) measure(ctx context.Context, stdout io.Writer, name string, references []report.Reference, methods ...method.Method) error {
	config, err := c.config(methods)
	if err != nil {
		return err
	}
	if err := cli.CheckOutputs(c.JSON); err != nil {
		return err
	}
	if err := cli.NeedsRoot(name); err != nil {
		return err
	}
	config.References = references
	files, err := c.open()
	if err != nil {
		return err
	}
	view := newLabView(os.Stderr, name, c.Plain)
	config.Observer = view
	lab, err := method.Run(ctx, config)
	view.close()
	if err != nil {
		err = c.broken(system.Explain(ctx, err), lab, ctx.Err() != nil)
	} else {
		err = unmeasured(c.DUT, lab)
	}
	return c.finish(stdout, lab, files, err)
}

// unmeasured says which of the UPFs that flags name have no figure at all. That "all" found
// one which cannot take part is no failure.
func unmeasured(names []string, lab *report.Lab) error {
	kinds, err := dut.Select(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == dut.All }))
	if err != nil {
		return err
	}
	var errs []error
	for i := range kinds {
		name := method.NameOf(&kinds[i])
		measured := slices.ContainsFunc(lab.Turns, func(t report.Turn) bool { return t.System == name && len(t.Figures) > 0 })
		if s := lab.System(name); s != nil && s.Missing != "" && !measured {
			errs = append(errs, fmt.Errorf("%s was not measured: %s", name, lastLineOf(s.Missing)))
		}
	}
	return errors.Join(errs...)
}

// lastLineOf is what the text of an error with a log before or behind it ends with.
func lastLineOf(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// finish prints and writes the result, or what there was of it before an error.
func (c *labRun) finish(stdout io.Writer, lab *report.Lab, files labFiles, err error) error {
	if err != nil && (lab == nil || len(lab.Turns) == 0) {
		return errors.Join(err, files.discard())
	}
	show := report.LabTable
	if c.brief {
		show = report.LabBrief
	}
	if c.JSON == "-" {
		show = report.WriteLab
	}
	return errors.Join(show(stdout, lab), files.write(lab), err)
}

// broken says how to go on with what was measured.
func (c *labRun) broken(err error, lab *report.Lab, interrupted bool) error {
	if c.file() == "" || lab == nil || len(lab.Turns) == 0 && !interrupted {
		return err
	}
	return fmt.Errorf("%w: turns in %s: %d; go on with the same flags and --resume %s", err, c.file(), len(lab.Turns), c.file())
}

// file is where the result is written after each turn.
func (c *labRun) file() string {
	switch {
	case c.Resume != "":
		return c.Resume
	case c.JSON == "-":
		return ""
	}
	return c.JSON
}

// config turns the flags into what package method takes.
func (c *labRun) config(methods []method.Method) (method.Config, error) {
	version, commit := cli.Built()
	config := method.Config{
		Methods: methods, Repeats: *c.Repeat, Duration: *c.Duration, File: c.file(),
		Host: host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
		Axes: method.Axes{Sessions: c.Sessions, Frames: c.Frames, Access: c.Access},
	}
	roster, err := c.roster(&config.Axes)
	if err != nil {
		return config, err
	}
	config.Arrangement, config.Systems, config.Options = roster.CPUs.String(), roster.Systems(), roster.Options()
	if c.Resume != "" {
		if config.Resume, err = report.ReadLabFile(c.Resume); err != nil {
			return config, cli.InputError(err)
		}
	}
	return config, nil
}

// roster says which systems take part, and names what the axes have of flags.
func (c *labRun) roster(axes *method.Axes) (r *method.Roster, err error) {
	access, accessErr := generator.ParseAccess(c.Access)
	sender, stamps, senderErr := c.sender()
	if err := errors.Join(accessErr, senderErr); err != nil {
		return nil, err
	}
	kinds := c.kinds
	if kinds == nil {
		if kinds, err = kindsOf(c.DUT, c.External); err != nil {
			return nil, err
		}
	}
	r = &method.Roster{
		Run: "plumb-lab", Threaded: c.threaded, OuterChecksum: c.checksum, Access: access, Kinds: kinds, External: c.External, Sender: sender, TimeStamps: stamps, MaxSessions: slices.Max(c.Sessions),
		Also:  c.also,
		Rules: map[string]system.Rules{}, Churn: map[string]system.Churn{},
	}
	senders := 1
	axes.Directions = directionsOf(c.Direction)
	if slices.Contains(axes.Directions, "") {
		senders = 2
	}
	for _, rules := range c.Rules {
		axes.Rules, r.Rules[rules.Rules.String()] = append(axes.Rules, rules.Rules.String()), rules.Rules
	}
	for _, churn := range c.Churn {
		axes.Churn, r.Churn[churn.Churn.String()] = append(axes.Churn, churn.Churn.String()), churn.Churn
		r.MaxSessions = max(r.MaxSessions, slices.Max(c.Sessions)+churn.Sessions(*c.Duration))
	}
	if err := r.Fit(axes); err != nil {
		return nil, cli.Usage(fmt.Errorf("--frames: %w", err))
	}
	r.CPUs, err = system.ShareCPUs(senders)
	return r, err
}

// sender says what sends frames, and what stamps them.
func (c *labRun) sender() (generator.Sender, method.Stamps, error) {
	var asked *generator.Sender
	sender := generator.Live
	if c.Sender != nil {
		sender, asked = c.Sender.Sender, &c.Sender.Sender
	}
	if c.timeStamps == "" {
		return sender, method.Stamps{}, nil
	}
	stamps, err := method.FindStamps(c.timeStamps, c.External, asked)
	if stamps.Source != timestamp.None {
		sender = generator.Packet
	}
	return sender, stamps, err
}

// kindsOf returns the UPFs that flags name, all of them installed, and with what they need.
func kindsOf(names []string, external *topology.External) ([]dut.Kind, error) {
	kinds, err := dut.Select(names)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--dut: %w", err))
	}
	if slices.ContainsFunc(kinds, func(k dut.Kind) bool { return k.External }) != (external != nil) {
		return nil, cli.Usage(errors.New("--dut external and --external belong together"))
	}
	for i := range kinds {
		if k := &kinds[i]; k.Own && k.Path == "" {
			k.Version = ownVersion
		}
		if err := present(&kinds[i]); err != nil {
			return nil, cli.Unsupported(err)
		}
	}
	return kinds, nil
}

// present says what is missing of a kind. A program that is not what its name says is none.
func present(k *dut.Kind) error {
	if _, err := k.Find(); err != nil {
		return err
	}
	if k.Needs == nil {
		return nil
	}
	if err := k.Needs(); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	return nil
}

// ownVersion is the version of this program, wherever it is.
func ownVersion(string) (string, error) {
	version, commit := cli.Built()
	return version + " " + commit, nil
}

const bidirectional = "bidirectional"

// directionsOf turns flags into directions, of which the empty one is both at once.
func directionsOf(flags []string) []report.Direction {
	var list []report.Direction
	for _, d := range flags {
		if d == bidirectional {
			d = ""
		}
		list = append(list, report.Direction(d))
	}
	return list
}
