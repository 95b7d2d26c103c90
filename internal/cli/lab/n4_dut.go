package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// labN4DUT is the flags of plumb lab n4 for UP functions that it starts, or knows by name.
type labN4DUT struct {
	DUT      []string           `name:"dut" placeholder:"NAME" help:"UP functions to start and load in turn, in place of an address: xdp, tc, afxdp, tun, tap, p4 (our UPF with that datapath), others by name or as name=/path/to/program, external, or all."`
	External *topology.External `placeholder:"PLACE" help:"Where --dut external is: n3=DEV@ADDR,n6=DEV@ADDR,n4=ADDR,ue=PREFIX, devices of this machine and addresses of the UPF behind them."`
	Repeat   int                `placeholder:"N" help:"Turns of each of --dut. Default: 1."`
	Resume   string             `placeholder:"FILE" type:"existingfile" help:"Go on with a result of --dut that was interrupted (--lab), with the same flags otherwise."`
	Plain    bool               `help:"With --dut show lines as a log has them, and no live view, on a terminal as well."`
}

func (d *labN4DUT) given() bool {
	return len(d.DUT) > 0 || d.External != nil || d.Repeat != 0 || d.Resume != ""
}

// takeTurns loads what --dut names, prints the table and writes the result after each turn.
func (c *n4Command) takeTurns(ctx context.Context, stdout io.Writer) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	if err := cli.NeedsRoot("lab n4 --dut"); err != nil {
		return err
	}
	view := newLabView(os.Stderr, "lab n4", c.Plain)
	config.Observer = view
	lab, err := method.Run(ctx, config)
	view.close()
	if err != nil {
		err = system.Explain(ctx, err)
		if config.File != "" && lab != nil && len(lab.Turns) > 0 {
			return fmt.Errorf("%w: %s has %d turns; go on with the same flags and --resume %s", err, config.File, len(lab.Turns), config.File)
		}
		return err
	}
	return report.LabTable(stdout, lab)
}

// config turns the flags into what package method takes.
func (c *n4Command) config() (method.Config, error) {
	rules, err := c.Shape.rules()
	if err != nil {
		return method.Config{}, err
	}
	kinds, err := kindsOf(c.DUT, c.External)
	if err != nil {
		return method.Config{}, err
	}
	cpus, err := system.ShareCPUs(1)
	if err != nil {
		return method.Config{}, err
	}
	roster := &method.Roster{
		Run: "plumb-lab", Kinds: kinds, External: c.External, NoBed: true, CPUs: cpus, MaxSessions: n4load.MaxHeld(c.Sessions),
		Rules: map[string]system.Rules{rules.String(): rules},
	}
	m, err := c.method()
	if err != nil {
		return method.Config{}, err
	}
	if c.Sessions < 1 || c.Sessions > labMaxSessions {
		return method.Config{}, cli.Usage(fmt.Errorf("--sessions %d: want 1 to %d", c.Sessions, labMaxSessions))
	}
	duration, warmUp := c.Duration, c.WarmUp
	if idle, is := m.(method.N4Idle); is {
		duration, warmUp = idle.Calls(c.Sessions), 0
	}
	version, commit := cli.Built()
	config := method.Config{
		Methods: []method.Method{m}, Repeats: max(c.Repeat, 1), Duration: duration, WarmUp: warmUp, File: c.Lab,
		Host:        host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")),
		Axes:        method.Axes{Sessions: []int{c.Sessions}, Frames: []string{""}, Directions: []report.Direction{""}, Rules: []string{rules.String()}},
		Arrangement: fmt.Sprintf("The CP functions have CPU %v, the UPF's processes have CPUs %v.", cpus.Senders, cpus.UPF),
		Systems:     roster.Systems(), Options: roster.Options(),
	}
	if err := cli.CheckOutputs(c.Lab); err != nil {
		return config, err
	}
	if c.Resume == "" {
		return config, nil
	}
	if c.Lab != "" && c.Lab != c.Resume {
		return config, cli.Usage(errors.New("--resume goes on with its file: --lab is not for another one"))
	}
	config.File = c.Resume
	config.Resume, err = report.ReadLabFile(c.Resume)
	return config, cli.InputError(err)
}

// method is what the flags ask for.
func (c *n4Command) method() (method.Method, error) {
	if !c.Operation.idle {
		m := method.N4{Operation: c.Operation.shares.String(), Campaign: n4load.Campaign{
			CPs: c.CPs, T1: c.T1, N1: c.N1, InFlight: c.InFlight, Threads: c.Threads, Options: n4load.Options{Spin: c.Spin},
		}}
		c.loads(&m.Campaign)
		return m, nil
	}
	rates := append(slices.Clone(c.Rate), c.Steps...)
	if len(rates) == 0 {
		rates = []float64{idleRate}
	}
	var m method.N4Idle
	for _, rate := range rates {
		if !(rate >= 1 && rate <= maxIdleRate) || slices.Contains(m.Rates, uint64(rate)) {
			return nil, cli.Usage(fmt.Errorf("--rate %g: want 1 to %d sessions per second, each rate once", rate, maxIdleRate))
		}
		m.Rates = append(m.Rates, uint64(rate))
	}
	return m, nil
}

// Sessions called back per second: if nothing is said, and at most.
const idleRate, maxIdleRate = 1000, 1_000_000

// rules are the shape of sessions in a test bed, which says the addresses.
func (s *labN4Shape) rules() (system.Rules, error) {
	usual := labN4Shape{PDRs: s.PDRs, QER: true, URR: s.URR, TEID: "upf", UE: s.UE, GNB: s.GNB, QFI: system.QFI, MBRUp: s.MBRUp}
	if *s != usual {
		return system.Rules{}, cli.Usage(errors.New("--dut: sessions have the addresses of the test bed and a QER with QFI 9: only --pdrs, --urr and --mbr are for them"))
	}
	if s.PDRs < 2 || s.PDRs%2 != 0 || s.PDRs > n4load.MaxPDRs {
		return system.Rules{}, cli.Usage(fmt.Errorf("--pdrs %d: want an even number up to %d", s.PDRs, n4load.MaxPDRs))
	}
	return system.Rules{PDRs: s.PDRs / 2, MBRKbps: s.MBRUp, URR: s.URR}, nil
}

// String is the operation, or the shares.
func (s n4Shares) String() string {
	var words []string
	used, name := 0, ""
	for op, share := range s {
		words = append(words, fmt.Sprintf("%g", share))
		if share > 0 {
			used, name = used+1, n4load.OperationNames[op]
		}
	}
	if used == 1 {
		return name
	}
	return strings.Join(words, ":")
}
