package system

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestRestart kills a UPF while frames flow both ways, and wants them to flow again,
// with a gap as long as frames were lost.
func TestRestart(t *testing.T) {
	s := newSystem(t, Config{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil)})
	establish(t, s, 20, Rules{Slices: 2})
	open(t, s, generator.Uplink, generator.Downlink)
	const rate, tries = 2000, 3
	duration := 3 * time.Second
	for range tries { // a busy machine may take long for a start
		trials, r := restartMeanwhile(t, s, At(rate, duration))
		if trials == nil || r.Restored.After(trials[0].Started.Add(duration-time.Second)) { // frames must come behind the gap
			duration *= 3
			continue
		}
		for _, trial := range trials {
			// The gap ends with the first session that is there again. Frames that were due while
			// the sender was held come late, and behind each other.
			lost, held := time.Duration(float64(time.Second)*float64(trial.OfferedFrames-trial.ReceivedFrames)/rate), time.Duration(trial.HeldNS)
			gap, ready, restored := time.Duration(trial.GapNS), r.Ready.Sub(r.Killed), r.Restored.Sub(r.Killed)
			if gap+held+restored-ready < lost*9/10 || gap > lost*11/10+held+100*time.Millisecond || min(gap, lost)+held < ready/2 {
				t.Errorf("%s: a gap of %v, and %v of frames lost, of a restart of %v, ready after %v; sender held for %v",
					trial.Direction, gap, lost, restored, ready, held)
			}
			if trial.Misdelivered > 0 {
				t.Errorf("%s: %d misdelivered", trial.Direction, trial.Misdelivered)
			}
		}
		break
	}
	for _, trial := range send(t, s, At(1000, 200*time.Millisecond)) {
		if trial.ReceivedFrames != trial.OfferedFrames {
			t.Errorf("after the restart, %s: %d of %d frames arrived", trial.Direction, trial.ReceivedFrames, trial.OfferedFrames)
		}
		assertClean(t, &trial)
	}
}

// restartMeanwhile makes a trial, and a restart once frames flow. There are no trials if none
// arrived until their end: not before the restart, nor behind it.
func restartMeanwhile(t *testing.T, s *System, load Load) (trials []report.Trial, r Restart) {
	t.Helper()
	err := s.Watch(t.Context(), func(ctx context.Context) error {
		var once sync.Once
		restarted := make(chan error, 1)
		load.Realtime, load.SampleEvery = true, 50*time.Millisecond
		load.OnSample = func(Sample) {
			once.Do(func() {
				go func() {
					var err error
					r, err = s.Restart(ctx)
					restarted <- err
				}()
			})
		}
		var err error
		trials, err = s.Trial(ctx, load)
		once.Do(func() { restarted <- nil }) // it has not begun
		return errors.Join(err, <-restarted)
	})
	if errors.Is(err, ErrNothing) {
		t.Log(err)
		return nil, r
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.Killed.Before(r.Ready) || !r.Ready.Before(r.Restored) {
		t.Errorf("got %+v, want one after the other", r)
	}
	return trials, r
}
