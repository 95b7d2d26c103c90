package labcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/bench"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// datapaths are those that carry packets, in the order in which they are compared.
var datapaths = []string{upf.DatapathXDP, upf.DatapathTC, upf.DatapathAFXDP, upf.DatapathTUN, upf.DatapathTAP, upf.DatapathP4}

// allDatapaths stands for all of them.
const allDatapaths = "all"

// several returns the datapaths to compare, and whether there are several.
func (c *Bench) several() ([]string, bool) {
	if slices.Equal(c.Datapath, []string{allDatapaths}) {
		return datapaths, true
	}
	return c.Datapath, len(c.Datapath) > 1
}

// runCompare is plumb bench with several datapaths.
func (c *Bench) runCompare(ctx context.Context, stdout io.Writer, datapaths []string) error {
	config, err := c.compareConfig(datapaths)
	if err != nil {
		return err
	}
	files, err := cli.OpenOutputs(
		cli.To(c.JSON, report.WriteComparison), cli.To(c.HTML, report.ComparisonHTML),
		cli.To(c.SVG, report.ComparisonSVG))
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "bench", false)
	config.OnStep = term.Steps[report.Step](bar)
	result, err := bench.Compare(ctx, config)
	bar.Close()
	show := report.ComparisonTable
	if c.JSON == "-" {
		show = report.WriteComparison
	}
	return cli.Finish(stdout, files, result, show, err)
}

// compareConfig turns the flags into what package bench takes.
func (c *Bench) compareConfig(datapaths []string) (config bench.CompareConfig, err error) {
	if err := c.checkSeveral(); err != nil {
		return config, err
	}
	c.Datapath = datapaths
	payloads, duration, repeats := []string{"64", "512", "1400", report.PayloadIMIX}, time.Second, 3
	loads, tcp, loss := []int{0, 10, 50, 90}, 5*time.Second, 0.1
	if c.Quick {
		payloads, duration, repeats = []string{"64", "1400"}, 300*time.Millisecond, 1
		loads, tcp = []int{0, 50}, 2*time.Second
	}
	c.fillIn([]int{1, 100_000}, payloads, duration, repeats)
	if c.Load != nil {
		loads = c.Load
	}
	if c.TCP != nil {
		tcp = *c.TCP
	}
	if c.Loss != nil {
		loss = *c.Loss
	}
	common, err := c.common()
	if err != nil {
		return config, err
	}
	for _, name := range c.Payload {
		if _, err := bench.ParsePayload(name); err != nil {
			return config, cli.Usage(fmt.Errorf("--payload: %w", err))
		}
	}
	config = bench.CompareConfig{
		Config: common, Datapaths: datapaths, Payloads: c.Payload, Loads: loads, LossGoal: loss / 100, TCP: tcp,
	}
	if err := config.Validate(); err != nil {
		return config, cli.Usage(err)
	}
	return config, nil
}
