package upf

import (
	"fmt"
	"strings"
)

// ConfigError is all that is wrong with a configuration.
type ConfigError struct {
	File     string // empty: not from a file
	Mistakes []Mistake
}

// Mistake is one thing that is wrong, and where.
type Mistake struct {
	position
	Key  string // "n4.address"; empty: the file as a whole
	Text string // the value, and what is allowed
}

// position counts from 1; the zero value is "unknown".
type position struct{ Line, Column int }

// shownMistakes is how many mistakes are spelt out.
const shownMistakes = 20

// Error has one line per mistake: FILE:LINE:COLUMN: KEY: what is wrong.
func (e *ConfigError) Error() string {
	var lines []string
	for i, m := range e.Mistakes {
		if i == shownMistakes {
			m = Mistake{Text: fmt.Sprintf("and %d more", len(e.Mistakes)-i)}
			lines = append(lines, m.in(e.File))
			break
		}
		lines = append(lines, m.in(e.File))
	}
	return strings.Join(lines, "\n")
}

func (m Mistake) in(file string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file + ":")
		if m.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", m.Line, m.Column)
		}
		b.WriteString(" ")
	}
	if m.Key != "" {
		b.WriteString(m.Key + ": ")
	}
	b.WriteString(m.Text)
	return b.String()
}
