package bmv2

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ahead1(bit, width int) obj { return obj{"type": "lookahead", "value": list{bit, width}} }

func verifyOf(cond any, err uint64) obj { return primOf("verify", cond, hexOf(err)) }

func inner(p obj) obj { return primOf("primitive", p) }

// parserProgram has x (a 8, b 16), v with a variable field of up to 6 octets between two fields, w of the same type, a wide field, and a
// stack of two. All leave behind r, which has the parser's error.
func parserProgram() *program {
	p := newProgram()
	p.header("r", false, "error", 8, "got", 16)
	p.header("x", false, "a", 8, "b", 16)
	p.header("v", false, "n", 8, "var", 0, "end", 8)
	p.types[len(p.types)-1].(obj)["max_length"] = 8
	p.headers = append(p.headers, obj{"name": "w", "id": 90, "header_type": "v_t", "metadata": false})
	p.header("big", false, "k", 72)
	p.stackOf("s", 2)
	p.extra["errors"] = list{list{"NoError", 0}, list{"PacketTooShort", 1}, list{"NoMatch", 2}, list{"StackOutOfBounds", 3},
		list{"HeaderTooShort", 4}, list{"ParserInvalidArgument", 6}, list{"Mine", 9}}
	a := p.action("a", nil, primOf("add_header", headerOf("r")), set("r", "error", fieldOf("standard_metadata", "parser_error")),
		set("r", "got", fieldOf("x", "b")))
	p.table("t", nil, a, nil, nil)
	p.order = list{"r", "x", "v", "w", "big", "s[0]", "s[1]"}
	return p
}

