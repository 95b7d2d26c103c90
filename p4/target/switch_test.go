package target

import (
	"bytes"
	"testing"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/port"
)

const (
	macA, macB = "020000000001", "020000000002"
	payload    = "00112233445566778899aabbccddeeff"
)

const toB = `table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } action { action { action_id: @action:forward@ params { param_id: 1 value: "\x02" } } } }`

// TestForward: a frame goes where its entry says, is counted, and comes to the controller without one.
func TestForward(t *testing.T) {
	for _, workers := range []int{1, 3} {
		r := newRig(t, workers)
		frame := macB + macA + "88b5" + payload
		r.ports[1].come(octets(frame))
		in := r.told(t).GetPacket()
		want := &p4.PacketIn{}
		r.parse(t, `metadata { metadata_id: 1 value: "\x01" } metadata { metadata_id: 2 value: "\x01" }`, want)
		want.Payload = octets(frame)
		if !proto.Equal(in, want) {
			t.Errorf("packet-in: got %v, want %v", in, want)
		}
		r.mustWrite(t, toB)
		for range 3 {
			r.ports[1].come(octets(frame))
			r.ports[2].want(t, frame)
		}
		r.wantRead(t, `counter_entry { counter_id: @counter:ports@ index { index: 1 } }`,
			`counter_entry { counter_id: @counter:ports@ index { index: 1 } data { packet_count: 4 byte_count: 120 } }`)
		r.wantRead(t, `direct_counter_entry { table_entry { table_id: @table:macs@ } }`,
			`direct_counter_entry { table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } } data { packet_count: 3 byte_count: 90 } }`)
		r.wantRead(t, `register_entry { register_id: @register:last@ index { index: 1 } }`,
			`register_entry { register_id: @register:last@ index { index: 1 } data { bitstring: "\x02\x00\x00\x00\x00\x01" } }`)
		if s := r.Stats(); s.ToPorts != 3 || s.ToController != 1 {
			t.Errorf("got %+v, want 3 to ports, 1 to the controller", s)
		}
	}
}

// TestGrow: a frame that grows leaves from where it is, or, without room in front, from elsewhere.
func TestGrow(t *testing.T) {
	r := newRig(t, 1)
	r.mustWrite(t, `table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } action { action { action_id: @action:forward_tagged@ params { param_id: 1 value: "\x02" } params { param_id: 2 value: "\x07" } } } }`)
	r.ports[1].come(octets(macB + macA + "88b5" + payload))
	r.ports[2].want(t, macB+macA+"8100 0007 88b5"+payload)
	// Many at once, of different lengths.
	for i := range 200 {
		r.ports[1].come(append(octets(macB+macA+"88b5"), bytes.Repeat([]byte{byte(i)}, i*7)...))
	}
	for i := range 200 {
		want := append(octets(macB+macA+"8100 0007 88b5"), bytes.Repeat([]byte{byte(i)}, i*7)...)
		if got := <-r.ports[2].out; !bytes.Equal(got, want) {
			t.Fatalf("frame %d: got %x, want %x", i, got, want)
		}
	}
}

// TestFlood: a group copies frames to its ports, and a clone session, too.
func TestFlood(t *testing.T) {
	r := newRig(t, 1)
	r.mustWrite(t, `table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\xff\xff\xff\xff\xff\xff" } } action { action { action_id: @action:flood@ params { param_id: 1 value: "\x05" } } } }`,
		`packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 replicas { port: "\x01" } replicas { port: "\x02" } replicas { port: "\x03" } } }`)
	frame := "ffffffffffff" + macA + "88b5" + payload
	r.ports[1].come(octets(frame))
	r.ports[2].want(t, frame)
	r.ports[3].want(t, frame)
	r.ports[1].wantNone(t)
	if got := r.Stats().Drops["egress"]; got != 1 {
		t.Errorf("%d dropped in egress, want 1", got)
	}
	r.mustWrite(t, toB,
		`packet_replication_engine_entry { clone_session_entry { session_id: 7 replicas { port: "\x03" } packet_length_bytes: 20 } }`,
		`table_entry { table_id: @table:acl@ priority: 1 match { field_id: 1 optional { value: "\x01" } } action { action { action_id: @action:mirror@ params { param_id: 1 value: "\x07" } } } }`)
	ip := macB + macA + "0800" + "4500001400000000 4011 0000 0a000001 0a000002"
	r.ports[1].come(octets(ip))
	r.ports[2].want(t, ip)
	r.ports[3].want(t, ip[:40])
}

// TestACL: all kinds of match decide, the highest priority first, and are read as they were written.
func TestACL(t *testing.T) {
	r := newRig(t, 1)
	entry := `table_entry { table_id: @table:acl@ priority: 5 match { field_id: 1 optional { value: "\x01" } } match { field_id: 2 ternary { value: "\x0a\x00\x00\x00" mask: "\xff\x00\x00\x00" } } match { field_id: 3 lpm { value: "\x0a\x00\x00\x00" prefix_len: 24 } } match { field_id: 4 range { low: "\x06" high: "\x11" } } action { action { action_id: @action:drop@ } } }`
	r.mustWrite(t, toB, entry)
	r.wantRead(t, `table_entry { table_id: @table:acl@ }`, entry)
	send := func(protocol, src, dst string) string {
		ip := macB + macA + "0800" + "4500001400000000 40" + protocol + "0000" + src + dst
		r.ports[1].come(octets(ip))
		return ip
	}
	send("11", "0a000001", "0a000002")
	r.ports[2].want(t, send("12", "0a000001", "0a000002"))
	r.ports[2].want(t, send("11", "0b000001", "0a000002"))
	r.ports[2].want(t, send("11", "0a000001", "0a000102"))
	if got := r.Stats().Drops["ingress"]; got != 1 {
		t.Errorf("%d dropped, want 1", got)
	}
	// A higher priority lets it pass.
	r.mustWrite(t, `table_entry { table_id: @table:acl@ priority: 6 action { action { action_id: @action:NoAction@ } } }`)
	r.ports[2].want(t, send("11", "0a000001", "0a000002"))
}

