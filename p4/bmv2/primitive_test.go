package bmv2

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stackOf adds a stack of headers of one field.
func (p *program) stackOf(name string, n int) {
	p.types = append(p.types, obj{"name": name + "_t", "id": len(p.headers), "fields": list{list{"v", 8, false}}})
	var ids list
	for i := range n {
		id := len(p.headers)
		p.headers = append(p.headers, obj{"name": fmt.Sprintf("%s[%d]", name, i), "id": id, "header_type": name + "_t", "metadata": false})
		ids = append(ids, id)
	}
	p.extra["header_stacks"] = append(list{}, obj{"name": name, "id": 0, "header_type": name + "_t", "header_ids": ids})
}

func extractStack(name string) obj {
	return primOf("extract", obj{"type": "stack", "value": name})
}

func element(stack string, i any) obj {
	return opOf("dereference_header_stack", named1("header_stack", stack), i)
}

// primProgram runs primitives over x (a 8, b 16, c 32 bits), y of the same type, and a stack s of three elements; x, y, s[0], s[1], s[2]
// leave. The frame is x and, if x.a is 2 or 3, that number of elements of the stack.
func primProgram(prims ...any) *program {
	p := newProgram()
	p.header("x", false, "a", 8, "b", 16, "c", 32)
	p.headers = append(p.headers, obj{"name": "y", "id": 90, "header_type": "x_t", "metadata": false})
	p.header("m", true, "flag", 1, "wide", 100, "idx", 8)
	p.stackOf("s", 3)
	p.state("start", list{extractOf("x")}, list{fieldOf("x", "a")}, "0x02", "two", "0x03", "three", "", "")
	p.state("two", list{extractStack("s"), extractStack("s")}, nil, "", "")
	p.state("three", list{extractStack("s"), extractStack("s"), extractStack("s")}, nil, "", "")
	p.extra["calculations"] = list{}
	for i, algo := range []string{"crc16", "crc32", "csum16", "identity", "xor16"} {
		p.extra["calculations"] = append(p.extra["calculations"].(list), obj{"name": algo, "id": i, "algo": algo, "input": list{
			fieldOf("x", "a"), obj{"type": "hexstr", "value": "0x1", "bitwidth": 4}, obj{"type": "hexstr", "value": "0x2", "bitwidth": 4},
			fieldOf("x", "c"), headerOf("y")}})
	}
	p.extra["register_arrays"] = list{obj{"name": "r", "id": 0, "size": 4, "bitwidth": 16}, obj{"name": "rw", "id": 1, "size": 2, "bitwidth": 100}}
	p.extra["counter_arrays"] = list{obj{"name": "n", "id": 0, "size": 4, "is_direct": false}}
	p.extra["field_lists"] = list{obj{"id": 1, "name": "fl", "elements": list{fieldOf("m", "idx")}}}
	p.extra["learn_lists"] = list{obj{"id": 1, "name": "l", "elements": list{fieldOf("x", "b"), fieldOf("m", "flag"), fieldOf("m", "wide"),
		fieldOf("y", "$valid$")}}}
	a := p.action("a", nil, prims...)
	p.table("t", nil, a, nil, nil)
	p.order = list{"x", "y", "s[0]", "s[1]", "s[2]"}
	return p
}

func set(h, f string, v any) obj { return primOf("assign", fieldOf(h, f), v) }

