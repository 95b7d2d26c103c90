package labcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/lab/report"
)

type compareCommand struct {
	Files []string `arg:"" name:"file" help:"Results of the laboratory (plumbline.lab/1), 2 to 8; each is compared with the first."`

	Threshold float64  `default:"5" placeholder:"PERCENT" help:"What is worse by no more is no regression. Default: 5."`
	Figures   []string `placeholder:"PATTERN" help:"Figures to compare, such as 'throughput*'. Default: all."`
	Shares    bool     `help:"Compare rates as shares of what the bed carried in the same repeat: for runs on machines that are not equally fast."`
	All       bool     `help:"Show all figures, not only those with a difference beyond the threshold."`
	HTML      string   `name:"html" placeholder:"FILE" help:"Write the comparison as a page that loads nothing else."`
}

// Help is shown by plumb lab compare --help.
func (compareCommand) Help() string {
	return `Compares the figures of systems of the same name in the same cells: medians over the repeats, with the interval of their ratio. A figure is worse if the interval leaves no change out and the median is off by more than the threshold; of fewer than three repeats nothing is told.

The exit code is 1 if a figure is worse, or was measured in the first result and failed in a later one; the bed's figures do not count. So it can guard a branch, whose new.json is of "plumb lab throughput --dut xdp --repeat 5 --json new.json".

Among many figures some differ by chance: guard by few of them, and by five repeats or more.

Examples:

    plumb lab compare main.json new.json --threshold 5 --shares \
        --figures 'throughput*'
`
}

// errRegression makes the exit code 1.
var errRegression = errors.New("worse than the first result")

// Run prints the comparison, writes the page, and fails if something is worse.
func (c *compareCommand) Run(_ context.Context, stdout io.Writer) error {
	switch {
	case len(c.Files) < 2 || len(c.Files) > report.MaxRuns:
		return cli.Usage(fmt.Errorf("%d files: want 2 to %d", len(c.Files), report.MaxRuns))
	case !(c.Threshold >= 0 && c.Threshold <= 100):
		return cli.Usage(fmt.Errorf("--threshold %g: want 0 to 100", c.Threshold))
	}
	for _, pattern := range c.Figures {
		if _, err := path.Match(pattern, ""); err != nil {
			return cli.Usage(fmt.Errorf("--figures %s: %w", pattern, err))
		}
	}
	if err := errors.Join(cli.Distinct(c.Files, c.HTML), cli.CheckOutputs(c.HTML)); err != nil {
		return err
	}
	var runs []report.LabRun
	for i, file := range c.Files {
		lab, err := report.ReadLabFile(file)
		if err != nil {
			return cli.InputError(err)
		}
		runs = append(runs, report.LabRun{Name: runName(c.Files, i), Lab: lab})
	}
	comparison, err := report.CompareLabs(runs, report.CompareOptions{Threshold: c.Threshold / 100, Shares: c.Shares, Figures: c.wanted()})
	if err != nil {
		return err
	}
	files, err := cli.OpenOutputs(cli.To(c.HTML, report.LabComparisonHTML))
	if err != nil {
		return err
	}
	err = errors.Join(files.Write(comparison), report.LabComparisonTable(stdout, comparison, c.All))
	if n := len(comparison.Regressions()); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d figures beyond the threshold of %g %%: %w", n, c.Threshold, errRegression))
	}
	return err
}

// wanted tells figures by the patterns, which have been checked.
func (c *compareCommand) wanted() func(string) bool {
	if len(c.Figures) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(c.Figures, func(pattern string) bool {
			match, _ := path.Match(pattern, name)
			return match
		})
	}
}

// runName is the file's name without its directory, unless another one has the same.
func runName(files []string, i int) string {
	name := filepath.Base(files[i])
	for j, other := range files {
		if j != i && filepath.Base(other) == name {
			return files[i]
		}
	}
	return name
}
