package pfcpsim

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// ErrExpected is what the UP function did otherwise than the scenario expects.
var ErrExpected = errors.New("not as expected")

// A matcher compares what came with what is expected, and keeps the values that
// are asked for.
type matcher struct {
	message pfcp.MessageType
	vars    map[string]string
}

// nodes looks for every IE that is expected. Of IEs that repeat one has to
// match; of a list of expectations each has to be matched by one of them.
func (m *matcher) nodes(nodes []Node, expect any) error {
	switch expect := expect.(type) {
	case nil:
		return nil
	case []any:
		for _, part := range expect {
			if err := m.nodes(nodes, part); err != nil {
				return err
			}
		}
		return nil
	case yaml.MapSlice:
		for _, item := range expect {
			if err := m.ie(nodes, fmt.Sprint(item.Key), item.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%v where IEs are expected: %w", expect, ErrForm)
}

func (m *matcher) ie(nodes []Node, name string, expect any) error {
	t, err := typeIn(name, m.message)
	if err != nil {
		return err
	}
	if list, ok := expect.([]any); ok {
		for _, one := range list {
			if err := m.ie(nodes, name, one); err != nil {
				return err
			}
		}
		return nil
	}
	var here []Node
	for _, n := range nodes {
		if n.Type == t {
			here = append(here, n)
		}
	}
	switch {
	case expect == "absent" && len(here) == 0:
		return nil
	case expect == "absent":
		return fmt.Errorf("%s is there: %v: %w", name, Text(here), ErrExpected)
	case len(here) == 0:
		return fmt.Errorf("%s is not there: %w", name, ErrExpected)
	}
	for i := range here {
		attempt := matcher{m.message, maps.Clone(m.vars)}
		if err = attempt.one(&here[i], expect); err == nil {
			maps.Copy(m.vars, attempt.vars)
			return nil
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (m *matcher) one(n *Node, expect any) error {
	if n.Value == nil && pfcp.IsGrouped(n.Type) {
		if expect == "present" {
			return nil
		}
		return m.nodes(n.Children, expect)
	}
	if fields, ok := expect.(yaml.MapSlice); ok {
		got, _ := n.view().(yaml.MapSlice)
		return m.fields(got, fields)
	}
	return m.scalar(n, expect)
}

// scalar compares one value: by text, or as it would be read from the scenario.
func (m *matcher) scalar(n *Node, expect any) error {
	got, want := n.view(), fmt.Sprint(expect)
	if n.Value != nil && !strings.HasPrefix(want, "?") && want != "present" {
		read := pfcp.NewContent(n.Type)
		if set(reflect.ValueOf(read).Elem(), expect) == nil && reflect.DeepEqual(read, n.Value) {
			return nil
		}
	}
	return m.value(got, want)
}

// value compares a value with a text: ?name keeps it, "present" takes any, ">0"
// and "<9" compare numbers, "has X" looks for one of several flags.
func (m *matcher) value(got any, want string) error {
	have := fmt.Sprint(got)
	var a, b uint64
	switch {
	case want == "present":
		return nil
	case strings.HasPrefix(want, "?"):
		m.vars[want[1:]] = have
		return nil
	case strings.HasPrefix(want, ">") || strings.HasPrefix(want, "<"):
		if _, err := fmt.Sscan(have+" "+want[1:], &a, &b); err == nil && (want[0] == '>' && a > b || want[0] == '<' && a < b) {
			return nil
		}
	case strings.HasPrefix(want, "has "):
		if strings.Contains(" "+have+" ", " "+want[4:]+" ") {
			return nil
		}
	case have == want:
		return nil
	}
	return fmt.Errorf("got %s, want %s: %w", have, want, ErrExpected)
}

// fields compares the fields of a value. A field that is not there is zero.
func (m *matcher) fields(got, expect yaml.MapSlice) error {
	for _, item := range expect {
		key, want := fmt.Sprint(item.Key), fmt.Sprint(item.Value)
		found := false
		for _, field := range got {
			if fold(fmt.Sprint(field.Key)) != fold(key) {
				continue
			}
			found = true
			if err := m.value(field.Value, want); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		if !found && want != "absent" && want != "false" && want != "0" {
			return fmt.Errorf("%s: absent, want %s: %w", key, want, ErrExpected)
		}
	}
	return nil
}
