package p4rt

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
)

const (
	entryA = `table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } match { field_id: 2 exact { value: "\x00\x00\x01\x02" } } `
	doA    = `action { action { action_id: 0x1000001 params { param_id: 2 value: "\x0a" } params { param_id: 1 value: "\x01\xff" } } } `
	entryB = `table_id: 0x2000002 match { field_id: 1 ternary { value: "\x0a" mask: "\x0f" } } match { field_id: 2 range { low: "\x01" high: "\x02" } } match { field_id: 3 optional { value: "\x00" } } match { field_id: 4 lpm { value: "\x20\x01\x00\x00\x00\x00\x00\x00" prefix_len: 16 } } `
	drop   = `action { action { action_id: 0x1000002 } } `
)

func entryUpdate(kind, entry string) string {
	return `updates { type: ` + kind + ` entity { table_entry { ` + entry + ` } } } `
}

func entity(kind, e string) string { return `updates { type: ` + kind + ` entity { ` + e + ` } } ` }

// TestRefused: each update is refused with the code of the specification, and changes nothing.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name, update string
		want         codes.Code
		says         string
	}{
		{"no type", `updates { entity { table_entry { ` + entryA + doA + ` } } }`, codes.InvalidArgument, "type"},
		{"no entity", `updates { type: INSERT }`, codes.InvalidArgument, "entity"},
		{"no table", entryUpdate("INSERT", `table_id: 5`), codes.InvalidArgument, "no table with id 0x5"},
		{"match left out", entryUpdate("INSERT", `table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "teid is exact and left out"},
		{"match twice", entryUpdate("INSERT", entryA+`match { field_id: 1 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "twice"},
		{"match of another field", entryUpdate("INSERT", entryA+`match { field_id: 3 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "id 3"},
		{"match of another kind", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "type lpm"},
		{"match of another architecture", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 other { } } `+doA), codes.Unimplemented, "another architecture"},
		{"match without type", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 } `+doA), codes.InvalidArgument, "type lpm"},
		{"value too wide", entryUpdate("INSERT", `table_id: 0x2000001 match { field_id: 1 exact { value: "\x02\x00" } } match { field_id: 2 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "at most 9 bits"},
		{"value without octets", entryUpdate("INSERT", `table_id: 0x2000001 match { field_id: 1 exact { } } match { field_id: 2 exact { value: "\x01" } } `+doA), codes.InvalidArgument, "at most 9 bits"},
		{"prefix 0", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 lpm { value: "\x00" } } `+doA), codes.InvalidArgument, "left out"},
		{"prefix too long", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 lpm { value: "\x00" prefix_len: 33 } } `+doA), codes.InvalidArgument, "1 to 32"},
		{"bits behind the prefix", entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 lpm { value: "\x0a\x00\x00\x01" prefix_len: 8 } } `+doA), codes.InvalidArgument, "behind its prefix"},
		{"mask 0", entryUpdate("INSERT", `table_id: 0x2000002 priority: 1 match { field_id: 1 ternary { value: "\x00" mask: "\x00" } } `+drop), codes.InvalidArgument, "mask 0"},
		{"bits outside of the mask", entryUpdate("INSERT", `table_id: 0x2000002 priority: 1 match { field_id: 1 ternary { value: "\x11" mask: "\x0f" } } `+drop), codes.InvalidArgument, "outside of its mask"},
		{"low above high", entryUpdate("INSERT", `table_id: 0x2000002 priority: 1 match { field_id: 2 range { low: "\x02" high: "\x01" } } `+drop), codes.InvalidArgument, "greater than high"},
		{"range of all", entryUpdate("INSERT", `table_id: 0x2000002 priority: 1 match { field_id: 2 range { low: "\x00" high: "\xff\xff" } } `+drop), codes.InvalidArgument, "all values"},
		{"no priority", entryUpdate("INSERT", entryB+drop), codes.InvalidArgument, "greater than 0"},
		{"priority below 0", entryUpdate("INSERT", entryB+drop+`priority: -1`), codes.InvalidArgument, "greater than 0"},
		{"priority where none is", entryUpdate("INSERT", entryA+doA+`priority: 1`), codes.InvalidArgument, "want 0"},
		{"no action", entryUpdate("INSERT", entryA), codes.InvalidArgument, "no action"},
		{"empty action", entryUpdate("INSERT", entryA+`action { }`), codes.InvalidArgument, "no action"},
		{"action profile", entryUpdate("INSERT", entryA+`action { action_profile_member_id: 1 }`), codes.InvalidArgument, "no action profile"},
		{"action of another table", entryUpdate("INSERT", entryA+`action { action { action_id: 9 } }`), codes.InvalidArgument, "no action with id 0x9"},
		{"action for the default entry", entryUpdate("INSERT", entryA+`action { action { action_id: 0x1000003 } }`), codes.PermissionDenied, "default entry only"},
		{"parameter left out", entryUpdate("INSERT", entryA+`action { action { action_id: 0x1000001 params { param_id: 1 value: "\x01" } } }`), codes.InvalidArgument, "want 2"},
		{"parameter twice", entryUpdate("INSERT", entryA+`action { action { action_id: 0x1000001 params { param_id: 1 value: "\x01" } params { param_id: 1 value: "\x01" } } }`), codes.InvalidArgument, "twice"},
		{"parameter too wide", entryUpdate("INSERT", entryA+`action { action { action_id: 0x1000001 params { param_id: 1 value: "\x03\x00" } params { param_id: 2 value: "\x01" } } }`), codes.InvalidArgument, "at most 9 bits"},
		{"is_const", entryUpdate("INSERT", entryA+doA+`is_const: true`), codes.InvalidArgument, "is_const"},
		{"idle timeout", entryUpdate("INSERT", entryA+doA+`idle_timeout_ns: 1`), codes.InvalidArgument, "idle_timeout_ns"},
		{"counter where none is", entryUpdate("INSERT", entryB+drop+`priority: 1 counter_data { }`), codes.InvalidArgument, "no direct counter"},
		{"meter where none is", entryUpdate("INSERT", entryB+drop+`priority: 1 meter_config { }`), codes.InvalidArgument, "no direct meter"},
		{"counter below 0", entryUpdate("INSERT", entryA+doA+`counter_data { byte_count: -1 }`), codes.InvalidArgument, "below 0"},
		{"excess burst", entryUpdate("INSERT", entryA+doA+`meter_config { eburst: 1 }`), codes.InvalidArgument, "eburst"},
		{"counters of colours", entryUpdate("INSERT", entryA+doA+`meter_counter_data { }`), codes.Unimplemented, "colours"},
		{"entry of a constant table", entryUpdate("INSERT", `table_id: 0x2000004 match { field_id: 1 exact { value: "\x01" } } `+drop), codes.PermissionDenied, "constant"},
		{"action of a constant entry", entryUpdate("MODIFY", `table_id: 0x2000004 match { field_id: 1 exact { value: "\x05" } } `+drop), codes.PermissionDenied, "constant"},
		{"delete a constant entry", entryUpdate("DELETE", `table_id: 0x2000004 match { field_id: 1 exact { value: "\x05" } } `), codes.PermissionDenied, "constant"},
		{"modify what is not there", entryUpdate("MODIFY", entryA+doA), codes.NotFound, "in.exact"},
		{"delete what is not there", entryUpdate("DELETE", entryA), codes.NotFound, "in.exact"},
		{"insert the default entry", entryUpdate("INSERT", `table_id: 0x2000001 is_default_action: true `+drop), codes.InvalidArgument, "MODIFY"},
		{"default entry with a match", entryUpdate("MODIFY", entryA+`is_default_action: true `+drop), codes.InvalidArgument, "no match"},
		{"constant default entry", entryUpdate("MODIFY", `table_id: 0x2000003 is_default_action: true `+drop), codes.PermissionDenied, "constant"},
		{"action for entries", entryUpdate("MODIFY", `table_id: 0x2000002 is_default_action: true `+doA), codes.PermissionDenied, "entries only"},
		{"direct counter of nothing", entity("MODIFY", `direct_counter_entry { }`), codes.InvalidArgument, "no table entry"},
		{"direct counter that is inserted", entity("INSERT", `direct_counter_entry { table_entry { `+entryA+` } }`), codes.InvalidArgument, "MODIFY"},
		{"direct counter of no entry", entity("MODIFY", `direct_counter_entry { table_entry { `+entryA+` } data { } }`), codes.NotFound, "in.exact"},
		{"direct meter where none is", entity("MODIFY", `direct_meter_entry { table_entry { `+entryB+` priority: 1 } }`), codes.InvalidArgument, "no direct meter"},
		{"no counter", entity("MODIFY", `counter_entry { counter_id: 3 }`), codes.InvalidArgument, "no counter"},
		{"counter that is inserted", entity("INSERT", `counter_entry { counter_id: 0x12000001 index { } data { } }`), codes.InvalidArgument, "MODIFY"},
		{"index below 0", entity("MODIFY", `counter_entry { counter_id: 0x12000001 index { index: -1 } data { } }`), codes.InvalidArgument, "below 0"},
		{"index beyond", entity("MODIFY", `counter_entry { counter_id: 0x12000001 index { index: 8 } data { } }`), codes.OutOfRange, "its size is 8"},
		{"meter that is a counter", entity("MODIFY", `meter_entry { meter_id: 0x12000001 }`), codes.InvalidArgument, "no meter"},
		{"rate below 0", entity("MODIFY", `meter_entry { meter_id: 0x14000001 index { } config { cir: -1 } }`), codes.InvalidArgument, "below 0"},
		{"register too wide", entity("MODIFY", `register_entry { register_id: 0x16000001 index { } data { bitstring: "\x01\x00\x00\x00\x00\x00\x00" } }`), codes.InvalidArgument, "at most 48 bits"},
		{"register of another type", entity("MODIFY", `register_entry { register_id: 0x16000001 index { } data { bool: true } }`), codes.InvalidArgument, "bool"},
		{"register without data", entity("MODIFY", `register_entry { register_id: 0x16000001 index { } }`), codes.InvalidArgument, "type"},
		{"signed too wide", entity("MODIFY", `register_entry { register_id: 0x16000002 index { } data { bitstring: "\x08\x00" } }`), codes.InvalidArgument, "signed number of 12 bits"},
		{"group 0", entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { } }`), codes.InvalidArgument, "1 to 65535"},
		{"group with equal replicas", entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01" } replicas { egress_port: 1 } } }`), codes.InvalidArgument, "two replicas"},
		{"port too wide", entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01\x00\x00\x00\x00" } } }`), codes.OutOfRange, "32 bits"},
		{"instance too wide", entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { instance: 65536 } } }`), codes.InvalidArgument, "instance"},
		{"no group", entity("MODIFY", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 } }`), codes.NotFound, "multicast group 1"},
		{"session 0", entity("INSERT", `packet_replication_engine_entry { clone_session_entry { } }`), codes.InvalidArgument, "1 to 32767"},
		{"class of service", entity("INSERT", `packet_replication_engine_entry { clone_session_entry { session_id: 1 class_of_service: 1 } }`), codes.InvalidArgument, "class"},
		{"no digest", entity("INSERT", `digest_entry { digest_id: 1 }`), codes.InvalidArgument, "no digest"},
		{"digest that is not configured", entity("DELETE", `digest_entry { digest_id: 0x17000001 }`), codes.NotFound, "not configured"},
		{"action profile member", entity("INSERT", `action_profile_member { }`), codes.Unimplemented, "action profiles"},
		{"value set", entity("MODIFY", `value_set_entry { }`), codes.Unimplemented, "value sets"},
		{"extern", entity("MODIFY", `extern_entry { }`), codes.Unimplemented, "externs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := primary(t)
			before := r.dump(t)
			got, err := r.write(t, tc.update)
			if len(got) != 1 || got[0] != tc.want || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, %v; want %v with %q", got, err, tc.want, tc.says)
			}
			if after := r.dump(t); after != before {
				t.Errorf("it has changed the state from\n%s to\n%s", before, after)
			}
		})
	}
}

