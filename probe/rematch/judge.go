package rematch

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// learnFrom is how many events are kept at the beginning, to learn the overhead from.
const learnFrom = 1 << 16

// judge reads a file and deals out its events to the slices.
type judge struct {
	report     Report
	thresholds []uint64
	series     map[string]*series
	listed     []*series // in the order in which they appear
	parts      int

	columns columns // of a CSV
	rows    uint64

	learning bool
	kept     []sliced // the beginning of a text, while learning
}

// sliced is an event of a slice.
type sliced struct {
	series *series
	event
}

func newJudge(o Options) *judge {
	return &judge{
		report:     Report{Schema: Schema, WindowNS: uint64(o.Window), Overhead: max(o.Overhead, 0)},
		thresholds: thresholds(o.Window),
		series:     map[string]*series{},
		learning:   o.Overhead == 0,
	}
}

// read reads all lines. The first one that is not empty says which format it is.
func (j *judge) read(l *lines) error {
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		j.report.Lines++
		if line != nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if j.report.Format == "" {
			j.report.Format = Text
			if isHeader(line) {
				j.report.Format, j.learning, j.report.Overhead = CSV, false, 0
			}
		}
		if !j.line(line) {
			j.report.Ignored++
		}
	}
}

// line takes a line and returns whether it means something.
func (j *judge) line(line []byte) bool {
	if j.report.Format == CSV {
		return j.csvLine(line)
	}
	if lost, ok := parseLost(line); ok {
		j.report.LostEvents += lost
		return true
	}
	name, e, ok := parseText(line)
	if !ok {
		return false
	}
	s := j.of(name)
	if s == nil {
		return false
	}
	j.report.Events++
	if !j.learning {
		s.add(e)
		return true
	}
	if j.kept = append(j.kept, sliced{s, e}); len(j.kept) == learnFrom {
		j.learn()
	}
	return true
}

func (j *judge) csvLine(line []byte) bool {
	if isHeader(line) { // repeated where files were concatenated
		j.columns = parseHeader(line)
		return true
	}
	r, ok := j.columns.parse(line)
	if !ok {
		return false
	}
	s := j.of(r.slice)
	if s == nil {
		return false
	}
	j.rows++
	j.report.Events += 2
	if r.contradict {
		s.slice.Disagree++
	}
	s.addRow(event{ns: r.entered, row: j.rows, length: r.length}, event{ns: r.left, row: j.rows, exit: true})
	return true
}

// of returns the series of a slice; nil if there are too many.
func (j *judge) of(name []byte) *series {
	if s := j.series[string(name)]; s != nil {
		return s
	}
	if len(j.listed) == maxSlices {
		return nil
	}
	s := newSeries(j, string(name))
	j.series[s.slice.Name] = s
	j.listed = append(j.listed, s)
	return s
}

// learn ends the learning: what was kept is judged.
func (j *judge) learn() {
	j.learning = false
	j.report.Overhead = overhead(j.kept, j.report.WindowNS)
	for _, k := range j.kept {
		k.series.add(k.event)
	}
	j.kept = nil
}

// finish judges what is left and returns the report.
func (j *judge) finish() *Report {
	if j.learning {
		j.learn()
	}
	for _, s := range j.listed {
		j.report.Slices = append(j.report.Slices, s.finish())
	}
	j.report.Unknown = j.report.unknown()
	return &j.report
}

// Window is the age that an entry may have when its packet leaves.
func (r *Report) Window() time.Duration { return time.Duration(r.WindowNS) }
