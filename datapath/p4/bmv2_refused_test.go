package p4

import (
	"testing"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusedCase is an update that targets refuse, or not, after those of entries.
type refusedCase struct {
	name   string
	update *p4rt.Update
	want   codes.Code
	// other is what BMv2 says, where that is something else and no matter to the driver.
	other codes.Code
}

// same says that BMv2 says the same.
const same codes.Code = 1 << 10

// TestRefusedAsByBMv2: what plumb p4switch refuses BMv2 does, too, with the same code.
func TestRefusedAsByBMv2(t *testing.T) {
	both := sides(t)
	for _, s := range both {
		s.write(t.Context(), t, entries(s.client.schema))
	}
	for _, tc := range refusedCases(both[0].client.schema) {
		t.Run(tc.name, func(t *testing.T) {
			if tc.other == same {
				tc.other = tc.want
			}
			for i, want := range [...]codes.Code{tc.want, tc.other} {
				if got := both[i].try(t, tc.update); got.code != want {
					t.Errorf("%s: got %v (%s), want %v", both[i].name, got.code, got.text, want)
				}
			}
		})
	}
}

// answer is what a target says to an update.
type answer struct {
	code codes.Code
	text string
}

// try has one update done, in a batch of two: the other one changes nothing.
func (s *side) try(t *testing.T, u *p4rt.Update) answer {
	t.Helper()
	fine := update(p4rt.Update_MODIFY, s.client.schema.entry(tableLocals4, exacts(wordOf(local4)), 0, actionLocal, 1))
	_, err := s.client.rpc.Write(t.Context(), &p4rt.WriteRequest{DeviceId: 1, ElectionId: s.client.election, Updates: []*p4rt.Update{fine, u}})
	if err == nil {
		return answer{}
	}
	st := status.Convert(err)
	if st.Code() != codes.Unknown || len(st.Details()) != 2 {
		t.Fatalf("%s: got %v, want two errors", s.name, err)
	}
	var both [2]answer
	for i, d := range st.Details() {
		e, ok := d.(*p4rt.Error)
		if !ok {
			t.Fatalf("%s: got a %T, want an error", s.name, d)
		}
		both[i] = answer{codes.Code(e.GetCanonicalCode()), e.GetMessage()}
	}
	if both[0].code != codes.OK {
		t.Errorf("%s: the update before it: %v (%s)", s.name, both[0].code, both[0].text)
	}
	return both[1]
}

func refusedCases(s *schema) (all []refusedCase) {
	for _, some := range [][]refusedCase{refusedKinds(s), refusedKeys(s), refusedTernaries(s), refusedActions(s)} {
		all = append(all, some...)
	}
	return all
}

func insert(e *p4rt.TableEntry) *p4rt.Update { return update(p4rt.Update_INSERT, e) }

// refusedKinds are of INSERT, MODIFY and DELETE, and of tables.
func refusedKinds(s *schema) []refusedCase {
	have, new := exacts(wordOf(ue4(ueDown))), exacts(wordOf("100.64.9.9"))
	entry := func(key []match) *p4rt.TableEntry { return s.entry(tableUEs4, key, 0, actionOneBare, ruleDown, bare) }
	bareKey := func(key []match) *p4rt.TableEntry { return s.entry(tableUEs4, key, 0, "") }
	unknown := entry(new)
	unknown.TableId++
	def := s.entry(tableUEs4, nil, 0, actionOneBare, ruleDown, bare)
	def.IsDefaultAction = true
	filter := func(priority int32) *p4rt.TableEntry {
		return s.entry(tableFilters4, append(exacts(listUp), make([]match, 8)...), priority, actionUnfiltered, 1)
	}
	return []refusedCase{
		{"inserted twice", insert(entry(have)), codes.AlreadyExists, same},
		{"modified, not there", update(p4rt.Update_MODIFY, entry(new)), codes.NotFound, same},
		{"deleted, not there", update(p4rt.Update_DELETE, bareKey(new)), codes.NotFound, same},
		{"modified without an action", update(p4rt.Update_MODIFY, bareKey(have)), codes.OK, codes.InvalidArgument},
		{"inserted without an action", insert(bareKey(new)), codes.InvalidArgument, same},
		{"no type", update(p4rt.Update_UNSPECIFIED, entry(new)), codes.InvalidArgument, same},
		{"no such table", insert(unknown), codes.InvalidArgument, same},
		{"default entry inserted", insert(def), codes.InvalidArgument, same},
		{"constant default entry", update(p4rt.Update_MODIFY, def), codes.PermissionDenied, same},
		{"filter inserted twice", insert(filter(1)), codes.AlreadyExists, same},
		{"filter of another priority", insert(filter(100)), codes.OK, same},
		{"that filter deleted", update(p4rt.Update_DELETE, filter(100)), codes.OK, same},
		{"that filter deleted again", update(p4rt.Update_DELETE, filter(100)), codes.NotFound, same},
		{"register", &p4rt.Update{Type: p4rt.Update_MODIFY, Entity: &p4rt.Entity{Entity: &p4rt.Entity_RegisterEntry{RegisterEntry: &p4rt.RegisterEntry{
			RegisterId: s.registers["session_meter"], Index: &p4rt.Index{Index: 5}, Data: &p4rt.P4Data{Data: &p4rt.P4Data_Bitstring{Bitstring: []byte{0}}}}}}},
			codes.OK, codes.Unimplemented},
		{"counter", counterUpdate(s, 5), codes.OK, same},
		{"counter behind the array", counterUpdate(s, 1<<20), codes.OutOfRange, codes.Unknown},
	}
}

func counterUpdate(s *schema, index int64) *p4rt.Update {
	return &p4rt.Update{Type: p4rt.Update_MODIFY, Entity: &p4rt.Entity{Entity: &p4rt.Entity_CounterEntry{CounterEntry: &p4rt.CounterEntry{
		CounterId: s.counters[counterForwarded], Index: &p4rt.Index{Index: index}, Data: &p4rt.CounterData{}}}}}
}

// refusedKeys are of exact and LPM fields.
func refusedKeys(s *schema) []refusedCase {
	ue := func(value ...byte) *p4rt.Update {
		return insert(s.entry(tableUEs4, []match{{value: value}}, 0, actionOneBare, ruleDown, bare))
	}
	port := func(value ...byte) *p4rt.Update {
		return insert(s.entry(tablePorts, []match{{value: value}, exact(0), exact(0), exact(macUPF)}, 0, actionFromPort, 1, 0))
	}
	route := func(bits int32, value ...byte) *p4rt.Update {
		e := s.entry(tableFramed4, []match{{value: value, bits: 1}}, 0, actionOneBare, ruleDown, bare)
		e.Match[0].GetLpm().PrefixLen = bits
		return insert(e)
	}
	missing := s.entry(tableTunnels, exacts(1, 0x7777), 0, actionDetectCPU, 1)
	missing.Match = missing.Match[:1]
	twice := s.entry(tableTunnels, exacts(1, 0x7777), 0, actionDetectCPU, 1)
	twice.Match[1] = twice.Match[0]
	kind := s.entry(tableUEs4, exacts(9), 0, actionOneBare, ruleDown, bare)
	kind.Match[0].FieldMatchType = &p4rt.FieldMatch_Lpm{Lpm: &p4rt.FieldMatch_LPM{Value: []byte{9}, PrefixLen: 32}}
	field := s.entry(tableUEs4, exacts(9), 0, actionOneBare, ruleDown, bare)
	field.Match[0].FieldId = 77
	return []refusedCase{
		{"value with zeros in front", ue(0, 0, 1, 2, 3, 4), codes.OK, same},
		{"the same in canonical form", ue(1, 2, 3, 4), codes.AlreadyExists, same},
		{"value of 33 bits", ue(1, 0, 0, 0, 0), codes.InvalidArgument, same},
		{"value without octets", ue(), codes.InvalidArgument, codes.OK},
		{"value of 9 bits", port(1, 0xff), codes.OK, same},
		{"value of 10 bits", port(2, 0), codes.InvalidArgument, same},
		{"priority", insert(s.entry(tableUEs4, exacts(9), 1, actionOneBare, ruleDown, bare)), codes.InvalidArgument, same},
		{"no second field", insert(missing), codes.InvalidArgument, same},
		{"a field twice", insert(twice), codes.InvalidArgument, same},
		{"another kind of match", insert(kind), codes.InvalidArgument, same},
		{"no such field", insert(field), codes.InvalidArgument, same},
		{"prefix of length 0", route(0, 0), codes.InvalidArgument, same},
		{"prefix of length 33", route(33, 1, 2, 3, 4), codes.InvalidArgument, same},
		{"prefix of length -1", route(-1, 1), codes.InvalidArgument, same},
		{"bits behind a prefix", route(24, 10, 1, 2, 3), codes.InvalidArgument, same},
		{"prefix of length 32", route(32, 10, 1, 2, 3), codes.OK, same},
		{"prefix in canonical form", route(8, 0), codes.OK, same},
	}
}

// refusedTernaries are of filters.
func refusedTernaries(s *schema) []refusedCase {
	filter := func(priority int32, field int, m match) *p4rt.Update {
		key := append(exacts(77), make([]match, 8)...)
		key[field] = m
		return insert(s.entry(tableFilters4, key, priority, actionFiltered, ruleUp))
	}
	const protocol, source, port = 3, 5, 7
	return []refusedCase{
		{"ternary", filter(1, source, masked(0x0a000000, 0xff000000)), codes.OK, same},
		{"ternary, any", filter(1, source, match{}), codes.OK, same},
		{"priority 0", filter(0, source, masked(1, 1)), codes.InvalidArgument, same},
		{"priority -1", filter(-1, source, masked(1, 1)), codes.InvalidArgument, codes.Unknown},
		{"greatest priority", filter(1<<31-1, source, masked(1, 1)), codes.OK, same},
		{"mask 0", filter(1, source, masked(0, 0)), codes.InvalidArgument, same},
		{"bits outside of a mask", filter(1, source, masked(3, 1)), codes.InvalidArgument, same},
		{"mask of 9 bits", filter(1, protocol, masked(1, 0x1ff)), codes.InvalidArgument, same},
		{"range", filter(2, port, between(5, 6)), codes.OK, same},
		{"range of one", filter(2, port, between(5, 5)), codes.OK, same},
		{"range, low is greater than high", filter(2, port, between(6, 5)), codes.InvalidArgument, same},
		{"range, low is longer than high", filter(2, port, between(256, 5)), codes.InvalidArgument, same},
		{"range of all", filter(2, port, between(0, 0xffff)), codes.InvalidArgument, codes.OK},
		{"range of nearly all", filter(2, port, between(0, 0xfffe)), codes.OK, same},
		{"range, 17 bits", filter(2, port, between(5, 0x10000)), codes.InvalidArgument, same},
	}
}

// refusedActions are of actions and their parameters.
func refusedActions(s *schema) []refusedCase {
	n := uint64(0x5000)
	entry := func(change func(*p4rt.Action)) *p4rt.Update {
		n++
		e := s.entry(tableRules, exacts(n), 0, actionToN6, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
		change(e.GetAction().GetAction())
		return insert(e)
	}
	return []refusedCase{
		{"action", entry(func(*p4rt.Action) {}), codes.OK, same},
		{"action of another table", entry(func(a *p4rt.Action) {
			a.ActionId, a.Params = s.tables[tableLocals4].actions[actionLocal].id, a.Params[:1]
		}), codes.InvalidArgument, same},
		{"no such action", entry(func(a *p4rt.Action) { a.ActionId = 0x01ffffff }), codes.InvalidArgument, same},
		{"action for the default entry only", insert(s.entry(tableLocals4, exacts(9), 0, "no_local")), codes.PermissionDenied, same},
		{"a parameter less", entry(func(a *p4rt.Action) { a.Params = a.Params[:5] }), codes.InvalidArgument, same},
		{"a parameter more", entry(func(a *p4rt.Action) {
			a.Params = append(a.Params, &p4rt.Action_Param{ParamId: 7, Value: []byte{1}})
		}), codes.InvalidArgument, same},
		{"a parameter twice", entry(func(a *p4rt.Action) { a.Params[1] = a.Params[0] }), codes.InvalidArgument, codes.OK},
		{"parameter of 9 bits", entry(func(a *p4rt.Action) { a.Params[1].Value = []byte{1, 0} }), codes.InvalidArgument, same},
		{"parameter of 2 bits instead of one", entry(func(a *p4rt.Action) { a.Params[0].Value = []byte{2} }), codes.InvalidArgument, same},
		{"parameter with zeros in front", entry(func(a *p4rt.Action) { a.Params[1].Value = []byte{0, 0, 1} }), codes.OK, same},
		{"parameters in another order", entry(func(a *p4rt.Action) { a.Params[0], a.Params[1] = a.Params[1], a.Params[0] }), codes.OK, same},
	}
}

// TestFullAsBMv2: a table takes as many entries as the program says.
func TestFullAsBMv2(t *testing.T) {
	both := sides(t)
	for i, want := range [...]codes.Code{codes.ResourceExhausted, codes.Unknown} { // BMv2 does not say why
		s := both[i]
		s.write(t.Context(), t, entries(s.client.schema)) // one own address among them
		own := func(n int64) *p4rt.Update {
			return insert(s.client.schema.entry(tableOwn4, exacts(uint64(n)), 0, actionOwn))
		}
		size := s.client.schema.tables[tableOwn4].size
		var all []*p4rt.Update
		for n := range size - 1 {
			all = append(all, own(n))
		}
		s.write(t.Context(), t, all)
		if got := s.try(t, own(size)); got.code != want {
			t.Errorf("%s: got %v (%s), want %v", s.name, got.code, got.text, want)
		}
	}
}
