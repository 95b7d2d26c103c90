package labcmd

import "testing"

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
