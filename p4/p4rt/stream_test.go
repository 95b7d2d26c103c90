package p4rt

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

const toldPrimary = `arbitration { device_id: 1 election_id { low: %d } status {} }`

// TestArbitration: who has the highest election id is the primary, everybody is told, and who goes is replaced by nobody.
func TestArbitration(t *testing.T) {
	r := newRig(t, Config{})
	a, b, standby := r.open(t), r.open(t), r.open(t)
	standby.send(`arbitration { device_id: 1 }`)
	standby.want(`arbitration { device_id: 1 status { code: 5 } }`)
	a.send(`arbitration { device_id: 1 election_id { low: 5 } }`)
	a.want(fmt.Sprintf(toldPrimary, 5))
	standby.want(`arbitration { device_id: 1 election_id { low: 5 } status { code: 6 } }`)
	b.send(`arbitration { device_id: 1 election_id { low: 4 } }`)
	b.want(`arbitration { device_id: 1 election_id { low: 5 } status { code: 6 } }`)
	// The high half counts more.
	b.send(`arbitration { device_id: 1 election_id { high: 1 } }`)
	b.want(`arbitration { device_id: 1 election_id { high: 1 } status {} }`)
	a.want(`arbitration { device_id: 1 election_id { high: 1 } status { code: 6 } }`)
	standby.want(`arbitration { device_id: 1 election_id { high: 1 } status { code: 6 } }`)
	// A primary steps down; the highest id stays.
	b.send(`arbitration { device_id: 1 election_id { low: 3 } }`)
	b.want(`arbitration { device_id: 1 election_id { high: 1 } status { code: 5 } }`)
	a.want(`arbitration { device_id: 1 election_id { high: 1 } status { code: 5 } }`)
	a.send(`arbitration { device_id: 1 election_id { high: 2 } }`)
	a.want(`arbitration { device_id: 1 election_id { high: 2 } status {} }`)
	b.want(`arbitration { device_id: 1 election_id { high: 2 } status { code: 6 } }`)
	// The primary goes.
	if err := a.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	b.want(`arbitration { device_id: 1 election_id { high: 2 } status { code: 5 } }`)
	// It comes back with its id, which is the highest that ever was.
	c := r.open(t)
	c.send(`arbitration { device_id: 1 election_id { high: 2 } }`)
	c.want(`arbitration { device_id: 1 election_id { high: 2 } status {} }`)
}

// TestArbitrationRefused: what is wrong ends the stream, and changes nothing for others.
func TestArbitrationRefused(t *testing.T) {
	for _, tc := range []struct {
		name, first, then string
		want              codes.Code
	}{
		{"device", `arbitration { device_id: 2 election_id { low: 1 } }`, "", codes.NotFound},
		{"role", `arbitration { device_id: 1 role { name: "r" } election_id { low: 1 } }`, "", codes.Unimplemented},
		{"role id", `arbitration { device_id: 1 role { id: 3 } election_id { low: 1 } }`, "", codes.Unimplemented},
		{"role config", `arbitration { device_id: 1 role { config { } } election_id { low: 1 } }`, "", codes.InvalidArgument},
		{"taken", `arbitration { device_id: 1 election_id { low: 9 } }`, "", codes.InvalidArgument},
		{"nothing", ``, "", codes.InvalidArgument},
		{"another device", `arbitration { device_id: 1 election_id { low: 1 } }`, `arbitration { device_id: 2 election_id { low: 1 } }`, codes.FailedPrecondition},
		{"another role", `arbitration { device_id: 1 election_id { low: 1 } }`, `arbitration { device_id: 1 role { name: "r" } election_id { low: 1 } }`, codes.FailedPrecondition},
		{"taken later", `arbitration { device_id: 1 election_id { low: 1 } }`, `arbitration { device_id: 1 election_id { low: 9 } }`, codes.InvalidArgument},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Config{})
			a, b := r.open(t), r.open(t)
			a.send(`arbitration { device_id: 1 election_id { low: 9 } }`)
			a.want(fmt.Sprintf(toldPrimary, 9))
			b.send(tc.first)
			if tc.then != "" {
				b.send(tc.then)
			}
			b.wantEnd(tc.want)
			if p := r.primary.Load(); p == nil || p.election.low != 9 {
				t.Error("the primary is another one")
			}
		})
	}
}

// TestTooManyStreams: what is more than there may be is refused.
func TestTooManyStreams(t *testing.T) {
	r := newRig(t, Config{MaxStreams: 2})
	for i := range 2 {
		c := r.open(t)
		c.send(fmt.Sprintf(`arbitration { device_id: 1 election_id { low: %d } }`, i+1))
		c.next()
	}
	r.open(t).wantEnd(codes.ResourceExhausted)
}

