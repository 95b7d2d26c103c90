package yamltext

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ConfigError is all that is wrong with a configuration.
type ConfigError struct {
	File     string // empty: not from a file
	Mistakes []Mistake
	Of       error // what it wraps; may be nil

	more int // mistakes that are not kept
}

// Mistake is one thing that is wrong, and where.
type Mistake struct {
	position
	Key  string // "n4.address"; empty: the file as a whole
	Text string // the value, and what is allowed

	given string // of a number that its type does not hold: as it is written
}

// position counts from 1; the zero value is "unknown".
type position struct{ Line, Column int }

// shownMistakes is how many mistakes are spelt out.
const shownMistakes = 20

// Error has one line per mistake: FILE:LINE:COLUMN: KEY: what is wrong. Without a file, each
// begins with what the error wraps.
func (e *ConfigError) Error() string {
	var lines []string
	for i, m := range e.Mistakes {
		if i == shownMistakes {
			lines = append(lines, e.line(Mistake{Text: fmt.Sprintf("and %d more", len(e.Mistakes)+e.more-i)}))
			break
		}
		lines = append(lines, e.line(m))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns Of.
func (e *ConfigError) Unwrap() error { return e.Of }

func (e *ConfigError) line(m Mistake) string {
	var b strings.Builder
	at := ""
	if m.Line > 0 {
		at = fmt.Sprintf("%d:%d:", m.Line, m.Column)
	}
	if e.File != "" {
		at = e.File + ":" + at
	} else if e.Of != nil {
		fmt.Fprintf(&b, "%v: ", e.Of)
	}
	if at != "" {
		b.WriteString(at + " ")
	}
	if m.Key != "" {
		b.WriteString(m.Key + ": ")
	}
	b.WriteString(m.Text)
	return b.String()
}

// Checks collects what is wrong with the values of a configuration.
type Checks []Mistake

// Want notes that the value of key is wrong unless ok.
func (c *Checks) Want(ok bool, key string, value any, allowed string) {
	if !ok {
		c.Note(key, "%s: want %s", quoted(value), allowed)
	}
}

// Within notes that the value of key is wrong unless it is one of from to to.
func Within[T ~int | ~uint8 | ~uint16](c *Checks, key string, value, from, to T) {
	c.Want(value >= from && value <= to, key, value, fmt.Sprintf("%d to %d", from, to))
}

// OneOf notes that the value of key is none of the allowed ones.
func (c *Checks) OneOf(key, value string, allowed ...string) {
	c.Want(slices.Contains(allowed, value), key, value, strings.Join(allowed, " or "))
}

// Note notes a mistake. An empty key is that of the configuration as a whole.
func (c *Checks) Note(key, format string, args ...any) {
	*c = append(*c, Mistake{Key: key, Text: fmt.Sprintf(format, args...)})
}

// Under notes what is wrong with a part of the configuration, that at key: the mistakes of
// a [ConfigError], or another error. Nothing is wrong if it is nil.
func (c *Checks) Under(key string, err error) {
	var e *ConfigError
	switch {
	case err == nil:
	case errors.As(err, &e):
		for _, m := range e.Mistakes {
			*c = append(*c, Mistake{Key: join(key, m.Key), Text: m.Text})
		}
	default:
		c.Note(key, "%v", err)
	}
}

// Err returns a [ConfigError] that wraps of, nil if nothing is wrong.
func (c *Checks) Err(of error) error {
	if len(*c) == 0 {
		return nil
	}
	return &ConfigError{Mistakes: *c, Of: of}
}

// join is the key within another one.
func join(key, within string) string {
	if key == "" || within == "" || within[0] == '[' {
		return key + within
	}
	return key + "." + within
}

func quoted(value any) string {
	switch v := value.(type) {
	case string:
		if v == "" {
			return "not set"
		}
		return fmt.Sprintf("%q", v)
	case interface{ IsValid() bool }: // an address or prefix
		if !v.IsValid() {
			return "not set"
		}
	}
	return fmt.Sprint(value)
}

var _ interface{ IsValid() bool } = netip.Addr{}
