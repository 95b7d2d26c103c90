package main

import (
	"testing"
	"time"
)

// TestQuickKeeps wants --quick to change what is not given, and nothing else.
func TestQuickKeeps(t *testing.T) {
	for _, quick := range []bool{false, true} {
		soak, bursts := labSoakCommand{labRun: labRun{Quick: quick}}, labBackToBackCommand{labRun: labRun{Quick: quick}}
		wantTime, wantTests := 10*time.Minute, 10
		if quick {
			wantTime, wantTests = 3*time.Second, 2
		}
		if got := *soak.usualTime(); got != wantTime {
			t.Errorf("quick %v: soak of %v, want %v", quick, got, wantTime)
		}
		if got := *bursts.usualTests(); got != wantTests {
			t.Errorf("quick %v: %d tests, want %d", quick, got, wantTests)
		}
	}
	given, tests := 6*time.Second, 0
	soak := labSoakCommand{labRun: labRun{Quick: true}, Time: &given}
	bursts := labBackToBackCommand{labRun: labRun{Quick: true}, Tests: &tests, Step: 1}
	interval := 7 * time.Second // more than the time: refused with what was given
	soak.Duration, bursts.Duration = &interval, &given
	for what, err := range map[string]error{
		"--time 6s: want 7s to 720h0m0s, and 2000 intervals (--duration) at most": soak.Run(t.Context(), nil),
		"--tests 0: want 1 to 1000": bursts.Run(t.Context(), nil),
	} {
		if err == nil || err.Error() != what {
			t.Errorf("got %v, want %s", err, what)
		}
	}
}
