package yamltext

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// value has a field of every kind that configurations have.
type value struct {
	Name   string         `yaml:"name"`
	Count  int            `yaml:"count"`
	On     bool           `yaml:"on"`
	List   []netip.Prefix `yaml:"list"`
	Words  []string       `yaml:"words"`
	At     netip.AddrPort `yaml:"at"`
	From   netip.Addr     `yaml:"from"`
	After  time.Duration  `yaml:"after"`
	Inner  []inner        `yaml:"inner"`
	Any    any            `yaml:"any"`
	Ratio  float64        `yaml:"ratio"`
	Deep   *level         `yaml:"deep"`
	Inline level          `yaml:",inline"`
	Colour colour         `yaml:"colour"`
	Peers  []peer         `yaml:"peers"`
	Hidden int            `yaml:"-"`
}

type inner struct {
	A    []string        `yaml:"a"`
	M    map[uint8]int64 `yaml:"m"`
	Kept string          `yaml:"kept"`
}

// SetDefaults makes inner a Defaulter.
func (i *inner) SetDefaults() { i.Kept = "default" }

type level struct {
	Level number `yaml:"level"`
}

type number uint8

// colour is text without a form.
type colour string

func (c *colour) UnmarshalText(text []byte) error {
	if len(text) > 0 && string(text) != "red" {
		return fmt.Errorf("colour %q: want red", text)
	}
	*c = colour(text)
	return nil
}

// peer may be its address alone.
type peer struct {
	Address netip.Prefix `yaml:"address"`
	Weight  weight       `yaml:"weight"`
}

func (p *peer) Short() any { return &p.Address }

// weight is text with a form.
type weight int

func (w *weight) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%dkg", w)
	return err
}

func (w weight) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%dkg", int(w)), nil }

func (weight) Form() string { return "a weight, such as 3kg" }

// TestParse reads what is plain.
func TestParse(t *testing.T) {
	deep := strings.Repeat("[", maxFlow) + strings.Repeat("]", maxFlow)
	const text = `---
name: "!x &y *z" # & ! *
count: 0x10
on: true
list: [10.0.0.0/8, 10.1.2.3]
words: [a, '1', 2]
at: 127.0.0.1:80
from: fd00::1
after: 1m30s
inner:
- a:
  - x
  m: {1: 2}
- {kept: other, a: }
ratio: 1.5
deep: {level: 6}
level: 010
colour: red
peers: [10.4.0.1, {address: 10.4.0.0/24, weight: 3kg}]
`
	var v value
	if err := Parse("f", []byte(text), &v, nil); err != nil {
		t.Fatal(err)
	}
	want := value{
		Name: "!x &y *z", Count: 16, On: true, List: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("10.1.2.3/32")},
		Words: []string{"a", "1", "2"}, At: netip.MustParseAddrPort("127.0.0.1:80"), From: netip.MustParseAddr("fd00::1"), After: 90 * time.Second,
		Inner: []inner{{A: []string{"x"}, M: map[uint8]int64{1: 2}, Kept: "default"}, {Kept: "other"}}, Ratio: 1.5, Deep: &level{6}, Inline: level{10},
		Colour: "red", Peers: []peer{{Address: netip.MustParsePrefix("10.4.0.1/32")}, {netip.MustParsePrefix("10.4.0.0/24"), 3}},
	}
	if diff := cmp.Diff(want, v, comparers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Parse("f", []byte("any: "+deep), &v, nil); err != nil {
		t.Error(err)
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "null", "count:\n", "list:\n"} {
		v := value{Count: 7}
		if err := Parse("f", []byte(empty), &v, nil); err != nil || v.Count != 7 {
			t.Errorf("%q: got %+v, %v", empty, v, err)
		}
	}
}

var comparers = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
}

