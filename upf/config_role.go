package upf

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Where the values of a configuration have a meaning: keys, or sections of them,
// which do nothing in a process of the role. What is not here is of all.
var notOf = map[Role][]string{
	RoleUPF: {"bus"},
	RoleN4: {
		"n3", "gtpu", "n6", "data_networks", "forwarding_policies", "router_advertisement", "buffer", "meter_burst", "xdp", "tc", "tun",
		"bus.agent",
	},
	RoleDatapath: {"node_id", "n4", "pools", "slices", "predefined_rules", "store", "bus.agents", "bus.timeout"},
}

// roleCommand is which command runs a process of the role.
var roleCommand = map[Role]string{RoleUPF: "plumb upf", RoleN4: "plumb n4", RoleDatapath: "plumb datapath"}

// checkRole notes what is set and would do nothing in a process of this role. A
// value that is the default says nothing that is not so.
func (c *Config) checkRole(m *checks) {
	role := c.Role()
	for key := range setKeys("", reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem()) {
		for _, not := range notOf[role] {
			if key == not || strings.HasPrefix(key, not+".") {
				m.Note(key, "does nothing in a configuration of '%s': it is of %s", roleCommand[role], commandsOf(key))
			}
		}
	}
	if role == RoleUPF {
		for i := range c.Slices {
			m.Want(c.Slices[i].Agent == "", fmt.Sprintf("slices[%d].agent", i), c.Slices[i].Agent,
				"none: 'plumb upf' has one datapath (agents are of 'plumb n4')")
		}
	}
}

// commandsOf says in which configurations a key means something.
func commandsOf(key string) string {
	var list []string
	for _, role := range []Role{RoleUPF, RoleN4, RoleDatapath} {
		if !slices.ContainsFunc(notOf[role], func(not string) bool { return key == not || strings.HasPrefix(key, not+".") }) {
			list = append(list, "'"+roleCommand[role]+"'")
		}
	}
	return strings.Join(list, " and ")
}

// setKeys yields the keys whose values are not the default, in the order of the
// file.
func setKeys(prefix string, v, standard reflect.Value) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range v.NumField() {
			key := strings.TrimPrefix(prefix+"."+v.Type().Field(i).Tag.Get("yaml"), ".")
			f, s := v.Field(i), standard.Field(i)
			_, isText := f.Addr().Interface().(encoding.TextUnmarshaler)
			switch {
			case f.Kind() == reflect.Struct && !isText:
				for inner := range setKeys(key, f, s) {
					if !yield(inner) {
						return
					}
				}
			case f.Kind() == reflect.Slice && f.Len() == 0 && s.Len() == 0: // nil is as good as empty
			case !reflect.DeepEqual(f.Interface(), s.Interface()):
				if !yield(key) {
					return
				}
			}
		}
	}
}
