package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"plumbline/nfapi/stopwatch"
	"plumbline/nfapi/vnf"
	"plumbline/radio"
	"plumbline/yamltext"
)

type nfapiVNFCommand struct {
	Config   string        `required:"" placeholder:"FILE" help:"Configuration file (YAML); deploy/nfapi/vnf.yaml explains every key."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time, e.g. 60s; without it, at SIGINT or SIGTERM."`

	nfapiThreads    `embed:""`
	nfapiWatchFlags `embed:""`
}

// Help is shown by plumb nfapi vnf --help.
func (nfapiVNFCommand) Help() string {
	return `Runs the upper half of a split 5G gNB: takes PNFs on P5, configures and starts their PHYs, schedules their slots over P7, and carries the packets of the UEs between the radio and N3, or a TUN device. At the end it stops PHYs and PNFs in order, and prints what was measured and counted.

Packets go through a MAC, RLC and PDCP of this program; the PNF may be another's (oai-2025, oai-2024).

Needs CAP_NET_ADMIN for a TUN device; CAP_SYS_NICE lets its threads keep the slot on a machine that does other things, too.

Examples:

    plumb nfapi vnf --config vnf.yaml
    plumb nfapi vnf --config vnf.yaml --duration 60s --json vnf.json --html vnf.html
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

// cells is what each PHY carries. The VNF's configuration has been validated.
func (f *nfapiVNFFile) cells() (map[nfapiPHYName]nfapiGNB, error) {
	var names []nfapiPHYName
	var gnbs []nfapiGNB
	for i := range f.Cells {
		c := &f.Cells[i]
		if c.PNF == "" && len(f.VNF.PNFs) == 1 {
			c.PNF = f.VNF.PNFs[0].Name
		}
		names, gnbs = append(names, nfapiPHYName{c.PNF, c.PHY}), append(gnbs, c.GNB)
	}
	cells, err := oneCellEach(f.phys(), f.GNB, newNFAPIGNB(), names, gnbs)
	if err != nil {
		return nil, err
	}
	for name, g := range cells {
		if err := g.validate(); err != nil {
			if len(cells) > 1 {
				err = fmt.Errorf("%v: %w", name, err)
			}
			return nil, err
		}
	}
	return cells, distinctUEs(f.phys(), func(n nfapiPHYName) *radio.Config { r := cells[n].Radio; return &r })
}

// read reads the configuration.
func (c *nfapiVNFCommand) read() (*nfapiVNFFile, error) {
	text, err := yamltext.ReadFile(c.Config)
	if err != nil {
		return nil, inputError(fmt.Errorf("vnf: %w", err))
	}
	f := &nfapiVNFFile{GNB: newNFAPIGNB()}
	if err = yamltext.Decode(text, f); err == nil {
		err = f.VNF.Validate()
	}
	if err == nil {
		_, err = f.cells()
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%w (%s)", err, c.Config)}
	}
	return f, nil
}

// Run is the VNF as a process.
func (c *nfapiVNFCommand) Run(ctx context.Context, stdout io.Writer) error {
	file, err := c.read()
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, c.Duration)
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
