package export

import (
	"bytes"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// TestIntervalLog: the tools of HdrHistogram read each interval, with no delay of
// another one in it.
func TestIntervalLog(t *testing.T) {
	r := NewRecorder(snapshot(0, delays()))
	var b bytes.Buffer
	l, err := NewIntervalLog(&b, r)
	if err != nil {
		t.Fatal(err)
	}
	h := delays()
	for i, ns := range []int64{1000, 0, 5000} {
		if ns > 0 {
			if err := h.RecordValues(ns, int64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		r.Add(snapshot(float64(i+1), h.Clone()))
		if err := l.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	read := hdrhistogram.NewHistogramLogReader(&b)
	for _, want := range []struct {
		startMs, count, ns int64
	}{{0, 1, 1000}, {2000, 3, 5000}} {
		got, err := read.NextIntervalHistogram()
		if err != nil || got == nil {
			t.Fatalf("got %v, %v, want a histogram", got, err)
		}
		if since := got.StartTimeMs() - start.UnixMilli(); since != want.startMs || got.TotalCount() != want.count || !got.ValuesAreEquivalent(got.Max(), want.ns) {
			t.Errorf("got %d of up to %d ns after %d ms, want %+v", got.TotalCount(), got.Max(), since, want)
		}
		if got.Tag() != "a-embb-uplink" {
			t.Errorf("got the tag %q", got.Tag())
		}
	}
	if got, err := read.NextIntervalHistogram(); got != nil || err != nil {
		t.Errorf("got %v, %v, want the end", got, err)
	}
}

// TestFileName: whatever a slice is called, its name can be that of a file or tag.
func TestFileName(t *testing.T) {
	if got, want := (Key{UPF: "a/../b", Slice: "x,y z\n"}).FileName(), "a____b-x_y_z_-uplink"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