// everything asks for all there is.
const everything = `entities { table_entry { counter_data { } meter_config { } } } entities { counter_entry { } } entities { meter_entry { } } entities { register_entry { } }
	entities { packet_replication_engine_entry { multicast_group_entry { } } } entities { packet_replication_engine_entry { clone_session_entry { } } }
	entities { digest_entry { } } entities { direct_meter_entry { table_entry { } } }
	entities { table_entry { table_id: 0x2000001 is_default_action: true } } entities { table_entry { table_id: 0x2000002 is_default_action: true } }`

// dump is the whole state, in a fixed order.
func (r *rig) dump(t testing.TB) string {
	t.Helper()
	list, err := r.readAll(t, everything)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list {
		lines = append(lines, strings.Join(strings.Fields(prototext.Format(e)), " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestBatch: the updates of a batch are done as its atomicity says, and each has its error.
func TestBatch(t *testing.T) {
	good, twice := entryUpdate("INSERT", entryA+doA), entryUpdate("INSERT", entryA+doA)
	more := entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 9 replicas { port: "\x01" } } }`) +
		entity("INSERT", `packet_replication_engine_entry { clone_session_entry { session_id: 9 replicas { port: "\x01" } } }`) +
		entity("INSERT", `digest_entry { digest_id: 0x17000001 config { max_list_size: 1 } }`) +
		entity("MODIFY", `counter_entry { counter_id: 0x12000001 data { packet_count: 5 } }`) +
		entity("MODIFY", `meter_entry { meter_id: 0x14000001 config { cir: 5 } }`) +
		entity("MODIFY", `register_entry { register_id: 0x16000001 data { bitstring: "\x05" } }`) +
		entryUpdate("MODIFY", `table_id: 0x2000001 is_default_action: true metadata: "x" `+`action { action { action_id: 0x1000003 } }`) +
		entryUpdate("INSERT", entryB+drop+`priority: 3 metadata: "note"`) +
		entryUpdate("MODIFY", entryA+drop+`counter_data { packet_count: 7 } meter_config { pir: 7 } metadata: "m"`) +
		entryUpdate("DELETE", `table_id: 0x2000003 match { field_id: 7 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } }`) +
		entity("MODIFY", `direct_counter_entry { table_entry { `+entryA+` } data { packet_count: 8 } }`) +
		entity("MODIFY", `direct_meter_entry { table_entry { `+entryA+` } config { cir: 9 } }`)
	for _, atomicity := range []string{"CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"} {
		t.Run(atomicity, func(t *testing.T) {
			r, _ := primary(t)
			r.mustWrite(t, entryUpdate("INSERT", `table_id: 0x2000003 match { field_id: 7 lpm { value: "\x0a\x00\x00\x00" prefix_len: 8 } } metadata: "ten" `+drop))
			before := r.dump(t)
			got, err := r.write(t, good+more+twice+`atomicity: `+atomicity)
			if len(got) != 14 || got[13] != codes.AlreadyExists {
				t.Fatalf("got %v, %v", got, err)
			}
			others := codes.OK
			if atomicity != "CONTINUE_ON_ERROR" {
				others = codes.Aborted
				if after := r.dump(t); after != before {
					t.Errorf("it has changed the state from\n%s to\n%s", before, after)
				}
			}
			for i, code := range got[:13] {
				if code != others {
					t.Errorf("update %d: got %v, want %v: %v", i, code, others, err)
				}
			}
			if others == codes.OK && r.dump(t) == before {
				t.Error("nothing has changed")
			}
		})
	}
}

// TestReadBack: what was written is read as it was, in its shortest form.
func TestReadBack(t *testing.T) {
	for _, tc := range []struct{ name, write, ask, want string }{
		{"exact", entryUpdate("INSERT", entryA+doA+`controller_metadata: 5 metadata: "m" meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 }`),
			`table_entry { table_id: 0x2000001 counter_data { } meter_config { } }`,
			`table_entry { table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } match { field_id: 2 exact { value: "\x01\x02" } }
			 action { action { action_id: 0x1000001 params { param_id: 1 value: "\x01\xff" } params { param_id: 2 value: "\x0a" } } }
			 controller_metadata: 5 metadata: "m" counter_data { } meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }`},
		{"meter that is left out", entryUpdate("INSERT", entryA+doA+`meter_config { cir: 1 } counter_data { packet_count: 3 }`) + entryUpdate("MODIFY", entryA+drop),
			`table_entry { table_id: 0x2000001 counter_data { } meter_config { } }`,
			`table_entry { table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } match { field_id: 2 exact { value: "\x01\x02" } } counter_data { packet_count: 3 } ` + drop + ` }`},
		{"action that is left out", entryUpdate("INSERT", entryA+drop+`meter_config { cir: 1 } metadata: "a"`) + entryUpdate("MODIFY", entryA+`counter_data { packet_count: 4 } metadata: "b"`),
			`table_entry { table_id: 0x2000001 counter_data { } meter_config { } }`,
			`table_entry { table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } match { field_id: 2 exact { value: "\x01\x02" } } metadata: "b" counter_data { packet_count: 4 } ` + drop + ` }`},
		{"all kinds", entryUpdate("INSERT", entryB+drop+`priority: 5`), `table_entry { table_id: 0x2000002 }`, `table_entry { ` + entryB + drop + `priority: 5 }`},
		{"left out", entryUpdate("INSERT", `table_id: 0x2000002 priority: 7 `+drop), `table_entry { table_id: 0x2000002 priority: 7 }`, `table_entry { table_id: 0x2000002 priority: 7 ` + drop + ` }`},
		{"default entry", entryUpdate("MODIFY", `table_id: 0x2000001 is_default_action: true metadata: "d" `+doA), `table_entry { table_id: 0x2000001 is_default_action: true }`,
			`table_entry { table_id: 0x2000001 is_default_action: true metadata: "d" action { action { action_id: 0x1000001 params { param_id: 1 value: "\x01\xff" } params { param_id: 2 value: "\x0a" } } } }`},
		{"default entry of the program", entryUpdate("MODIFY", `table_id: 0x2000001 is_default_action: true `), `table_entry { table_id: 0x2000001 is_default_action: true }`,
			`table_entry { table_id: 0x2000001 is_default_action: true ` + drop + ` }`},
		{"constant", ``, `table_entry { table_id: 0x2000004 counter_data { } }`, `table_entry { table_id: 0x2000004 match { field_id: 1 exact { value: "\x05" } } is_const: true counter_data { } ` + drop + ` }`},
		{"counter of a constant entry", entryUpdate("MODIFY", `table_id: 0x2000004 match { field_id: 1 exact { value: "\x05" } } counter_data { packet_count: 4 }`),
			`direct_counter_entry { table_entry { table_id: 0x2000004 } }`, `direct_counter_entry { table_entry { table_id: 0x2000004 match { field_id: 1 exact { value: "\x05" } } } data { packet_count: 4 } }`},
		{"counter", entity("MODIFY", `counter_entry { counter_id: 0x12000001 index { index: 7 } data { byte_count: 9 packet_count: 1 } }`),
			`counter_entry { counter_id: 0x12000001 index { index: 7 } }`, `counter_entry { counter_id: 0x12000001 index { index: 7 } data { byte_count: 9 packet_count: 1 } }`},
		{"meter", entity("MODIFY", `meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 pir: 2 } }`),
			`meter_entry { meter_id: 0x14000001 index { index: 1 } }`, `meter_entry { meter_id: 0x14000001 index { index: 1 } config { cir: 1 pir: 2 } }`},
		{"meter without", ``, `meter_entry { meter_id: 0x14000001 index { index: 1 } }`, `meter_entry { meter_id: 0x14000001 index { index: 1 } }`},
		{"register", entity("MODIFY", `register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x00\x07" } }`),
			`register_entry { register_id: 0x16000001 index { index: 3 } }`, `register_entry { register_id: 0x16000001 index { index: 3 } data { bitstring: "\x07" } }`},
		{"below 0", entity("MODIFY", `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xfd\x1d" } }`),
			`register_entry { register_id: 0x16000002 index { index: 1 } }`, `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xfd\x1d" } }`},
		{"-1", entity("MODIFY", `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xff\xff\xff" } }`),
			`register_entry { register_id: 0x16000002 index { index: 1 } }`, `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\xff" } }`},
		{"128", entity("MODIFY", `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\x00\x80" } }`),
			`register_entry { register_id: 0x16000002 index { index: 1 } }`, `register_entry { register_id: 0x16000002 index { index: 1 } data { bitstring: "\x00\x80" } }`},
		{"group", entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 metadata: "g" replicas { port: "\x01" instance: 2 } } }`),
			`packet_replication_engine_entry { multicast_group_entry { } }`, `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 metadata: "g" replicas { port: "\x01" instance: 2 } } }`},
		{"session", entity("INSERT", `packet_replication_engine_entry { clone_session_entry { session_id: 5 packet_length_bytes: 64 replicas { port: "\x01" instance: 2 } } }`),
			`packet_replication_engine_entry { clone_session_entry { session_id: 5 } }`, `packet_replication_engine_entry { clone_session_entry { session_id: 5 packet_length_bytes: 64 replicas { port: "\x01" instance: 2 } } }`},
		{"digest", entity("INSERT", `digest_entry { digest_id: 0x17000001 config { max_list_size: 3 } }`), `digest_entry { }`, `digest_entry { digest_id: 0x17000001 config { max_list_size: 3 } }`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := primary(t)
			r.mustWrite(t, tc.write)
			got, err := r.readAll(t, `entities { `+tc.ask+` }`)
			wantEntities(t, got, err, tc.want)
		})
	}
}
