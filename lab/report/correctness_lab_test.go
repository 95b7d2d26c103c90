package report

import (
	"strings"
	"testing"
	"time"
)

// TestCorrectnessLab wants a valid result with each system's figures in the cells of
// their directions, and what was refused said.
func TestCorrectnessLab(t *testing.T) {
	good := &Correctness{
		System: "A", Started: time.Now().UTC(), Host: sampleLab(t).Host,
		Rates: []RateFigure{
			{Direction: Uplink, Protocol: "UDP", AskedBPS: 64_000, ErrorPercent: -0.5, Reached: true},
			{Direction: Downlink, Protocol: "TCP", AskedBPS: 1e9, ErrorPercent: 2, Reached: true},
		},
		Volumes:  []VolumeFigure{{Direction: Uplink, AskedPPS: 1000, ErrorPPM: -3}, {Direction: Uplink}, {Direction: Uplink, AskedPPS: 100_000, MBR: true}},
		Limits:   []LimitFigure{{Direction: Downlink, Kind: "quota", OverPackets: -0.2}},
		Effects:  []EffectFigure{{Kind: "drop", Repeats: 2, LastOldNS: -5}, {Kind: "path switch", Repeats: 4, EndMarkers: 3, GapNS: 9}},
		Buffers:  []BufferFigure{{Lost: 1}},
		Restarts: []RestartFigure{{OutageNS: 5e8, Repeats: 4, Kept: 1}},
	}
	bad := &Correctness{System: "B", Started: good.Started, Unmeasured: []Unmeasured{{"rate", "MBR 64 kbit/s uplink", "Request rejected: refused"}}}
	l := CorrectnessLab([]*Correctness{good, bad}, good.Started.Add(time.Minute))
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := LabTable(&table, l); err != nil || strings.Contains(table.String(), "unfinished") {
		t.Errorf("%v, want a result that is finished:\n%s", err, &table)
	}
	if len(l.Turns) != 3 || l.Turns[2].System != "B" || l.Turns[2].Failed != "MBR 64 kbit/s uplink: Request rejected: refused" {
		t.Fatalf("got turns %+v", l.Turns)
	}
	for _, want := range []struct {
		turn  int
		name  string
		value float64
	}{
		{0, "MBR error at 64 kbit/s, UDP", 0.5}, {0, "URR error at 1 kpps", 3}, {0, "URR error above an MBR", 0},
		{1, "MBR error at 1,000,000 kbit/s, TCP", 2}, {1, "quota overshoot at the highest rate", 0}, {1, "rule to drop: effective after the response", -5},
		{1, "rule to path switch: without End Marker at the end", 0.25}, {1, "restart: outage", 5e8}, {1, "restart: sessions lost", 0.75},
	} {
		if f := l.Turns[want.turn].Figure(want.name); f == nil || f.Value != want.value {
			t.Errorf("%s: got %+v, want %g", want.name, f, want.value)
		}
	}
}

// TestJudgeRate tells what an MBR does from what a UPF loses anyway.
func TestJudgeRate(t *testing.T) {
	for _, tc := range []struct {
		name         string
		passed, free float64 // of an MBR of 100, at 130
		want         string
		figure       bool
	}{
		{"policer with long sleeps", 5.5, 129, "", true},
		{"too much, but less than all", 124.5, 130, "", true},
		{"no policer", 129.8, 130, "not enforced", false},
		{"no policer, overloaded", 108.75, 109, "not enforced", false},
		{"exceeded by little", 103, 140, "", true},
		{"exceeded by little, and the path carries little more", 103, 105, "", true},
		{"exceeded by little, and the path carries no more", 103, 103.5, "not known", false},
		{"exceeded by more than the path carried then", 103, 99, "not known", false},
		{"overloaded", 64, 66, "lost without it", false},
		{"overloaded with the policer's work", 64, 130, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := RateFigure{Direction: Uplink, Protocol: "UDP", AskedBPS: 100e6, OfferedBPS: 130e6, PassedBPS: tc.passed * 1e6, ErrorPercent: tc.passed - 100, Reached: true}
			f.Judge(tc.free*1e6, 0.97)
			if got := f.Unknown(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			r := &Correctness{System: "A", Rates: []RateFigure{f}}
			if got := len(r.figures(Uplink)) == 1; got != tc.figure {
				t.Errorf("a figure: %v, want %v", got, tc.figure)
			}
			var table strings.Builder
			if err := CorrectnessTable(&table, r); err != nil || !strings.Contains(table.String(), tc.want) || !tc.figure && !strings.Contains(r.notDone(), tc.want) {
				t.Errorf("%v, %q, want %q in\n%s", err, r.notDone(), tc.want, &table)
			}
		})
	}
}
