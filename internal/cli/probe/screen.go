package probecmd

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// screen is what is shown of a probe while it runs, and how that looks.
//
//	plumb probe  1m4s of 2m0s  1 UPF  1234567 packets, all accounted for
//
//	  upf1  plumb, PID 812, xdp
//	  slice      way    kpps  p50 µs     p99   p99.9     max   lost inside ambig.
//	  embb       UL    12.31    35.1   105.2   402.1   812.0     12      3      0
//	  embb       DL     8.02    31.0    98.7   388.4   420.0      0      0      0
//	  N4 request               answered  p50 µs     p99     max rejected no answer
//	  CP Session Establishment      120   207.3   512.0   522.0        0         0
type screen struct {
	elapsed, total time.Duration // total 0: until it is stopped
	upfs           []export.UPF
	live           []export.Live
	n4             *export.N4
	samples        export.Samples
	notes          []string // of late, what a log would have
}

// render returns the lines, none wider than the terminal, and no more than fit.
func (s *screen) render(width, height int) []string {
	lines := []string{s.headline()}
	if len(s.upfs) == 0 {
		lines = append(lines, "", "  no UPF yet")
	}
	for i := range s.upfs {
		lines = append(lines, "", "  "+about(&s.upfs[i]))
		lines = append(lines, s.seriesLines(s.upfs[i].Name, width)...)
		lines = append(lines, s.n4Lines(s.upfs[i].Name, width)...)
	}
	if s.samples.Written+s.samples.Lost > 0 {
		lines = append(lines, "", fmt.Sprintf("  samples: %d written, %d lost", s.samples.Written, s.samples.Lost))
	}
	if len(s.notes) > 0 {
		lines = append(lines, "")
	}
	for _, n := range s.notes {
		lines = append(lines, "  "+n)
	}
	lines = lines[:min(len(lines), max(height, 1))]
	for i, line := range lines {
		lines[i] = term.CutTo(printable.Line(strings.TrimRight(line, " ")), width)
	}
	return lines
}

// headline says how long, how many, and whether all packets are accounted for.
func (s *screen) headline() string {
	how := s.elapsed.Round(time.Second).String()
	if s.total > 0 {
		how += " of " + s.total.String()
	}
	var all probe.Account
	for i := range s.live {
		all = export.Sum(all, s.live[i].Account)
	}
	account := "all accounted for"
	if !all.Balanced() {
		account = "NOT all accounted for"
	}
	if all.Untimed > 0 {
		account = fmt.Sprintf("%d of them timed, %s", all.Timed(), account)
	}
	names := "UPFs"
	if len(s.upfs) == 1 {
		names = "UPF"
	}
	return fmt.Sprintf("plumb probe  %s  %d %s  %d packets, %s", how, len(s.upfs), names, all.In, account)
}

// about is a UPF in a line.
func about(u *export.UPF) string {
	pid, missing := "", ""
	if u.PID > 0 {
		pid = fmt.Sprintf("PID %d", u.PID)
	}
	if u.Missing != "" {
		missing = "missing: " + term.FirstLine(u.Missing)
	}
	return term.Join("  ", u.Name, term.Join(", ", u.Command, pid, u.Container, u.Datapath), missing)
}

// seriesLines are the slices of a UPF, under a heading.
func (s *screen) seriesLines(upf string, width int) []string {
	var rows [][]string
	for i := range s.live {
		l := &s.live[i]
		if l.UPF != upf {
			continue
		}
		way := map[probe.Direction]string{probe.Uplink: "UL", probe.Downlink: "DL"}[l.Direction]
		p50, p90, p99, p999, most := delayTexts(l.Recent)
		rows = append(rows, []string{
			export.SliceName(l.Slice), way, fmt.Sprintf("%.2f", l.PPS/1e3), fmt.Sprintf("%.2f", l.BPS/1e6), p50, p90, p99, p999, most,
			fmt.Sprint(l.Lost), fmt.Sprint(l.InFlight), fmt.Sprint(l.Ambiguous), term.Sparkline(l.Past[max(0, len(l.Past)-20):]),
		})
	}
	if len(rows) == 0 {
		return []string{"  no packets yet"}
	}
	return term.LiveRows(width, rows, []term.LiveColumn{
		{Name: "slice", Width: -10}, {Name: "way", Width: -3}, {Name: "kpps", Width: 7}, {Name: "Mbit/s", Width: 7, Rank: 5}, {Name: "p50 µs", Width: 7}, {Name: "p90", Width: 7, Rank: 4}, {Name: "p99", Width: 7}, {Name: "p99.9", Width: 7, Rank: 2},
		{Name: "max", Width: 7, Rank: 1}, {Name: "lost", Width: 6}, {Name: "inside", Width: 6, Rank: 3}, {Name: "ambig.", Width: 6}, {Name: "p99 of late", Width: -20, Rank: 6},
	})
}

