package meter

import (
	"testing"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

func TestArrived(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-arrived"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Uplink, false)
	const far = 3*window + 40 // in the word of 40
	feed(t, m, bed, []uint64{0, 1, 40, 70, far})
	a, err := m.Arrived(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sequence       uint64
		arrived, known bool
	}{
		{0, true, true}, {1, true, true}, {2, false, true}, {70, true, true}, {71, false, true}, // nothing came in their words' place
		{40, false, false}, {41, false, false}, {far - window, false, false},
		{far, true, true}, {far + 1, false, true}, {far - 1, false, true}, {far + 64, false, true},
	} {
		if arrived, known := a.Has(tc.sequence); arrived != tc.arrived || known != tc.known {
			t.Errorf("%d: got %v, known %v, want %v, %v", tc.sequence, arrived, known, tc.arrived, tc.known)
		}
	}
}
