package system

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
)

// TestBurst wants so many frames sent as asked for, as fast as possible, and behind a
// warm-up at another rate without a pause.
func TestBurst(t *testing.T) {
	s := newSystem(t, Config{Name: "burst", Bed: BedXDP})
	establish(t, s, 10, Rules{})
	open(t, s, generator.Uplink)
	const frames = 12_345
	trials := send(t, s, Load{Frames: frames, Duration: 5 * time.Second})
	if trials[0].OfferedFrames != frames || trials[0].ReceivedFrames != frames {
		t.Errorf("%d offered, %d received, want %d", trials[0].OfferedFrames, trials[0].ReceivedFrames, frames)
	}
	told := 0
	trials = send(t, s, Load{
		Rate: 50_000, WarmUpRate: 200_000, WarmUp: 100 * time.Millisecond, Frames: frames, Duration: 5 * time.Second,
		OnLoss: func(l Loss) {
			if !l.Unknown {
				told++
			}
		},
	})
	if trials[0].OfferedFrames != frames || trials[0].ReceivedFrames != frames || told != 0 {
		t.Errorf("after an overload: %d offered, %d received, %d losses, want %d and none", trials[0].OfferedFrames, trials[0].ReceivedFrames, told, frames)
	}
}

// TestLosses wants losses to be told by when their frames were due.
func TestLosses(t *testing.T) {
	s := newSystem(t, Config{Name: "losses", Bed: BedXDP})
	establish(t, s, 1, Rules{})
	open(t, s, generator.Uplink)
	lane := s.lanes[0]
	if err := s.attach(lane); err != nil {
		t.Fatal(err)
	}
	var got []Loss
	f := &follower{pass: &pass{lane: lane, first: []uint64{0}}, tell: func(l Loss) { got = append(got, l) }, rate: 1000}
	run := func(frames uint64) {
		t.Helper()
		if _, err := lane.generator.Run(t.Context(), generator.Load{Frames: frames, CPU: -1}); err != nil {
			t.Fatal(err)
		}
		if _, err := drained(t.Context(), lane.at); err != nil {
			t.Fatal(err)
		}
	}
	run(10)
	if err := s.bed.Close(); err != nil { // nobody forwards any more
		t.Fatal(err)
	}
	run(5)
	var err error
	if s.bed, err = s.topology.AttachBed(); err != nil {
		t.Fatal(err)
	}
	run(20)
	if err := f.look(20); err != nil {
		t.Fatal(err)
	}
	f.pass.sent.Sent = 38 // three that were due never came
	if err := f.finish(); err != nil {
		t.Fatal(err)
	}
	want := []Loss{
		{lane.direction, 10 * time.Millisecond, 5 * time.Millisecond, 5, false},
		{lane.direction, 35 * time.Millisecond, 3 * time.Millisecond, 3, false},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