// n4Lines are the transactions of a UPF by who asked and type, under a heading.
func (s *screen) n4Lines(upf string, width int) []string {
	if s.n4 == nil {
		return nil
	}
	var rows [][]string
	for i := range s.n4.Messages {
		m := &s.n4.Messages[i]
		if m.UPF != upf {
			continue
		}
		p50, p90, p99, p999, most := delayTexts(m.Delays)
		rows = append(rows, []string{
			m.Asked + " " + strings.TrimSuffix(m.Message, " Request"), fmt.Sprint(m.Answered), p50, p90, p99, p999, most,
			fmt.Sprint(m.Rejected), fmt.Sprint(m.Unanswered + m.Evicted), fmt.Sprint(m.Retransmissions),
		})
	}
	if len(rows) == 0 {
		return nil
	}
	lines := term.LiveRows(width, rows, []term.LiveColumn{
		{Name: "N4 request", Width: -24}, {Name: "answered", Width: 8}, {Name: "p50 µs", Width: 7}, {Name: "p90", Width: 7, Rank: 4}, {Name: "p99", Width: 7}, {Name: "p99.9", Width: 7, Rank: 3}, {Name: "max", Width: 7, Rank: 1},
		{Name: "rejected", Width: 8}, {Name: "no answer", Width: 9, Rank: 2}, {Name: "again", Width: 6, Rank: 5},
	})
	if n := s.n4FragmentsOf(upf); n > 0 {
		lines = append(lines, fmt.Sprintf("  N4: %d in IP fragments, of which the first alone is seen", n))
	}
	return lines
}

func (s *screen) n4FragmentsOf(upf string) (n uint64) {
	for i := range s.n4.Points {
		if p := &s.n4.Points[i]; p.UPF == upf {
			n += p.Fragments
		}
	}
	return n
}

func delayTexts(h *hdrhistogram.Histogram) (p50, p90, p99, p999, most string) {
	if h == nil || h.TotalCount() == 0 {
		return "-", "-", "-", "-", "-"
	}
	v := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	return delayText(v[0]), delayText(v[1]), delayText(v[2]), delayText(v[3]), delayText(h.Max())
}

// liveView shows a probe on a terminal while it runs, with the last lines of its log
// below; where there is no terminal, the log alone.
type liveView struct {
	*term.LiveLog
	screen screen
}

const screenNotes = 3 // lines of the log that are shown

func newLiveView(out *os.File, c *runCommand) *liveView {
	return &liveView{term.NewLiveLog(out, !c.Plain), screen{total: c.Duration}}
}

// show draws how things are now. It is for the goroutine that closes.
func (v *liveView) show(r *probeRun) {
	if !v.Shown() {
		return
	}
	s := &v.screen
	s.upfs = r.watch.UPFs() // waits while the watch logs, which waits for the view
	s.elapsed, s.live, s.n4, s.samples = r.recorder.Elapsed(), r.recorder.Live(), r.n4, r.counted()
	v.Draw(func(width, height int, logged []string) []string {
		s.notes = logged[max(0, len(logged)-screenNotes):]
		return s.render(width, height)
	})
}

// hlogFile is an interval log while it is written.
type hlogFile struct {
	*export.IntervalLog
	file *os.File
}

func createHlog(name string, r *export.Recorder) (*hlogFile, error) {
	f, err := cli.Create(name, 0o644)
	if err != nil {
		return nil, err
	}
	l, err := export.NewIntervalLog(f, r)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &hlogFile{l, f}, nil
}

func (f *hlogFile) close() error { return f.file.Close() }

// delayText is a delay in µs, without the unit, with three or four places.
func delayText(ns int64) string {
	us := float64(ns) / 1e3
	switch size := math.Abs(us); {
	case size < 10:
		return fmt.Sprintf("%.2f", us)
	case size < 1000:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}
