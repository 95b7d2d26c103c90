package bmv2

// changed says what a primitive that is a call changes: which of its parameters, or nothing; others may change anything.
var changed = func() map[string]effect {
	all := map[string]effect{
		"add_header": {what: theHeader}, "add_header_fast": {what: theHeader}, "remove_header": {what: theHeader},
		"assign_header": {what: theHeader}, "copy_header": {what: theHeader},
		"execute_meter": {what: theField, param: 2},
	}
	for _, op := range []string{"register_read", "modify_field_with_hash_based_offset", "modify_field_rng_uniform", "assign", "modify_field", "set",
		"add_to_field", "subtract_from_field", "add", "subtract", "bit_xor", "bit_or", "bit_and", "shift_left", "shift_right"} {
		all[op] = effect{what: theField}
	}
	for _, op := range []string{"log_msg", "no_op", "exit", "assert", "assume", "count", "register_write", "truncate", "generate_digest",
		"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "resubmit", "recirculate", "assign_VL"} {
		all[op] = effect{what: nothingAtAll}
	}
	return all
}()

// effect is what a primitive changes.
type effect struct {
	what  changes
	param int // which parameter that is
}

type changes uint8

const (
	anything changes = iota
	nothingAtAll
	theField
	theHeader
)

// changes notes what a call changes, as far as that is known before there is a packet.
func (l *loader) changes(in *instr, c effect, p []jsonValue) {
	in.h = -1
	if c.what == nothingAtAll {
		in.known = true
	}
	if c.what == anything || c.param >= len(p) || in.known {
		return
	}
	n, err := l.value(&p[c.param], 0)
	switch {
	case err != nil:
	case c.what == theField && n.op == "field":
		in.known, in.a, in.b = true, int32(n.f.off), int32(n.f.off+n.f.words)
	case c.what == theHeader && n.op == "header":
		h := &l.p.headers[n.hdr]
		in.known, in.a, in.b, in.h = true, int32(h.off), int32(h.off+h.words), int32(n.hdr)
	}
}
