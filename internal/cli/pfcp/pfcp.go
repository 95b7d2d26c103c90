// Package pfcpcmd has plumb pfcp and the commands below it: scenarios that are run, shown and
// checked, requests typed at a prompt, and messages decoded.
package pfcpcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/pfcpsim"
)

// PFCP is plumb pfcp: a CP function with scenarios and the dialects of real SMFs.
type PFCP struct {
	List   listCommand   `cmd:"" help:"List the scenarios that are built in: the dialects of real SMFs, and others."`
	Show   showCommand   `cmd:"" help:"Print a built-in scenario, to be read or changed."`
	Run    runCommand    `cmd:"" help:"Run scenarios against a UP function."`
	Prompt promptCommand `cmd:"" help:"Do steps that are typed, or read from standard input, one to a line."`
	Check  checkConfig   `cmd:"" name:"check-config" help:"Check a file with a scenario of your own; send nothing."`
	Decode decodeCommand `cmd:"" help:"Take PFCP messages apart that are given in hex."`
}

// Help is shown by plumb pfcp --help.
func (PFCP) Help() string {
	return `Speaks PFCP as a CP function does: by scenarios, by hand, or as each known SMF.

Examples:

    plumb pfcp list
    plumb pfcp show open5gs > mine.yaml
    plumb pfcp check-config mine.yaml
    plumb pfcp run open5gs --upf 10.0.0.1
    plumb pfcp prompt --upf 10.0.0.1
    plumb pfcp decode 2001000c00000100006000046553f100
`
}

type listCommand struct{}

// Help is shown by its --help.
func (listCommand) Help() string {
	return cli.Examples("plumb pfcp list")
}

