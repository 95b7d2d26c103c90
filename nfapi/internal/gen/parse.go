package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// profiles are the peers, in the order of nfapi.Profile.
var profiles = []string{"oai-2025", "oai-2024", "aerial"}

// littleEndian reports whether the numbers of a profile are.
func littleEndian(profile string) bool { return profile == "aerial" }

// field is a line of a layout.
type field struct {
	Go, JSON, Kind, Doc string
	Over                map[string]string // kind in a profile, "-": absent
	Only                []string          // profiles that have it; nil: all
}

// in returns the kind of the field in a profile, "" if it is not there.
func (f *field) in(profile string) string {
	if f.Only != nil && !slices.Contains(f.Only, profile) {
		return ""
	}
	if kind, ok := f.Over[profile]; ok {
		return strings.TrimPrefix(kind, "-")
	}
	return f.Kind
}

// node is a field, or a block of fields that are there once, several times or not.
type node struct {
	*field
	cond      string // if: the field with the deciding bits
	mask      uint64
	exact     bool // in oai-2024 only if the field is the mask
	repeat    string
	repeatMax int
	children  []node
}

// structure is a struct or message of a layout.
type structure struct {
	Name, Doc  string
	ID         uint64 // of a message
	Message    string // its name in SCF 222; "": a struct
	Plane      string
	Nodes      []node
	isTop      bool
	sourceFile string
}

// union is a typed PDU with its size.
type union struct {
	Name, TypeJSON, SizeJSON, Doc string
	SizeOf                        bool // the size is that of a C structure: kept, not relied upon
	Members                       []member
}

type member struct {
	Type     int
	Go, Name string
}

// layout is all that the files say.
type layout struct {
	structs  []*structure
	unions   []*union
	byName   map[string]*structure
	unionOf  map[string]*union
	lastUnit *union
}

// parse reads a layout file.
func (l *layout) parse(file, plane, text string) error {
	var current *structure
	var stack []*[]node
	for i, line := range strings.Split(text, "\n") {
		at := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		trimmed := strings.TrimSpace(line)
		words := strings.Fields(trimmed)
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case words[0] == "struct" || words[0] == "message":
			current = &structure{Name: words[1], sourceFile: file, Plane: plane, isTop: words[0] == "message"}
			rest := words[2:]
			if current.isTop {
				id, err := strconv.ParseUint(words[2], 16, 16)
				if err != nil {
					return at("%v", err)
				}
				current.ID, current.Message, rest = id, words[3], words[4:]
			}
			current.Doc = strings.Join(rest, " ")
			stack = []*[]node{&current.Nodes}
			l.structs = append(l.structs, current)
			l.byName[current.Name] = current
		case words[0] == "union":
			l.lastUnit = &union{Name: words[1], TypeJSON: words[2], SizeJSON: words[3], Doc: strings.Join(words[4:], " ")}
			l.unions = append(l.unions, l.lastUnit)
			l.unionOf[words[1]] = l.lastUnit
			current = nil
		case current == nil && l.lastUnit != nil && words[0] == "sizeof":
			l.lastUnit.SizeOf = true
		case current == nil && l.lastUnit != nil:
			kind, err := strconv.Atoi(words[0])
			if err != nil {
				return at("%v", err)
			}
			l.lastUnit.Members = append(l.lastUnit.Members, member{kind, words[1], words[2]})
		case words[0] == "end":
			stack = stack[:len(stack)-1]
		default:
			n, err := parseNode(trimmed)
			if err != nil {
				return at("%v", err)
			}
			top := stack[len(stack)-1]
			*top = append(*top, n)
			if n.field == nil {
				stack = append(stack, &(*top)[len(*top)-1].children)
			}
		}
	}
	return nil
}

// parseNode reads a field, or the beginning of a block.
func parseNode(line string) (node, error) {
	text, doc, _ := strings.Cut(line, "|")
	words := strings.Fields(text)
	switch words[0] {
	case "if":
		name, mask, ok := strings.Cut(words[1], "&")
		exact := !ok
		if exact {
			name, mask, _ = strings.Cut(words[1], "=")
		}
		m, err := strconv.ParseUint(mask, 0, 32)
		return node{cond: name, mask: m, exact: exact}, err
	case "repeat":
		name, most, _ := strings.Cut(words[1], ":")
		n, err := strconv.Atoi(most)
		return node{repeat: name, repeatMax: n}, err
	}
	if len(words) < 3 {
		return node{}, fmt.Errorf("got %q, want name, JSON name and type", text)
	}
	f := &field{Go: words[0], JSON: words[1], Kind: words[2], Doc: strings.TrimSpace(doc), Over: map[string]string{}}
	for _, w := range words[3:] {
		profile, kind, special := strings.Cut(strings.Trim(w, "{}"), ":")
		if !slices.Contains(profiles, profile) {
			return node{}, fmt.Errorf("no profile %q", profile)
		}
		if special {
			f.Over[profile] = kind
		} else {
			f.Only = append(f.Only, profile)
		}
	}
	return node{field: f}, nil
}

// size returns how many octets a kind has, 0 if that varies.
func size(kind string) int {
	base, arg, _ := strings.Cut(kind, ":")
	switch base {
	case "u8", "count8", "u8-2":
		return 1
	case "u16", "s16", "count16":
		return 2
	case "u24":
		return 3
	case "u32", "s32", "count32":
		return 4
	case "octets":
		n, _ := strconv.Atoi(arg)
		return n
	}
	return 0
}

// formula is a number that depends on a field: F(X), or F(^X) of the structure
// around.
type formula struct{ Func, Of string }

func parseFormula(s string) formula {
	name, rest, _ := strings.Cut(s, "(")
	return formula{name, strings.TrimSuffix(rest, ")")}
}
