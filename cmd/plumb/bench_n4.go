package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/bench"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// n4OpenRate is requests per second of the open loops.
const n4OpenRate = 10_000

// runN4 is plumb bench --n4.
func (c *benchCommand) runN4(ctx context.Context, stdout io.Writer, config *bench.Config) error {
	files, err := openOutputs(output[*report.N4Result]{c.JSON, report.WriteN4})
	if err != nil {
		return err
	}
	bar := newProgress(os.Stderr, "bench", false)
	result, err := bench.N4(ctx, bench.N4Config{
		XDPMode: config.XDPMode, Sessions: slices.Sorted(slices.Values(config.Sessions)), Duration: config.Duration, Rate: n4OpenRate,
		CommandLine: config.CommandLine, Version: config.Version, Commit: config.Commit, OnStep: bar.step,
	})
	bar.close()
	show := report.N4Table
	if c.JSON == "-" {
		show = report.WriteN4
	}
	return finish(stdout, files, result, show, err)
}
