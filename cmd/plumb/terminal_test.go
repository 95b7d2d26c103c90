package main

import (
	"bytes"
	"context"
	"testing"
)

// TestTerminal: names of others do not reach the terminal but as text, whichever way they
// take, and in however many writes.
func TestTerminal(t *testing.T) {
	const hostile = "a\x1b[2Jb\rc\x07d\u009be\x7f"
	for _, pieces := range []int{1, 2, 3, 100} {
		var out bytes.Buffer
		p := newPipedOutput(&out, func() {})
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
	if _, err := asOctets(newPipedOutput(&out, context.CancelFunc(func() {}))).Write([]byte(hostile)); err != nil || out.String() != hostile {
		t.Errorf("as octets: got %q, %v", out.String(), err)
	}
	out.Reset()
	table := newTable(&out, "NAME", "NEXT")
	table.row("a\tb\x1b\u202e", "c")
	if err := table.flush(); err != nil || out.String() != "NAME   NEXT\na?b??  c\n" {
		t.Errorf("table: got %q, %v", out.String(), err)
	}
}
