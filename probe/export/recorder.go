package export

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/probe"
)

// Bounds of what a Recorder keeps, whatever the probe meets.
const (
	maxColumns = 120 // of the timeline
	recently   = 10  // intervals that Live.Recent is of
	pastShown  = 40  // intervals that Live.Past is of
)

// Key names a series.
type Key struct {
	UPF, Slice string
	Direction  probe.Direction
}

// Compare orders keys by UPF, slice and direction.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.UPF, other.UPF), cmp.Compare(k.Slice, other.Slice), cmp.Compare(k.Direction, other.Direction))
}

// KeyOf returns the name of a series.
func KeyOf(s *probe.Series) Key { return Key{s.UPF, s.Slice, s.Direction} }

// Live is a series as a screen shows it.
type Live struct {
	Key
	probe.Account                         // since the start
	PPS, BPS      float64                 // of matched packets in the last interval, BPS of their user octets
	Recent        *hdrhistogram.Histogram // delays in the last intervals; nil or empty: there are none
	Past          []float64               // p99 of each of the last intervals, ns; 0: no packets
}

// Recorder keeps what consecutive snapshots of a probe say. It is for one goroutine.
type Recorder struct {
	started  time.Time
	first    *probe.Snapshot
	last     *probe.Snapshot
	settled  *probe.Snapshot // nil: not yet
	interval time.Duration   // between the last two snapshots
	tracks   map[Key]*track
	timeline timeline
}

// track is one series over time.
type track struct {
	now    probe.Series
	before probe.Account
	step   *hdrhistogram.Histogram   // delays of the last interval; nil: none
	window []*hdrhistogram.Histogram // cumulative, of the last intervals, oldest first
	past   []float64
}

// NewRecorder returns one that has begun with a first snapshot.
func NewRecorder(first *probe.Snapshot) *Recorder {
	r := &Recorder{started: first.At, first: first, last: first, tracks: map[Key]*track{}}
	for i := range first.Series {
		r.track(&first.Series[i])
	}
	return r
}

func (r *Recorder) track(s *probe.Series) *track {
	t := r.tracks[KeyOf(s)]
	if t == nil {
		t = &track{}
		r.tracks[KeyOf(s)] = t
	}
	t.before, t.now = t.now.Account, *s
	return t
}

// Add takes the next snapshot. The Recorder keeps its histograms; nobody may change them.
func (r *Recorder) Add(s *probe.Snapshot) {
	r.interval = s.At.Sub(r.last.At)
	start := r.last.At.Sub(r.started)
	r.last = s
	column := r.timeline.begin(start, r.interval)
	for i := range s.Series {
		t := r.track(&s.Series[i])
		t.advance()
		column.add(KeyOf(&s.Series[i]), t)
	}
	r.timeline.bound()
}

// advance moves the window on by an interval.
func (t *track) advance() {
	var previous *hdrhistogram.Histogram
	if len(t.window) > 0 {
		previous = t.window[len(t.window)-1]
	}
	if t.step = histogram.Since(t.now.Delay, previous); t.step.TotalCount() == 0 {
		t.step = nil
	}
	t.window = append(t.window, t.now.Delay)
	t.window = t.window[max(0, len(t.window)-recently-1):]
	p99 := 0.0
	if t.step != nil {
		p99 = float64(t.step.ValueAtPercentile(99))
	}
	t.past = append(t.past, p99)
	t.past = t.past[max(0, len(t.past)-pastShown):]
}

// Settle takes a snapshot that was taken after the end, when nothing is let in any more,
// while what was inside left: it belongs to no interval.
func (r *Recorder) Settle(s *probe.Snapshot) {
	r.settled = s
	for i := range s.Series {
		r.track(&s.Series[i])
	}
}

// Points are those of the last snapshot, without what had left before the first one and
// so could not be matched, and with what left since Settle.
func (r *Recorder) Points() []probe.PointCount {
	points := slices.Clone(r.last.Points)
	for i := range points {
		x := &points[i]
		now := x
		if r.settled != nil {
			if p := pointOf(r.settled, x.Point); p != nil && p.Packets >= x.Packets {
				now = p
			}
		}
		before := uint64(0)
		if p := pointOf(r.first, x.Point); p != nil { // if not, it made room for others
			before = min(p.Unmatched, x.Unmatched) // one that was left and came again counts from 0
		}
		points[i] = settledPoint(x, now, before)
	}
	return points
}

