package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
)

// LogName is the name of the HdrHistogram log among the files of [LabHgrm].
const LogName = "latency.hlog"

// LabHgrm writes the latencies of l to a directory, for the tools of HdrHistogram:
// all trials that kept them into one interval log ([LogName], in ns, a tag for each
// system and cell), and of paced trials one percentile distribution (.hgrm, in µs) for
// each system, cell and direction, over the repeats.
// The directory is made if it is missing.
//
// Errors: those of the file system.
func LabHgrm(directory string, l *Lab) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(directory, LogName), l.writeLog); err != nil {
		return err
	}
	v := newLabView(l)
	for cell := range l.Plan.Cells {
		for _, s := range l.Systems {
			for _, d := range Directions {
				if err := l.writeMerged(directory, v.of(cell, s.Name), d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeLog writes the interval log.
func (l *Lab) writeLog(f *os.File) error {
	log := hdrhistogram.NewHistogramLogWriter(f)
	if err := errors.Join(log.OutputLogFormatVersion(), log.OutputStartTime(l.Started.UnixMilli()), log.OutputLegend()); err != nil {
		return err
	}
	return l.eachHistogram(func(turn *Turn, trial int, h *hdrhistogram.Histogram) error {
		t := &turn.Trials[trial]
		started := t.Started
		if started.IsZero() {
			started = turn.Started
		}
		h.SetTag(l.distributionName(turn, t.Direction))
		h.SetStartTimeMs(started.UnixMilli())
		h.SetEndTimeMs(started.UnixMilli() + t.DurationNS/1e6)
		return log.OutputIntervalHistogram(h)
	})
}

// writeMerged writes the distribution of a system in a cell and direction. The turns
// are of one cell and system.
func (l *Lab) writeMerged(directory string, turns []*Turn, d Direction) error {
	var merged *hdrhistogram.Histogram
	for _, turn := range turns {
		t := turn.paced(d)
		if t == nil {
			continue
		}
		h, err := t.Histogram()
		switch {
		case err != nil:
			return err
		case merged == nil || h == nil:
			merged = cmp.Or(merged, h)
		case merged.Merge(h) > 0:
			return invalid("latency_histogram", merged.Max(), "another repeat has latencies beyond its range")
		}
	}
	if merged == nil {
		return nil
	}
	return writeHgrm(filepath.Join(directory, l.distributionName(turns[0], d)+".hgrm"), merged)
}

// writeHgrm scales nanoseconds to microseconds.
func writeHgrm(name string, h *hdrhistogram.Histogram) error {
	const ticksPerHalf, scale = 5, 1e3
	return writeWhole(name, func(f *os.File) error {
		_, err := h.PercentilesPrint(f, ticksPerHalf, scale)
		return err
	})
}

// distributionName tells systems, cells and directions apart whatever they are called:
// it begins with their places. It has no character that a file name or a tag of a log
// could not have.
func (l *Lab) distributionName(t *Turn, d Direction) string {
	c := &l.Plan.Cells[t.Cell]
	system := 0
	for i := range l.Systems {
		if l.Systems[i].Name == t.System {
			system = i
		}
	}
	words := []string{fmt.Sprintf("%03d-%02d", t.Cell, system), c.Method, t.System, string(d), c.Frames}
	if c.Sessions > 0 {
		words = append(words, fmt.Sprint(c.Sessions))
	}
	name := strings.Join(append(words, c.Load), "-")
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '_'
	}, strings.TrimSuffix(name, "-"))
	const longest = 120
	return name[:min(len(name), longest)]
}

// writeWhole writes a file that gets its name when it is whole.
func writeWhole(name string, write func(*os.File) error) error {
	f, err := atomicfile.Create(name)
	if err != nil {
		return err
	}
	if err := write(f.File); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Keep()
}
