package endpoint

import "testing"

// TestNamed: names have no case; the Operator Identifier counts if it is configured.
func TestNamed(t *testing.T) {
	const with = "internet.mnc001.mcc001.gprs"
	for _, tc := range []struct {
		list []string
		sent string
		want int
	}{
		{[]string{"internet"}, "internet", 2},
		{[]string{"internet"}, "INTERNET", 2},
		{[]string{"Internet"}, "internet", 2},
		{[]string{"internet"}, with, 1},
		{[]string{"internet"}, "Internet.MNC001.mcc999.GPRS", 1},
		{[]string{"internet", with}, with, 2},
		{[]string{with}, with, 2},
		{[]string{with}, "internet", 0},
		{[]string{with}, "internet.mnc002.mcc001.gprs", 0},
		{[]string{"internet"}, "internet.mnc01.mcc001.gprs", 0}, // MNCs have three digits there
		{[]string{"internet"}, "internet.mnc00x.mcc001.gprs", 0},
		{[]string{"internet"}, "ims", 0},
		{[]string{""}, ".mnc001.mcc001.gprs", 0},
		{nil, "internet", 0},
	} {
		if got := Named(tc.list, tc.sent); got != tc.want {
			t.Errorf("%q in %q: %d, want %d", tc.sent, tc.list, got, tc.want)
		}
	}
	if !SameName(with, "INTERNET") || !SameName("ims", "IMS") || SameName("ims", "internet") {
		t.Error("SameName is another one than Named")
	}
}