func TestParser(t *testing.T) {
	vl := func(to string, bits any) obj {
		return primOf("extract_VL", obj{"type": "regular", "value": to}, exprOf(bits))
	}
	n8 := opOf("*", fieldOf("x", "a"), hexOf(8))
	tests := []struct {
		name string
		make func(p *program)
		in   string
		want string // r, headers, payload
	}{
		{"too short", func(p *program) { p.state("start", list{extractOf("x")}, nil, "", "") }, "0102", "01 0000 0102"},
		{"nothing parsed of an empty frame", func(p *program) { p.state("start", list{extractOf("x")}, nil, "", "") }, "", "01 0000"},
		{"select", func(p *program) {
			p.state("start", list{extractOf("x")}, list{fieldOf("x", "a")}, "0x01", "", "0x02", "more", "", "")
			p.state("more", list{extractOf("s[0]")}, nil, "", "")
		}, "02000055 66", "00 0000 020000 55 66"},
		{"no match", func(p *program) {
			p.state("start", list{extractOf("x")}, list{fieldOf("x", "a")}, "0x01", "")
		}, "02abcd55", "02 abcd 02abcd 55"},
		{"match without default", func(p *program) {
			p.state("start", list{extractOf("x")}, list{fieldOf("x", "a")}, "0x01", "")
		}, "01abcd55", "00 abcd 01abcd 55"},
		{"select two fields, masked", func(p *program) {
			p.state("start", list{extractOf("x")}, list{fieldOf("x", "a"), fieldOf("x", "b")}, "0x010203", "", "0x050000&0xff000f", "more", "", "")
			p.state("more", list{extractOf("s[0]")}, nil, "", "")
		}, "05fff055 66", "00 fff0 05fff0 55 66"},
		{"select by validity", func(p *program) {
			p.state("start", list{extractOf("x")}, list{fieldOf("x", "$valid$"), fieldOf("big", "$valid$")}, "0x0101", "", "0x0100", "more")
			p.state("more", list{extractOf("s[0]")}, nil, "", "")
		}, "05000055 66", "00 0000 050000 55 66"},
		{"select more than 64 bits", func(p *program) {
			p.state("start", list{extractOf("big")}, list{fieldOf("big", "k"), ahead1(0, 8)}, "0x11223344556677889977", "", "0x11223344556677889966", "more")
			p.state("more", list{extractOf("s[0]")}, nil, "", "")
		}, "112233445566778899 66 77", "00 0000 112233445566778899 66 77"},
		{"lookahead in select", func(p *program) {
			p.state("start", nil, list{ahead1(4, 8)}, "0x23", "more", "", "")
			p.state("more", list{extractOf("x")}, nil, "", "")
		}, "123456", "00 3456 123456"},
		{"lookahead beyond the end", func(p *program) { p.state("start", nil, list{ahead1(4, 8)}, "", "") }, "12", "01 0000 12"},
		{"lookahead into a field", func(p *program) {
			p.state("start", list{primOf("set", fieldOf("x", "b"), ahead1(12, 12)), inner(primOf("add_header", headerOf("big")))}, nil, "", "")
		}, "123456", "00 0456 000000000000000000 123456"},
		{"lookahead into a field, too short", func(p *program) {
			p.state("start", list{primOf("set", fieldOf("x", "b"), ahead1(12, 13))}, nil, "", "")
		}, "123456", "01 0000 123456"},
		{"set", func(p *program) {
			p.state("start", list{extractOf("x"), primOf("set", fieldOf("x", "b"), exprOf(opOf("+", fieldOf("x", "a"), hexOf(0xff)))),
				primOf("set", fieldOf("x", "a"), hexOf(7)), inner(primOf("add_to_field", fieldOf("x", "a"), hexOf(1)))}, nil, "", "")
		}, "010000", "00 0100 08 0100"},
		{"verify", func(p *program) {
			p.state("start", list{extractOf("x"), verifyOf(opOf("==", fieldOf("x", "a"), hexOf(1)), 9), extractOf("s[0]")}, nil, "", "")
		}, "010000 55", "00 0000 010000 55"},
		{"verify fails", func(p *program) {
			p.state("start", list{extractOf("x"), verifyOf(opOf("==", fieldOf("x", "a"), hexOf(1)), 9), extractOf("s[0]")}, nil, "", "")
		}, "020000 55", "09 0000 020000 55"},
		{"advance", func(p *program) {
			p.state("start", list{extractOf("x"), primOf("advance", n8), extractOf("s[0]")}, nil, "", "")
		}, "020000 1122 55 66", "00 0000 020000 55 66"},
		{"advance too far", func(p *program) {
			p.state("start", list{extractOf("x"), primOf("advance", n8), extractOf("s[0]")}, nil, "", "")
		}, "030000 1122", "01 0000 030000 1122"},
		{"advance by no octets", func(p *program) { p.state("start", list{primOf("advance", hexOf(4))}, nil, "", "") }, "1122", "06 0000 1122"},
		{"shift", func(p *program) { p.state("start", list{primOf("shift", 1), extractOf("x")}, nil, "", "") }, "99 012345 6", "00 2345 012345"},
		{"stack", func(p *program) {
			p.state("start", list{extractStack("s")}, list{obj{"type": "stack_field", "value": list{"s", "v"}}}, "0x01", "start", "", "")
		}, "01 02 03", "00 0000 01 02 03"},
		{"stack out of bounds", func(p *program) {
			p.state("start", list{extractStack("s")}, list{obj{"type": "stack_field", "value": list{"s", "v"}}}, "0x01", "start", "", "")
		}, "01 01 01", "03 0000 01 01 01"},
		{"variable field", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8)}, nil, "", "")
		}, "030000 07 aabbcc 09 ff", "00 0000 030000 07 aabbcc 09 ff"},
		{"variable field of no octets", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8)}, nil, "", "")
		}, "000000 07 09 ff", "00 0000 000000 07 09 ff"},
		{"variable field that is written around", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8), inner(set("v", "end", hexOf(8))), inner(set("v", "n", hexOf(6)))}, nil, "", "")
		}, "030000 07 aabbcc 09 ff", "00 0000 030000 06 aabbcc 08 ff"},
		{"variable field assigned", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8), inner(primOf("add_header", headerOf("w"))),
				inner(primOf("assign_VL", fieldOf("w", "var"), fieldOf("v", "var"))), inner(set("w", "end", hexOf(8)))}, nil, "", "")
		}, "020000 07 aabb 09 ff", "00 0000 020000 07 aabb 09 00 aabb 08 ff"},
		{"header with a variable field assigned", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8), inner(primOf("assign_header", headerOf("w"), headerOf("v")))}, nil, "", "")
		}, "020000 07 aabb 09 ff", "00 0000 020000 07 aabb 09 07 aabb 09 ff"},
		{"variable field too long for the frame", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8)}, nil, "", "")
		}, "030000 07 aabb 09", "01 0000 030000 07 aabb 09"},
		{"variable field too long for the header", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", n8)}, nil, "", "")
		}, "070000 07 aabbccddeeff00 09", "04 0000 070000 07 aabbccddeeff00 09"},
		{"variable field of no whole octets", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", fieldOf("x", "a"))}, nil, "", "")
		}, "070000 07 aabbccddeeff00 09", "06 0000 070000 07 aabbccddeeff00 09"},
		{"variable field of negative length", func(p *program) {
			p.state("start", list{extractOf("x"), vl("v", opOf("-", n8, hexOf(16)))}, nil, "", "")
		}, "010000 07 09", "01 0000 010000 07 09"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parserProgram()
			tt.make(p)
			in := tt.in
			if len(in)%2 == 1 && in[len(in)-2] == ' ' {
				in = in[:len(in)-2]
			}
			got := newRigOf(t, p.json()).send(0, octets(in)).frames
			if d := cmp.Diff([]string{hexFrame(0, octets(tt.want))}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestParserEnds has a parser that goes round for ever.
func TestParserEnds(t *testing.T) {
	p := parserProgram()
	p.state("start", nil, nil, "", "other")
	p.state("other", nil, nil, "", "start")
	if got := newRigOf(t, p.json()).send(0, octets("0102")); got.drops[DropParser] != 1 || len(got.frames) != 0 {
		t.Errorf("frames %v, drops %v", got.frames, got.drops)
	}
}

// TestChecksums has checksums that are verified and updated, with payload, with conditions, and over a variable field.
func TestChecksums(t *testing.T) {
	p := parserProgram()
	p.state("start", list{extractOf("x"), primOf("extract_VL", obj{"type": "regular", "value": "v"}, exprOf(opOf("*", fieldOf("x", "a"), hexOf(8))))}, nil, "", "")
	p.extra["calculations"] = list{obj{"name": "c", "id": 0, "algo": "csum16", "input": list{
		fieldOf("x", "a"), fieldOf("v", "n"), fieldOf("v", "var"), fieldOf("v", "end"), fieldOf("big", "k"), obj{"type": "payload", "value": nil}}}}
	sum := func(id int, verify bool, cond any) obj {
		return obj{"name": string(rune('a' + id)), "id": id, "type": "generic", "calculation": "c", "target": list{"x", "b"},
			"verify": verify, "update": !verify, "if_cond": cond}
	}
	p.extra["checksums"] = list{sum(0, true, nil), sum(1, false, opOf("<", fieldOf("x", "a"), hexOf(4)))}
	p.actions[0] = obj{"name": "a", "id": 0, "runtime_data": list{}, "primitives": list{primOf("add_header", headerOf("r")),
		set("r", "error", fieldOf("standard_metadata", "checksum_error"))}}
	r := newRigOf(t, p.json())
	for _, in := range []string{"03 0000 07 aabbcc 09 11223344 5566778899 ff", "02 0000 07 aabb 09 11223344 5566778899", "00 0000 07 09", "04 0000 07 aabbccdd 09 11"} {
		b := octets(in)
		s := internetSum(append([]byte{b[0]}, b[3:]...))
		good := append([]byte{b[0], byte(s >> 8), byte(s)}, b[3:]...)
		if got, want := r.send(0, good).frames, hexFrame(0, append([]byte{0, 0, 0}, good...)); len(got) != 1 || got[0] != want {
			t.Errorf("%s with its checksum: %v, want %s", in, got, want)
		}
		want := good
		if b[0] >= 4 {
			want = b // not updated
		}
		if got, want := r.send(0, b).frames, hexFrame(0, append([]byte{1, 0, 0}, want...)); s != 0 && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: %v, want %s", in, got, want)
		}
	}
}
