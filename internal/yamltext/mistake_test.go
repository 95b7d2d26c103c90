package yamltext

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMistakes wants all that is wrong with a text, each at its place.
func TestMistakes(t *testing.T) {
	const keys = "after, any, at, colour, count, deep, from, inner, level, list, name, on, peers, ratio, words"
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"unknown keys", "nome: x\nwhatever: 1\ninner:\n- a: []\n  kep: x\n", []string{
			"f:1:1: nome: no such key, perhaps name: want one of " + sorted(keys),
			"f:2:1: whatever: no such key: want one of " + sorted(keys),
			"f:5:3: inner[0].kep: no such key, perhaps kept: want one of a, kept, m"}},
		{"twice", "name: x\ncount: many\nname: y\ninner: [{m: {1: 2, 1: 3, 0x1: 4}}]\nany: {a: 1, a: 2}", []string{
			`f:2:8: count: "many": want a whole number`,
			"f:3:1: name: set twice",
			"f:4:20: inner[0].m.1: set twice",
			"f:4:26: inner[0].m.0x1: set twice",
			"f:5:13: any.a: set twice"}},
		{"types", "count: 1.5\non: perhaps\nlist: [x, 10.0.0.0/8, {}]\nat: 80\nfrom: here\nafter: 30\nratio: NaN\ndeep: {level: 256}\nlevel: -1\ncolour: blue\nname: [x]\n", []string{
			`f:1:8: count: "1.5": want a whole number`,
			`f:2:5: on: "perhaps": want true or false`,
			`f:3:8: list[0]: "x": want a prefix, such as 10.4.0.0/24`,
			`f:3:23: list[2]: want a prefix, such as 10.4.0.0/24`,
			`f:4:5: at: "80": want an IP address and a port, such as 127.0.0.1:9090`,
			`f:5:7: from: "here": want an IP address, such as 10.4.0.1`,
			`f:6:8: after: "30": want a duration, such as 30s`,
			`f:7:8: ratio: "NaN": want a number, such as 0.5`,
			`f:8:15: deep.level: "256": want a whole number, 0 to 255`,
			`f:9:8: level: "-1": want a whole number from 0 on`,
			`f:10:9: colour: "blue": want red`,
			`f:11:7: name: want a word`}},
		{"forms", "list: 10.0.0.0/8\nwords: a\ninner: [x, {m: [1], a: {}}, {m: {256: 1}}]\ndeep: 3\npeers: [x, {weight: 3}, []]\n", []string{
			"f:1:7: list: want a list, such as [10.4.0.0/24]",
			"f:2:8: words: want a list, such as [a, b]",
			"f:3:9: inner[0]: want keys and values: a, kept, m",
			"f:3:16: inner[1].m: want keys and values",
			"f:3:24: inner[1].a: want a list, such as [a, b]",
			`f:3:34: inner[2].m.256: "256": want a whole number, 0 to 255 as the key`,
			"f:4:7: deep: want keys and values: level",
			`f:5:9: peers[0]: "x": want a prefix, such as 10.4.0.0/24`,
			`f:5:21: peers[1].weight: "3": want a weight, such as 3kg`,
			"f:5:25: peers[2]: want a prefix, such as 10.4.0.0/24"}},
		{"quotes", "count: \"0x9\"\non: 'true'\nratio: |\n  1.5\nlevel: >\n  1\nafter: '3s'\nname: 'true'\nfrom: \"\"\n", []string{
			`f:1:8: count: "0x9" in quotes: want a whole number`,
			`f:2:5: on: "true" in quotes: want true or false`,
			`f:3:8: ratio: "1.5\n" in quotes: want a number, such as 0.5`,
			`f:5:8: level: "1\n" in quotes: want a whole number`}},
		{"truths", "inner: [{a: [True, no]}]\non: 1", []string{`f:2:5: on: "1": want true or false`}},
		{"truth by a letter", "on: t", []string{`f:1:5: on: "t": want true or false`}},
		{"null", "count: ~\nname: null\nlist: [~]\nwords:\n  - a\n  -\ninner: NULL\ndeep: ~\nany: ~\nfrom:\n", []string{
			"f:1:8: count: no value: want one, or leave it out",
			"f:2:7: name: no value: want one, or leave it out",
			"f:3:8: list[0]: no value: want one, or leave it out",
			"f:6:4: words[1]: no value: want one, or leave it out",
			"f:7:8: inner: no value: want one, or leave it out"}},
		{"tags beside each other", "name: !!str x\ncount: !!int 1\n", []string{
			"f:1:7: a tag: want plain mappings, sequences and scalars", "f:2:8: a tag: want plain mappings, sequences and scalars"}},
		{"no mapping", "- a\n", []string{"f:1:1: want keys and values: " + sorted(keys)}},
		{"tag", "inner:\n- a: !!seq\n  - x", []string{"f:2:6: a tag: want plain mappings, sequences and scalars"}},
		{"two documents", "name: x\n---\nname: y", []string{"f:3:1: a second YAML document: want one"}},
		{"no YAML", "any: [", []string{"f:1:6: sequence end token ']' not found"}},
		{"too long", strings.Repeat("#", MaxOctets+1), []string{"f: more than 1048576 octets"}},
		{"flow", "any: " + strings.Repeat("[", 100_000), []string{"f:1:70: nested too deep"}},
		{"flow mappings", "any: " + strings.Repeat("{a: ", 50_000), []string{"f:1:262: nested too deep"}},
		{"sequences", strings.Repeat("- ", 100_000), []string{"f:1:257: nested too deep"}},
		{"byte order mark", "\ufeffnam: x", []string{"f:1:1: nam: no such key, perhaps name: want one of " + sorted(keys)}},
		{"keys of one mapping", "any:\n" + strings.Repeat("  k: 1\n", 10_001), []string{"f:10002:3: more than 10000 keys in one mapping"}},
		{"keys", strings.Repeat("? ", 100_000), []string{"f:1:257: nested too deep"}},
		{"blocks", indented(500), []string{"f:128:129: nested too deep"}},
		{"more than anybody reads", "words: [" + strings.Repeat("[],", 5000) + "]", append(words(20), "f: and 4980 more")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, r := range []Reader{{}, {Anchors: true}} {
				got := "no error"
				if err := r.Parse("f", []byte(tc.in), &value{}, nil); err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(tc.want, strings.Split(got, "\n")); diff != "" {
					t.Errorf("anchors %v: -want +got\n%s", r.Anchors, diff)
				}
			}
		})
	}
}

