package export

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe/n4"
)

// TestNewN4 wants what points count in the result, and the sums of them.
func TestNewN4(t *testing.T) {
	got := NewN4(&n4.Snapshot{
		Points: []n4.PointCount{
			{Point: n4.Point{Device: "n4"}, Datagrams: 9, Messages: 10, Fragments: 2, Malformed: 1, Orphans: 3, Lost: 4},
			{Point: n4.Point{UPF: 1, Device: "lo"}, Fragments: 3, Lost: 5},
		},
		Learnt: n4.Learnt{Sessions: 6, Full: 7, Refused: 8},
	}, []string{"a"})
	want := &N4{Sessions: 6, Refused: 15, Messages: []N4Messages{}, Points: []N4Point{
		{UPF: "a", Device: "n4", Datagrams: 9, Messages: 10, Fragments: 2, Malformed: 1, Orphans: 3, Lost: 4},
		{Device: "lo", Fragments: 3, Lost: 5},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Fragments() != 5 || got.Lost() != 9 {
		t.Errorf("got %d fragments, %d lost, want 5 and 9", got.Fragments(), got.Lost())
	}
}
