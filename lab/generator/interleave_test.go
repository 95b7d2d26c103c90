package generator

import (
	"math"
	"testing"
)

// TestEntries: streams have their shares, each evenly spread; sessions are those selected;
// QFIs and DSCPs have their weights to within one; trains are of one session.
func TestEntries(t *testing.T) {
	c := Config{Sessions: sessions(100, false), Seed: 3, Streams: []Stream{
		{Payloads: []int{64}, Share: 5, Access: Uniform, First: 20, Sessions: 30},
		{Payloads: []int{64}, Share: 2, Access: Each, QFI: []Weighted{{7, 3}, {8, 1}}, DSCP: []Weighted{{46, 0.1}, {0, 0.9}}},
		{Payloads: []int{64}, Share: 1, Access: Zipf, Train: 16, First: 90},
	}}
	order := c.entries()
	var counts [3]int
	var session [3]uint32
	var qfi, dscp [64]int
	for i, e := range order {
		s := &c.Streams[e.stream]
		if n := s.Sessions; int(e.session) < s.First || n > 0 && int(e.session) >= s.First+n {
			t.Fatalf("entry %d of stream %d: session %d", i, e.stream, e.session)
		}
		// Frame k of a stream is in the middle of its k-th part of the whole.
		want := (float64(counts[e.stream]) + 0.5) * 8 / s.Share
		if off := math.Abs(float64(i) + 0.5 - want); off > 3 {
			t.Fatalf("entry %d of stream %d: %.1f away from where it ought to be", i, e.stream, off)
		}
		if counts[2]%16 != 0 && e.stream == 2 && e.session != session[2] {
			t.Fatalf("frame %d of stream 2: session %d after %d: want trains of 16", counts[2], e.session, session[2])
		}
		if e.stream == 1 {
			qfi[e.qfi]++
			dscp[e.dscp]++
		} else if e.qfi != c.Sessions[e.session].QFI || e.dscp != 0 {
			t.Fatalf("entry %d: QFI %d, DSCP %d: want the session's, and 0", i, e.qfi, e.dscp)
		}
		counts[e.stream]++
		session[e.stream] = e.session
	}
	if n := len(order); counts[0] != n*5/8 || counts[1] != n*2/8 || counts[2] != n/8 || n < minPeriod {
		t.Errorf("got %v of %d frames, want 5 to 2 to 1", counts, n)
	}
	n := float64(counts[1])
	for _, w := range []struct {
		name string
		got  int
		part float64
	}{{"QFI 7", qfi[7], 0.75}, {"QFI 8", qfi[8], 0.25}, {"DSCP 46", dscp[46], 0.1}, {"DSCP 0", dscp[0], 0.9}} {
		if math.Abs(float64(w.got)-w.part*n) > 1 {
			t.Errorf("%s: got %d frames of %.0f, want %v", w.name, w.got, n, w.part)
		}
	}
}

// TestEntriesOfReplay: each session has as many places as the others, and the UEs of a file
// are different ones at any time.
func TestEntriesOfReplay(t *testing.T) {
	for _, n := range []int{6, 7, 10, 12} {
		const ues = 6
		c := Config{Sessions: sessions(n, false), Streams: []Stream{{Replay: []ReplayPacket{{UE: ues - 1}}, Access: Each}}}
		order, counts := c.entries(), map[uint32]int{}
		for base := 0; base < len(order); base += ues {
			at := map[uint32]bool{}
			for _, e := range order[base : base+ues] {
				at[e.session] = true
				counts[e.session]++
			}
			if len(at) != ues {
				t.Errorf("%d sessions: %d of them at once, want %d", n, len(at), ues)
			}
		}
		for session := range uint32(n) {
			if counts[session] != len(order)/n {
				t.Errorf("session %d of %d: got %d of %d places", session, n, counts[session], len(order))
			}
		}
	}
}

// TestEntriesOfEach: of one stream, every session has exactly as many frames in a period,
// with QFIs drawn besides.
func TestEntriesOfEach(t *testing.T) {
	for _, qfi := range [][]Weighted{nil, {{1, 1}, {2, 1}}} {
		c := Config{Sessions: sessions(300, false), Streams: []Stream{{Payloads: []int{64}, Access: Each, QFI: qfi}}}
		counts := make([]int, 300)
		order := c.entries()
		for _, e := range order {
			counts[e.session]++
		}
		for i, n := range counts {
			if n != len(order)/300 {
				t.Fatalf("session %d: got %d of %d frames, want %d", i, n, len(order), len(order)/300)
			}
		}
	}
}
