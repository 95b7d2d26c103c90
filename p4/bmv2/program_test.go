package bmv2

import (
	"encoding/json"
	"fmt"
	"strings"
)

// obj and list are JSON.
type (
	obj  = map[string]any
	list = []any
)

// program is BMv2 JSON in the making: the headers of v1model's metadata, and what a test adds.
type program struct {
	types, headers, states, actions, tables, conds list
	order                                          list
	extra                                          obj // sections as they are
	egress                                         list
	init, egressInit                               any
}

func newProgram() *program {
	p := &program{extra: obj{}}
	p.header("standard_metadata", true, "ingress_port", 9, "egress_spec", 9, "egress_port", 9, "instance_type", 32,
		"packet_length", 32, "ingress_global_timestamp", 48, "egress_global_timestamp", 48, "mcast_grp", 16, "egress_rid", 16,
		"checksum_error", 1, "parser_error", 32)
	return p
}

// header adds a header or metadata with a type of its own. Widths below zero are of signed fields, zero of a variable one.
func (p *program) header(name string, meta bool, fields ...any) {
	var fs list
	for i := 0; i < len(fields); i += 2 {
		switch w := fields[i+1].(int); {
		case w < 0:
			fs = append(fs, list{fields[i], -w, true})
		case w == 0:
			fs = append(fs, list{fields[i], "*"})
		default:
			fs = append(fs, list{fields[i], w, false})
		}
	}
	n := len(p.headers)
	p.types = append(p.types, obj{"name": name + "_t", "id": n, "fields": fs, "max_length": 40})
	p.headers = append(p.headers, obj{"name": name, "id": n, "header_type": name + "_t", "metadata": meta})
}

// state adds a parser state; transitions are pairs of a value, "" for the default, and the next state, "" for the end.
func (p *program) state(name string, ops, key list, transitions ...string) {
	var ts list
	for i := 0; i < len(transitions); i += 2 {
		t := obj{"type": "hexstr", "value": transitions[i], "mask": nil, "next_state": transitions[i+1]}
		if transitions[i] == "" {
			t["type"], t["value"] = "default", nil
		}
		if v, m, masked := strings.Cut(transitions[i], "&"); masked {
			t["value"], t["mask"] = v, m
		}
		if transitions[i+1] == "" {
			t["next_state"] = nil
		}
		ts = append(ts, t)
	}
	p.states = append(p.states, obj{"name": name, "id": len(p.states), "parser_ops": ops, "transition_key": key,
		"transitions": ts})
}

// action adds an action, with parameters of these widths, and gives its number.
func (p *program) action(name string, widths []int, prims ...any) int {
	var params list
	for i, w := range widths {
		params = append(params, obj{"name": fmt.Sprintf("p%d", i), "bitwidth": w})
	}
	if params == nil {
		params = list{}
	}
	p.actions = append(p.actions, obj{"name": name, "id": len(p.actions), "runtime_data": params, "primitives": append(list{}, prims...)})
	return len(p.actions) - 1
}

// table adds a table of ingress with a default action, and what follows it.
func (p *program) table(name string, keys list, def int, data list, next any, actions ...int) obj {
	names, follow, ids := list{}, obj{}, list{}
	for _, a := range append([]int{def}, actions...) {
		n := p.actions[a].(obj)["name"].(string)
		names, ids, follow[n] = append(names, n), append(ids, a), next
	}
	if data == nil {
		data = list{}
	}
	t := obj{"name": name, "id": len(p.tables), "match_type": "exact", "type": "simple", "max_size": 64,
		"key": append(list{}, keys...), "actions": names, "action_ids": ids, "next_tables": follow,
		"default_entry": obj{"action_id": def, "action_const": false, "action_data": data}}
	p.tables = append(p.tables, t)
	if p.init == nil {
		p.init = name
	}
	return t
}

// json is the whole program.
func (p *program) json() []byte {
	start := any("start")
	if len(p.states) == 0 {
		start = ""
	}
	all := obj{
		"__meta__":     obj{"version": list{2, 24}},
		"header_types": p.types, "headers": p.headers, "actions": p.actions,
		"parsers":   list{obj{"name": "parser", "id": 0, "init_state": start, "parse_states": p.states}},
		"deparsers": list{obj{"name": "deparser", "id": 0, "order": append(list{}, p.order...), "primitives": list{}}},
		"pipelines": list{
			obj{"name": "ingress", "id": 0, "init_table": p.init, "tables": p.tables, "conditionals": p.conds},
			obj{"name": "egress", "id": 1, "init_table": p.egressInit, "tables": p.egress},
		},
	}
	for k, v := range p.extra {
		all[k] = v
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return b
}

func primOf(op string, params ...any) obj {
	return obj{"op": op, "parameters": append(list{}, params...)}
}

func fieldOf(h, f string) obj      { return obj{"type": "field", "value": list{h, f}} }
func hexOf(v uint64) obj           { return obj{"type": "hexstr", "value": fmt.Sprintf("0x%x", v)} }
func headerOf(h string) obj        { return obj{"type": "header", "value": h} }
func named1(typ, n string) obj     { return obj{"type": typ, "value": n} }
func paramOf(i int) obj            { return obj{"type": "runtime_data", "value": i} }
func exprOf(v any) obj             { return obj{"type": "expression", "value": v} }
func opOf(op string, l, r any) obj { return exprOf(obj{"op": op, "left": l, "right": r}) }
func extractOf(h string) obj {
	return primOf("extract", obj{"type": "regular", "value": h})
}
