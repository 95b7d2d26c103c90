package rancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

type nfapiVNFCommand struct {
	Config   string        `placeholder:"FILE" help:"Configuration file (YAML); deploy/nfapi/vnf.yaml explains every key."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`

	nfapiThreads    `embed:""`
	nfapiWatchFlags `embed:""`

	Start       nfapiVNFRun         `cmd:"" name:"run" default:"withargs" help:"Run the VNF until SIGINT or SIGTERM (the default)."`
	CheckConfig nfapiVNFCheckConfig `cmd:"" help:"Check a configuration file; start nothing."`
}

type nfapiVNFCheckConfig struct{ cli.CheckFile }

// Help is shown by its --help.
func (nfapiVNFCheckConfig) Help() string {
	return cli.Examples("plumb nfapi vnf check-config vnf.yaml")
}

// Help is shown by plumb nfapi vnf --help.
func (nfapiVNFCommand) Help() string {
	return `Runs the upper half of a split 5G gNB: takes PNFs on P5, configures and starts their PHYs, schedules their slots over P7, and carries the packets of the UEs between the radio and N3, or a TUN device. At the end it stops PHYs and PNFs in order, and prints what was measured and counted.

Packets go through a MAC, RLC and PDCP of this program; the PNF may be another's (oai-2025, oai-2024).

Needs CAP_NET_ADMIN for a TUN device; CAP_SYS_NICE lets its threads keep the slot on a machine that does other things, too.

Examples:

    plumb nfapi vnf check-config vnf.yaml
    plumb nfapi vnf --config vnf.yaml
    plumb nfapi vnf --config vnf.yaml --duration 60s --json vnf.json \
        --html vnf.html
    plumb nfapi vnf --config vnf.yaml --live --metrics 127.0.0.1:9106
`
}

// nfapiVNFFile is the configuration file.
type nfapiVNFFile struct {
	VNF   vnf.Config     `yaml:",inline"`
	GNB   nfapiGNB       `yaml:",inline"` // of the only PHY
	Cells []nfapiVNFCell `yaml:"cells"`   // of several
}

// phys are all PHYs in the order of the file.
func (f *nfapiVNFFile) phys() (names []nfapiPHYName) {
	for i := range f.VNF.PNFs {
		for _, y := range f.VNF.PNFs[i].PHYs {
			names = append(names, nfapiPHYName{f.VNF.PNFs[i].Name, y.ID})
		}
	}
	return names
}

// names are the PHYs of cells:, in their order.
func (f *nfapiVNFFile) names() (names []nfapiPHYName) {
	for i := range f.Cells {
		c := &f.Cells[i]
		if c.PNF == "" && len(f.VNF.PNFs) == 1 {
			c.PNF = f.VNF.PNFs[0].Name
		}
		names = append(names, nfapiPHYName{c.PNF, c.PHY})
	}
	return names
}

// cells is what each PHY carries. The VNF's configuration has been completed.
func (f *nfapiVNFFile) cells(m *yamltext.Checks) map[nfapiPHYName]nfapiGNB {
	gnbs := make([]nfapiGNB, len(f.Cells))
	for i := range f.Cells {
		gnbs[i] = f.Cells[i].GNB
	}
	return oneCellEach(m, f.phys(), f.GNB, newNFAPIGNB(), f.names(), gnbs)
}

// check notes what is wrong, and completes the VNF's configuration.
func (f *nfapiVNFFile) check(m *yamltext.Checks) {
	m.Under("", f.VNF.Validate())
	f.cells(m)
	if len(f.Cells) == 0 && len(f.phys()) <= 1 {
		m.Under("", f.GNB.validate())
	}
	taken := claims{}
	for i := range f.Cells {
		m.Under(cellKey(i), f.Cells[i].GNB.validate())
		taken.core(m, cellKey(i)+".core", &f.Cells[i].GNB.Core)
	}
	distinctUEs(m, f.names(), func(i int) *radio.Config { return &f.Cells[i].GNB.Radio })
}

// readNFAPIVNF reads the configuration.
func readNFAPIVNF(path string) (*nfapiVNFFile, error) {
	f := &nfapiVNFFile{GNB: newNFAPIGNB()}
	return f, cli.FileError("vnf", yamltext.Load(path, f, f.check))
}

// Run says "ok", or all that is wrong.
func (c *nfapiVNFCheckConfig) Run(stdout io.Writer, command *nfapiVNFCommand) error {
	return c.Check(stdout, command.Config, func(file string) error { _, err := readNFAPIVNF(file); return err })
}

type nfapiVNFRun struct{}

// Help is shown by its --help.
func (nfapiVNFRun) Help() string {
	return cli.Examples("plumb nfapi vnf --config vnf.yaml", "plumb nfapi vnf run --config vnf.yaml")
}

// Run is the VNF as a process.
func (nfapiVNFRun) Run(ctx context.Context, stdout io.Writer, c *nfapiVNFCommand) error {
	if err := cli.WantConfig(c.Config, "plumb nfapi vnf"); err != nil {
		return err
	}
	file, err := readNFAPIVNF(c.Config)
	if err != nil {
		return err
	}
	ctx, cancel := cli.Within(ctx, c.Duration)
	defer cancel()
	w, err := c.watch(ctx, "vnf")
	if err != nil {
		return err
	}
	defer c.begin(w.log)()
	above, err := file.open(ctx, w.log)
	if err != nil {
		return errors.Join(err, w.discard())
	}
	v, err := carryVNF(ctx, file, above, w)
	if v == nil {
		return errors.Join(err, w.discard())
	}
	text := stdout
	if c.JSON == "-" {
		text = os.Stderr
	}
	counted := v.Stats()
	return errors.Join(err, w.finish(stdout), counted.Print(text), above.print(text))
}

// carryVNF runs a VNF below MACs and their cores until ctx ends. v is nil if it could not
// be begun.
func carryVNF(ctx context.Context, file *nfapiVNFFile, above *vnfCells, w *nfapiWatch) (v *vnf.VNF, err error) {
	// The cores are there until the PHYs have been stopped.
	coreContext, stopCore := context.WithCancel(context.WithoutCancel(ctx))
	vnfContext, stopVNF := context.WithCancel(ctx)
	defer stopVNF()
	core := make(chan error, 1)
	go func() {
		core <- above.run(coreContext)
		stopVNF()
	}()
	defer func() {
		stopCore()
		err = errors.Join(err, <-core)
	}()
	file.VNF.Watch = func(pnf string, phy uint16) *stopwatch.Watch { return w.of(fmt.Sprintf("%s phy %d", pnf, phy)) }
	if v, err = vnf.New(file.VNF, above.newMAC, w.log); err != nil {
		return nil, err
	}
	w.collect(append(above.collectors(), v)...)
	w.log.Info("waiting for pnfs", "p5", v.P5())
	return v, v.Run(vnfContext)
}
