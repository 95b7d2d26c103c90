package system

import (
	"testing"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// TestQFIs: the sessions of each slice have its QFI, that which was asked for or the next.
func TestQFIs(t *testing.T) {
	r := Rules{Slices: 3}
	r.QFIs[0], r.QFIs[2] = 5, 63
	if got := r.String(); got != "3 slices, QFI 5 10 63" {
		t.Errorf("got %q", got)
	}
	want := []uint8{5, 5, 10, 10, 63, 63}
	for i, s := range towards(report.Downlink, make([]n4load.Session, len(want)), r) {
		if s.QFI != want[i] {
			t.Errorf("session %d: got QFI %d, want %d", i, s.QFI, want[i])
		}
	}
	if got := (Rules{Slices: 3}).String(); got != "3 slices, each with its own QFI" {
		t.Errorf("got %q", got)
	}
}
