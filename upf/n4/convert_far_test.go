package n4

import (
	"math"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestBufferingDuration: a timer of unit 7 has no end, whatever its value. Source: TS
// 29.244 V18.6.0, 8.2.29.
func TestBufferingDuration(t *testing.T) {
	for _, tc := range []struct {
		in   pfcp.Timer
		want time.Duration
	}{
		{0, 0}, {pfcp.NewTimer(time.Hour), time.Hour}, {pfcp.TimerInfinite, math.MaxInt64}, {pfcp.TimerInfinite | 3, math.MaxInt64},
	} {
		got := bufferingDuration(&pfcp.BAR{BufferingDuration: pfcp.Some(tc.in)})
		if !got.Present || got.Value != tc.want {
			t.Errorf("%#02x: got %+v, want %v", tc.in, got, tc.want)
		}
	}
	if got := bufferingDuration(&pfcp.BAR{}); got.Present {
		t.Errorf("without the IE: got %+v, want none", got)
	}
}
