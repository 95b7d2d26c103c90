package export

import (
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe"
)

// start is when all recordings of the tests begin.
var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// delays makes a histogram as probes have them.
func delays(ns ...int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, 1<<36-1, 2)
	for _, v := range ns {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return h
}

// snapshot is one of a single series whose packets all left, after some seconds.
func snapshot(seconds float64, h *hdrhistogram.Histogram) *probe.Snapshot {
	n := uint64(h.TotalCount())
	return &probe.Snapshot{
		At: start.Add(time.Duration(seconds * float64(time.Second))),
		Series: []probe.Series{{
			UPF: "a", Slice: "embb", Direction: probe.Uplink, Account: probe.Account{In: n, Matched: n, Octets: 100 * n}, Delay: h,
		}},
	}
}

func TestLive(t *testing.T) {
	r := NewRecorder(snapshot(0, delays()))
	r.Add(snapshot(1, delays(1000)))
	r.Add(snapshot(1.5, delays(1000, 2000, 2000)))
	live := r.Live()
	if len(live) != 1 {
		t.Fatalf("got %d series, want 1", len(live))
	}
	l := live[0]
	if l.PPS != 4 || l.BPS != 3200 {
		t.Errorf("got %v packets, %v bit a second, want 4, 3200: of the last interval alone", l.PPS, l.BPS)
	}
	if got := l.Recent.TotalCount(); got != 3 {
		t.Errorf("got %d delays of late, want all 3 since the start", got)
	}
	if want := []float64{1003, 2007}; !cmp.Equal(l.Past, want) {
		t.Errorf("got %v, want %v: p99 of each interval", l.Past, want)
	}
}

// TestLiveForgets: what was long ago is not of late.
func TestLiveForgets(t *testing.T) {
	r := NewRecorder(snapshot(0, delays()))
	var all []int64
	for i := range 30 {
		v := int64(1000)
		if i == 0 {
			v = 1e9
		}
		all = append(all, v)
		r.Add(snapshot(float64(i+1), delays(all...)))
	}
	l := r.Live()[0]
	if got := l.Recent.TotalCount(); got != recently {
		t.Errorf("got %d delays of late, want those of %d intervals", got, recently)
	}
	if got := l.Recent.Max(); got > 1100 {
		t.Errorf("got %d ns as the highest of late, want that of the first interval forgotten", got)
	}
}

// TestResult: the account is the last one, and no packet is counted twice or lost in the
// timeline, however many intervals become one column.
func TestResult(t *testing.T) {
	for _, intervals := range []int{1, 2, maxColumns, maxColumns + 1, 10*maxColumns + 7} {
		r := NewRecorder(snapshot(0, delays()))
		h := delays()
		for i := range intervals {
			if err := h.RecordValue(int64(i + 1)); err != nil {
				t.Fatal(err)
			}
			r.Add(snapshot(float64(i+1), h.Clone()))
		}
		result, err := r.Result(0.01)
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Series[0].Matched; got != uint64(intervals) {
			t.Errorf("%d intervals: got %d matched", intervals, got)
		}
		if n := len(result.Timeline.Columns); n > maxColumns {
			t.Errorf("%d intervals: got %d columns, want %d at most", intervals, n, maxColumns)
		}
		var cells, bins uint64
		next := int64(0)
		for _, c := range result.Timeline.Columns {
			if c.StartNS != next {
				t.Errorf("%d intervals: a column begins at %d, want %d, where the one before ends", intervals, c.StartNS, next)
			}
			next = c.StartNS + c.DurationNS
			for _, cell := range c.Cells {
				cells += cell.Matched
				for _, pair := range cell.Bins {
					bins += pair[1]
				}
			}
		}
		if cells != uint64(intervals) || bins != uint64(intervals) || next != result.DurationNS {
			t.Errorf("%d intervals: the timeline has %d packets, %d in bins, to %d ns of %d", intervals, cells, bins, next, result.DurationNS)
		}
	}
}