// TestPacketOutDigest: a controller's packet leaves by the port that it names; a digest says who was seen where.
func TestPacketOutDigest(t *testing.T) {
	r := newRig(t, 1)
	out := &p4.StreamMessageRequest{}
	r.parse(t, `packet { payload: "abcdefghijklmnopqrst" metadata { metadata_id: 1 value: "\x03" } metadata { metadata_id: 2 value: "\x00" } }`, out)
	if err := r.stream.Send(out); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-r.ports[3].out:
		if string(got) != "abcdefghijklmnopqrst" {
			t.Errorf("got %q", got)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("nothing leaves")
	}
	r.mustWrite(t, toB, `digest_entry { digest_id: @digest:learn_t@ config { max_list_size: 1 } }`)
	frame := macB + macA + "88b5" + payload
	r.ports[1].come(octets(frame))
	r.ports[2].want(t, frame)
	d := r.told(t).GetDigest()
	want := &p4.P4Data{}
	r.parse(t, `struct { members { bitstring: "\x02\x00\x00\x00\x00\x01" } members { bitstring: "\x01" } }`, want)
	if len(d.GetData()) != 1 || d.GetData()[0].String() != want.String() {
		t.Errorf("got %v, want %v", d, want)
	}
}

// TestNewPipeline: another state takes over while frames come, without entries.
func TestNewPipeline(t *testing.T) {
	r := newRig(t, 2)
	r.mustWrite(t, toB)
	frame := macB + macA + "88b5" + payload
	r.ports[1].come(octets(frame))
	r.ports[2].want(t, frame)
	if err := r.server.SetPipeline(bridge(t)); err != nil {
		t.Fatal(err)
	}
	r.wantRead(t, `table_entry { table_id: @table:macs@ }`)
	r.ports[1].come(octets(frame))
	if in := r.told(t).GetPacket(); !bytes.Equal(in.GetPayload(), octets(frame)) {
		t.Errorf("got %v, want the frame", in)
	}
}

// TestNoPipeline: frames before there is a program are counted, and so are those for a port that is not there.
func TestNoPipeline(t *testing.T) {
	p := newFakePort(t, "one")
	s, err := New(Config{Ports: map[uint32]port.Port{1: p}, CPUPort: 510})
	if err != nil {
		t.Fatal(err)
	}
	s.Start(nil)
	p.come(octets(macB + macA + "88b5"))
	for begin := time.Now(); s.Stats().Drops["no_pipeline"] != 1; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Fatalf("got %+v, want 1 dropped without a pipeline", s.Stats())
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	r := newRig(t, 1)
	r.mustWrite(t, `table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } action { action { action_id: @action:forward@ params { param_id: 1 value: "\x09" } } } }`)
	r.ports[1].come(octets(macB + macA + "88b5"))
	for begin := time.Now(); r.Stats().Drops["no_such_port"] != 1; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Fatalf("got %+v, want 1 for no port", r.Stats())
		}
	}
}

// TestAtomic: a batch that is to be done whole or not at all leaves the program's state as it was.
func TestAtomic(t *testing.T) {
	r := newRig(t, 1)
	r.mustWrite(t, toB)
	for _, atomicity := range []string{"ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"} {
		m := &p4.WriteRequest{}
		r.parse(t, `updates { type: MODIFY entity { table_entry { table_id: @table:macs@ match { field_id: 1 exact { value: "\x02\x00\x00\x00\x00\x02" } } action { action { action_id: @action:forward@ params { param_id: 1 value: "\x03" } } } meter_config { cir: 1 cburst: 1 pir: 1 pburst: 1 } counter_data { packet_count: 9 } metadata: "x" } } }
			updates { type: INSERT entity { table_entry { table_id: @table:acl@ priority: 1 action { action { action_id: @action:drop@ } } } } }
			updates { type: MODIFY entity { table_entry { table_id: @table:macs@ is_default_action: true action { action { action_id: @action:forward@ params { param_id: 1 value: "\x03" } } } } } }
			updates { type: DELETE entity { table_entry { table_id: @table:sources@ match { field_id: 1 exact { value: "\x01" } } } } } atomicity: `+atomicity, m)
		m.DeviceId, m.ElectionId = 1, &p4.Uint128{Low: 1}
		if _, err := r.client.Write(t.Context(), m); err == nil {
			t.Errorf("%s: an entry that is not there is deleted", atomicity)
		}
		r.wantRead(t, `table_entry { counter_data { } meter_config { } }`, toB[:len(toB)-1]+`counter_data { } }`)
		r.wantRead(t, `table_entry { table_id: @table:macs@ is_default_action: true }`,
			`table_entry { table_id: @table:macs@ is_default_action: true action { action { action_id: @action:to_controller@ params { param_id: 1 value: "\x01" } } } }`)
	}
}
