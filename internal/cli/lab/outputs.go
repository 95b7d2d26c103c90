package labcmd

import (
	"context"
	"errors"
	"io"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// labOutputs is the flags that say in which forms a result of the laboratory is wanted
// beside its JSON.
type labOutputs struct {
	HTML    string `name:"html" placeholder:"FILE" help:"Write the report: one page with charts and tables that loads nothing else."`
	SVG     string `name:"svg" placeholder:"FILE" help:"Write the charts as one picture."`
	CSV     string `name:"csv" placeholder:"DIR" help:"Write figures, trials, series, histograms and N4 loads as CSV, a file each."`
	Parquet string `name:"parquet" placeholder:"DIR" help:"Write the same as Parquet."`
	Hgrm    string `name:"hgrm" placeholder:"DIR" help:"Write latencies for the tools of HdrHistogram: a log of all trials, and a .hgrm for each system and load."`
}

// labFiles are the files of labOutputs, before there is something to write.
type labFiles struct {
	flags *labOutputs
	files cli.Outputs[*report.Lab]
}

// open makes the files and directories before the run, so that a name that cannot be
// written costs no measurement.
func (o *labOutputs) open() (labFiles, error) {
	for _, directory := range []string{o.CSV, o.Parquet, o.Hgrm} {
		if err := cli.MakeDirectory(directory); err != nil {
			return labFiles{}, err
		}
	}
	files, err := cli.OpenOutputs(cli.To(o.HTML, report.LabHTML), cli.To(o.SVG, report.LabSVG))
	return labFiles{o, files}, err
}

// write fills them.
func (f labFiles) write(l *report.Lab) error {
	errs := []error{f.files.Write(l)}
	for _, form := range []struct {
		directory string
		write     func(string, *report.Lab) error
	}{{f.flags.CSV, report.LabCSV}, {f.flags.Parquet, report.LabParquet}, {f.flags.Hgrm, report.LabHgrm}} {
		if form.directory != "" {
			errs = append(errs, form.write(form.directory, l))
		}
	}
	return errors.Join(errs...)
}

// discard removes the files: there is nothing to write.
func (f labFiles) discard() error { return f.files.Discard() }

type reportCommand struct {
	File string `arg:"" name:"file" help:"A result (--json) of plumb lab, bench, slices or probe, of N4 loads, or of nFAPI stopwatches."`

	labOutputs
}

// Help is shown by plumb lab report --help.
func (reportCommand) Help() string {
	return `Shows a result again: the table, and the files that are asked for. Nothing is measured, and nothing is computed that is not in the file but medians, their intervals and shares of the bed. Results of plumb lab have all forms, those of other commands a table, and most of them a page and a picture.

Examples:

    plumb lab report r.json
    plumb lab report r.json --html r.html
    plumb lab report r.json --csv tables --parquet tables --hgrm latency
`
}

// Run reads the result, prints the table and writes the files.
func (c *reportCommand) Run(_ context.Context, stdout io.Writer) error {
	if err := errors.Join(cli.Distinct([]string{c.File}, c.HTML, c.SVG), cli.CheckOutputs(c.HTML, c.SVG)); err != nil {
		return err
	}
	result, err := report.ReadAny(c.File)
	if err != nil {
		return cli.InputError(err)
	}
	if result.Lab == nil {
		return c.other(stdout, result)
	}
	files, err := c.open()
	if err != nil {
		return err
	}
	return errors.Join(files.write(result.Lab), report.LabTable(stdout, result.Lab))
}

// other shows a result that is not of methods of plumb lab.
func (c *reportCommand) other(stdout io.Writer, result *report.Any) error {
	asked := map[string]string{"--html": c.HTML, "--svg": c.SVG, "--csv": c.CSV, "--parquet": c.Parquet, "--hgrm": c.Hgrm}
	if err := result.Refuse(asked); err != nil {
		return cli.Usage(err)
	}
	files, err := cli.OpenOutputs(cli.To(c.HTML, report.AnyHTML), cli.To(c.SVG, report.AnySVG))
	if err != nil {
		return err
	}
	return errors.Join(files.Write(result), report.AnyTable(stdout, result))
}
