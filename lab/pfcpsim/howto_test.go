package pfcpsim

import (
	"os"
	"strings"
	"testing"
)

// TestHowTo runs the scenario of docs/howto-pfcp.md.
func TestHowTo(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto-pfcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("no scenario in docs/howto-pfcp.md")
	}
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	newBed(t).run(t, s)
	for _, verb := range Verbs() {
		if !strings.Contains(string(page), "`"+verb) {
			t.Errorf("docs/howto-pfcp.md says nothing of %s", verb)
		}
	}
}
