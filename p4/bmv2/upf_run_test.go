package bmv2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	macTo   = octets("020000000001")
	macFrom = octets("020000000002")
)

// session gives the rig one UE with both ways, and a route to everywhere.
func session(t testing.TB) *rig {
	r := newRig(t, "upf.json")
	r.insert("I.uplink", "I.decap", [][]byte{{5}, {9}}, exact(u32(0x1001)), exact(u32(0x64000001)))
	r.insert("I.downlink", "I.encap", [][]byte{{5}, u32(0x2001), u32(0x0a000002), {9}}, exact(u32(0x64000001)))
	r.insert("I.routes", "I.forward", [][]byte{macTo, macFrom, {3}}, Match{})
	return r
}

// toUE is a packet to the UE, of which ports are parsed.
func toUE(options string, payload int) []byte {
	o := octets(options)
	b := octets("0200000000aa 0200000000bb 0800")
	ip := ipv4(20+len(o)+8+payload, 17, 0x08080808, 0x64000001)
	ip[0] += byte(len(o) / 4)
	ip = append(ip, o...)
	b = append(append(b, ip...), octets("0035 1388 0000 0000")...)
	for i := range payload {
		b = append(b, byte(i))
	}
	return b
}

// routed is a frame as the route sends it: other MAC addresses and a TTL less by one.
func routed(ip []byte) []byte {
	b := append(bytes.Clone(macTo), macFrom...)
	b = append(append(b, 8, 0), ip...)
	b[14+8]--
	sumIPv4(b[14:])
	return b
}

func TestUplink(t *testing.T) {
	r := session(t)
	in := gpdu(0x1001, 0x64000001, 10)
	got := r.send(1, in)
	want := &sink{
		frames:  []string{hexFrame(3, routed(in[58:]))},
		digests: []string{hexFrame(0, octets("64000001 0001 00000005"))},
		inPlace: 1,
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("uplink (-want +got):\n%s", d)
	}
	counted := CounterValue{1, uint64(len(in))}
	if c := r.counter("I.uplink", "I.decap", exact(u32(0x1001)), exact(u32(0x64000001))); c != counted {
		t.Errorf("direct counter %v, want %v", c, counted)
	}
	r.s.View(func(tx *Tx) {
		by, _ := r.p.Counter("I.by_session")
		if c, err := tx.Counter(by, 5); err != nil || c != counted {
			t.Errorf("counter of the session %v, %v, want %v", c, err, counted)
		}
		reg, _ := r.p.Register("I.last_teid")
		if v, err := tx.Register(reg, 5); err != nil || !bytes.Equal(v, []byte{0x10, 0x01}) {
			t.Errorf("register %x, %v, want 1001", v, err)
		}
	})
	// Another TEID misses and is dropped, and counts nothing.
	if got := r.send(1, gpdu(0x1002, 0x64000001, 10)); got.drops[DropIngress] != 1 || len(got.frames) != 0 {
		t.Errorf("unknown TEID: frames %v, drops %v", got.frames, got.drops)
	}
	if c := r.counter("I.uplink", "I.decap", exact(u32(0x1001)), exact(u32(0x64000001))); c != counted {
		t.Errorf("direct counter after a miss %v, want %v", c, counted)
	}
}

func TestDownlink(t *testing.T) {
	r := session(t)
	in := toUE("", 9)
	got := r.send(1, in)
	inner := in[14:]
	n := len(inner)
	outer := ipv4(n+44, 17, 0x0a000001, 0x0a000002)
	outer[4], outer[5], outer[6] = 0, 0, 0
	udp := binary.BigEndian.AppendUint16(octets("0868 0868"), uint16(n+24))
	udp = append(udp, 0, 0, 0x34, 255)
	udp = binary.BigEndian.AppendUint16(udp, uint16(n+8))
	udp = append(udp, octets("00002001 0000 00 85 01 00 09 00")...)
	pseudo := append(bytes.Clone(outer[12:20]), 0, 17, udp[4], udp[5])
	binary.BigEndian.PutUint16(udp[6:], internetSum(append(append(pseudo, udp...), inner...)))
	want := []string{hexFrame(3, append(append(routed(outer), udp...), inner...))}
	if d := cmp.Diff(want, got.frames); d != "" {
		t.Errorf("downlink (-want +got):\n%s", d)
	}
	if c := r.counter("I.downlink", "I.encap", exact(u32(0x64000001))); c != (CounterValue{1, uint64(len(in))}) {
		t.Errorf("direct counter %v", c)
	}
}