// TestChecks: mistakes of values have the places of their keys, and are told beside those
// of the text, but not where they only follow from these.
func TestChecks(t *testing.T) {
	of := errors.New("test")
	check := func(c *Checks) {
		c.Want(false, "name", "x", "y")
		c.Want(false, "count", 3, "4")
		c.OneOf("inner[1].kept", "", "a", "b")
		c.Note("inner[0]", "too small")
		Within(c, "deep.level", uint8(9), 1, 5)
		c.Under("deep", errors.New("not deep enough"))
		var part Checks
		part.Note("from", "not set")
		part.Note("", "no part")
		c.Under("at", part.Err(of))
		c.Under("at", nil)
	}
	err := Reader{Of: of}.Parse("f", []byte("inner:\n- {}\n- a: []\ncount: many\nnome: z\n"), &value{}, check)
	want := []string{
		"f:2:3: inner[0]: too small",
		"f:3:3: inner[1].kept: not set: want a or b",
		`f:4:8: count: "many": want a whole number`,
		"f:5:1: nome: no such key, perhaps name: want one of after, ", // and so on
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) || !errors.Is(err, of) {
		t.Fatalf("got %v", err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("got %s, want %s", lines[i], want[i])
		}
	}
	// What is not there has no place, and is last.
	err = Reader{Of: of}.Parse("", []byte("name: x\ncount: 3\n"), &value{}, check)
	if diff := cmp.Diff([]string{
		`test: 1:7: name: "x": want y`, "test: 2:8: count: 3: want 4", "test: inner[1].kept: not set: want a or b", "test: inner[0]: too small",
		"test: deep.level: 9: want 1 to 5", "test: deep: not deep enough", "test: at.from: not set", "test: at: no part",
	}, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var none Checks
	if err := none.Err(of); err != nil {
		t.Errorf("nothing is wrong: got %v", err)
	}
}

// TestRefused: all anchors and aliases are reported at once, beside what else is wrong.
func TestRefused(t *testing.T) {
	const plain = ": an anchor or alias: want plain mappings, sequences and scalars"
	err := Parse("f", []byte("any: &a {x: 1}\ncount: many\nwords: &b [a]\ninner: [{a: *b}]\n"), &value{}, func(c *Checks) { c.Note("words", "too short") })
	want := []string{"f:1:6" + plain, `f:2:8: count: "many": want a whole number`, "f:3:8" + plain, "f:3:8: words: too short", "f:4:13" + plain}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRanges: for a number that is out of the range of its type, the message has the narrower one that
// its owner has, if there is one.
func TestRanges(t *testing.T) {
	for text, want := range map[string]string{
		"level: 300":       `f:1:8: level: "300": want 1 to 28`,
		"level: -1":        `f:1:8: level: "-1": want 1 to 28`,
		"level: 29":        "f:1:8: level: 29: want 1 to 28",
		"level: many":      `f:1:8: level: "many": want a whole number`,
		"level: '1'":       `f:1:8: level: "1" in quotes: want a whole number`,
		"deep: {level: 1}": "f:1:15: deep.level: 1: want 2 to 3",
		"deep: {level: x}": `f:1:15: deep.level: "x": want a whole number`,
	} {
		v := value{Inline: level{7}}
		err := Parse("f", []byte(text), &v, func(c *Checks) {
			Within(c, "level", v.Inline.Level, 1, 28)
			if v.Deep != nil {
				Within(c, "deep.level", v.Deep.Level, 2, 3)
			}
		})
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestPerhaps: what is near is named, what is not is not.
func TestPerhaps(t *testing.T) {
	names := []string{"address", "associate", "n1", "t1", "limits", "upf"}
	for name, want := range map[string]string{
		"adress": "address", "addrses": "address", "limit": "limits", "asociates": "associate", "Limits": "limits", "up": "upf",
		"x1": "", "n": "", "echo": "", "": "", "gateway": "", strings.Repeat("a", 100): "",
	} {
		if want != "" {
			want = ", perhaps " + want
		}
		if got := perhaps(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
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

// sorted sorts words between commas.
func sorted(text string) string {
	list := strings.Split(text, ", ")
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// words are the mistakes of the first lists in a list of words.
func words(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("f:1:%d: words[%d]: want a word", 9+3*i, i))
	}
	return lines
}
