package upfcmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
)

// pipelineReport is what a P4 program has.
type pipelineReport struct {
	Tables    []tableReport `json:"tables"`
	Counters  []arrayReport `json:"counters"`
	Meters    []arrayReport `json:"meters"`
	Registers []arrayReport `json:"registers"`
	Digests   []string      `json:"digests"`
}

type tableReport struct {
	Name    string      `json:"name"`
	Size    int         `json:"size"`
	Keys    []keyReport `json:"keys"`
	Actions []string    `json:"actions"`
}

type keyReport struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	WidthBits int    `json:"width_bits"`
}

// String is the key in one word.
func (k keyReport) String() string { return fmt.Sprintf("%s:%s/%d", k.Name, k.Kind, k.WidthBits) }

type arrayReport struct {
	Name      string `json:"name"`
	Size      int    `json:"size"`
	WidthBits int    `json:"width_bits,omitempty"`
	Unit      string `json:"unit,omitempty"`
}

// check says what the program has.
func (c *P4Switch) check(stdout io.Writer) error {
	json, err := os.ReadFile(c.Pipeline)
	if err != nil {
		return cli.InputError(err)
	}
	p, err := bmv2.Load(json)
	if err != nil {
		return refusedPipeline(c.Pipeline, err)
	}
	if c.P4Info != "" {
		pipeline, err := p4rt.ReadPipeline(c.Pipeline, c.P4Info)
		if err != nil {
			return cli.InputError(err)
		}
		if err := p4rt.Check(pipeline.GetP4Info(), p); err != nil {
			return refusedPipeline(c.P4Info, err)
		}
	}
	r := newPipelineReport(p)
	if c.JSON {
		return plainjson.Write(stdout, r)
	}
	return r.print(stdout)
}

// refusedPipeline says why a file is refused: the exit code differs for what is sound and not implemented.
func refusedPipeline(file string, err error) error {
	err = fmt.Errorf("%s: %w", file, err)
	if errors.Is(err, bmv2.ErrUnsupported) {
		return cli.Unsupported(err)
	}
	return cli.Usage(err)
}

var kindNames = map[bmv2.MatchKind]string{bmv2.Exact: "exact", bmv2.LPM: "lpm", bmv2.Ternary: "ternary", bmv2.Range: "range"}

func newPipelineReport(p *bmv2.Program) pipelineReport {
	r := pipelineReport{}
	for _, t := range p.Tables() {
		if t.Hidden {
			continue
		}
		made := tableReport{Name: t.Name, Size: t.Size}
		for _, k := range t.Keys {
			made.Keys = append(made.Keys, keyReport{k.Name, kindNames[k.Kind], k.Width})
		}
		for _, a := range t.Actions {
			made.Actions = append(made.Actions, p.Actions()[a].Name)
		}
		r.Tables = append(r.Tables, made)
	}
	for _, x := range p.Counters() {
		r.Counters = append(r.Counters, arrayReport{Name: x.Name, Size: x.Size, Unit: direct(x.Table)})
	}
	for _, x := range p.Meters() {
		unit := "packets"
		if x.Octets {
			unit = "octets"
		}
		r.Meters = append(r.Meters, arrayReport{Name: x.Name, Size: x.Size, Unit: unit})
	}
	for _, x := range p.Registers() {
		r.Registers = append(r.Registers, arrayReport{Name: x.Name, Size: x.Size, WidthBits: x.Width})
	}
	for _, x := range p.Digests() {
		r.Digests = append(r.Digests, x.Name)
	}
	return r
}

// direct says of counters whether entries have them.
func direct(table int) string {
	if table >= 0 {
		return "entries"
	}
	return ""
}

func (r pipelineReport) print(w io.Writer) error {
	t := term.NewTable(w, "TABLE", "SIZE", "KEY", "ACTIONS")
	for _, x := range r.Tables {
		t.Row(x.Name, x.Size, term.Words(x.Keys), term.Words(x.Actions))
	}
	if err := t.Flush(); err != nil || len(r.Counters)+len(r.Meters)+len(r.Registers)+len(r.Digests) == 0 {
		return err
	}
	fmt.Fprintln(w)
	t = term.NewTable(w, "ARRAY", "KIND", "SIZE", "OF")
	for _, x := range r.Counters {
		t.Row(x.Name, "counter", x.Size, x.Unit)
	}
	for _, x := range r.Meters {
		t.Row(x.Name, "meter", x.Size, x.Unit)
	}
	for _, x := range r.Registers {
		t.Row(x.Name, "register", x.Size, fmt.Sprint(x.WidthBits, " bits"))
	}
	for _, x := range r.Digests {
		t.Row(x, "digest", "", "")
	}
	return t.Flush()
}