func TestSettle(t *testing.T) {
	r := NewRecorder(snapshot(0, delays()))
	r.Add(snapshot(1, delays(1000)))
	r.Settle(snapshot(9, delays(1000, 1000)))
	result, err := r.Result(0.01)
	if err != nil {
		t.Fatal(err)
	}
	if result.Series[0].Matched != 2 || result.DurationNS != 1e9 || len(result.Timeline.Columns) != 1 {
		t.Errorf("got %d matched in %d ns, %d columns, want 2, and the time that was measured", result.Series[0].Matched, result.DurationNS, len(result.Timeline.Columns))
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		name    string
		account probe.Account
		usable  bool
		want    []string
	}{
		{"all left", probe.Account{In: 100, Matched: 100}, true, nil},
		{"few ambiguous", probe.Account{In: 100, Matched: 99, Ambiguous: 1}, true, nil},
		{"many ambiguous", probe.Account{In: 100, Matched: 98, Ambiguous: 2}, false,
			[]string{"a, slice -, uplink: 2.00 % of the packets could not be told apart, more than 1 %: its delays are withheld"}},
		{"not balanced", probe.Account{In: 100, Matched: 99}, false, []string{"a, slice -, uplink: 100 packets came in, 99 are accounted for"}},
		{"no room", probe.Account{In: 100, Matched: 99, Evicted: 1}, true,
			[]string{"a, slice -, uplink: 1 packets were forgotten for want of room: their delays are missing"}},
	} {
		s := &probe.Snapshot{At: start, Series: []probe.Series{{UPF: "a", Account: tc.account, Delay: delays(1)}}}
		result, err := NewRecorder(s).Result(0.01)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, result.Warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if got := result.Usable() == nil; got != tc.usable {
			t.Errorf("%s: got usable %v, want %v", tc.name, got, tc.usable)
		}
	}
}

// TestBins: each value is in one bin, bins follow each other without a gap, and a bin is
// whole bars of the histogram.
func TestBins(t *testing.T) {
	end := int64(0)
	for bin := BinOf(0); bin < 36<<binBits; bin++ {
		low, high := BinBounds(bin)
		if end != 0 && low != end || high <= low {
			t.Fatalf("bin %d is from %d to %d, the one before ends at %d", bin, low, high, end)
		}
		end = high
		if BinOf(low) != bin || BinOf(high-1) != bin {
			t.Errorf("bin %d has %d to %d, which are in %d and %d", bin, low, high-1, BinOf(low), BinOf(high-1))
		}
	}
	for _, bar := range delays(1).Distribution() {
		if bar.From >= 1<<binBits && BinOf(bar.From) != BinOf(bar.To) {
			t.Errorf("the bar from %d to %d is in bins %d and %d", bar.From, bar.To, BinOf(bar.From), BinOf(bar.To))
		}
	}
}

// TestPointsThatMakeRoom: a point is compared with itself, wherever it stands by now, and
// one that has begun again with nothing.
func TestPointsThatMakeRoom(t *testing.T) {
	at := func(device string, packets, unmatched uint64) probe.PointCount {
		return probe.PointCount{Point: probe.Point{Device: device, Way: probe.Out}, Packets: packets, Unmatched: unmatched}
	}
	first, last := snapshot(0, delays()), snapshot(1, delays())
	first.Points = []probe.PointCount{at("left", 9, 9), at("stays", 5, 2), at("again", 7, 7)}
	last.Points = []probe.PointCount{at("stays", 8, 3), at("new", 1, 1), at("again", 4, 3)}
	r := NewRecorder(first)
	r.Add(last)
	want := []probe.PointCount{at("stays", 6, 1), at("new", 1, 1), at("again", 1, 0)}
	if diff := cmp.Diff(want, r.Points()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPointsSettled: of what passed after the end, points tell of what had come in before,
// as the series do.
func TestPointsSettled(t *testing.T) {
	in := func(packets, foreign uint64) probe.PointCount {
		return probe.PointCount{Point: probe.Point{Device: "n3", Way: probe.In}, Packets: packets, Foreign: foreign}
	}
	out := func(packets, ambiguous, unmatched uint64) probe.PointCount {
		return probe.PointCount{Point: probe.Point{Device: "n6", Way: probe.Out}, Packets: packets, AmbiguousOut: ambiguous, Unmatched: unmatched}
	}
	first, last, settled := snapshot(0, delays()), snapshot(1, delays()), snapshot(2, delays())
	first.Points = []probe.PointCount{in(0, 0), out(2, 0, 2)}
	last.Points = []probe.PointCount{in(10, 1), out(9, 1, 3)}      // 5 matched
	settled.Points = []probe.PointCount{in(12, 1), out(24, 2, 12)} // 10 matched, 9 had come in too late
	r := NewRecorder(first)
	r.Add(last)
	r.Settle(settled)
	want := []probe.PointCount{in(12, 1), out(13, 2, 1)}
	if diff := cmp.Diff(want, r.Points()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
