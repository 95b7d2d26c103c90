package export

import (
	"strings"
	"testing"
)

// TestJudgePlaces wants a direction that leaves past the points, and an N4 that is never seen,
// to be said, and only the former to be a failure.
func TestJudgePlaces(t *testing.T) {
	usual := func() *Result {
		return &Result{
			UPFs: []UPF{{Name: "upf"}},
			Points: []Point{
				{UPF: "upf", Device: "n3", Way: "in", Side: "N3", Packets: 100}, {UPF: "upf", Device: "n6", Way: "out", Side: "N6", Packets: 98},
				{UPF: "upf", Device: "n6", Way: "in", Side: "N6", Packets: 100}, {UPF: "upf", Device: "n3", Way: "out", Side: "N3", Packets: 98},
			},
			Series: []Series{
				{UPF: "upf", Direction: "uplink", In: 100, Matched: 98, Lost: 2}, {UPF: "upf", Direction: "downlink", In: 100, Matched: 98, Lost: 2},
			},
			N4: &N4{Points: []N4Point{{UPF: "upf", Device: "n4", Messages: 4}}},
		}
	}
	for _, tc := range []struct {
		name                   string
		change                 func(*Result)
		failure, warn, missing string
	}{
		{"all is well", func(*Result) {}, "", "", ""},
		{"packet sockets", func(r *Result) {
			r.Points[1].Packets, r.Series[0].Matched, r.Series[0].Lost = 0, 0, 100
			r.Points[2].Packets, r.Points[2].Unparsed, r.Series[1] = 0, 2041, Series{UPF: "upf", Direction: "downlink"}
		}, "100 packets that came in uplink none was seen to leave by n6", "2041 packets came in by n6, and none was a user packet", ""},
		{"a few packets, dropped", func(r *Result) {
			r.Points[1].Packets, r.Series[0].In, r.Series[0].Matched, r.Series[0].Lost = 0, 3, 0, 3
		}, "", "", ""},
		{"dropped, some still in flight", func(r *Result) {
			r.Points[1].Packets, r.Series[0].Matched, r.Series[0].Lost, r.Series[0].InFlight = 0, 0, 80, 20
		}, "100 packets that came in uplink none was seen to leave by n6: the UPF dropped them all", "or sent them past the points", ""},
		{"dropped, some evicted", func(r *Result) {
			r.Points[1].Packets, r.Series[0].Matched, r.Series[0].Lost, r.Series[0].Evicted = 0, 0, 80, 20
		}, "none was seen to leave by n6", "none was seen to leave by n6", ""},
		{"dropped, some ambiguous", func(r *Result) {
			r.Points[1].Packets, r.Series[0].Matched, r.Series[0].Lost, r.Series[0].Ambiguous = 0, 0, 80, 20
		}, "none was seen to leave by n6", "none was seen to leave by n6", ""},
		{"dropped, few timed", func(r *Result) {
			r.Points[1].Packets, r.Series[0].Matched, r.Series[0].Lost, r.Series[0].Untimed = 0, 0, 10, 90
		}, "none was seen to leave by n6", "none was seen to leave by n6", ""},
		{"few timed and lost, the others leave", func(r *Result) {
			r.Points[1].Packets, r.Points[1].Untimed = 90, 90
			r.Series[0].Matched, r.Series[0].Lost, r.Series[0].Untimed = 0, 10, 90
		}, "", "", ""},
		{"UE to UE", func(r *Result) { r.Points[1].Packets = 0 }, "", "", ""},
		{"N4 in a stack of its own", func(r *Result) { r.N4.Points = nil }, "", "", "no PFCP message was seen at any device"},
		{"N4 at another device", func(r *Result) { r.N4.Points[0].Messages, r.UPFs[0].Missing = 0, "n9: gone" }, "", "", "n9: gone; no PFCP message was seen at n4"},
		{"N4 is not probed", func(r *Result) { r.N4 = nil }, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := usual()
			tc.change(r)
			r.JudgePlaces()
			failure := ""
			if err := r.Usable(); err != nil {
				failure = err.Error()
			}
			for what, pair := range map[string][2]string{
				"failure": {failure, tc.failure}, "warnings": {strings.Join(r.Warnings, "\n"), tc.warn}, "missing": {r.UPFs[0].Missing, tc.missing},
			} {
				if got, want := pair[0], pair[1]; !strings.Contains(got, want) || want == "" && got != "" && what != "warnings" {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			if tc.failure == "" && tc.warn == "" && len(r.Warnings) > 0 {
				t.Errorf("got warnings %q, want none", r.Warnings)
			}
		})
	}
}
