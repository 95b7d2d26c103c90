package upf

import (
	"encoding"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestLoadExample keeps the file that is shipped valid, with every key in it and
// every default as it is.
func TestLoadExample(t *testing.T) {
	path := filepath.Join("..", "deploy", "upf.yaml")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var in map[string]any
	if err := yaml.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys("", reflect.TypeFor[Config]()) {
		if !hasKey(in, key) {
			t.Errorf("%s: no key %s", path, key)
		}
	}
	want := Default()
	want.NodeID, want.N4.Address, want.N3, want.N6.Device = c.NodeID, c.N4.Address, c.N3, c.N6.Device // have no default
	if diff := cmp.Diff(want, c, netips, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: -default +file\n%s", path, diff)
	}
}

// hasKey looks for a key with dots in it.
func hasKey(in map[string]any, key string) bool {
	section, rest, within := strings.Cut(key, ".")
	value, ok := in[section]
	if !within {
		return ok
	}
	inner, _ := value.(map[string]any)
	return hasKey(inner, rest)
}

// TestExampleLists: each key that an element of a list may have is in the example
// above that list in the file that is shipped, or in a section of that name.
func TestExampleLists(t *testing.T) {
	path := filepath.Join("..", "deploy", "upf.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, element := range lists("", reflect.TypeFor[Config]()) {
		if name == "bus.agents" || name == "n4.peers" { // of plumb n4; an address alone will do
			continue
		}
		line := "\n" + name + ": []\n"
		if _, last, within := strings.Cut(name, "."); within {
			line = "\n  " + last + ": []\n"
		}
		before, _, found := strings.Cut(string(data), line)
		example := before[strings.LastIndex(before, "\n\n")+1:]
		if !found {
			t.Errorf("%s: no list %s", path, name)
		}
		for i := range element.NumField() {
			key := element.Field(i).Tag.Get("yaml") + ":"
			if !strings.Contains(example, "#     "+key) && !strings.Contains(example, "#   - "+key) {
				t.Errorf("%s: the example of %s has no %s", path, name, key)
			}
		}
	}
}

// lists returns the type of the elements of each list of sections.
func lists(prefix string, t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("yaml")
		switch {
		case f.Type.PkgPath() == t.PkgPath() && f.Type.Kind() == reflect.Struct:
			maps.Copy(all, lists(key+".", f.Type))
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && f.Type.Elem().PkgPath() == t.PkgPath():
			all[key] = f.Type.Elem()
		}
	}
	return all
}

// keys lists the keys of a configuration, sections first.
func keys(prefix string, t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("yaml")
		list = append(list, key)
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			list = append(list, keys(key+".", f.Type)...)
		}
	}
	return list
}
