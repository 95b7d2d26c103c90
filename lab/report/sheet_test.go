package report

import (
	"strings"
	"testing"
)

func TestSheetText(t *testing.T) {
	s := Sheet{
		Title:   "Rates",
		Columns: []Column{{Name: "gNB", Text: true}, {Name: "PRB"}, {Group: "downlink", Name: "TCP"}, {Name: "UDP"}, {Group: "uplink", Name: "TCP"}},
		Rows:    [][]string{{"split", "106", "95.5", "97", "28"}, {"one process", "106"}},
	}
	var b strings.Builder
	if err := s.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = ` Rates
                 │ downlink │ uplink
 gNB         PRB │  TCP UDP │    TCP
─────────────────┼──────────┼───────
 split       106 │ 95.5  97 │     28
 one process 106 │          │
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
