package yamltext

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// value has a field of every kind that files of ours have.
type value struct {
	Name  string         `yaml:"name"`
	Count int            `yaml:"count"`
	List  []netip.Prefix `yaml:"list"`
	Inner []struct {
		A []string        `yaml:"a"`
		M map[uint8]int64 `yaml:"m"`
	} `yaml:"inner"`
	Any    any     `yaml:"any"`
	Ratio  float64 `yaml:"ratio"`
	Deep   *level  `yaml:"deep"`
	Inline level   `yaml:",inline"`
}

type level struct {
	Level number `yaml:"level"`
}

type number uint8

// TestDecode reads what is plain.
func TestDecode(t *testing.T) {
	deep := strings.Repeat("[", maxFlow) + strings.Repeat("]", maxFlow)
	text := "---\nname: \"!x &y *z\" # & ! *\ncount: 3\nlist: [10.0.0.0/8]\ninner:\n- a:\n  - x\n  m: {1: 2}\nratio: 1.5\ndeep: {level: 6.0}\nany: " + deep + "\n"
	var v value
	if err := Decode([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if v.Name != "!x &y *z" || v.Count != 3 || v.List[0].Bits() != 8 || v.Inner[0].A[0] != "x" || v.Inner[0].M[1] != 2 || v.Ratio != 1.5 || v.Deep.Level != 6 {
		t.Errorf("got %+v", v)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "null"} {
		v := value{Count: 7}
		if err := Decode([]byte(empty), &v); err != nil || v.Count != 7 {
			t.Errorf("%q: got %+v, %v", empty, v, err)
		}
		if body, err := Parse([]byte(empty)); body != nil || err != nil {
			t.Errorf("%q: got %v, %v", empty, body, err)
		}
	}
}

// indented is blocks within each other.
func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestRefused wants each refused, by Decode and by DecodeOrdered.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"inner: !!seq [a]":                       "line 1, column 8: a tag",
		"inner:\n- a: !!seq\n  - x":              "line 2, column 6: a tag",
		"any: !!set [a]":                         "a tag",
		"colour: 1":                              "line 1, column 1: unknown field \"colour\"",
		"name: x\nname: y":                       "line 2, column 1: mapping key \"name\"",
		"count: many":                            "line 1, column 8",
		"count: 1.5":                             "line 1, column 8: 1.5 is no whole number",
		"count: '1.5'":                           "line 1, column 8: 1.5 is no whole number",
		"count: -.inf":                           "line 1, column 8: -.inf is no whole number",
		"inner:\n- m: {1: 2, 3: 4.5}":            "line 2, column 16: 4.5 is no whole number",
		"deep: {level: 2.5}":                     "line 1, column 15: 2.5 is no whole number",
		"level: 2.5":                             "line 1, column 8: 2.5 is no whole number",
		"list: [x]":                              "x",
		"name: x\n---\nname: y":                  "line 3, column 1: a second YAML document",
		"any: [":                                 "line 1, column 6",
		strings.Repeat("#", MaxOctets+1):         "more than 1048576 octets",
		"any: " + strings.Repeat("[", 100_000):   "nested too deep",
		"any: " + strings.Repeat("{a: ", 50_000): "nested too deep",
		strings.Repeat("- ", 100_000):            "nested too deep",
		strings.Repeat("? ", 100_000):            "nested too deep",
		indented(500):                            "nested too deep",
	} {
		for name, decode := range map[string]func([]byte, any) error{"Decode": Decode, "DecodeOrdered": DecodeOrdered} {
			var v value
			if err := decode([]byte(text), &v); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %.40q: got %v, want %q", name, text, err, want)
			}
		}
	}
}

// TestAnchors has them taken by DecodeOrdered alone, within bounds.
func TestAnchors(t *testing.T) {
	for text, want := range map[string]string{
		"any: [&a {x: 1, y: 2}, *a]":                       "",
		"any: [&a {x: 1}, {<<: *a}]":                       "",
		"any: [&a [x], &b [*a, *a]]":                       "line 1, column 19: an alias within an anchor",
		"any: &a [*a]":                                     "an alias within an anchor",
		"any: [&a x" + strings.Repeat(",*a", 2000) + "]":   "too many",
		"any: &a {x: " + strings.Repeat("[", 100) + "\n*a": "nested too deep",
	} {
		var e *Error
		if err := Decode([]byte(text), &value{}); !errors.As(err, &e) {
			t.Errorf("Decode %.40q: got %v, want an Error", text, err)
		}
		var v value
		switch err := DecodeOrdered([]byte(text), &v); {
		case want == "" && err != nil:
			t.Errorf("%.40q: %v", text, err)
		case want == "":
			list := v.Any.([]any)
			if _, ordered := list[0].(yaml.MapSlice); !ordered || len(list) != 2 {
				t.Errorf("%.40q: got %v", text, v.Any)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// TestPanic wants an error of a panic.
func TestPanic(t *testing.T) {
	err := func() (err error) {
		defer failed(&err)
		panic("index out of range")
	}()
	if diff := cmp.Diff("the YAML decoder failed: index out of range", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

// TestReadFile reads no more of a file than shows that it is too long.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, make([]byte, MaxOctets+100), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := ReadFile(path)
	if len(text) != MaxOctets+1 || err != nil {
		t.Errorf("got %d octets, %v, want %d", len(text), err, MaxOctets+1)
	}
}

// FuzzDecode wants a value or an error, and no panic beneath it; what Decode takes
// DecodeOrdered takes too.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"name: x\ncount: 3\nlist: [10.0.0.0/8]\ninner: [{a: [x], m: {1: 2}}]\nany: {a: [b]}",
		"any: [&a {x: 1}, {<<: *a}, *a]", "inner: !!seq [a]", "any: !!set [a]", "? - - [a]\n: |\n  x\n", "---\n...\n---\n", "%YAML 1.2\n---\na", "a: \"\\u00\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v, ordered value
		err, errOrdered := Decode(text, &v), DecodeOrdered(text, &ordered)
		for _, err := range []error{err, errOrdered} {
			if err != nil && strings.Contains(err.Error(), "decoder failed") {
				t.Fatal(err) // no harm, but worth a check of its own
			}
		}
		if err == nil && errOrdered != nil {
			t.Fatalf("Decode takes it, DecodeOrdered: %v", errOrdered)
		}
	})
}
