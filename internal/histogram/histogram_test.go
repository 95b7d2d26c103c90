package histogram

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// of makes a histogram of values.
func of(t *testing.T, values ...int64) *hdrhistogram.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, 1<<36-1, 2)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestEncode(t *testing.T) {
	for _, h := range []*hdrhistogram.Histogram{nil, of(t)} {
		if text, err := Encode(h); text != "" || err != nil {
			t.Errorf("%v: got %q, %v, want no text: nothing is in it", h, text, err)
		}
	}
	h := of(t, 1, 1000, 70_000)
	text, err := Encode(h)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hdrhistogram.Decode([]byte(text)); err != nil || !got.Equals(h) {
		t.Errorf("%s: got %v, %v, want what was encoded", text, got, err)
	}
}

func TestSince(t *testing.T) {
	for _, tc := range []struct {
		name              string
		now, before, want *hdrhistogram.Histogram
	}{
		{"no earlier one", of(t, 7), nil, of(t, 7)},
		{"an empty one", of(t, 7), of(t), of(t, 7)},
		{"more", of(t, 7, 7, 1000, 90_000), of(t, 7, 1000), of(t, 7, 90_000)},
		{"nothing new", of(t, 7, 1000), of(t, 7, 1000), of(t)},
	} {
		if got := Since(tc.now, tc.before); !got.Equals(tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got.Export(), tc.want.Export())
		}
	}
}

// TestSinceChangesNothing: both states can be used again.
func TestSinceChangesNothing(t *testing.T) {
	now, before := of(t, 7, 8, 9), of(t, 7)
	Since(now, before)
	if !now.Equals(of(t, 7, 8, 9)) || !before.Equals(of(t, 7)) {
		t.Errorf("got %v and %v, want them as they were", now.Export(), before.Export())
	}
}