// TestPermission: only the primary may write, and only after a pipeline is there.
func TestPermission(t *testing.T) {
	r := newRig(t, Config{})
	write := func(device uint64, role string, id *p4.Uint128) codes.Code {
		m := manyEntries(1, 1, 0)
		m.DeviceId, m.Role, m.ElectionId = device, role, id
		_, err := r.client.Write(t.Context(), m)
		return codeOf(err)
	}
	want := func(what string, got, want codes.Code) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	one := &p4.Uint128{Low: 1}
	want("nobody is the primary", write(1, "", one), codes.PermissionDenied)
	c := r.open(t)
	c.send(`arbitration { device_id: 1 election_id { low: 1 } }`)
	c.next()
	want("no pipeline", write(1, "", one), codes.FailedPrecondition)
	set := func(id *p4.Uint128, device uint64) codes.Code {
		_, err := r.client.SetForwardingPipelineConfig(t.Context(), &p4.SetForwardingPipelineConfigRequest{
			DeviceId: device, ElectionId: id, Action: p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: fakeConfig(t)})
		return codeOf(err)
	}
	want("pipeline of another", set(&p4.Uint128{Low: 2}, 1), codes.PermissionDenied)
	want("pipeline of another device", set(one, 2), codes.NotFound)
	want("pipeline", set(one, 1), codes.OK)
	want("another election id", write(1, "", &p4.Uint128{Low: 2}), codes.PermissionDenied)
	want("no election id", write(1, "", nil), codes.PermissionDenied)
	want("another device", write(2, "", one), codes.NotFound)
	want("a role", write(1, "r", one), codes.NotFound)
	want("the primary", write(1, "", one), codes.OK)
	if _, err := r.readAll(t, ``); err != nil {
		t.Errorf("read: %v", err)
	}
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	c.wantEnd(codes.OK)
	want("the primary is gone", write(1, "", one), codes.PermissionDenied)
}

// TestPacketOut: metadata becomes the header in front of the payload; what is wrong is told and dropped.
func TestPacketOut(t *testing.T) {
	r, c := primary(t)
	c.send(`packet { payload: "frame" metadata { metadata_id: 2 value: "\x03" } metadata { metadata_id: 1 value: "\x01\x01" } }`)
	waitFor(t, func() bool { return r.Stats().PacketOuts == 1 })
	// 9 bits 1_0000_0001, 7 bits 000_0011.
	if want := []byte("\x80\x83frame"); !bytes.Equal(r.target.out[0], want) {
		t.Errorf("got %x, want %x", r.target.out[0], want)
	}
	for _, wrong := range []string{
		`payload: "x" metadata { metadata_id: 1 value: "\x01" }`,
		`payload: "x" metadata { metadata_id: 1 value: "\x01" } metadata { metadata_id: 7 value: "\x01" }`,
		`payload: "x" metadata { metadata_id: 1 value: "\x02\x00" } metadata { metadata_id: 2 value: "\x01" }`,
		`payload: "x" metadata { metadata_id: 1 } metadata { metadata_id: 2 value: "\x01" }`,
	} {
		c.send(`packet { ` + wrong + ` }`)
		e := c.next().GetError()
		if e.GetCanonicalCode() != int32(codes.InvalidArgument) || len(e.GetPacketOut().GetPacketOut().GetMetadata()) == 0 {
			t.Errorf("%s: got %v, want %v with the packet", wrong, e, codes.InvalidArgument)
		}
	}
	backup := r.open(t)
	backup.send(`packet { payload: "x" metadata { metadata_id: 1 value: "\x01" } metadata { metadata_id: 2 value: "\x01" } }`)
	if e := backup.next().GetError(); e.GetCanonicalCode() != int32(codes.PermissionDenied) {
		t.Errorf("backup: got %v, want %v", e, codes.PermissionDenied)
	}
	if n := len(r.target.out); n != 1 {
		t.Errorf("%d packets, want 1", n)
	}
}

