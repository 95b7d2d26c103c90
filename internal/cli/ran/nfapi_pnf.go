package rancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

type nfapiPNFCommand struct {
	Config   string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/nfapi/pnf.yaml explains every key."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`

	nfapiThreads    `embed:""`
	nfapiWatchFlags `embed:""`

	Start       nfapiPNFRun         `cmd:"" name:"run" default:"withargs" help:"Run the PNF until SIGINT or SIGTERM (the default)."`
	CheckConfig nfapiPNFCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

type nfapiPNFCheckConfig struct{ cli.CheckFile }

// Help is shown by its --help.
func (nfapiPNFCheckConfig) Help() string {
	return cli.Examples("plumb nfapi pnf check-config pnf.yaml")
}

// Help is shown by plumb nfapi pnf --help.
func (nfapiPNFCommand) Help() string {
	return `Runs the lower half of a split 5G gNB, with a simulated radio below: it keeps the slot, connects to its VNF, does what that asks for in each slot, and reports what came late. Each UE is a network device (TUN) of this machine, for ping, iperf3, or a browser. At the end it prints what was measured and counted.

The VNF may be another's (oai-2025, oai-2024), as far as its cell and its UEs are those of the configuration.

Needs CAP_NET_ADMIN for devices, CAP_SYS_ADMIN if they are in a network namespace; CAP_SYS_NICE lets its threads keep the slot on a machine that does other things, too.

Examples:

    plumb nfapi pnf check-config pnf.yaml
    plumb nfapi pnf --config pnf.yaml
    plumb nfapi pnf --config pnf.yaml --duration 60s --json pnf.json \
        --html pnf.html
    plumb nfapi pnf --config pnf.yaml --live --metrics 127.0.0.1:9107
`
}

// nfapiPNFFile is the configuration file.
type nfapiPNFFile struct {
	PNF   pnf.Config     `yaml:",inline"`
	Air   nfapiPNFAir    `yaml:",inline"` // of the only PHY
	Cells []nfapiPNFCell `yaml:"cells"`   // of several
}

// names are the PHYs of cells:, in their order.
func (f *nfapiPNFFile) names() (names []nfapiPHYName) {
	for i := range f.Cells {
		names = append(names, nfapiPHYName{phy: f.Cells[i].PHY})
	}
	return names
}

// cells is what is below each PHY.
func (f *nfapiPNFFile) cells(m *yamltext.Checks) map[nfapiPHYName]nfapiPNFAir {
	var phys []nfapiPHYName
	for i := range f.PNF.PHYs {
		phys = append(phys, nfapiPHYName{phy: f.PNF.PHYs[i].ID})
	}
	airs := make([]nfapiPNFAir, len(f.Cells))
	for i := range f.Cells {
		airs[i] = f.Cells[i].Air
	}
	return oneCellEach(m, phys, f.Air, newNFAPIPNFAir(), f.names(), airs)
}

// check notes what is wrong, and completes the PNF's configuration.
func (f *nfapiPNFFile) check(m *yamltext.Checks) {
	complete, err := f.PNF.Complete()
	if m.Under("", err); err == nil {
		f.PNF = complete
	}
	f.cells(m)
	if len(f.Cells) == 0 {
		f.Air.check(m, "")
	}
	taken := claims{}
	for i := range f.Cells {
		f.Cells[i].Air.check(m, cellKey(i)+".")
		taken.devices(m, cellKey(i)+".air", &f.Cells[i].Air.Air, &f.Cells[i].Air.Radio)
	}
	distinctUEs(m, f.names(), func(i int) *radio.Config { return &f.Cells[i].Air.Radio })
}

func (a *nfapiPNFAir) check(m *yamltext.Checks, at string) {
	checkCell(m, at+"radio", &a.Radio)
	m.Under(at+"air", a.Air.Validate(&a.Radio))
}

// readNFAPIPNF reads the configuration.
func readNFAPIPNF(path string) (*nfapiPNFFile, error) {
	f := &nfapiPNFFile{Air: newNFAPIPNFAir()}
	return f, cli.FileError("pnf", yamltext.Load(path, f, f.check))
}

// Run says "ok", or all that is wrong.
func (c *nfapiPNFCheckConfig) Run(stdout io.Writer, command *nfapiPNFCommand) error {
	return c.Check(stdout, command.Config, func(file string) error { _, err := readNFAPIPNF(file); return err })
}

type nfapiPNFRun struct{}

// Help is shown by its --help.
func (nfapiPNFRun) Help() string {
	return cli.Examples("plumb nfapi pnf --config pnf.yaml", "plumb nfapi pnf run --config pnf.yaml")
}

// Run is the PNF as a process.
func (nfapiPNFRun) Run(ctx context.Context, stdout io.Writer, c *nfapiPNFCommand) error {
	if err := cli.WantConfig(c.Config, "plumb nfapi pnf"); err != nil {
		return err
	}
	file, err := readNFAPIPNF(c.Config)
	if err != nil {
		return err
	}
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	w, err := c.watch(ctx, "pnf")
	if err != nil {
		return err
	}
	defer c.begin(w.log)()
	air := &pnfAir{file: file, watch: w}
	p, err := air.open()
	if err != nil {
		return errors.Join(err, air.close(), w.discard())
	}
	err = errors.Join(p.Run(ctx), air.close())
	text := stdout
	if c.JSON == "-" {
		text = os.Stderr
	}
	stats := p.Stats()
	return errors.Join(err, w.finish(stdout), stats.Print(text), air.print(text))
}

// pnfAir is the PHYs of a PNF.
type pnfAir struct {
	file  *nfapiPNFFile
	watch *nfapiWatch
	names []nfapiPHYName
	phys  []*phy.PHY
}

// open makes the PNF and its PHYs. Call close whether it fails or not.
func (a *pnfAir) open() (*pnf.PNF, error) {
	cells := a.file.cells(&yamltext.Checks{}) // it has been checked
	config := a.file.PNF
	config.Watch = func(id uint16) *stopwatch.Watch { return a.watch.of(fmt.Sprintf("phy %d", id)) }
	config.NewPHY = func(id uint16) (fapi.PHY, error) {
		name := nfapiPHYName{phy: id}
		below := cells[name]
		p, err := newNFAPIPHY(&below.Radio, below.Air, 0, a.watch.log)
		if err != nil {
			return nil, err
		}
		a.names, a.phys = append(a.names, name), append(a.phys, p)
		return p, nil
	}
	p, err := pnf.New(config, a.watch.log)
	if err != nil {
		return nil, err
	}
	a.watch.collect(append(a.collectors(), p)...)
	return p, nil
}

// collectors are the metrics of the PHYs; those of several have a label phy.
func (a *pnfAir) collectors() (all []prometheus.Collector) {
	if len(a.phys) == 1 {
		return append(all, a.phys[0])
	}
	for i, p := range a.phys {
		all = append(all, prometheus.WrapCollectorWith(prometheus.Labels{"phy": strconv.Itoa(int(a.names[i].phy))}, p))
	}
	return all
}

// print writes what was on the air as text.
func (a *pnfAir) print(w io.Writer) error {
	var err error
	for i, p := range a.phys {
		if len(a.phys) > 1 {
			fmt.Fprintf(w, "air of %v\n", a.names[i])
		}
		stats := p.Stats()
		err = errors.Join(err, stats.Print(w))
	}
	return err
}

func (a *pnfAir) close() error {
	var errs []error
	for _, p := range a.phys {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