func TestDirectMeter(t *testing.T) {
	r := session(t)
	table, e := r.entry("I.downlink", "I.encap", nil, exact(u32(0x64000001)))
	in := toUE("", 58) // 100 octets
	r.now = 1e9
	r.s.Update(func(tx *Tx) {
		if err := tx.SetEntryMeter(table, e, &MeterConfig{CIR: 1000, CBurst: 100, PIR: 1000, PBurst: 250}); err != nil {
			t.Fatal(err)
		}
	})
	got := r.send(1, in, in, in)
	if len(got.frames) != 2 || got.drops[DropIngress] != 1 {
		t.Errorf("%d frames, drops %v; a bucket of 250 octets is for two frames of 100", len(got.frames), got.drops)
	}
	r.now += 50e6 // 50 octets: there were 50
	if got := r.send(1, in, in); len(got.frames) != 1 || got.drops[DropIngress] != 1 {
		t.Errorf("%d frames, drops %v; want one of each", len(got.frames), got.drops)
	}
}

func TestPacketInOut(t *testing.T) {
	r := session(t)
	r.s.Update(func(tx *Tx) {
		if err := tx.SetCloneSession(5, &CloneSession{Replicas: []Replica{{Port: 255}}}); err != nil {
			t.Fatal(err)
		}
	})
	// A wrong checksum goes to the controller, and is set right on the way out.
	good := toUE("", 9)
	bad := bytes.Clone(good)
	bad[24] ^= 1
	got := r.send(7, bad)
	want := &sink{frames: []string{hexFrame(255, append(octets("0380 004d"), good...))}}
	want.drops[DropIngress] = 1
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("to the controller (-want +got):\n%s", d)
	}
	frame := octets("ffffffffffff 020000000009 0806 0001")
	got = r.send(255, append(octets("0180"), frame...))
	if d := cmp.Diff(&sink{frames: []string{hexFrame(3, frame)}, inPlace: 1}, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("from the controller (-want +got):\n%s", d)
	}
	r.s.Update(func(tx *Tx) {
		_ = tx.SetCloneSession(5, &CloneSession{Replicas: []Replica{{Port: 255}}, PacketLength: 20})
	})
	if got := r.send(7, bad).frames; len(got) != 1 || len(got[0]) != 4+2*20 {
		t.Errorf("clone of at most 20 octets: %v", got)
	}
	r.s.Update(func(tx *Tx) { _ = tx.SetCloneSession(5, nil) })
	if got := r.send(7, bad); got.drops[DropSession] != 1 || got.drops[DropIngress] != 1 || len(got.frames) != 0 {
		t.Errorf("without a session: frames %v, drops %v", got.frames, got.drops)
	}
}

func TestMulticast(t *testing.T) {
	r := session(t)
	r.insert("I.routes", "I.flood", [][]byte{{9}}, Match{Value: u32(0x64000000), PrefixLen: 8})
	r.s.Update(func(tx *Tx) {
		for _, e := range []error{
			tx.SetMulticastGroup(9, []Replica{{Port: 4, Instance: 2}, {Port: 5, Instance: 1}}),
			tx.Delete(r.entry("I.downlink", "I.encap", nil, exact(u32(0x64000001)))),
		} {
			if e != nil {
				t.Fatal(e)
			}
		}
	})
	in := toUE("", 3)
	plain := bytes.Clone(in)
	plain[22]--
	sumIPv4(plain[14:])
	tagged := append(append(bytes.Clone(plain[:12]), octets("8100 0007")...), plain[12:]...)
	want := &sink{frames: []string{hexFrame(4, tagged), hexFrame(5, plain)}, inPlace: 1}
	if d := cmp.Diff(want, r.send(1, in), cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("group of two (-want +got):\n%s", d)
	}
	r.s.Update(func(tx *Tx) { _ = tx.SetMulticastGroup(9, nil) })
	if got := r.send(1, in); got.drops[DropGroup] != 1 || len(got.frames) != 0 {
		t.Errorf("group without replicas: frames %v, drops %v", got.frames, got.drops)
	}
}

