package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/bench"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// n4OpenRate is requests per second of the open loops.
const n4OpenRate = 10_000

// runN4 is plumb bench --n4.
func (c *benchCommand) runN4(ctx context.Context, stdout io.Writer, config *bench.Config) error {
	files, err := cli.OpenOutputs(cli.To(c.JSON, report.WriteN4))
	if err != nil {
		return err
	}
	bar := term.NewProgress(os.Stderr, "bench", false)
	result, err := bench.N4(ctx, bench.N4Config{
		XDPMode: config.XDPMode, Sessions: slices.Sorted(slices.Values(config.Sessions)), Duration: config.Duration, Rate: n4OpenRate,
		CommandLine: config.CommandLine, Version: config.Version, Commit: config.Commit, OnStep: term.Steps[report.Step](bar),
	})
	bar.Close()
	show := report.N4Table
	if c.JSON == "-" {
		show = report.WriteN4
	}
	return cli.Finish(stdout, files, result, show, err)
}
