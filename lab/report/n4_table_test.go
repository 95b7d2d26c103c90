package report

import (
	"strings"
	"testing"
)

// TestN4Columns wants a column for responses that were not asked for where there are some, low
// rates with their decimals, and no rate of a handful of requests.
func TestN4Columns(t *testing.T) {
	table := func(c N4Count, rate float64) string {
		var b strings.Builder
		if err := N4Table(&b, &N4Result{Phases: []N4Phase{{Name: "load", Operation: "modify", Rate: rate, Window: 32, Total: c}}}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, tc := range []struct {
		name     string
		count    N4Count
		rate     float64
		want, no string
	}{
		{"wrong sequence numbers", N4Count{Unexpected: 12}, 0, "unasked", "malformed"},
		{"none", N4Count{Accepted: 20, AcceptedPerSec: 1234.6}, 0, "1,235", "unasked"},
		{"unreadable", N4Count{Malformed: 3}, 0, "malformed", "unasked"},
		{"low rate", N4Count{Accepted: 5, AcceptedPerSec: 0.5}, 2.5, "2.5 ", "13,333"},
		{"four requests", N4Count{Accepted: 4, AcceptedPerSec: 13333}, 0, "window 32", "13,333"},
	} {
		if got := table(tc.count, tc.rate); !strings.Contains(got, tc.want) || strings.Contains(got, tc.no) {
			t.Errorf("%s: want %q and no %q in\n%s", tc.name, tc.want, tc.no, got)
		}
	}
}