func TestPrimitives(t *testing.T) {
	calc := octets("01 12 04050607")
	hash := func(name string, base, size uint64) obj {
		return primOf("modify_field_with_hash_based_offset", fieldOf("x", "c"), hexOf(base), named1("calculation", name), hexOf(size))
	}
	tests := []struct {
		name  string
		prims []any
		in    string // "01 0203 04050607" if empty
		want  string
	}{
		{name: "no_op", prims: []any{primOf("no_op")}, want: "01 0203 04050607 ff"},
		{name: "assign constant", prims: []any{set("x", "b", hexOf(0x12345))}, want: "01 2345 04050607 ff"},
		{name: "assign negative", prims: []any{set("x", "b", obj{"type": "hexstr", "value": "-0x1"})}, want: "01 ffff 04050607 ff"},
		{name: "assign narrower", prims: []any{set("x", "a", fieldOf("x", "c"))}, want: "07 0203 04050607 ff"},
		{name: "assign wider", prims: []any{set("x", "c", fieldOf("x", "a"))}, want: "01 0203 00000001 ff"},
		{name: "assign a bit of a wider field", in: "01 0203 04050606", prims: []any{set("m", "flag", opOf("&", fieldOf("x", "c"), hexOf(1))),
			set("x", "b", fieldOf("m", "flag"))}, want: "01 0000 04050606 ff"},
		{name: "assign bool", prims: []any{set("x", "a", obj{"type": "bool", "value": true}), set("x", "b", opOf("==", fieldOf("x", "a"), hexOf(9)))},
			want: "01 0000 04050607 ff"},
		{name: "modify_field", prims: []any{primOf("modify_field", fieldOf("x", "a"), hexOf(7))}, want: "07 0203 04050607 ff"},
		{name: "add_to_field", prims: []any{primOf("add_to_field", fieldOf("x", "a"), hexOf(255))}, want: "00 0203 04050607 ff"},
		{name: "subtract_from_field", prims: []any{primOf("subtract_from_field", fieldOf("x", "a"), hexOf(2))}, want: "ff 0203 04050607 ff"},
		{name: "add", prims: []any{primOf("add", fieldOf("x", "b"), fieldOf("x", "a"), fieldOf("x", "c"))}, want: "01 0608 04050607 ff"},
		{name: "subtract", prims: []any{primOf("subtract", fieldOf("x", "b"), fieldOf("x", "a"), fieldOf("x", "c"))}, want: "01 f9fa 04050607 ff"},
		{name: "bit_xor", prims: []any{primOf("bit_xor", fieldOf("x", "a"), fieldOf("x", "a"), hexOf(0x83))}, want: "82 0203 04050607 ff"},
		{name: "bit_or", prims: []any{primOf("bit_or", fieldOf("x", "a"), fieldOf("x", "a"), hexOf(0x82))}, want: "83 0203 04050607 ff"},
		{name: "bit_and", prims: []any{primOf("bit_and", fieldOf("x", "b"), fieldOf("x", "b"), hexOf(0xf01))}, want: "01 0201 04050607 ff"},
		{name: "shift_left", prims: []any{primOf("shift_left", fieldOf("x", "b"), fieldOf("x", "b"), fieldOf("x", "a"))}, want: "01 0406 04050607 ff"},
		{name: "shift_right", prims: []any{primOf("shift_right", fieldOf("x", "b"), fieldOf("x", "b"), hexOf(4))}, want: "01 0020 04050607 ff"},
		{name: "add_header", prims: []any{primOf("add_header", headerOf("y")), set("y", "b", hexOf(9))}, want: "01 0203 04050607 00 0009 00000000 ff"},
		{name: "add_header that is there", prims: []any{primOf("add_header", headerOf("x"))}, want: "01 0203 04050607 ff"},
		{name: "remove_header", prims: []any{primOf("remove_header", headerOf("x"))}, want: "ff"},
		{name: "remove and add", prims: []any{primOf("remove_header", headerOf("x")), primOf("add_header", headerOf("x"))}, want: "00 0000 00000000 ff"},
		{name: "assign_header", prims: []any{set("x", "a", hexOf(7)), primOf("assign_header", headerOf("y"), headerOf("x")), set("x", "a", hexOf(8))},
			want: "08 0203 04050607 07 0203 04050607 ff"},
		{name: "assign_header that is not valid", prims: []any{primOf("assign_header", headerOf("x"), headerOf("y"))}, want: "ff"},
		{name: "equal headers", prims: []any{primOf("assign_header", headerOf("y"), headerOf("x")),
			set("x", "a", opOf("==", headerOf("x"), headerOf("y"))), set("x", "b", opOf("!=", headerOf("x"), headerOf("y")))},
			want: "01 0000 04050607 01 0203 04050607 ff"},
		{name: "headers that are not valid are not equal", prims: []any{set("x", "a", opOf("==", headerOf("y"), headerOf("y")))}, want: "00 0203 04050607 ff"},
		{name: "valid", prims: []any{set("x", "a", opOf("valid", nil, headerOf("y"))), set("x", "b", fieldOf("x", "$valid$"))}, want: "00 0001 04050607 ff"},
		{name: "push", in: "02 0000 00000000 aa bb", prims: []any{primOf("push", named1("header_stack", "s"), hexOf(1)), primOf("add_header", headerOf("s[0]"))},
			want: "02 0000 00000000 00 aa bb ff"},
		{name: "push beyond the end", in: "03 0000 00000000 aa bb cc", prims: []any{primOf("push", named1("header_stack", "s"), hexOf(2))}, want: "03 0000 00000000 aa ff"},
		{name: "push all", in: "03 0000 00000000 aa bb cc", prims: []any{primOf("push", named1("header_stack", "s"), hexOf(9))}, want: "03 0000 00000000 ff"},
		{name: "pop", in: "03 0000 00000000 aa bb cc", prims: []any{primOf("pop", named1("header_stack", "s"), hexOf(2))}, want: "03 0000 00000000 cc ff"},
		{name: "pop all", in: "02 0000 00000000 aa bb", prims: []any{primOf("pop", named1("header_stack", "s"), hexOf(200))}, want: "02 0000 00000000 ff"},
		{name: "element by index", in: "03 0001 00000000 aa bb cc", prims: []any{
			primOf("assign", opOf("access_field", element("s", fieldOf("x", "b")), 0), hexOf(0x55)),
			set("x", "a", opOf("access_field", element("s", hexOf(2)), 0))}, want: "cc 0001 00000000 aa 55 cc ff"},
		{name: "element beyond the end", in: "02 0009 00000000 aa bb", prims: []any{
			primOf("assign", opOf("access_field", element("s", fieldOf("x", "b")), 0), hexOf(0x55)),
			primOf("add_header", element("s", fieldOf("x", "b"))),
			set("x", "a", opOf("access_field", element("s", fieldOf("x", "b")), 0))}, want: "00 0009 00000000 aa bb ff"},
		{name: "remove an element by index", in: "02 0001 00000000 aa bb", prims: []any{primOf("remove_header", element("s", fieldOf("x", "b")))},
			want: "02 0001 00000000 aa ff"},
		{name: "last element", in: "02 0000 00000000 aa bb", prims: []any{set("x", "a", obj{"type": "stack_field", "value": list{"s", "v"}}),
			set("x", "b", opOf("last_stack_index", nil, named1("header_stack", "s"))), set("x", "c", opOf("size_stack", nil, named1("header_stack", "s")))},
			want: "bb 0001 00000002 aa bb ff"},
		{name: "last of none", prims: []any{set("x", "a", obj{"type": "stack_field", "value": list{"s", "v"}}),
			set("x", "b", opOf("last_stack_index", nil, named1("header_stack", "s")))}, want: "00 ffff 04050607 ff"},
		{name: "jump", prims: []any{primOf("_jump", hexOf(2)), set("x", "a", hexOf(9)), set("x", "b", hexOf(9))}, want: "01 0009 04050607 ff"},
		{name: "jump if zero", prims: []any{primOf("_jump_if_zero", opOf("==", fieldOf("x", "a"), hexOf(1)), hexOf(2)), set("x", "b", hexOf(9)),
			primOf("_jump_if_zero", fieldOf("m", "flag"), hexOf(4)), set("x", "c", hexOf(9))}, want: "01 0009 04050607 ff"},
		{name: "loop", prims: []any{set("x", "b", hexOf(0)), primOf("_jump_if_zero", opOf("<", fieldOf("x", "b"), hexOf(5)), hexOf(4)),
			primOf("add_to_field", fieldOf("x", "b"), hexOf(1)), primOf("_jump", hexOf(1)), set("x", "a", hexOf(9))}, want: "09 0005 04050607 ff"},
		{name: "truncate", prims: []any{primOf("truncate", hexOf(3))}, want: "01 0203"},
		{name: "truncate the payload", prims: []any{primOf("truncate", hexOf(7))}, want: "01 0203 04050607"},
		{name: "truncate to more than there is", prims: []any{primOf("truncate", hexOf(70))}, want: "01 0203 04050607 ff"},
		{name: "hash crc32", prims: []any{hash("crc32", 0, 1<<32)}, want: fmt.Sprintf("01 0203 %08x ff", crc32.ChecksumIEEE(calc))},
		{name: "hash crc16", prims: []any{hash("crc16", 5, 1<<32)}, want: "01 0203 000081ef ff"},
		{name: "hash csum16", prims: []any{hash("csum16", 0, 1<<32)}, want: fmt.Sprintf("01 0203 0000%04x ff", internetSum(calc))},
		{name: "hash identity", prims: []any{hash("identity", 1, 0x100)}, want: "01 0203 00000008 ff"},
		{name: "hash xor16", prims: []any{hash("xor16", 0, 1<<32)}, want: "01 0203 00000310 ff"},
		{name: "hash modulo zero", prims: []any{hash("xor16", 3, 0)}, want: "01 0203 00000003 ff"},
		{name: "random of one number", prims: []any{primOf("modify_field_rng_uniform", fieldOf("x", "b"), hexOf(6), hexOf(6))}, want: "01 0006 04050607 ff"},
		{name: "random the wrong way round", prims: []any{primOf("modify_field_rng_uniform", fieldOf("x", "b"), hexOf(6), hexOf(5))}, want: "01 0203 04050607 ff"},
		{name: "register", prims: []any{primOf("register_write", named1("register_array", "r"), hexOf(3), fieldOf("x", "c")),
			primOf("register_read", fieldOf("x", "c"), named1("register_array", "r"), hexOf(3))}, want: "01 0203 00000607 ff"},
		{name: "register beyond the end", prims: []any{primOf("register_write", named1("register_array", "r"), hexOf(4), fieldOf("x", "c")),
			primOf("register_read", fieldOf("x", "c"), named1("register_array", "r"), hexOf(4))}, want: "01 0203 04050607 ff"},
		{name: "wide register", prims: []any{set("m", "wide", opOf("<<", fieldOf("x", "c"), hexOf(70))),
			primOf("register_write", named1("register_array", "rw"), hexOf(1), fieldOf("m", "wide")), set("m", "wide", hexOf(0)),
			primOf("register_read", fieldOf("m", "wide"), named1("register_array", "rw"), hexOf(1)),
			set("x", "b", opOf(">>", fieldOf("m", "wide"), hexOf(72)))}, want: "01 4181 04050607 ff"},
		{name: "log_msg", prims: []any{primOf("log_msg", named1("string", "x"), obj{"type": "parameters_vector", "value": list{}})}, want: "01 0203 04050607 ff"},
		{name: "assert that is true", prims: []any{primOf("assert", opOf("==", fieldOf("x", "a"), hexOf(1)))}, want: "01 0203 04050607 ff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in == "" {
				tt.in = "01 0203 04050607"
			}
			r := newRigOf(t, primProgram(tt.prims...).json())
			got := r.send(0, octets(tt.in+"ff"))
			if d := cmp.Diff([]string{hexFrame(0, octets(tt.want))}, got.frames); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestEnds has what ends a packet, or lets it leave elsewhere.
func TestEnds(t *testing.T) {
	again := []any{primOf("_jump_if_zero", opOf("==", fieldOf("m", "idx"), hexOf(0)), hexOf(3)),
		set("m", "idx", hexOf(7))}
	tests := []struct {
		name  string
		prims []any
		drop  Drop
	}{
		{"drop", []any{primOf("drop")}, DropIngress},
		{"mark_to_drop", []any{primOf("mark_to_drop", headerOf("standard_metadata"))}, DropIngress},
		{"assert", []any{primOf("assert", opOf("!=", fieldOf("x", "a"), hexOf(1)))}, DropAssert},
		{"assume", []any{primOf("assume", obj{"type": "bool", "value": false})}, DropAssert},
		{"loop without end", []any{primOf("_jump", hexOf(0))}, DropParser},
		{"resubmitted for ever", []any{primOf("resubmit", hexOf(0))}, DropPasses},
		{"group that is not there", []any{set("standard_metadata", "mcast_grp", hexOf(3))}, DropGroup},
		{"truncated to nothing", []any{primOf("truncate", hexOf(0))}, DropSize},
		{"twice around for ever", append(again, primOf("resubmit", hexOf(1)), primOf("resubmit", hexOf(1))), DropPasses},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRigOf(t, primProgram(tt.prims...).json())
			got := r.send(0, octets("01 0203 04050607 ff"))
			want := &sink{}
			want.drops[tt.drop] = 1
			if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	r := newRigOf(t, primProgram().json())
	if got := r.send(0, make([]byte, MaxFrame+1)); got.drops[DropSize] != 1 || len(got.frames) != 0 {
		t.Errorf("frame that is too long: drops %v", got.drops)
	}
}

// TestExit leaves the pipeline behind the action that says so.
func TestExit(t *testing.T) {
	for _, exit := range []bool{false, true} {
		p := primProgram()
		first := p.action("first", nil, set("x", "a", hexOf(8)))
		if exit {
			first = p.action("leave", nil, set("x", "a", hexOf(8)), primOf("exit"))
		}
		second := p.action("second", nil, set("x", "b", hexOf(9)))
		p.init = nil
		p.tables = nil
		p.table("one", nil, first, nil, "two")
		p.table("two", nil, second, nil, nil)
		want := "08 0009 04050607"
		if exit {
			want = "08 0203 04050607"
		}
		if got := newRigOf(t, p.json()).send(0, octets("01 0203 04050607")).frames; len(got) != 1 || got[0] != hexFrame(0, octets(want)) {
			t.Errorf("exit %v: %v, want %s", exit, got, want)
		}
	}
}

// TestResubmit lets a packet begin anew once, as it came, with one field of metadata kept.
func TestResubmit(t *testing.T) {
	r := newRigOf(t, primProgram(
		primOf("_jump_if_zero", fieldOf("m", "idx"), hexOf(5)),
		set("x", "a", fieldOf("m", "idx")), set("x", "b", fieldOf("standard_metadata", "instance_type")),
		set("x", "c", fieldOf("m", "wide")), primOf("_jump", hexOf(9)),
		set("m", "idx", hexOf(0x21)), set("m", "wide", hexOf(0x22)), set("x", "b", hexOf(0x23)), primOf("resubmit", hexOf(1))).json())
	want := &sink{frames: []string{hexFrame(0, octets("21 0006 00000000 ff"))}, inPlace: 1}
	if d := cmp.Diff(want, r.send(0, octets("01 0203 04050607 ff")), cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// egressProgram runs primitives in egress.
func egressProgram(prims ...any) *program {
	p := primProgram(set("m", "idx", hexOf(0x31)), set("m", "wide", hexOf(0x32)), set("standard_metadata", "egress_spec", hexOf(6)))
	a := p.action("e", nil, prims...)
	t := p.table("et", nil, a, nil, nil)
	p.tables = p.tables[:len(p.tables)-1]
	p.egress, p.egressInit = list{t}, "et"
	return p
}

// TestRecirculate lets a packet begin anew as it leaves. What it was is no more.
func TestRecirculate(t *testing.T) {
	r := newRigOf(t, egressProgram(
		primOf("_jump_if_zero", opOf("==", fieldOf("x", "a"), hexOf(1)), hexOf(5)),
		set("x", "a", hexOf(2)), set("x", "b", fieldOf("standard_metadata", "packet_length")), primOf("recirculate", hexOf(1)), primOf("_jump", hexOf(8)),
		// The second time x.a is 2, so two octets are elements of the stack.
		set("x", "c", fieldOf("m", "idx")), set("x", "b", fieldOf("standard_metadata", "packet_length")),
		primOf("remove_header", headerOf("s[0]"))).json())
	want := &sink{frames: []string{hexFrame(6, octets("02 000a 00000031 f1 f2"))}}
	if d := cmp.Diff(want, r.send(0, octets("01 0203 04050607 f0 f1 f2")), cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestEgress(t *testing.T) {
	frame := octets("01 0203 04050607 ff")
	r := newRigOf(t, egressProgram(primOf("mark_to_drop", headerOf("standard_metadata"))).json())
	if got := r.send(0, frame); got.drops[DropEgress] != 1 || len(got.frames) != 0 {
		t.Errorf("drop in egress: %v %v", got.frames, got.drops)
	}
	r = newRigOf(t, egressProgram(primOf("recirculate", hexOf(1))).json())
	if got := r.send(0, frame); got.drops[DropPasses] != 1 || len(got.frames) != 0 {
		t.Errorf("recirculated for ever: %v %v", got.frames, got.drops)
	}
	r = newRigOf(t, egressProgram(set("x", "a", fieldOf("standard_metadata", "egress_port")), set("x", "b", fieldOf("standard_metadata", "egress_spec")),
		set("x", "c", fieldOf("standard_metadata", "egress_global_timestamp"))).json())
	r.now = 5_999_000
	if got := r.send(0, frame).frames; len(got) != 1 || got[0] != hexFrame(6, octets("06 0000 0000176f ff")) {
		t.Errorf("standard metadata in egress: %v", got)
	}
}

// TestCloneEgress clones the packet as it is at the end of egress, which goes through egress again.
func TestCloneEgress(t *testing.T) {
	r := newRigOf(t, egressProgram(
		primOf("_jump_if_zero", opOf("==", fieldOf("standard_metadata", "instance_type"), hexOf(0)), hexOf(4)),
		set("x", "a", hexOf(0x44)), primOf("clone_egress_pkt_to_egress", hexOf(3), hexOf(1)), primOf("_jump", hexOf(6)),
		set("x", "b", fieldOf("m", "idx")), set("x", "c", fieldOf("m", "wide"))).json())
	r.s.Update(func(tx *Tx) {
		_ = tx.SetCloneSession(3, &CloneSession{Replicas: []Replica{{Port: 8}, {Port: 9}}})
	})
	want := &sink{frames: []string{hexFrame(8, octets("44 0031 00000000 ff")), hexFrame(9, octets("44 0031 00000000 ff")),
		hexFrame(6, octets("44 0203 04050607 ff"))}, inPlace: 1}
	if d := cmp.Diff(want, r.send(0, octets("01 0203 04050607 ff")), cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// Clones of clones come to an end.
	r = newRigOf(t, egressProgram(primOf("clone_egress_pkt_to_egress", hexOf(3), hexOf(1))).json())
	r.s.Update(func(tx *Tx) {
		_ = tx.SetCloneSession(3, &CloneSession{Replicas: []Replica{{Port: 8}, {Port: 9}}})
	})
	if got := r.send(0, octets("01 0203 04050607 ff")); got.drops[DropPasses] == 0 || len(got.frames) > 2*maxCopies {
		t.Errorf("clones of clones: %d frames, drops %v", len(got.frames), got.drops)
	}
}

// TestDigest has fields of all sizes, and whether a header is valid.
func TestDigest(t *testing.T) {
	r := newRigOf(t, primProgram(set("m", "flag", hexOf(1)), set("m", "wide", opOf("<<", hexOf(9), hexOf(96))), primOf("add_header", headerOf("y")),
		primOf("generate_digest", hexOf(1), hexOf(1))).json())
	want := []string{hexFrame(0, octets("0203 01 09 000000000000000000000000 01"))}
	if d := cmp.Diff(want, r.send(0, octets("01 0203 04050607 ff")).digests); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]Digest{{Name: "l", Fields: []Param{{"x.b", 16}, {"m.flag", 1}, {"m.wide", 100}, {"y.$valid$", 1}}}}, r.p.Digests()); d != "" {
		t.Errorf("digests (-want +got):\n%s", d)
	}
}

// TestCells has what counters and registers hold, and how they are written.
func TestCells(t *testing.T) {
	r := newRigOf(t, primProgram(primOf("count", named1("counter_array", "n"), fieldOf("x", "a")),
		primOf("register_write", named1("register_array", "rw"), hexOf(1), opOf("<<", fieldOf("x", "c"), hexOf(70)))).json())
	r.send(0, octets("01 0203 04050607"), octets("01 0203 04050607 ff"), octets("04 0203 04050607"))
	r.s.Update(func(tx *Tx) {
		for i, want := range []CounterValue{{}, {2, 15}, {}, {}} {
			if got, err := tx.Counter(0, i); err != nil || got != want {
				t.Errorf("counter %d: %v, %v, want %v", i, got, err, want)
			}
		}
		if err := tx.SetCounter(0, 1, CounterValue{1 << 63, 7}); err != nil {
			t.Error(err)
		}
		if got, err := tx.Register(1, 1); err != nil || !bytes.Equal(got, octets("01 0141 81c0 0000 0000 0000 0000")) {
			t.Errorf("register %x, %v", got, err)
		}
		if err := tx.SetRegister(0, 3, []byte{0, 0x12, 0x34}); err != nil {
			t.Error(err)
		}
		if got, err := tx.Register(0, 3); err != nil || !bytes.Equal(got, []byte{0x12, 0x34}) {
			t.Errorf("register %x, %v", got, err)
		}
		_, _, meter := tx.Meter(0, 0)
		_, counter := tx.Counter(0, 4)
		_, register := tx.Register(-1, 0)
		for name, err := range map[string]error{
			"counter": counter, "meter": meter, "register": register, "wide": tx.SetRegister(0, 0, []byte{1, 0, 0}),
			"negative": tx.SetCounter(0, -1, CounterValue{}), "session": tx.SetCloneSession(0, nil), "group": tx.SetMulticastGroup(0, nil),
		} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", name, err)
			}
		}
	})
	r.send(0, octets("01 0203 04050607"))
	r.s.View(func(tx *Tx) {
		if got, err := tx.Counter(0, 1); err != nil || got != (CounterValue{1<<63 + 1, 14}) {
			t.Errorf("counter after it was set: %v, %v", got, err)
		}
	})
}
