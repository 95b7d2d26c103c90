package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/plumbline-upf/plumbline/probe/rematch"
)

// TestRematchOfExactPairs measures bursts through a UPF, and has the exact pairs judged as
// if they were a published trace: what rematch holds for certain of the times alone agrees
// with what the probe knows of the packets.
func TestRematchOfExactPairs(t *testing.T) {
	const bursts, each = 400, 5
	b := newProbeBed(t)
	path := filepath.Join(b.dir, "pairs.csv")
	p := b.measure("--published-csv", path, "--timeout", "5s")
	number := uint32(0)
	for range bursts {
		burst := make([]uint32, each)
		for i := range burst {
			burst[i], number = number, number+1
		}
		b.send(burst...)
		b.arrive(each)
	}
	p.stop()

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := rematch.Read(f, rematch.Options{Window: rematch.MaxWindow})
	if err != nil {
		t.Fatal(err)
	}
	if r.Format != rematch.CSV || len(r.Slices) != 1 || r.Ignored != 0 {
		t.Fatalf("got %+v", r)
	}
	s := r.Slices[0]
	if s.Written.Pairs != bursts*each || s.Exits != bursts*each || s.Strangers+s.Late+s.Forgotten+s.TooLong+s.Disagree != 0 {
		t.Errorf("got %+v", s)
	}
	if s.Only.Differing != 0 || s.Only.Pairs != s.Candidates.One {
		t.Errorf("of exits with one candidate %d are not what the probe knows: %+v", s.Only.Differing, s.Only)
	}
	for _, q := range []struct {
		name   string
		exact  int64
		bounds rematch.Range
	}{{"P50", s.Written.P50NS, s.Bounds.P50}, {"P90", s.Written.P90NS, s.Bounds.P90}, {"P99", s.Written.P99NS, s.Bounds.P99}} {
		// What a histogram gives is the end of a step of 1 %.
		if exact := float64(q.exact); exact < float64(q.bounds.From) || exact*0.99 > float64(q.bounds.To) {
			t.Errorf("%s: %d ns is outside of the bounds %+v", q.name, q.exact, q.bounds)
		}
	}
	t.Logf("several candidates: %.1f %%; nearest not as written: %.1f %%, oldest first %.1f %%; P50 %d ns, nearest %d, bounds %+v",
		100*s.Candidates.Share(), 100*float64(s.Nearest.Differing)/(bursts*each), 100*float64(s.OldestFirst.Differing)/(bursts*each), s.Written.P50NS, s.Nearest.P50NS, s.Bounds.P50)
}
