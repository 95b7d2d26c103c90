package bmv2

import (
	"errors"
	"strings"
	"testing"
)

// TestRefused has programs that are broken, or use what is not implemented, and what the error names.
func TestRefused(t *testing.T) {
	const (
		broken      = false
		unsupported = true
	)
	table := func(key string, v any) func(*program) {
		return func(p *program) { p.tables[0].(obj)[key] = v }
	}
	section := func(key string, v any) func(*program) { return func(p *program) { p.extra[key] = v } }
	action := func(prims ...any) func(*program) {
		return func(p *program) { p.actions[0].(obj)["primitives"] = append(list{}, prims...) }
	}
	state := func(ops list, key list, transitions ...string) func(*program) {
		return func(p *program) { p.states = nil; p.state("start", ops, key, transitions...) }
	}
	field := func(fs ...any) func(*program) { return func(p *program) { p.header("q", false, fs...) } }
	expr := func(e any) func(*program) { return action(set("h", "a", e)) }
	tests := []struct {
		name        string
		unsupported bool
		change      func(*program)
		names       string
	}{
		{"primitive", unsupported, action(primOf("frobnicate")), `"frobnicate"`},
		{"primitive's parameters", broken, action(primOf("assign", fieldOf("h", "a"))), "1 parameters instead of 2"},
		{"operator", unsupported, expr(opOf("**", hexOf(1), hexOf(2))), `"**"`},
		{"operand's kind", broken, expr(opOf("+", headerOf("h"), hexOf(2))), "wrong kind"},
		{"operand is missing", broken, expr(opOf("+", nil, hexOf(2))), "left is missing"},
		{"right operand is missing", broken, expr(exprOf(obj{"op": "~"})), "missing"},
		{"condition is missing", broken, expr(exprOf(obj{"op": "?", "left": hexOf(1), "right": hexOf(2)})), "missing"},
		{"value's type", unsupported, expr(obj{"type": "register", "value": list{"r", 1}}), `"register"`},
		{"shift by a negative number", unsupported, expr(opOf("<<", hexOf(1), opOf("-", hexOf(1), fieldOf("h", "a")))), "negative"},
		{"division by what may be negative", unsupported, expr(opOf("/", hexOf(1), opOf("-", hexOf(1), fieldOf("h", "a")))), "negative"},
		{"number without bounds", unsupported, expr(opOf(">>", opOf("<<", opOf("<<", hexOf(1), fieldOf("h", "b")), hexOf(1)), hexOf(1))), "4096"},
		{"cast's width", broken, expr(opOf("usat_cast", hexOf(1), fieldOf("h", "a"))), "width"},
		{"hexadecimal", broken, expr(obj{"type": "hexstr", "value": "0xzz"}), "zz"},
		{"field", broken, expr(fieldOf("h", "zz")), `"zz"`},
		{"header", broken, expr(fieldOf("zz", "a")), `"zz"`},
		{"assignment to a constant", broken, action(primOf("assign", hexOf(1), hexOf(2))), "cannot be assigned"},
		{"parameter", broken, expr(paramOf(3)), "parameters"},
		{"jump", broken, action(primOf("_jump", hexOf(9))), "target"},
		{"headers of two types", broken, action(primOf("assign_header", headerOf("h"), headerOf("o"))), "two types"},
		{"digest", broken, action(primOf("generate_digest", hexOf(1), hexOf(7))), "7"},
		{"field list", broken, action(primOf("resubmit", hexOf(7))), "7"},
		{"counter", broken, action(primOf("count", named1("counter_array", "zz"), hexOf(0))), `"zz"`},
		{"parser op", unsupported, state(list{primOf("frobnicate")}, nil, "", ""), `"frobnicate"`},
		{"next state", broken, state(nil, nil, "", "zz"), `"zz"`},
		{"first state", broken, func(p *program) { p.states = nil; p.state("other", nil, nil, "", "") }, `"start"`},
		{"extract a field", broken, state(list{extractOf("zz")}, nil, "", ""), `"zz"`},
		{"extract metadata", broken, state(list{extractOf("standard_metadata")}, nil, "", ""), "standard_metadata"},
		{"extract without a length", broken, func(p *program) {
			p.header("q", false, "n", 8, "var", 0)
			state(list{extractOf("q")}, nil, "", "")(p)
		}, `"q"`},
		{"select without a key", broken, state(nil, nil, "0x01", ""), "key"},
		{"select value too wide", broken, state(nil, list{ahead1(0, 8)}, "0x0101", ""), "8 bits"},
		{"lookahead without end", broken, state(nil, list{ahead1(0, 1<<30)}, "", ""), "lookahead"},
		{"value set", unsupported, section("parse_vsets", list{obj{"name": "v", "id": 0}}), "parse_vsets"},
		{"header union", unsupported, section("header_unions", list{obj{"name": "v", "id": 0}}), "header_unions"},
		{"extern", unsupported, section("extern_instances", list{obj{"name": "v", "id": 0}}), "extern_instances"},
		{"version", unsupported, section("__meta__", obj{"version": list{3, 0}}), "version"},
		{"hash algorithm", unsupported, section("calculations", list{obj{"name": "c", "id": 0, "algo": "zz", "input": list{}}}), `"zz"`},
		{"meter of three rates", unsupported, section("meter_arrays", list{obj{"name": "m", "id": 0, "type": "bytes", "rate_count": 3}}), "3 rates"},
		{"meter's type", broken, section("meter_arrays", list{obj{"name": "m", "id": 0, "type": "zz", "rate_count": 2}}), `"zz"`},
		{"counters without end", broken, section("counter_arrays", list{obj{"name": "m", "id": 0, "size": 1 << 40}}), "size"},
		{"register's width", broken, section("register_arrays", list{obj{"name": "m", "id": 0, "size": 1, "bitwidth": 0}}), "width"},
		{"direct counter without a table", broken, section("counter_arrays", list{obj{"name": "m", "id": 0, "is_direct": true, "binding": "zz"}}), `"zz"`},
		{"checksum's target", broken, section("checksums", list{obj{"name": "c", "id": 0, "type": "generic", "calculation": "zz", "target": list{"h", "a"}}}), `"zz"`},
		{"error twice", broken, section("errors", list{list{"A", 1}, list{"B", 1}}), "B"},
		{"stack", broken, section("header_stacks", list{obj{"name": "s", "id": 0, "header_type": "h_t", "header_ids": list{77}}}), "77"},
		{"deparser", broken, func(p *program) { p.order = list{"zz"} }, `"zz"`},
		{"match kind", unsupported, table("key", list{obj{"match_type": "selector", "name": "k", "target": list{"h", "a"}}}), `"selector"`},
		{"key that is an expression", unsupported, table("key", list{obj{"match_type": "exact", "name": "k", "target": opOf("+", hexOf(1), hexOf(2))}}), `"k"`},
		{"field of an expression", unsupported, expr(obj{"type": "field", "value": list{opOf("+", hexOf(1), hexOf(2)), "a"}}), "expression"},
		{"two lpm", broken, table("key", list{obj{"match_type": "lpm", "name": "k", "target": list{"h", "a"}}, obj{"match_type": "lpm", "name": "l", "target": list{"h", "b"}}}), "two lpm"},
		{"table's type", unsupported, table("type", "indirect"), `"indirect"`},
		{"table's size", broken, table("max_size", 1<<30), "max_size"},
		{"timeout", unsupported, table("support_timeout", true), "support_timeout"},
		{"table's action", broken, table("action_ids", list{9}), "9"},
		{"next table", broken, table("next_tables", obj{"a": "zz"}), `"zz"`},
		{"table after itself", broken, table("next_tables", obj{"a": "t"}), "follows upon itself"},
		{"default action's parameters", broken, table("default_entry", obj{"action_id": 0, "action_data": list{"0x1"}}), "1 parameters instead of 0"},
		{"const entry's action", broken, table("entries", list{obj{"match_key": list{}, "action_entry": obj{"action_id": 9}}}), "9"},
		{"const entry twice", broken, func(p *program) {
			table("key", list{obj{"match_type": "exact", "name": "k", "target": list{"h", "a"}}})(p)
			e := obj{"match_key": list{obj{"match_type": "exact", "key": "0x1"}}, "action_entry": obj{"action_id": 0, "action_data": list{}}}
			table("entries", list{e, e})(p)
		}, "exists"},
		{"direct meter", broken, table("direct_meters", "zz"), `"zz"`},
		{"pipeline", unsupported, func(p *program) { p.extra["pipelines"] = list{obj{"name": "zz", "id": 0}} }, `"zz"`},
		{"action profile", unsupported, func(p *program) {
			p.extra["pipelines"] = list{obj{"name": "ingress", "id": 0, "action_profiles": list{obj{"name": "zz", "id": 0}}}}
		}, `"zz"`},
		{"field's width", broken, field("x", 5000), "5000"},
		{"header of no octets", broken, field("x", 7), "7 bits"},
		{"field twice", broken, field("x", 8, "x", 8), `"x"`},
		{"variable field in metadata", unsupported, func(p *program) { p.header("q", true, "x", 0) }, `"x"`},
		{"two variable fields", broken, field("x", 0, "y", 0), `"y"`},
		{"header twice", broken, func(p *program) { p.header("h", false, "x", 8) }, `"h_t"`},
		{"not v1model", broken, func(p *program) { p.headers = p.headers[1:] }, "v1model"},
		{"alias", broken, section("field_aliases", list{list{"x.y", list{"zz", "a"}}}), `"zz"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram()
			p.header("h", false, "a", 8, "b", 16)
			p.header("o", false, "a", 8)
			p.state("start", list{extractOf("h")}, nil, "", "")
			a := p.action("a", nil)
			p.table("t", nil, a, nil, nil)
			p.order = list{"h"}
			if _, err := Load(p.json()); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			tt.change(p)
			_, err := Load(p.json())
			if err == nil || errors.Is(err, ErrUnsupported) != tt.unsupported || !strings.Contains(err.Error(), tt.names) {
				t.Errorf("error %v, want one that names %s; not implemented: %v", err, tt.names, tt.unsupported)
			}
		})
	}
	for _, text := range []string{"", "{", "[]", `{"headers": 1}`} {
		if _, err := Load([]byte(text)); err == nil {
			t.Errorf("%q was loaded", text)
		}
	}
}
