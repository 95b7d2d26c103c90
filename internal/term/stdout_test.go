package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// unread returns the end of a pipe that nobody reads.
func unread(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	r.Close()
	return w
}

// TestOutputUnread: a write that nobody reads ends the command, of which nothing but its
// own failures is said.
func TestOutputUnread(t *testing.T) {
	failed := errors.New("namespace not removed")
	for _, tc := range []struct {
		name       string
		read       bool
		give, want error
	}{
		{"read, done", true, nil, nil},
		{"read, cancelled", true, context.Canceled, context.Canceled},
		{"done", false, nil, ErrUnread},
		{"cancelled", false, fmt.Errorf("trial: %w", context.Canceled), ErrUnread},
		{"write returned", false, &os.PathError{Op: "write", Err: syscall.EPIPE}, ErrUnread},
		{"failed", false, failed, failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := unread(t)
			if tc.read {
				var err error
				if out, err = os.CreateTemp(t.TempDir(), ""); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := NewStdout(out, cancel)
			if _, err := fmt.Fprintln(p, "a line"); (err == nil) != tc.read || (ctx.Err() == nil) != tc.read {
				t.Errorf("write: %v, context: %v", err, ctx.Err())
			}
			if got := p.End(tc.give); !errors.Is(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestTerminal: names of others do not reach the terminal but as text, whichever way they
// take, and in however many writes.
func TestTerminal(t *testing.T) {
	const hostile = "a\x1b[2Jb\rc\x07d\u009be\x7f"
	for _, pieces := range []int{1, 2, 3, 100} {
		var out bytes.Buffer
		p := NewStdout(&out, func() {})
		for rest := []byte("ü\t" + hostile + "\n"); len(rest) > 0; {
			n, err := p.Write(rest[:min(pieces, len(rest))])
			if err != nil || n != min(pieces, len(rest)) {
				t.Fatalf("wrote %d, %v", n, err)
			}
			rest = rest[n:]
		}
		// U+009B has two octets, of which the second is the one that is replaced.
		if got, want := out.String(), "ü\ta?[2Jb?c?d\xc2?e?\n"; got != want {
			t.Errorf("%d octets at a time: got %q, want %q", pieces, got, want)
		}
	}
	var out bytes.Buffer
	if _, err := AsOctets(NewStdout(&out, context.CancelFunc(func() {}))).Write([]byte(hostile)); err != nil || out.String() != hostile {
		t.Errorf("as octets: got %q, %v", out.String(), err)
	}
	out.Reset()
	table := NewTable(&out, "NAME", "NEXT")
	table.Row("a\tb\x1b\u202e", "c")
	if err := table.Flush(); err != nil || out.String() != "NAME   NEXT\na?b??  c\n" {
		t.Errorf("table: got %q, %v", out.String(), err)
	}
}
