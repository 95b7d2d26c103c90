package export

import (
	"errors"
	"io"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// IntervalLog writes delays as they go on for the tools of HdrHistogram: a histogram of
// nanoseconds for each series and interval, tagged with the series.
type IntervalLog struct {
	log *hdrhistogram.HistogramLogWriter
}

// NewIntervalLog writes the head of a log of what r records.
func NewIntervalLog(w io.Writer, r *Recorder) (*IntervalLog, error) {
	l := &IntervalLog{hdrhistogram.NewHistogramLogWriter(w)}
	return l, errors.Join(l.log.OutputLogFormatVersion(), l.log.OutputStartTime(r.started.UnixMilli()), l.log.OutputLegend())
}

// Add writes the last interval that r recorded.
func (l *IntervalLog) Add(r *Recorder) error {
	end := r.last.At
	start := end.Add(-r.interval)
	for _, k := range r.keys() {
		step := r.tracks[k].step
		if step == nil {
			continue
		}
		h := step.Clone()
		h.SetTag(k.FileName())
		h.SetStartTimeMs(start.UnixMilli())
		h.SetEndTimeMs(end.UnixMilli())
		if err := l.log.OutputIntervalHistogram(h); err != nil {
			return err
		}
	}
	return nil
}

// FileName is the key with no character that a file name or a tag of a log could not
// have. Different keys may have the same.
func (k Key) FileName() string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, k.UPF+"-"+SliceName(k.Slice)+"-"+k.Direction.String())
	const longest = 120
	return name[max(0, len(name)-longest):]
}
