package main

import (
	"context"
	"errors"
	"io"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/report"
)

type probeReportCommand struct {
	File string `arg:"" name:"file" help:"A result of plumb probe (--json, plumbline.probe/1)."`

	probeFiles
}

// Help is shown by plumb probe report --help.
func (probeReportCommand) Help() string {
	return `Shows a result of plumb probe again: the table, and the files that are asked for. Nothing is measured.

Examples:

    plumb probe report probe.json
    plumb probe report probe.json --html probe.html --svg probe.svg \
        --hgrm delays
`
}

// Run reads the result, prints the table and writes the files.
func (c *probeReportCommand) Run(_ context.Context, stdout io.Writer) error {
	files, err := c.open()
	if err != nil {
		return err
	}
	result, err := report.ReadProbeFile(c.File)
	if err != nil {
		return errors.Join(cli.InputError(err), files.Discard())
	}
	return errors.Join(c.write(stdout, files, result))
}
