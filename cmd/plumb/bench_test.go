package main

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

func TestFrameRate(t *testing.T) {
	for _, tc := range []struct {
		in    string
		want  frameRate
		fails bool
	}{
		{in: "max", want: 0},
		{in: "900kpps", want: 900_000},
		{in: "1.5Mpps", want: 1_500_000},
		{in: "17pps", want: 17},
		{in: "1000Mpps", want: 1e9},
		{in: "1001Mpps", fails: true},
		{in: "0pps", fails: true},
		{in: "0.1pps", fails: true},
		{in: "-1pps", fails: true},
		{in: "NaNpps", fails: true},
		{in: "900", fails: true},
		{in: "900k", fails: true},
		{in: "kpps", fails: true},
		{in: "", fails: true},
	} {
		var got frameRate
		err := got.UnmarshalText([]byte(tc.in))
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%q: got %d, %v; want %d, error %v", tc.in, got, err, tc.want, tc.fails)
		}
	}
}

func TestProgressLine(t *testing.T) {
	step := report.Step{Name: "uplink", Expected: 4 * time.Second, Before: 2 * time.Second, Total: 8 * time.Second}
	for _, tc := range []struct {
		name    string
		step    report.Step
		elapsed time.Duration
		want    string
	}{
		{"at its start", step, 0, "[=======                     ]  25 %  6s left  uplink"},
		{"in the middle", step, 2 * time.Second, "[==============              ]  50 %  4s left  uplink"},
		{"longer than expected", step, time.Minute, "[=====================       ]  75 %  2s left  uplink"},
		{"before the first", report.Step{}, 0, ""},
	} {
		if got := progressLine(tc.step, tc.elapsed); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}