// settledPoint is what a point had at the end, when it is x, and after it, when it is now:
// what comes out then without having been let in was never asked for.
func settledPoint(x, now *probe.PointCount, before uint64) probe.PointCount {
	p := *x
	p.Unmatched -= before
	p.AmbiguousOut = now.AmbiguousOut
	p.Packets = now.Packets - now.Unmatched + p.Unmatched
	return p
}

func pointOf(s *probe.Snapshot, point probe.Point) *probe.PointCount {
	if i := slices.IndexFunc(s.Points, func(p probe.PointCount) bool { return p.Point == point }); i >= 0 {
		return &s.Points[i]
	}
	return nil
}

// Total is the account of all series.
func (r *Recorder) Total() probe.Account {
	var all probe.Account
	for _, t := range r.tracks {
		all = Sum(all, t.now.Account)
	}
	return all
}

// keys lists the series, in their order.
func (r *Recorder) keys() []Key {
	keys := make([]Key, 0, len(r.tracks))
	for k := range r.tracks {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.Compare)
	return keys
}

// Live returns the series as they are now, in their order.
func (r *Recorder) Live() []Live {
	var all []Live
	for _, k := range r.keys() {
		t := r.tracks[k]
		l := Live{Key: k, Account: t.now.Account, Past: t.past}
		if seconds := r.interval.Seconds(); seconds > 0 {
			packets, octets := t.now.Seen()
			packetsBefore, octetsBefore := t.before.Seen()
			l.PPS = float64(packets-packetsBefore) / seconds
			l.BPS = 8 * float64(octets-octetsBefore) / seconds
		}
		if len(t.window) > 0 {
			oldest := t.window[0]
			if len(t.window) <= recently { // all since the start
				oldest = nil
			}
			l.Recent = histogram.Since(t.now.Delay, oldest)
		}
		all = append(all, l)
	}
	return all
}

// Elapsed is the time from the first snapshot to the last one.
func (r *Recorder) Elapsed() time.Duration { return r.last.At.Sub(r.started) }

// Result returns what was measured so far: series, points, timeline. The rest is the
// caller's to fill in. Delays of a series of which more than maxAmbiguous (a ratio) of
// its packets are ambiguous are withheld.
//
// Errors: those of encoding histograms.
func (r *Recorder) Result(maxAmbiguous float64) (*Result, error) {
	result := &Result{Schema: Schema, Started: r.started.UTC(), DurationNS: int64(r.Elapsed())}
	result.Settings.MaxAmbiguous = maxAmbiguous
	index := map[Key]int{}
	for _, k := range r.keys() {
		s, err := NewSeries(&r.tracks[k].now, maxAmbiguous)
		if err != nil {
			return nil, err
		}
		index[k] = len(result.Series)
		result.Series = append(result.Series, s)
	}
	result.Timeline = r.timeline.export(index)
	result.judge()
	return result, nil
}

// NewSeries says what a snapshot has of a series. Its delays are withheld if more than
// maxAmbiguous of its packets (a ratio) are ambiguous.
func NewSeries(s *probe.Series, maxAmbiguous float64) (Series, error) {
	delays, err := histogram.Encode(s.Delay)
	if err != nil {
		return Series{}, err
	}
	a := s.Account
	return Series{
		UPF: s.UPF, Slice: s.Slice, Direction: s.Direction.String(),
		In: a.In, Matched: a.Matched, Lost: a.Lost, InFlight: a.InFlight, Ambiguous: a.Ambiguous, Evicted: a.Evicted, Octets: a.Octets,
		Untimed: a.Untimed, UntimedOctets: a.UntimedOctets,
		DelayNS: delayOf(s.Delay), Histogram: delays, Withheld: withheld(a, maxAmbiguous), Parts: newParts(s.Parts),
	}, nil
}
