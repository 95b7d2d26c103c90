package probecmd

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// resultFlags is the flags that say in which forms a result is wanted.
type resultFlags struct {
	JSON string `name:"json" placeholder:"FILE" help:"Write the result as JSON (plumbline.probe/1); - is standard output, in the place of the table."`
	HTML string `name:"html" placeholder:"FILE" help:"Write the report: one page with charts, heat maps and tables that loads nothing else."`
	SVG  string `name:"svg" placeholder:"FILE" help:"Write the charts as one picture."`
	Hgrm string `name:"hgrm" placeholder:"DIR" help:"Write a percentile distribution (.hgrm) of each series."`
}

// open makes the files before the run, so that a name that cannot be written costs no
// measurement.
func (f *resultFlags) open() (cli.Outputs[*report.Probe], error) {
	if err := cli.MakeDirectory(f.Hgrm); err != nil {
		return nil, err
	}
	return cli.OpenOutputs(cli.To(f.JSON, report.WriteProbe),
		cli.To(f.HTML, report.ProbeHTML), cli.To(f.SVG, report.ProbeSVG))
}

// write prints the result and fills the files.
func (f *resultFlags) write(stdout io.Writer, files cli.Outputs[*report.Probe], p *report.Probe) error {
	show := report.ProbeTable
	if f.JSON == "-" {
		show = report.WriteProbe
	}
	errs := []error{files.Write(p), show(stdout, p)}
	if f.Hgrm != "" {
		errs = append(errs, report.ProbeHgrm(f.Hgrm, p))
	}
	return errors.Join(errs...)
}

// sampleFiles are the files of sampleFlags while they are written. One goroutine
// writes; whoever likes asks how many there were.
type sampleFiles struct {
	files   []*os.File
	writers []export.SampleWriter
	written atomic.Uint64
}

// create makes the files. device names where a packet came in.
func (f *sampleFlags) create(clock export.Clock, device func(*probe.Sample) string) (*sampleFiles, error) {
	s := &sampleFiles{}
	for _, one := range []struct {
		path string
		make func(io.Writer) export.SampleWriter
	}{
		{f.CSV, func(w io.Writer) export.SampleWriter { return export.NewCSVSamples(w, clock) }},
		{f.Parquet, func(w io.Writer) export.SampleWriter { return export.NewParquetSamples(w, clock) }},
		{f.Published, func(w io.Writer) export.SampleWriter { return export.NewPublishedCSV(w, probe.Uplink, device) }},
	} {
		if one.path == "" {
			continue
		}
		file, err := cli.Create(one.path, 0o600)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.files, s.writers = append(s.files, file), append(s.writers, one.make(file))
	}
	return s, nil
}

func (s *sampleFiles) write(sample probe.Sample) error {
	for _, w := range s.writers {
		if err := w.Write(&sample); err != nil {
			return err
		}
	}
	s.written.Add(1)
	return nil
}

func (s *sampleFiles) close() error {
	var errs []error
	for i, w := range s.writers {
		errs = append(errs, w.Close(), s.files[i].Close())
	}
	return errors.Join(errs...)
}

type reportCommand struct {
	File string `arg:"" name:"file" help:"A result of plumb probe (--json), or of what plumb lab report shows."`

	resultFlags
}

// Help is shown by plumb probe report --help.
func (reportCommand) Help() string {
	return `Shows a result of plumb probe again: the table, and the files that are asked for. Nothing is measured.

Examples:

    plumb probe report probe.json
    plumb probe report probe.json --html probe.html --svg probe.svg \
        --hgrm delays
`
}

// Run reads the result, prints the table and writes the files.
func (c *reportCommand) Run(_ context.Context, stdout io.Writer) error {
	if err := errors.Join(cli.Distinct([]string{c.File}, c.HTML, c.SVG, c.JSON), cli.CheckOutputs(c.HTML, c.SVG, c.JSON), cli.MakeDirectory(c.Hgrm)); err != nil {
		return err
	}
	result, err := report.ReadAny(c.File)
	if err != nil {
		return cli.InputError(err)
	}
	if result.Probe == nil {
		return c.other(stdout, result)
	}
	files, err := c.open()
	if err != nil {
		return err
	}
	return errors.Join(c.write(stdout, files, result.Probe))
}

// other shows a result that is not of plumb probe.
func (c *reportCommand) other(stdout io.Writer, result *report.Any) error {
	if err := result.Refuse(map[string]string{"--html": c.HTML, "--svg": c.SVG, "--json": c.JSON, "--hgrm": c.Hgrm}); err != nil {
		return cli.Usage(err)
	}
	files, err := cli.OpenOutputs(cli.To(c.HTML, report.AnyHTML), cli.To(c.SVG, report.AnySVG))
	if err != nil {
		return err
	}
	return errors.Join(files.Write(result), report.AnyTable(stdout, result))
}
