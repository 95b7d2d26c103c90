package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/internal/wordwrap"
)

// InteropColumns is the widest that a line of [InteropTable] gets.
const InteropColumns = 80

// maxUEName is the widest that the column of UEs gets.
const maxUEName = 15

// InteropTable writes r as text for a terminal: a row for each step, what is too long for
// its column below.
func InteropTable(w io.Writer, r *Interop) error {
	t := &interopTable{steps: len("step"), ues: len("UE")}
	for i := range r.Steps {
		s := &r.Steps[i]
		t.steps, t.ues = max(t.steps, utf8.RuneCountInString(s.Step)), max(t.ues, utf8.RuneCountInString(s.UE))
	}
	t.ues = min(t.ues, maxUEName)
	t.row("step", "UE", "IP", "result", "what was seen")
	for i := range r.Steps {
		s := &r.Steps[i]
		version := ""
		if s.IPVersion != 0 {
			version = fmt.Sprint(s.IPVersion)
		}
		t.row(s.Step, cutName(s.UE), version, string(s.Result), s.Seen)
		if s.UPF != nil {
			t.row("", "", "", "", "UPF: "+s.UPF.text())
		}
	}
	passed, failed := r.Judged()
	fmt.Fprintf(&t.b, "\n %d passed, %d failed, %d not judged\n", passed, failed, len(r.Steps)-passed-failed)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type interopTable struct {
	b          strings.Builder
	steps, ues int // widths of the columns
}

func (t *interopTable) row(step, ue, version, result, seen string) {
	head := fmt.Sprintf(" %-*s  %-*s  %-2s  %-*s  ", t.steps, step, t.ues, ue, version, len(NotJudged), result)
	for _, line := range wordwrap.Lines(seen, InteropColumns-utf8.RuneCountInString(head)) {
		t.b.WriteString(strings.TrimRight(head+line, " ") + "\n")
		head = strings.Repeat(" ", utf8.RuneCountInString(head))
	}
}

// cutName keeps the end of a name, which tells devices apart.
func cutName(name string) string {
	r := []rune(name)
	if len(r) <= maxUEName {
		return name
	}
	return "…" + string(r[len(r)-maxUEName+1:])
}

// text says what the UPF dropped, and what it knows of the UE.
func (u *InteropUPF) text() string {
	if u.Error != "" {
		return u.Error
	}
	var parts []string
	for _, reason := range sortedKeys(u.Drops) {
		parts = append(parts, fmt.Sprintf("dropped %d %s", u.Drops[reason], reason))
	}
	if len(parts) == 0 {
		parts = []string{"dropped nothing"}
	}
	for _, s := range u.Sessions {
		parts = append(parts, fmt.Sprintf("session %s of %s, FARs %s", s.SEID, count(uint64(s.PDRs), "PDR"), strings.Join(s.ApplyActions, " ")))
	}
	if len(u.Sessions) == 0 {
		parts = append(parts, "no session of this UE")
	}
	return strings.Join(parts, "; ")
}
