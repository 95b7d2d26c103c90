package upfcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

// Drops is plumb drops: how many packets the running UPF dropped, and why.
type Drops struct {
	upfFlags
	All   bool          `help:"Reasons that dropped nothing, too."`
	Watch time.Duration `placeholder:"INTERVAL" help:"Again every interval (such as 1s), with what was dropped in it, until interrupted."`
}

// Help is shown by plumb drops --help.
func (Drops) Help() string {
	return `Says how many packets the UPF that runs on this machine dropped since it started, and why. Every dropped packet has one reason.

Examples:

    plumb drops
    plumb drops --watch 1s
    plumb drops --json --all
`
}

// Run prints the drops once, or over and over.
func (c *Drops) Run(ctx context.Context, stdout io.Writer) error {
	if c.Watch < 0 {
		return fmt.Errorf("%w: --watch %s: want more than 0", cli.ErrUsage, c.Watch)
	}
	client := upf.NewClient(c.Socket)
	before, err := client.Drops(ctx)
	if err != nil {
		return err
	}
	if c.Watch == 0 {
		return c.print(stdout, before)
	}
	ticker := time.NewTicker(c.Watch)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now, err := client.Drops(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.printChange(stdout, before, now); err != nil {
			return err
		}
		before = now
	}
}

// print shows the totals.
func (c *Drops) print(w io.Writer, d *upf.Drops) error {
	kept := d.Drops[:0]
	for _, r := range d.Drops {
		if r.Packets > 0 || c.All {
			kept = append(kept, r)
		}
	}
	d.Drops = kept
	if c.JSON {
		return plainjson.Write(w, d)
	}
	if len(d.Drops) == 0 {
		_, err := fmt.Fprintln(w, "nothing dropped")
		return err
	}
	t := term.NewTable(w, "PACKETS", "REASON", "WHAT IT MEANS")
	for _, r := range d.Drops {
		t.Row(r.Packets, r.Reason, r.Text)
	}
	return t.Flush()
}

// dropChange is what was dropped in an interval: one line of --watch --json.
type dropChange struct {
	At       time.Time         `json:"at"`
	Interval float64           `json:"interval_seconds"`
	Packets  map[string]uint64 `json:"packets"` // in the interval, by reason
}

// printChange shows what was dropped between two answers.
func (c *Drops) printChange(w io.Writer, before, now *upf.Drops) error {
	was := map[string]uint64{}
	for _, r := range before.Drops {
		was[r.Reason] = r.Packets
	}
	interval := now.At.Sub(before.At)
	change := dropChange{At: now.At, Interval: interval.Seconds(), Packets: map[string]uint64{}}
	t := term.NewTable(w, "TIME", "PACKETS", "IN THE INTERVAL", "PER SECOND", "REASON")
	for _, r := range now.Drops {
		packets := r.Packets - was[r.Reason]
		if was[r.Reason] > r.Packets { // the UPF was started again
			packets = r.Packets
		}
		if packets == 0 && !c.All {
			continue
		}
		change.Packets[r.Reason] = packets
		t.Row(now.At.Format(time.TimeOnly), r.Packets, packets,
			fmt.Sprintf("%.1f", float64(packets)/interval.Seconds()), r.Reason)
	}
	if c.JSON {
		return plainjson.Lines(w).Encode(change)
	}
	if len(change.Packets) == 0 {
		_, err := fmt.Fprintf(w, "%s nothing dropped in %s\n", now.At.Format(time.TimeOnly), interval.Round(time.Millisecond))
		return err
	}
	return t.Flush()
}
