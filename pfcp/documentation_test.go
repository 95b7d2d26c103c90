package pfcp

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

//go:generate go test . -run TestDocumentation -update

// TestDocumentation compares docs/pfcp.md with the tables, from which it is
// generated (go generate ./pfcp).
func TestDocumentation(t *testing.T) {
	file := filepath.Join(pfcptest.Root(t), "docs/pfcp.md")
	want := documentation()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/pfcp.md is not what the tables say; run: go generate ./pfcp")
	}
}

// TestTables looks for containers that nothing decodes, and IEs that stand
// nowhere.
func TestTables(t *testing.T) {
	used := map[IEType]bool{}
	for _, d := range descriptions {
		for _, r := range d.rows {
			used[r.ie] = true
		}
	}
	for i, info := range ies {
		if info.name != "" && !used[IEType(i)] {
			t.Errorf("%s stands in no message", info.name)
		}
		if info.name == "" && used[IEType(i)] || info.min > info.max {
			t.Errorf("IE %d: %+v", i, info)
		}
	}
	for kind := range messageNames {
		if m := NewMessage(kind); m != nil && describing(kind.String()) == nil {
			t.Errorf("%s is not described", kind)
		}
	}
}

// describing returns the container of that name.
func describing(name string) *description {
	for i, d := range descriptions {
		if d.name == name || strings.HasPrefix(name, d.name+" (") {
			return &descriptions[i]
		}
	}
	return nil
}

const docHead = `# PFCP messages and IEs

Generated from the tables of package pfcp by ` + "`go generate ./pfcp`" + `; a test keeps it in step. Source: TS 29.244 V18.6.0.

*Presence*: M mandatory, C conditional, O optional; a message without a mandatory IE is refused with Cause 66. *Octets*: the length of the
content, checked before it is read (Cause 68); IEs without an upper limit may be longer than this release knows, and the rest is passed over.
*Times*: how often the IE may stand; of an IE that may stand once the first counts, more than the limit is refused with Cause 75.

*State*:

- **done**: decoded, and done; in what the UP function sends, sent. What stands in brackets is said in full in [n4.md](n4.md).
- **refused**: the request is refused whole, and changes nothing: Cause 73 with the Failed Rule ID if it is in a rule, else Cause 76 with the
  Offending IE. Such an IE never leaves a rule half obeyed.
- **not applicable**: known and passed over, for the reason given. So is every IE that is not listed where it stands, vendor-specific ones
  included (TS 29.244, 7.6.9).
`

func documentation() string {
	var s strings.Builder
	s.WriteString(docHead + "\n## Messages\n\n| type | message | state |\n|---:|---|---|\n")
	kinds := make([]MessageType, 0, len(messageNames))
	for kind := range messageNames {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		fmt.Fprintf(&s, "| %d | %s | %s |\n", kind, kind, messageState(kind))
	}
	for _, kind := range kinds {
		if d := describing(kind.String()); d != nil {
			d.write(&s)
		}
	}
	s.WriteString("\n# Grouped IEs\n")
	for i := range ies {
		if d := describing(ies[i].name); ies[i].name != "" && d != nil {
			d.write(&s)
		}
	}
	return s.String()
}

func messageState(kind MessageType) string {
	switch {
	case NewMessage(kind) != nil:
		return "done"
	case kind == MsgVersionNotSupportedResponse:
		return "done: a header alone"
	}
	return "not applicable"
}

func (d *description) write(s *strings.Builder) {
	fmt.Fprintf(s, "\n## %s\n\nTS 29.244, %s.\n\n", d.name, d.clause)
	if len(d.rows) == 0 {
		s.WriteString("No IE is looked at.\n")
		return
	}
	s.WriteString("| IE | type | octets | presence | times | state |\n|---|---:|---:|:-:|---:|---|\n")
	for _, r := range d.rows {
		fmt.Fprintf(s, "| %s | %d | %s | %c | %s | %s |\n", r.ie, r.ie, r.octets(), r.presence, r.times(), d.support(r))
	}
}

// String is a fate as the tables show it.
func (s Support) String() string {
	text := string(s.Fate)
	if s.Cause != 0 {
		text += fmt.Sprintf(", Cause %d", s.Cause)
	}
	switch {
	case s.Why == "":
		return text
	case s.Fate == Done:
		return text + " (" + s.Why + ")"
	}
	return text + ": " + s.Why
}

// TestSupport: every refusal and every IE that is passed over has its reason, and
// the tables of reasons say nothing about what is not there.
func TestSupport(t *testing.T) {
	used := map[place]bool{}
	whys := map[IEType]bool{}
	for _, s := range Supported() {
		if s.Fate != Done && s.Why == "" {
			t.Errorf("%s, %s: %s, but why?", s.In, s.IE, s.Fate)
		}
		used[place{s.In, s.IE}] = true
		whys[s.IE] = true
	}
	for p := range refused {
		if !used[p] {
			t.Errorf("refused: no %s in %s", p.ie, p.in)
		}
	}
	for p := range inPart {
		if !used[p] {
			t.Errorf("in part: no %s in %s", p.ie, p.in)
		}
	}
	for _, reasons := range []map[IEType]string{notDone, elsewhere} {
		for ie := range reasons {
			if !whys[ie] {
				t.Errorf("a reason for %s, which stands nowhere", ie)
			}
		}
	}
}

func (r row) octets() string {
	switch info := ies[r.ie]; {
	case !r.decoded || info.min == 0:
		return ""
	case info.min == info.max:
		return fmt.Sprint(info.min)
	default:
		return fmt.Sprintf("≥ %d", info.min)
	}
}

func (r row) times() string {
	switch {
	case !r.decoded:
		return ""
	case r.limit == 0:
		return "1"
	}
	return fmt.Sprintf("≤ %d", r.limit)
}
