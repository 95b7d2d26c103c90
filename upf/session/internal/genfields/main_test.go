package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused: tags by which two fields would stand at one place, or none, are refused
// with the field or the place.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ name, fields, want string }{
		{"no tag", "A uint8", "x.A: no record tag"},
		{"one number for two", "A uint8 `record:\"0\"`\nB uint8 `record:\"0\"`", "the number 0 is used twice"},
		{"one bit for two", "A bool `record:\"0.0\"`\nB bool `record:\"0.0\"`", "bit 0 of the number 0 is used twice"},
		{"a number and its bit", "A uint8 `record:\"0\"`\nB bool `record:\"0.0\"`", "the number 0 is used twice"},
		{"a number left out", "A uint8 `record:\"1\"`", "the number 0 is not used"},
		{"a bit left out", "A bool `record:\"0.1\"`", "bit 0 of the number 0 is not used"},
		{"a number too much", "A uint8 `record:\"0 1\"`", "is too much"},
		{"a number too few", "A struct{ B, C uint8 } `record:\"0\"`", "a number is missing"},
		{"a flag in a number", "A bool `record:\"0\"`", "no numbers encode a value of type bool"},
		{"an integer in a bit", "A uint8 `record:\"0.0\"`", "uint8 is no flag, text or pointer"},
		{"above 63", "A uint8 `record:\"64\"`", "value out of range"},
		{"no number", "A uint8 `record:\"x\"`", "invalid syntax"},
		{"a rate of a datapath without a function", "}\ntype QER struct {\nA uint64 `api:\"A\"`", "no field of a message is a uint64 without a function"},
		{"an element without tags", "A []T `record:\"0\"`", "T: x.B: no record tag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := generated(t, "type Session struct {\n"+tc.fields+"\n}\ntype T struct{ B uint8 }")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestOrder: what has no fixed length stands in the order of the package comment, not in
// that of the fields.
func TestOrder(t *testing.T) {
	out, err := generated(t, "type Session struct {\nL []T `record:\"0 shared\"`\nN []string `record:\"1\"`\nI []uint32 `record:\"2\"`\n"+
		"S string `record:\"3.0\"`\n}\ntype T struct{ B uint8 `record:\"0\"` }")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{"w.name(x.S)", "w.number(uint64(x.I[i]))", "w.name(x.N[i])", "x.L[i].write(w)"} {
		i := strings.Index(out, want)
		if i < at {
			t.Errorf("%q is at %d, want it behind %d, in\n%s", want, i, at, out)
		}
		at = i
	}
}

// generated is what is written for a package of that text.
func generated(t *testing.T, text string) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "session")
	for _, d := range []string{dir, filepath.Join(dir, "../rules")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "session.go"), []byte("package session\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(dir)
	b, _ := os.ReadFile(filepath.Join(dir, recordFile))
	return string(b), err
}
