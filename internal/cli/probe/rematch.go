package probecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/probe/rematch"
)

type rematchCommand struct {
	File string `arg:"" help:"Text of trace_pipe with upf_m1 and upf_m3, or CSV with ts_rx_ns and ts_tx_ns; - is standard input."`

	Window   time.Duration `default:"10ms" help:"How old an entry may be when its packet leaves. Default: 10ms, as the study has it."`
	Overhead uint8         `placeholder:"OCTETS" help:"By how much a frame is longer as it enters than the packet that leaves. Default: learnt from the file."`
	Lengths  bool          `default:"true" negatable:"" help:"Only packets of the same length belong together."`
	JSON     bool          `name:"json" help:"Print the report as JSON."`
}

// Help is shown by plumb probe rematch --help.
func (rematchCommand) Help() string {
	return `Judges a trace whose events have a time and a length but do not say which packet they are about, as the study arXiv:2605.28185 has recorded them. It says how many entries each exit could belong to, what percentiles different ways of pairing make of the same events, and between which values they lie whatever the right pairs are. The file is read once, in bounded memory.

Pairings: 'written', the pairs of a CSV; 'nearest', the entry nearest in time, as the study's script pairs; 'oldest first', as in a UPF that keeps the order and loses nothing; 'only candidate', exits that could belong to a single entry, alone; 'any', the bounds over all pairings.

Examples:

    plumb probe rematch exp_heavy_tcbpf.txt
    plumb probe rematch o1_forwarding_exp_heavy.csv --json
    zcat trace.txt.gz | plumb probe rematch -
`
}

// Run reads the file and prints what it says.
func (c *rematchCommand) Run(stdout io.Writer) error {
	in := os.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return cli.InputError(err)
		}
		defer f.Close()
		in = f
	}
	options := rematch.Options{Window: c.Window, Overhead: int(c.Overhead)}
	if !c.Lengths {
		options.Overhead = -1
	}
	report, err := rematch.Read(in, options)
	switch {
	case errors.Is(err, rematch.ErrWindow):
		return cli.Usage(fmt.Errorf("--window: %w", err))
	case err != nil:
		return cli.InputError(fmt.Errorf("%s: %w", c.File, err))
	case c.JSON:
		return plainjson.Write(stdout, report)
	}
	return printRematch(stdout, report)
}

// printRematch prints a report for people.
func printRematch(w io.Writer, r *rematch.Report) error {
	fmt.Fprintf(w, "%s, %d events in %d lines (%d ignored, %d lost by the kernel), window %v", r.Format, r.Events, r.Lines, r.Ignored, r.LostEvents, r.Window())
	if r.Overhead > 0 {
		fmt.Fprintf(w, ", frames enter %d octets longer", r.Overhead)
	}
	fmt.Fprint(w, "\n\n")
	candidates := term.NewTable(w, "slice", "entries", "exits", "none", "one", "several", "several %", "mean", "most")
	for _, s := range r.Slices {
		c := s.Candidates
		candidates.Row(s.Name, s.Entries, s.Exits, s.Strangers, c.One, c.Several, fmt.Sprintf("%.2f", 100*c.Share()), fmt.Sprintf("%.1f", c.Mean()), c.Most)
	}
	if err := candidates.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nnone, one, several: exits by how many entries they could belong to")
	fmt.Fprintln(w)
	if err := printPairings(w, r); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nWhat the file leaves open:")
	for _, sentence := range r.Unknown {
		fmt.Fprintf(w, "- %s\n", sentence)
	}
	return nil
}

// printPairings prints a row for each slice and pairing.
func printPairings(w io.Writer, r *rematch.Report) error {
	t := term.NewTable(w, "slice", "pairing", "pairs", "P50 µs", "P90 µs", "P99 µs", "P99.9 µs", "max µs", "wrong length", "overtaken", "not as written")
	for _, s := range r.Slices {
		for _, row := range []struct {
			name string
			rematch.Pairing
		}{{"written", s.Written}, {"nearest", s.Nearest}, {"oldest first", s.OldestFirst}, {"only candidate", s.Only}} {
			p := row.Pairing
			if p.Pairs == 0 {
				continue
			}
			t.Row(s.Name, row.name, p.Pairs, microseconds(p.P50NS), microseconds(p.P90NS), microseconds(p.P99NS), microseconds(p.P999NS), microseconds(p.MaxNS),
				p.WrongLength, p.Overtaken, p.Differing)
		}
		if b := s.Bounds; b.Pairs > 0 {
			t.Row(s.Name, "any", b.Pairs, between(b.P50), between(b.P90), between(b.P99), between(b.P999), "", "", "", "")
		}
	}
	return t.Flush()
}

// microseconds shows nanoseconds as microseconds.
func microseconds[N int64 | uint64](ns N) string { return fmt.Sprintf("%.1f", float64(ns)/1000) }

// between shows a range of delays in microseconds.
func between(r rematch.Range) string { return microseconds(r.From) + "-" + microseconds(r.To) }
