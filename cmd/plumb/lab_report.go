package main

import (
	"context"
	"errors"
	"io"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/report"
)

type labReportCommand struct {
	File string `arg:"" name:"file" help:"A result of the laboratory (plumbline.lab/1), finished or not."`

	labOutputs
}

// Help is shown by plumb lab report --help.
func (labReportCommand) Help() string {
	return `Shows a result of the laboratory again: the table, and the files that are asked for. Nothing is measured, and nothing is computed that is not in the file but medians, their intervals and shares of the bed.

Examples:

    plumb lab report r.json
    plumb lab report r.json --html r.html
    plumb lab report r.json --csv tables --parquet tables --hgrm latency
`
}

// Run reads the result, prints the table and writes the files.
func (c *labReportCommand) Run(_ context.Context, stdout io.Writer) error {
	result, err := report.ReadLabFile(c.File)
	if err != nil {
		return cli.InputError(err)
	}
	files, err := c.open()
	if err != nil {
		return err
	}
	return errors.Join(files.write(result), report.LabTable(stdout, result))
}
