package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/n4bench"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// n4OpenRate is requests per second of the open loops.
const n4OpenRate = 10_000

// runN4 is plumb bench --n4.
func (c *benchCommand) runN4(ctx context.Context, stdout io.Writer) error {
	files, err := openOutputs(output[*report.N4Result]{c.JSON, report.WriteN4})
	if err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	version, commit := builtFrom(info, commit)
	bar := newProgress(os.Stderr, "bench", false)
	result, err := n4bench.Run(ctx, n4bench.Config{
		XDPMode: c.XDPMode, Sessions: slices.Sorted(slices.Values(c.Sessions)), Duration: *c.Duration, Rate: n4OpenRate,
		CommandLine: "plumb " + strings.Join(os.Args[1:], " "), Version: version, Commit: commit, OnStep: bar.step,
	})
	bar.close()
	show := report.N4Table
	if c.JSON == "-" {
		show = report.WriteN4
	}
	return finish(stdout, files, result, show, err)
}
