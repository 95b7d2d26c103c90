package p4rt

import (
	"strings"
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func codeOf(err error) codes.Code { return status.Code(err) }

func (r *rig) set(t testing.TB, action p4.SetForwardingPipelineConfigRequest_Action, c *p4.ForwardingPipelineConfig) error {
	_, err := r.client.SetForwardingPipelineConfig(t.Context(), &p4.SetForwardingPipelineConfigRequest{
		DeviceId: 1, ElectionId: &p4.Uint128{Low: 1}, Action: action, Config: c})
	return err
}

// Actions of SetForwardingPipelineConfig.
const (
	verify    = p4.SetForwardingPipelineConfigRequest_VERIFY
	save      = p4.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE
	commitNew = p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT
	commit    = p4.SetForwardingPipelineConfigRequest_COMMIT
	reconcile = p4.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT
)

// TestPipelineActions follows which state runs and which has the entries.
func TestPipelineActions(t *testing.T) {
	r, _ := primary(t)
	r.mustWrite(t, entryUpdate("INSERT", entryA+doA))
	entries := func() int {
		list, err := r.readAll(t, `entities { table_entry { table_id: 0x2000001 } }`)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	runs := func() State {
		r.target.mu.Lock()
		defer r.target.mu.Unlock()
		return r.target.running
	}
	first := runs()
	for _, step := range []struct {
		name    string
		action  p4.SetForwardingPipelineConfigRequest_Action
		config  *p4.ForwardingPipelineConfig
		want    codes.Code
		entries int
		changes bool
	}{
		{"no action", 0, fakeConfig(t), codes.InvalidArgument, 1, false},
		{"verify", verify, fakeConfig(t), codes.OK, 1, false},
		{"verify nothing", verify, nil, codes.InvalidArgument, 1, false},
		{"nothing is saved", commit, nil, codes.NotFound, 1, false},
		{"the same", reconcile, fakeConfig(t), codes.OK, 1, false},
		{"another", reconcile, otherConfig(t), codes.Unimplemented, 1, false},
		{"save", save, fakeConfig(t), codes.OK, 0, false},
		{"commit with a configuration", commit, fakeConfig(t), codes.InvalidArgument, 0, false},
		{"commit", commit, nil, codes.OK, 0, true},
		{"commit again", commit, nil, codes.NotFound, 0, false},
		{"anew", commitNew, otherConfig(t), codes.OK, 0, true},
	} {
		if err := r.set(t, step.action, step.config); codeOf(err) != step.want {
			t.Errorf("%s: got %v, want %v", step.name, err, step.want)
		}
		if n := entries(); n != step.entries {
			t.Errorf("%s: %d entries, want %d", step.name, n, step.entries)
		}
		now := runs()
		if (now != first) != step.changes {
			t.Errorf("%s: another state runs: %t, want %t", step.name, now != first, step.changes)
		}
		first = now
	}
}

func otherConfig(t testing.TB) *p4.ForwardingPipelineConfig {
	c := fakeConfig(t)
	c.P4Info.Digests = nil
	return c
}

// TestSavedWrites: what is written between VERIFY_AND_SAVE and COMMIT is in the state that runs afterwards.
func TestSavedWrites(t *testing.T) {
	r, _ := primary(t)
	running := r.target.running.(*fakeState)
	if err := r.set(t, save, fakeConfig(t)); err != nil {
		t.Fatal(err)
	}
	r.mustWrite(t, entryUpdate("INSERT", entryA+doA))
	if n := len(running.entries[tableExact]); n != 0 {
		t.Errorf("%d entries in the state that runs, want 0", n)
	}
	if err := r.set(t, commit, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(r.target.running.(*fakeState).entries[tableExact]); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

// TestGetPipeline: each kind of answer has what it is to have.
func TestGetPipeline(t *testing.T) {
	r, _ := primary(t)
	c := fakeConfig(t)
	for kind, want := range map[p4.GetForwardingPipelineConfigRequest_ResponseType]*p4.ForwardingPipelineConfig{
		p4.GetForwardingPipelineConfigRequest_ALL:                      c,
		p4.GetForwardingPipelineConfigRequest_COOKIE_ONLY:              {Cookie: c.GetCookie()},
		p4.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:        {Cookie: c.GetCookie(), P4Info: c.GetP4Info()},
		p4.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE: {Cookie: c.GetCookie(), P4DeviceConfig: c.GetP4DeviceConfig()},
	} {
		got, err := r.client.GetForwardingPipelineConfig(t.Context(), &p4.GetForwardingPipelineConfigRequest{DeviceId: 1, ResponseType: kind})
		if err != nil || !proto.Equal(got.GetConfig(), want) {
			t.Errorf("%v: got %v, %v; want %v", kind, got, err, want)
		}
	}
	if _, err := r.client.GetForwardingPipelineConfig(t.Context(), &p4.GetForwardingPipelineConfigRequest{}); codeOf(err) != codes.NotFound {
		t.Errorf("another device: got %v, want %v", err, codes.NotFound)
	}
	empty := newRig(t, Config{})
	got, err := empty.client.GetForwardingPipelineConfig(t.Context(), &p4.GetForwardingPipelineConfigRequest{DeviceId: 1})
	if err != nil || got.GetConfig() != nil {
		t.Errorf("no pipeline: got %v, %v; want none", got, err)
	}
	version, err := r.client.Capabilities(t.Context(), &p4.CapabilitiesRequest{})
	if err != nil || version.GetP4RuntimeApiVersion() != "1.4.1" {
		t.Errorf("version: got %v, %v; want 1.4.1", version, err)
	}
}

// TestMismatch: what of P4Info is not in the program, or is otherwise there, is said.
func TestMismatch(t *testing.T) {
	for _, tc := range []struct{ name, old, new, says string }{
		{"table", `"in.exact"`, `"in.other"`, "table in.other of P4Info is not in the program"},
		{"table size", `size: 1048576`, `size: 1024`, "table in.exact: size is 1024 in P4Info, and 1048576 in the program"},
		{"match field", `name: "teid"`, `name: "seid"`, "match field seid of P4Info is not"},
		{"match width", `bitwidth: 9 match_type: EXACT`, `bitwidth: 10 match_type: EXACT`, "match field port: width is 10"},
		{"match kind", `match_type: RANGE`, `match_type: TERNARY`, "match type is ternary in P4Info, and range"},
		{"other match kind", `match_type: RANGE`, `other_match_type: "x"`, "not implemented"},
		{"match left out", `match_fields { id: 2 name: "teid" bitwidth: 32 match_type: EXACT }`, ``, "number of match fields is 1"},
		{"match twice", `id: 2 name: "teid"`, `id: 1 name: "teid"`, "twice"},
		{"action", `name: "in.forward"`, `name: "in.backward"`, "action in.backward of P4Info is not"},
		{"no action", `action_refs { id: 0x1000003 scope: DEFAULT_ONLY }`, `action_refs { id: 0x1000009 }`, "no action with id 0x1000009"},
		{"parameter", `name: "mac" bitwidth: 48 } }`, `name: "cam" bitwidth: 48 } }`, "parameter cam"},
		{"parameter width", `name: "mac" bitwidth: 48 } }`, `name: "mac" bitwidth: 32 } }`, "width is 32"},
		{"parameter left out", `params { id: 2 name: "mac" bitwidth: 48 }`, ``, "number of parameters is 1"},
		{"counter", `"in.packets"`, `"in.p"`, "counter in.p of P4Info"},
		{"counter size", `unit: BOTH } size: 8`, `unit: BOTH } size: 9`, "size is 9"},
		{"direct counter", `name: "in.direct" } spec { unit: BOTH } direct_table_id: 0x2000001`, `name: "in.direct" } direct_table_id: 0x2000002`, "direct counter in.direct of P4Info is not"},
		{"direct counter of nothing", `name: "in.direct" } spec { unit: BOTH } direct_table_id: 0x2000001`, `name: "in.direct" } direct_table_id: 7`, "no table with id 0x7"},
		{"meter", `"in.rate"`, `"in.r"`, "meter in.r of P4Info"},
		{"meter unit", `spec { unit: BYTES }`, `spec { unit: PACKETS }`, "octets"},
		{"register", `"in.last"`, `"in.l"`, "register in.l of P4Info"},
		{"register width", `bitwidth: 48 } } } size: 4`, `bitwidth: 40 } } } size: 4`, "width is 40"},
		{"digest", `name: "learn_t" } type_spec { struct`, `name: "l" } type_spec { struct`, "digest l of P4Info"},
		{"digest field", `members { name: "port" type_spec { bitstring { bit { bitwidth: 9 } } } }`, ``, "number of fields is 1"},
		{"digest width", `bit { bitwidth: 9 }`, `bit { bitwidth: 8 }`, "width is 8"},
		{"digest type", `structs { key: "learn_t"`, `structs { key: "x"`, "type learn_t is not in P4Info"},
		{"id twice", `id: 0x2000002`, `id: 0x2000001`, "too"},
		{"id 0", `id: 0x12000001`, `id: 0`, "id 0"},
		{"packet metadata", `name: "packet_out"`, `name: "packet"`, "want packet_in or packet_out"},
		{"action profile", `actions {`, `action_profiles { preamble { id: 3 name: "p" } } actions {`, "action profile p: not implemented"},
		{"value set", `actions {`, `value_sets { preamble { id: 3 name: "p" } } actions {`, "not implemented"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.Replace(fakeInfo, tc.old, tc.new, 1)
			if text == fakeInfo {
				t.Fatal("nothing is replaced")
			}
			r, _ := primary(t)
			err := r.set(t, commitNew, &p4.ForwardingPipelineConfig{P4Info: readInfo(t, text), P4DeviceConfig: []byte("{}")})
			if codeOf(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v with %q", err, codes.InvalidArgument, tc.says)
			}
		})
	}
}

// TestHostileTypes: a type that would be very large is refused, quickly.
func TestHostileTypes(t *testing.T) {
	member := `members { name: "m" type_spec { struct { name: "` + "%" + `" } } } `
	text := strings.Replace(fakeInfo, `type_info {`, `type_info { structs { key: "z" value { } } structs { key: "b" value { `+strings.Repeat(strings.ReplaceAll(member, "%", "z"), 2000)+
		` } } structs { key: "c" value { `+strings.Repeat(strings.ReplaceAll(member, "%", "b"), 2000)+` } } structs { key: "d" value { `+strings.ReplaceAll(member, "%", "d")+` } }`, 1)
	for _, name := range []string{"c", "d"} {
		_, err := newPipeline(readInfo(t, strings.Replace(text, `struct { name: "learn_t" }`, `struct { name: "`+name+`" }`, 1)), newFakeProgram())
		if err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: got %v, want that it is too large", name, err)
		}
	}
}
