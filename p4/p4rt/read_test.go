package p4rt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func wantEntities(t *testing.T, got []*p4.Entity, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d entities, want %d: %v", len(got), len(want), got)
	}
	for i := range got {
		e := &p4.Entity{}
		parse(t, want[i], e)
		if !proto.Equal(got[i], e) {
			t.Errorf("got %s, want %s", prototext.Format(got[i]), prototext.Format(e))
		}
	}
}

// TestFilters: of the entries that are there those are read that a request is about.
func TestFilters(t *testing.T) {
	r, _ := primary(t)
	for i := range 6 {
		action := drop
		if i == 0 {
			action = doA
		}
		r.mustWrite(t, entryUpdate("INSERT", fmt.Sprintf(`table_id: 0x2000002 match { field_id: 3 optional { value: "\x%02x" } } priority: %d controller_metadata: %d metadata: "%d" `, i/2, 1+i%2, 1+i/3, i)+action))
	}
	r.mustWrite(t, entryUpdate("INSERT", entryA+doA))
	for _, tc := range []struct {
		name, ask string
		want      []string // metadata of what comes
	}{
		{"table", `table_id: 0x2000002`, []string{"0", "1", "2", "3", "4", "5"}},
		{"all tables", ``, []string{"", "", "0", "1", "2", "3", "4", "5"}},
		{"action", `table_id: 0x2000002 action { action { action_id: 0x1000001 } }`, []string{"0"}},
		{"priority", `table_id: 0x2000002 priority: 2`, []string{"1", "3", "5"}},
		{"match", `table_id: 0x2000002 match { field_id: 3 optional { value: "\x01" } }`, []string{"2", "3"}},
		{"match and priority", `table_id: 0x2000002 match { field_id: 3 optional { value: "\x01" } } priority: 1`, []string{"2"}},
		{"match and another action", `table_id: 0x2000002 match { field_id: 3 optional { value: "\x01" } } priority: 1 action { action { action_id: 0x1000001 } }`, nil},
		{"match that is not there", `table_id: 0x2000002 match { field_id: 3 optional { value: "\x09" } } priority: 1`, nil},
		{"cookie", `table_id: 0x2000002 controller_metadata: 2`, []string{"3", "4", "5"}},
		{"metadata", `table_id: 0x2000002 metadata: "4"`, []string{"4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := r.readAll(t, `entities { table_entry { `+tc.ask+` } }`)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range list {
				got = append(got, string(e.GetTableEntry().GetMetadata()))
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestReadErrors: what cannot be read is said of each request, and the others are answered.
func TestReadErrors(t *testing.T) {
	r, _ := primary(t)
	requests := []struct {
		text string
		want codes.Code
	}{
		{`counter_entry { counter_id: 0x12000001 index { } }`, codes.OK},
		{``, codes.InvalidArgument},
		{`table_entry { priority: 1 }`, codes.InvalidArgument},
		{`table_entry { table_id: 9 }`, codes.InvalidArgument},
		{`table_entry { table_id: 0x2000001 match { field_id: 1 exact { value: "\x01" } } }`, codes.InvalidArgument},
		{`table_entry { table_id: 0x2000001 time_since_last_hit { } }`, codes.InvalidArgument},
		{`table_entry { meter_counter_data { } }`, codes.Unimplemented},
		{`counter_entry { counter_id: 0x12000001 index { index: 8 } }`, codes.OutOfRange},
		{`counter_entry { counter_id: 0x12000001 index { index: -1 } }`, codes.InvalidArgument},
		{`counter_entry { index { } }`, codes.InvalidArgument},
		{`register_entry { register_id: 0x12000001 }`, codes.InvalidArgument},
		{`direct_counter_entry { }`, codes.InvalidArgument},
		{`direct_counter_entry { table_entry { table_id: 0x2000002 } }`, codes.InvalidArgument},
		{`direct_counter_entry { table_entry { ` + entryA + ` } }`, codes.NotFound},
		{`packet_replication_engine_entry { }`, codes.InvalidArgument},
		{`packet_replication_engine_entry { clone_session_entry { session_id: 4 } }`, codes.NotFound},
		{`digest_entry { digest_id: 0x17000001 }`, codes.NotFound},
		{`action_profile_member { }`, codes.OK},
		{`action_profile_group { action_profile_id: 4 }`, codes.Unimplemented},
	}
	var all strings.Builder
	for _, q := range requests {
		all.WriteString(`entities { ` + q.text + ` } `)
	}
	list, err := r.readAll(t, all.String())
	s := status.Convert(err)
	if s.Code() != codes.Unknown || len(s.Details()) != len(requests) {
		t.Fatalf("got %v with %d errors, want %v with %d", s, len(s.Details()), codes.Unknown, len(requests))
	}
	for i, d := range s.Details() {
		if got := codes.Code(d.(*p4.Error).GetCanonicalCode()); got != requests[i].want {
			t.Errorf("%s: got %v (%s), want %v", requests[i].text, got, d.(*p4.Error).GetMessage(), requests[i].want)
		}
	}
	if len(list) != 1 {
		t.Errorf("got %d entities, want 1", len(list))
	}
}

// TestManyResponses: what is long comes in several responses, none of them longer than it may be.
func TestManyResponses(t *testing.T) {
	r, _ := primary(t)
	const n = 3 * maxEntities
	if _, err := r.client.Write(t.Context(), manyEntries(1, n, 0)); err != nil {
		t.Fatal(err)
	}
	stream, err := r.client.Read(t.Context(), &p4.ReadRequest{DeviceId: 1, Entities: []*p4.Entity{{Entity: &p4.Entity_TableEntry{TableEntry: &p4.TableEntry{TableId: 0x2000001}}}}})
	if err != nil {
		t.Fatal(err)
	}
	responses, entities := 0, 0
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		responses++
		entities += len(m.GetEntities())
		if len(m.GetEntities()) > maxEntities {
			t.Errorf("a response has %d entities, want at most %d", len(m.GetEntities()), maxEntities)
		}
	}
	if responses != 3 || entities != n {
		t.Errorf("got %d responses with %d entities, want 3 with %d", responses, entities, n)
	}
}
