// Package term writes for people: tables and lines of 80 columns, progress and tables that
// change in place on a terminal, and standard output that holds back what would move the
// cursor. It knows no command, and nothing of what is shown.
package term

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Size returns columns and lines of a terminal, those of the oldest ones if it is not known.
func Size(out *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 80, 24
	}
	return int(size.Col), int(size.Row)
}

// FirstLine is s up to its first line feed.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Sparkline draws values from 0 to their highest.
func Sparkline(values []float64) string {
	marks := []rune("▁▂▃▄▅▆▇█")
	highest := slices.Max(append(values, 1))
	var b strings.Builder
	for _, v := range values {
		i := int(v / highest * float64(len(marks)))
		b.WriteRune(marks[min(max(i, 0), len(marks)-1)])
	}
	return b.String()
}

// Join puts the parts that are not empty together.
func Join(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// CutTo cuts a line that is wider than the terminal: broken, it would be two.
func CutTo(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(width-1, 0)]) + "…"
}

// IsTerminal reports whether f is one.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