func (listCommand) Run(out io.Writer) error {
	var t *term.Table
	for _, name := range pfcpsim.Dialects() {
		s, err := pfcpsim.Dialect(name)
		if err != nil {
			return err
		}
		cells := []any{name, fmt.Sprintf("%d steps", len(s.Steps)), headline(s.About)}
		if t == nil { // there is no heading
			first := term.NewTable(out, cells...)
			t = &first
			continue
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// headline is what comes before the first stop in a text.
func headline(about string) string {
	about = strings.Join(strings.Fields(about), " ") + " "
	for _, stop := range []string{": ", "; ", ". ", " ("} {
		about, _, _ = strings.Cut(about, stop)
	}
	return strings.TrimSpace(about)
}

type showCommand struct {
	Name string `arg:"" help:"A scenario that 'plumb pfcp list' lists."`
}

// Help is shown by its --help.
func (showCommand) Help() string {
	return cli.Examples("plumb pfcp show open5gs", "plumb pfcp show open5gs > mine.yaml")
}

func (c showCommand) Run(out io.Writer) error {
	text, err := pfcpsim.DialectText(c.Name)
	if err != nil {
		return cli.Usage(err)
	}
	_, err = out.Write(text)
	return err
}

type checkConfig struct {
	File string `arg:"" placeholder:"FILE" help:"File with a scenario (YAML)."`
}

// Help is shown by its --help.
func (checkConfig) Help() string {
	return cli.Examples("plumb pfcp check-config mine.yaml")
}

// Run says "ok", or all that is wrong. Names and values of IEs are looked at only when a step is
// done, as variables may be in them.
func (c *checkConfig) Run(stdout io.Writer) error {
	if _, err := pfcpsim.Load(c.File); err != nil {
		return cli.FileError("pfcp", err)
	}
	return cli.SayOK(stdout, c.File)
}

// peer is the CP function of a command line.
type peer struct {
	UPF   string            `name:"upf" required:"" placeholder:"ADDRESS[:PORT]" help:"N4 of the UP function; the port is 8805 by default."`
	Local string            `placeholder:"ADDRESS[:PORT]" help:"Address of the CP function. Default: the one from which the UP function is reached, or 127.0.0.2; port 8805, where UP functions send their requests."`
	N3    netip.Addr        `name:"n3" placeholder:"ADDR" help:"Where the UP function terminates GTP-U, for scenarios that choose F-TEIDs themselves; the variable n3."`
	GNB   netip.Addr        `name:"gnb" placeholder:"ADDR" help:"Where the UP function sends downlink packets; the variable gnb."`
	UE    netip.Addr        `name:"ue" placeholder:"ADDR" help:"The UE's address; the variable ue."`
	Var   map[string]string `placeholder:"NAME=VALUE" help:"Other variables of scenarios."`
	T1    time.Duration     `name:"t1" default:"1s" help:"Until a request is sent again."`
	N1    int               `name:"n1" default:"3" placeholder:"N" help:"How often it is sent in all. Default: 3."`

	Verbose bool `short:"v" help:"Print the messages."`
	JSON    bool `name:"json" help:"Print messages and results as JSON, one to a line."`
}

// open makes the peer. What goes over the wire is printed as the flags say.
func (c *peer) open(out io.Writer, verbose bool) (*pfcpsim.Peer, error) {
	cfg := pfcpsim.Config{T1: c.T1, N1: c.N1, Vars: map[string]string{}}
	var err error
	if cfg.UPF, err = pfcpsim.Address(c.UPF); err != nil {
		return nil, cli.Usage(fmt.Errorf("--upf %s: %w", c.UPF, err))
	}
	if c.Local != "" {
		if cfg.Local, err = pfcpsim.Address(c.Local); err != nil {
			return nil, cli.Usage(fmt.Errorf("--local %s: %w", c.Local, err))
		}
	}
	for name, value := range c.Var {
		cfg.Vars[name] = value
	}
	for name, addr := range map[string]netip.Addr{"n3": c.N3, "gnb": c.GNB, "ue": c.UE} {
		if addr.IsValid() {
			cfg.Vars[name] = addr.String()
		}
	}
	encoder := plainjson.Lines(out)
	cfg.Trace = func(m pfcpsim.Message) {
		switch {
		case c.JSON:
			_ = encoder.Encode(m) // as with all output: nothing is left to do
		case verbose:
			term.PrintLines(out, m.String())
		}
	}
	return pfcpsim.Open(cfg)
}

// scenarioResult is one step's, as JSON.
type scenarioResult struct {
	Scenario string  `json:"scenario,omitempty"`
	Step     int     `json:"step"`
	Verb     string  `json:"verb"`
	Note     string  `json:"note,omitempty"`
	Skipped  string  `json:"skipped,omitempty"`
	TookMs   float64 `json:"took_ms"`
	Error    string  `json:"error,omitempty"`
}

// tell prints the result of a step.
func (c *peer) tell(out io.Writer, scenario string, number int, r pfcpsim.Result) {
	line := scenarioResult{
		Scenario: scenario, Step: number, Verb: r.Step.Verb, Note: r.Step.Note, Skipped: r.Skipped,
		TookMs: float64(r.Took.Microseconds()) / 1000,
	}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	if c.JSON {
		_ = plainjson.Lines(out).Encode(line)
		return
	}
	state, more := "ok  ", ""
	switch {
	case r.Err != nil:
		state = "FAIL"
	case r.Skipped != "":
		state, more = "skip", r.Skipped
	case r.Step.Note != "":
		more = r.Step.Note
	}
	term.PrintLine(out, strings.TrimRight(fmt.Sprintf("  %s %2d %-10s %9.3f ms  %s", state, number, r.Step.Verb, line.TookMs, more), " "))
}

type runCommand struct {
	Scenario []string `arg:"" help:"Names of built-in scenarios, or files. 'all' is all that are built in."`
	peer     `embed:""`
}

// Help is shown by plumb pfcp run --help.
func (runCommand) Help() string {
	return `Is a CP function that does what scenarios say, and looks whether the UP function answers as it should. Steps with packets are left out: this command has no way to send any. A UP function that is not there, or answers otherwise, ends it with exit code 1.

Run it against a UP function of your own: it sets up an association and sessions.

Examples:

    plumb pfcp run open5gs --upf 10.0.0.1
    plumb pfcp run simple-client --upf 10.0.0.1 --n3 10.3.0.1 --gnb 10.3.0.2 -v
    plumb pfcp run all --upf 10.0.0.1 --n3 10.3.0.1
    plumb pfcp run mine.yaml --upf 10.0.0.1 --var dnn=ims --json
`
}

func (c *runCommand) Run(ctx context.Context, out io.Writer) error {
	scenarios, err := c.scenarios()
	if err != nil {
		return cli.Usage(err)
	}
	failed := 0
	for _, s := range scenarios {
		if err := c.run(ctx, out, s); err != nil {
			if len(scenarios) == 1 || ctx.Err() != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "plumb: %s: %v\n", s.Name, err)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d scenarios failed", failed, len(scenarios))
	}
	return nil
}

// scenarios reads what the command line names.
func (c *runCommand) scenarios() ([]*pfcpsim.Scenario, error) {
	var list []*pfcpsim.Scenario
	names := c.Scenario
	if len(names) == 1 && names[0] == "all" {
		names = pfcpsim.Dialects()
	}
	for _, name := range names {
		read := pfcpsim.Load
		if slices.Contains(pfcpsim.Dialects(), name) {
			read = pfcpsim.Dialect
		}
		s, err := read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file, and none of the scenarios that are built in (plumb pfcp list)", name)
		}
		if err != nil {
			return nil, err
		}
		if s.Name == "" {
			s.Name = name
		}
		list = append(list, s)
	}
	return list, nil
}

// run does one scenario with a CP function of its own, so that none finds what
// another has left.
func (c *runCommand) run(ctx context.Context, out io.Writer, s *pfcpsim.Scenario) error {
	p, err := c.open(out, c.Verbose)
	if err != nil {
		return err
	}
	defer p.Close()
	if !c.JSON {
		fmt.Fprintln(out, s.Name)
	}
	number := 0
	return p.Run(ctx, s, func(r pfcpsim.Result) {
		number++
		c.tell(out, s.Name, number, r)
	})
}
