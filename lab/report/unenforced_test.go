package report

import (
	"strings"
	"testing"
	"time"
)

// TestUnenforced wants frames that are wrong only in what a UPF is known not to enforce in
// tables and rows, apart from misdelivered ones, and counted as no fault.
func TestUnenforced(t *testing.T) {
	l := sampleLab(t)
	known := map[string]uint64{"no_qfi": 1200}
	var system string
	for i := range l.Turns {
		if trials := l.Turns[i].Trials; len(trials) > 0 {
			trials[0].UnenforcedBy, system = known, l.Turns[i].System
			break
		}
	}
	v := &labView{Lab: l}
	before := v.trialsOf(system).wrong()
	text := v.correctness()
	for _, want := range []string{", 1,200 wrong only in what is not enforced (1,200 no_qfi)", "; " + system + ": "} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
	if got := v.trialsOf(system).wrong(); got != before {
		t.Errorf("got %d wrong frames, want %d", got, before)
	}
	rows, unenforced := l.trialRows(), int64(0)
	for i := range rows {
		unenforced += rows[i].Unenforced
	}
	if unenforced != 1200 {
		t.Errorf("rows: got %d frames, want 1200", unenforced)
	}
}

// TestNotEnforced wants what is known of a UPF beside its figures, in the table and in what
// compares several.
func TestNotEnforced(t *testing.T) {
	c := &Correctness{
		System: "UPG", Started: time.Now().UTC(), Host: sampleLab(t).Host, Rates: []RateFigure{{Direction: Uplink, Protocol: "UDP", AskedBPS: 64_000, Reached: true}},
		NotEnforced: []string{"QFI: none.", "Buffering."}, UnenforcedBy: map[string]uint64{"no_qfi": 7},
	}
	var b strings.Builder
	if err := CorrectnessTable(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"QFI: none. Buffering.", "7 wrong only in what is not enforced (7 no_qfi)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, &b)
		}
	}
	l := CorrectnessLab([]*Correctness{c}, c.Started.Add(time.Minute))
	if got := l.Plan.Options["not enforced"]; got != "UPG: QFI: none. Buffering." {
		t.Errorf("got %q", got)
	}
	if err := l.Validate(); err != nil {
		t.Error(err)
	}
}