// TestAny: what has no form becomes slices, in the order of the text.
func TestAny(t *testing.T) {
	const text = "any:\n  z: [1, -2, 1.5, true, null, x, 'y']\n  1: |\n    a\n    b\n  d: {b: 2, a: 1}\n"
	var v value
	if err := Parse("f", []byte(text), &v, nil); err != nil {
		t.Fatal(err)
	}
	want := yaml.MapSlice{
		{Key: "z", Value: []any{uint64(1), int64(-2), 1.5, true, nil, "x", "y"}}, {Key: uint64(1), Value: "a\nb\n"},
		{Key: "d", Value: yaml.MapSlice{{Key: "b", Value: uint64(2)}, {Key: "a", Value: uint64(1)}}},
	}
	if diff := cmp.Diff(want, v.Any); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOthers: keys beside those of a struct, where it has a place for them.
func TestOthers(t *testing.T) {
	var v struct {
		Own    level          `yaml:"own"`
		Others map[string]any `yaml:",inline"`
	}
	err := Parse("f", []byte("x: {y: [1]}\nown: {level: 3, more: 1}\n"), &v, nil)
	if v.Own.Level != 3 || err == nil || err.Error() != "f:2:17: own.more: no such key: want one of level" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestColons: a scalar with colons in it, wherever it stands. The parser makes a mapping of
// the first two.
func TestColons(t *testing.T) {
	const text = "{any: [2001:db8::1, db8:1], list: [2001:db8::/32], from: 2001:db8::2, inner: [{m: {1: 2}}], words: [a: 1, 'a':1, {b: 2}]}"
	var v value
	err := Parse("f", []byte(text), &v, nil)
	want := "f:1:101: words[0]: want a word\nf:1:107: words[1]: want a word\nf:1:114: words[2]: want a word"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if diff := cmp.Diff([]any{"2001:db8::1", "db8:1"}, v.Any); diff != "" || v.List[0].String() != "2001:db8::/32" || v.From.String() != "2001:db8::2" {
		t.Errorf("got %+v, (-want +got):\n%s", v, diff)
	}
}

// TestAnchors has them taken by a reader that asks for them alone, within bounds.
func TestAnchors(t *testing.T) {
	for text, want := range map[string]string{
		"any: [&a {x: 1, y: 2}, *a]":                       "",
		"any: [&a {x: 1}, {<<: *a}]":                       "",
		"{any: [&a {level: 1}, {}], deep: *a}":             "",
		"any: [&a [x], &b [*a, *a]]":                       "f:1:19: an alias within an anchor",
		"any: &a [*a]":                                     "an alias within an anchor",
		"any: [*a, &a [x]]":                                "f:1:7: any: no such anchor before: a",
		"any: [&a x, {<<: *a}]":                            "want keys and values to merge",
		"<<: {name: x}":                                    "f:1:1: want a word as the key",
		"any: [&a x" + strings.Repeat(",*a", 2000) + "]":   "too many",
		"any: &a {x: " + strings.Repeat("[", 100) + "\n*a": "nested too deep",
	} {
		if err := Parse("f", []byte(text), &value{}, nil); err == nil || !strings.Contains(err.Error(), ": an anchor or alias: want plain") && want != "nested too deep" {
			t.Errorf("plain %.40q: got %v, want none", text, err)
		}
		var v value
		switch err := (Reader{Anchors: true}).Parse("f", []byte(text), &v, nil); {
		case want == "" && err != nil:
			t.Errorf("%.40q: %v", text, err)
		case want == "":
			list := v.Any.([]any)
			if _, ordered := list[0].(yaml.MapSlice); !ordered || len(list) != 2 || v.Deep != nil && v.Deep.Level != 1 {
				t.Errorf("%.40q: got %v", text, v.Any)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// TestPanic wants an error of a panic.
func TestPanic(t *testing.T) {
	err := func() (err *syntaxError) {
		defer failed(&err)
		panic("index out of range")
	}()
	if diff := cmp.Diff("the YAML parser failed: index out of range", err.reason); diff != "" {
		t.Error(diff)
	}
}

// TestLoad reads no more of a file than shows that it is too long.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := Load(path, &value{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, make([]byte, MaxOctets+100), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := ReadFile(path)
	if len(text) != MaxOctets+1 || err != nil {
		t.Errorf("got %d octets, %v, want %d", len(text), err, MaxOctets+1)
	}
	var wrong *ConfigError
	if err := Load(path, &value{}, nil); !errors.As(err, &wrong) || err.Error() != path+": more than 1048576 octets" {
		t.Errorf("got %v", err)
	}
}

// FuzzParse wants a value or mistakes that are in the text, and no panic beneath it. What
// is taken is taken with anchors, too, and is the same value; it is also written and read
// again as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"name: x\ncount: 3\nlist: [10.0.0.0/8]\ninner: [{a: [x], m: {1: 2}}]\nany: {a: [b]}", "{list: [2001:db8::/32], peers: [10.0.0.1, {weight: 3kg}], deep: {level: 4}}",
		"any: [&a {x: 1}, {<<: *a}, *a]", "inner: !!seq [a]", "any: !!set [a]", "? - - [a]\n: |\n  x\n", "---\n...\n---\n", "%YAML 1.2\n---\na", "a: \"\\u00\"",
		"name: x\nname: y\nnome: z\ncount: [1]\n", "after: 1h\nratio: 1e3\non: yes\nat: 10.0.0.1:1",
	} {
		f.Add([]byte(text))
	}
	equal := append(slices.Clone(comparers), cmpopts.EquateEmpty())
	f.Fuzz(func(t *testing.T, text []byte) {
		var v, anchored, again value
		err := Parse("f", text, &v, nil)
		wellPlaced(t, text, err)
		errAnchored := Reader{Anchors: true}.Parse("f", text, &anchored, nil)
		wellPlaced(t, text, errAnchored)
		if err != nil {
			return
		}
		if diff := cmp.Diff(v, anchored, comparers); errAnchored != nil || diff != "" {
			t.Fatalf("with anchors: %v, (-without +with):\n%s", errAnchored, diff)
		}
		v.Any = nil // the writer loses the types in it
		written, err := yaml.Marshal(&v)
		if err != nil {
			t.Fatal(err)
		}
		if err := Parse("f", written, &again, nil); err != nil {
			t.Fatalf("%s\n%v", written, err)
		}
		if diff := cmp.Diff(v, again, equal); diff != "" {
			t.Fatalf("%s\n(-read +again):\n%s", written, diff)
		}
	})
}

// wellPlaced wants mistakes of a text in it, in its order.
func wellPlaced(t *testing.T, text []byte, err error) {
	var wrong *ConfigError
	if err == nil || !errors.As(err, &wrong) {
		return
	}
	lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 1
	for _, m := range wrong.Mistakes {
		if strings.Contains(m.Text, "parser failed") {
			t.Fatal(err) // no harm, but worth a check of its own
		}
		if m.Line < 0 || m.Column < 0 || m.Line > lines+1 || m.Text == "" {
			t.Fatalf("%+v of %d lines", m, lines)
		}
	}
}
