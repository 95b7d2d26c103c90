package p4rt

import (
	"bytes"
	"slices"
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// FuzzWrite: whatever a request is, nothing panics; an update is decoded as the generated messages decode it, and a
// refused one changes nothing.
func FuzzWrite(f *testing.F) {
	for _, text := range []string{
		entryUpdate("INSERT", entryA+doA), entryUpdate("INSERT", entryB+drop+`priority: 1`), entryUpdate("MODIFY", entryA+doA+`counter_data { packet_count: 1 }`),
		entryUpdate("DELETE", entryA), entryUpdate("MODIFY", `table_id: 0x2000001 is_default_action: true`) + `atomicity: ROLLBACK_ON_ERROR`,
		entity("MODIFY", `counter_entry { counter_id: 0x12000001 data { } }`), entity("MODIFY", `register_entry { register_id: 0x16000002 data { bitstring: "\xff" } }`),
		entity("INSERT", `packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01" } } }`),
		entity("INSERT", `digest_entry { digest_id: 0x17000001 config { } }`), entity("MODIFY", `direct_meter_entry { table_entry { `+entryA+` } }`),
	} {
		m := &p4.WriteRequest{}
		parse(f, text, m)
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		u, err := proto.Marshal(m.GetUpdates()[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(protowire.AppendBytes([]byte{fieldUpdates<<3 | 2}, append(u, u...))) // all fields twice
	}
	p, err := newPipeline(readInfo(f, fakeInfo), newFakeProgram())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, octets []byte) {
		var r writeRequest
		var m p4.WriteRequest
		if r.decode(octets) != nil {
			return
		}
		known := proto.Unmarshal(octets, &m) == nil
		p.state = newFakeState(newFakeProgram())
		var b batch
		for i, u := range r.updates.octets {
			compareDecoded(t, u)
			before := dumpState(t, p)
			why := b.write(p, &updates{octets: [][]byte{u}}, p4.WriteRequest_CONTINUE_ON_ERROR)
			if after := dumpState(t, p); why != nil && !bytes.Equal(before, after) {
				t.Errorf("update %d was refused (%v) and has changed something", i, why[0])
			}
		}
		if known && (m.GetDeviceId() != r.device || len(m.GetUpdates()) != r.updates.len() || m.GetRole() != r.role || readElection(m.GetElectionId()) != r.election || m.GetAtomicity() != r.atomicity) {
			t.Errorf("got %+v, want %v", r, &m)
		}
		for _, d := range p.digests {
			d.config = nil
		}
		clear(p.groups)
		clear(p.clones)
		for _, t := range p.tables {
			clear(t.notes)
			t.defaultNote = note{}
		}
	})
}

// compareDecoded compares a table entry with what the generated messages make of it.
func compareDecoded(t *testing.T, octets []byte) {
	t.Helper()
	var m p4.Update
	var u update
	var w wireEntry
	err := proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(octets, &m)
	why := u.decode(octets, &w)
	if (err != nil) && why == nil {
		t.Fatalf("decoded, and should not be: %v", err)
	}
	if err == nil {
		var ru update
		var rw wireEntry
		if rwhy := ru.read(&m, &rw); (rwhy != nil) != (why != nil) {
			t.Fatalf("as octets %v, as a message %v", why, rwhy)
		}
		if why == nil {
			compareEntry(t, &ru, &rw, &m)
		}
	}
	if why == nil {
		compareEntry(t, &u, &w, &m)
	}
}

// compareEntry compares what was decoded with the message.
func compareEntry(t *testing.T, u *update, w *wireEntry, m *p4.Update) {
	t.Helper()
	e := m.GetEntity().GetTableEntry()
	if e == nil {
		if u.entry || !proto.Equal(u.entity, m.GetEntity()) {
			t.Fatalf("got %+v, want %v", u, m)
		}
		return
	}
	//nolint:staticcheck // older controllers use controller_metadata
	if !u.entry || u.kind != m.GetType() || w.table != e.GetTableId() || w.priority != e.GetPriority() || w.isDefault != e.GetIsDefaultAction() ||
		w.isConst != e.GetIsConst() || w.idle != e.GetIdleTimeoutNs() || w.cookie != e.GetControllerMetadata() || !bytes.Equal(w.metadata, e.GetMetadata()) ||
		len(w.match) != len(e.GetMatch()) || !proto.Equal(w.meter, e.GetMeterConfig()) || !proto.Equal(w.counter, e.GetCounterData()) ||
		w.meterCounter != (e.GetMeterCounterData() != nil) || w.lastHit != (e.GetTimeSinceLastHit() != nil) {
		t.Fatalf("got %+v, want %v", *w, e)
	}
	for i, x := range e.GetMatch() {
		compareMatch(t, &w.match[i], x)
	}
	a := e.GetAction().GetAction()
	if w.actionID != a.GetActionId() || len(w.params) != len(a.GetParams()) || (w.action == noAction) != (e.GetAction() == nil) || (w.action == anAction) != (a != nil) {
		t.Fatalf("got %+v, want %v", *w, e)
	}
	for i, x := range a.GetParams() {
		if w.params[i].id != x.GetParamId() || !bytes.Equal(w.params[i].value, x.GetValue()) {
			t.Fatalf("got %+v, want %v", w.params[i], x)
		}
	}
}

func compareMatch(t *testing.T, w *wireMatch, m *p4.FieldMatch) {
	t.Helper()
	want := wireMatch{id: m.GetFieldId(), set: m.GetFieldMatchType() != nil}
	switch x := m.GetFieldMatchType().(type) {
	case *p4.FieldMatch_Exact_:
		want.a = x.Exact.GetValue()
	case *p4.FieldMatch_Ternary_:
		want.kind, want.a, want.b = bmv2.Ternary, x.Ternary.GetValue(), x.Ternary.GetMask()
	case *p4.FieldMatch_Lpm:
		want.kind, want.a, want.prefix = bmv2.LPM, x.Lpm.GetValue(), x.Lpm.GetPrefixLen()
	case *p4.FieldMatch_Range_:
		want.kind, want.a, want.b = bmv2.Range, x.Range.GetLow(), x.Range.GetHigh()
	case *p4.FieldMatch_Optional_:
		want.kind, want.a = optional, x.Optional.GetValue()
	}
	if w.id != want.id || w.set != want.set || w.kind != want.kind || w.prefix != want.prefix || !bytes.Equal(w.a, want.a) || !bytes.Equal(w.b, want.b) {
		t.Fatalf("got %+v, want %+v", w, want)
	}
}

// FuzzRead: whatever is asked for, nothing panics.
func FuzzRead(f *testing.F) {
	for _, text := range []string{everything, `entities { table_entry { ` + entryA + ` } }`, `entities { table_entry { ` + entryB + ` priority: 1 } }`, `entities { direct_counter_entry { table_entry { ` + entryA + ` } } }`} {
		m := &p4.ReadRequest{}
		parse(f, text, m)
		m.DeviceId = 1
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	r, _ := primary(f)
	r.mustWrite(f, entryUpdate("INSERT", entryA+doA)+entryUpdate("INSERT", entryB+drop+`priority: 1`))
	f.Fuzz(func(t *testing.T, octets []byte) {
		m := &p4.ReadRequest{}
		if proto.Unmarshal(octets, m) != nil || len(m.GetEntities()) > 100 {
			return
		}
		responses, _ := r.read(m)
		for _, x := range responses {
			if err := proto.Unmarshal(x, &p4.ReadResponse{}); err != nil {
				t.Errorf("a response cannot be decoded: %v", err)
			}
		}
	})
}

// dumpState is all that can be read of a pipeline.
func dumpState(t *testing.T, p *pipeline) []byte {
	t.Helper()
	m := &p4.ReadRequest{}
	parse(t, everything, m)
	q := query{p: p}
	p.state.View(func(tx Tx) {
		q.tx = tx
		for _, e := range m.GetEntities() {
			if why := q.entity(e); why != nil {
				t.Fatal(why)
			}
		}
	})
	var lines [][]byte
	for _, e := range q.response.GetEntities() {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b)
	}
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, []byte{'\n'})
}