// TestForwarded has frames that are routed without a tunnel, or not.
func TestForwarded(t *testing.T) {
	dscp := func(v byte) []byte {
		b := toUE("", 2)
		b[15] = v << 2
		sumIPv4(b[14:])
		return b
	}
	options := toUE("01020304 05060708", 2) // the checksum covers no options, and is not verified then
	version := dscp(0)
	version[14] = 0x55
	short := toUE("", 0)[:30]
	ip6 := octets("0200000000aa 0200000000bb 86dd 6ab00000 0000 3b 40" +
		"20010db8 00000000 00000000 00000001 20010db8 00010002 00000000 00000001")
	hop6 := append(octets("02000000000c 0200000000bb"), ip6[12:]...)
	tests := []struct {
		name  string
		in    []byte
		want  []byte // nil: dropped at the end of ingress
		port  uint32
		state string
	}{
		{name: "plain", in: dscp(0), want: routed(dscp(0)[14:]), port: 3},
		{name: "const entry drops", in: dscp(63)},
		{name: "const entry of less priority drops", in: dscp(40)},
		{name: "const entry of greater priority lets pass", in: dscp(56), want: routed(dscp(56)[14:]), port: 3},
		{name: "options pass", in: options, want: func() []byte {
			b := append(append(bytes.Clone(macTo), macFrom...), options[12:]...)
			b[22]-- // no checksum is computed with options
			return b
		}(), port: 3},
		{name: "longer options than the frame", in: options[:40]},
		{name: "wrong version", in: version},
		{name: "too short", in: short},
		{name: "no IP", in: octets("ffffffffffff 0200000000aa 0806 01"), want: octets("ffffffffffff 0200000000aa 0806 01"), port: 0},
		{name: "IPv6", in: ip6, want: hop6, port: 12},
		{name: "IPv6 of another class", in: append(octets("0200000000aa 0200000000bb 86dd 60000000"), ip6[18:]...)},
		{name: "IPv6 beyond the prefix", in: func() []byte {
			b := bytes.Clone(ip6)
			b[14+24+6] ^= 1
			return b
		}()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, "upf.json")
			r.insert("I.routes", "I.forward", [][]byte{macTo, macFrom, {3}}, Match{})
			r.insert("I.routes6", "I.hop", [][]byte{octets("02000000000c"), {12}},
				Match{Value: octets("20010db8000100020000000000000000"), PrefixLen: 63}, exact([]byte{0xab}))
			want := &sink{}
			if tt.want == nil {
				want.drops[DropIngress] = 1
			} else {
				want.frames, want.inPlace = []string{hexFrame(tt.port, tt.want)}, 1
			}
			if d := cmp.Diff(want, r.send(1, tt.in), cmp.AllowUnexported(sink{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestExtensions has extension headers behind the PDU Session Container: two are room for, a third one is an error.
func TestExtensions(t *testing.T) {
	with := func(n int) []byte {
		b := gpdu(0x1001, 0x64000001, 4)
		ext := []byte{}
		for i := range n {
			next := byte(0xc0)
			if i == n-1 {
				next = 0
			}
			ext = append(ext, 1, 0xaa, byte(i), next)
		}
		head := bytes.Clone(b[:58])
		if n > 0 {
			head[57] = 0xc0
		}
		return append(append(head, ext...), b[58:]...)
	}
	for n, pass := range []bool{true, true, true, false} {
		r := session(t)
		in := with(n)
		got := r.send(1, in)
		if want := hexFrame(3, routed(in[58+4*n:])); pass && (len(got.frames) != 1 || got.frames[0] != want) {
			t.Errorf("%d extension headers: %v, want %v", n, got.frames, want)
		}
		if !pass && (len(got.frames) != 0 || got.drops[DropIngress] != 1) {
			t.Errorf("%d extension headers: frames %v, drops %v, want a drop", n, got.frames, got.drops)
		}
	}
}

// TestFilters has the filters of a session, which overlap.
func TestFilters(t *testing.T) {
	r := session(t)
	r.insertPriority(10, "I.apps", "I.set_app", [][]byte{{1}}, Match{Value: []byte{5}, Mask: u32(0xffffffff)}, Match{},
		Match{Value: []byte{50}, High: []byte{60}}, Match{})
	send := func() int { return r.send(1, gpdu(0x1001, 0x64000001, 4)).drops[DropIngress] }
	if n := send(); n != 0 {
		t.Errorf("a filter that lets pass: %d drops", n)
	}
	_, drop := r.entry("I.apps", "I.drop", nil, Match{}, Match{Value: u32(0x08080800), Mask: u32(0xffffff00)},
		Match{Value: []byte{53}, High: []byte{53}}, Match{Value: []byte{17}, Mask: []byte{255}})
	for _, tt := range []struct {
		priority int32
		want     int
	}{{9, 0}, {11, 1}} {
		drop.Priority = tt.priority
		r.s.Update(func(tx *Tx) {
			if err := tx.Insert(r.table("I.apps"), drop); err != nil {
				t.Fatal(err)
			}
		})
		if n := send(); n != tt.want {
			t.Errorf("a filter that drops, of priority %d beside 10: %d drops, want %d", tt.priority, n, tt.want)
		}
	}
}

func TestConstOfTheProgram(t *testing.T) {
	r := newRig(t, "upf.json")
	dscp, uplink := r.table("I.by_dscp"), r.table("I.uplink")
	drop, _ := r.p.Action(uplink, "I.drop")
	none, _ := r.p.Action(dscp, "NoAction")
	r.s.Update(func(tx *Tx) {
		for name, err := range map[string]error{
			"insert":  tx.Insert(dscp, &Entry{Action: none, Priority: 1, Match: []Match{{}}}),
			"delete":  tx.Delete(dscp, &Entry{Priority: 1, Match: []Match{{}}}),
			"default": tx.SetDefault(uplink, drop, nil),
		} {
			if !errors.Is(err, ErrConst) {
				t.Errorf("%s: %v, want ErrConst", name, err)
			}
		}
		var got []int32
		_ = tx.Entries(dscp, func(e *Entry) bool {
			got = append(got, e.Priority)
			if !e.Const {
				t.Errorf("entry %v is not const", e)
			}
			return true
		})
		if d := cmp.Diff([]int32{3, 2, 1}, got); d != "" {
			t.Errorf("priorities (-want +got):\n%s", d)
		}
	})
}