// TestPacketIn: the header in front of a frame becomes metadata, for the primary only.
func TestPacketIn(t *testing.T) {
	r, c := primary(t)
	backup := r.open(t)
	backup.send(`arbitration { device_id: 1 }`)
	backup.next()
	state := r.live.Load().state
	// 9 bits 1_0000_0010, 12 bits 1010_1011_1100, 3 bits 101.
	r.PacketIn(state, []byte("\x81\x55\xe5fr"), []byte("ame"))
	c.want(`packet { payload: "frame" metadata { metadata_id: 1 value: "\x01\x02" } metadata { metadata_id: 2 value: "\x0a\xbc" } metadata { metadata_id: 3 value: "\x05" } }`)
	r.PacketIn(state, []byte("\x81\x55"), nil)
	r.PacketIn(newFakeState(newFakeProgram()), []byte("\x81\x55\xe5frame"), nil)
	if s := r.Stats(); s.PacketIns != 1 || s.PacketInsMalformed != 1 || s.PacketInsDropped != 1 {
		t.Errorf("got %+v, want one of each", s)
	}
}

// TestSlowController: who does not read costs packets, which are counted, and no time.
func TestSlowController(t *testing.T) {
	r, _ := primary(t)
	state := r.live.Load().state
	frame := make([]byte, 60000)
	const n = 2000 // more than may wait, and than the connection takes
	for range n {
		r.PacketIn(state, frame, nil)
	}
	s := r.Stats()
	if s.PacketInsDropped == 0 || s.PacketIns == 0 || s.PacketIns+s.PacketInsDropped != n {
		t.Errorf("got %+v, want some of %d dropped", s, n)
	}
	if waits := r.primary.Load().octets.Load(); waits > maxWaiting {
		t.Errorf("%d octets wait, want at most %d", waits, maxWaiting)
	}
	r.mustWrite(t, entryUpdate("INSERT", entryA+doA))
}

func digestMessage(port byte) []byte { return []byte{1, 2, 3, 4, 5, 6, 0, port} }

const digestData = `data { struct { members { bitstring: "\x01\x02\x03\x04\x05\x06" } members { bitstring: "\x%02x" } } } `

// wantDigest compares a digest list, but for its time.
func (c *controller) wantDigest(list int, ports ...int) {
	c.t.Helper()
	text := fmt.Sprintf(`digest { digest_id: 0x17000001 list_id: %d `, list)
	for _, p := range ports {
		text += fmt.Sprintf(digestData, p)
	}
	m := c.next()
	if m.GetDigest().GetTimestamp() == 0 {
		c.t.Errorf("no time: %v", m)
	}
	want := &p4.StreamMessageResponse{}
	parse(c.t, text+`}`, want)
	if d := m.GetDigest(); d != nil {
		d.Timestamp = 0
	}
	if m.String() != want.String() {
		c.t.Errorf("got %v, want %v", m, want)
	}
}

// TestDigest: messages come in lists of the size that was asked for or when the time is over, and not twice before they
// are acknowledged.
func TestDigest(t *testing.T) {
	r, c := primary(t)
	state := r.live.Load().state
	tell := func(ports ...byte) {
		for _, p := range ports {
			r.Digest(state, 0, digestMessage(p))
		}
	}
	tell(1) // nobody has asked
	r.mustWrite(t, entity("INSERT", `digest_entry { digest_id: 0x17000001 config { max_list_size: 2 max_timeout_ns: 3600000000000 ack_timeout_ns: 3600000000000 } }`))
	tell(1, 1, 2, 1, 2, 3, 4)
	c.wantDigest(1, 1, 2)
	c.wantDigest(2, 3, 4)
	c.send(`digest_ack { digest_id: 0x17000001 list_id: 1 }`)
	waitFor(t, func() bool {
		d := r.live.Load().digestID[0x17000001]
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.unacked) == 1
	})
	tell(3, 1, 2, 4)
	c.wantDigest(3, 1, 2)
	c.send(`digest_ack { digest_id: 5 }`)
	if e := c.next().GetError(); e.GetCanonicalCode() != int32(codes.InvalidArgument) || e.GetDigestListAck() == nil {
		t.Errorf("got %v, want %v", e, codes.InvalidArgument)
	}
	// By time, and without acknowledgements.
	r.mustWrite(t, entity("MODIFY", `digest_entry { digest_id: 0x17000001 config { max_list_size: 10 max_timeout_ns: 20000000 } }`))
	tell(7, 8)
	c.wantDigest(4, 7, 8)
	tell(7)
	c.wantDigest(5, 7)
	r.mustWrite(t, entity("DELETE", `digest_entry { digest_id: 0x17000001 }`))
	tell(9)
	r.Digest(state, 0, []byte{1}) // malformed
	r.Digest(state, 1, []byte{1})
	if s := r.Stats(); s.DigestLists != 5 || s.DigestsDropped != 1 {
		t.Errorf("got %+v, want 5 lists, 1 dropped", s)
	}
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("it does not happen")
		}
	}
}
