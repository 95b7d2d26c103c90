package bmv2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldPlaces has headers of fields at all places: each field is copied to another header, and must come out as it came
// in, whatever octets it spans. The frame ends with the header, so nothing may be read beyond.
func TestFieldPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 300 {
		p := newProgram()
		var fs, prims []any
		bits := 0
		for i := range 1 + r.IntN(6) {
			name := fmt.Sprintf("f%d", i)
			w := 1 + r.IntN([]int{8, 40, 70, 200}[n%4])
			bits += w
			fs = append(fs, name, w)
			prims = append(prims, set("y", name, fieldOf("x", name)))
		}
		if pad := 8 - bits%8; pad < 8 {
			fs = append(fs, "pad", pad)
			prims = append(prims, set("y", "pad", fieldOf("x", "pad")))
			bits += pad
		}
		p.header("x", false, fs...)
		p.headers = append(p.headers, obj{"name": "y", "id": 90, "header_type": "x_t", "metadata": false})
		p.state("start", list{extractOf("x")}, nil, "", "")
		a := p.action("a", nil, append([]any{primOf("add_header", headerOf("y"))}, prims...)...)
		p.table("t", nil, a, nil, nil)
		p.order = list{"y", "x"}
		in := make([]byte, bits/8)
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		want := hexFrame(0, append(bytes.Clone(in), in...))
		if got := newRigOf(t, p.json()).send(0, in).frames; len(got) != 1 || got[0] != want {
			t.Fatalf("fields %v: %v, want %s", fs, got, want)
		}
	}
}

// TestTruncatedInPlace says that what was cut off is not the end of the frame any more.
func TestTruncatedInPlace(t *testing.T) {
	for _, to := range []uint64{8, 9} {
		got := newRigOf(t, primProgram(primOf("truncate", hexOf(to))).json()).send(0, octets("01 0203 04050607 0809"))
		if want := int(to - 8); len(got.frames) != 1 || got.inPlace != want {
			t.Errorf("truncated to %d of 9 octets: %v, %d in place, want %d", to, got.frames, got.inPlace, want)
		}
	}
}

// TestCloneIngress clones the packet as it came, without metadata but for a list, even what the parser had set.
func TestCloneIngress(t *testing.T) {
	p := egressProgram(
		primOf("_jump_if_zero", opOf("==", fieldOf("standard_metadata", "instance_type"), hexOf(1)), hexOf(4)),
		set("x", "a", fieldOf("m", "idx")), set("x", "b", fieldOf("m", "wide")), set("x", "c", fieldOf("standard_metadata", "ingress_port")))
	p.states[0].(obj)["parser_ops"] = append(p.states[0].(obj)["parser_ops"].(list), primOf("set", fieldOf("m", "wide"), hexOf(5)))
	a := p.actions[0].(obj)
	a["primitives"] = append(a["primitives"].(list), set("x", "a", hexOf(0x77)), primOf("clone_ingress_pkt_to_egress", hexOf(3), hexOf(1)))
	r := newRigOf(t, p.json())
	r.s.Update(func(tx *Tx) { _ = tx.SetCloneSession(3, &CloneSession{Replicas: []Replica{{Port: 8}}}) })
	want := &sink{frames: []string{hexFrame(8, octets("31 0000 00000000 ff")), hexFrame(6, octets("77 0203 04050607 ff"))}, inPlace: 1}
	if d := cmp.Diff(want, r.send(4, octets("01 0203 04050607 ff")), cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestAroundTwice recirculates, resubmits and recirculates again. Each time round puts seven octets behind x, and what was
// there before stays as it was.
func TestAroundTwice(t *testing.T) {
	p := egressProgram(
		primOf("_jump_if_zero", opOf("==", opOf("&", fieldOf("m", "idx"), hexOf(1)), hexOf(0)), hexOf(6)),
		primOf("add_to_field", fieldOf("m", "idx"), hexOf(1)), primOf("add_header", headerOf("y")), set("y", "a", fieldOf("m", "idx")),
		primOf("recirculate", hexOf(1)), primOf("_jump", hexOf(6)))
	// In ingress idx 1 becomes 2 by a resubmit; in egress 0 becomes 1, and 2 becomes 3.
	p.actions[0].(obj)["primitives"] = list{set("standard_metadata", "egress_spec", hexOf(6)),
		primOf("_jump_if_zero", opOf("==", fieldOf("m", "idx"), hexOf(1)), hexOf(4)),
		set("m", "idx", hexOf(2)), primOf("resubmit", hexOf(1))}
	got := newRigOf(t, p.json()).send(0, octets("09 0203 04050607 e0 e1 e2 e3 e4 e5 e6 e7 e8"))
	want := &sink{frames: []string{hexFrame(6, octets("09 0203 04050607 03000000000000 01000000000000 e0 e1 e2 e3 e4 e5 e6 e7 e8"))}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestPacketLength is what egress sees after headers came and went in ingress.
func TestPacketLength(t *testing.T) {
	for _, tt := range []struct {
		prims []any
		want  byte
	}{
		{nil, 8}, {[]any{primOf("add_header", headerOf("y"))}, 15}, {[]any{primOf("remove_header", headerOf("x"))}, 1},
		{[]any{primOf("add_header", headerOf("y")), primOf("remove_header", headerOf("y")), primOf("remove_header", headerOf("y"))}, 8},
	} {
		p := egressProgram(primOf("add_header", headerOf("s[0]")), set("s[0]", "v", fieldOf("standard_metadata", "packet_length")),
			primOf("remove_header", headerOf("x")), primOf("remove_header", headerOf("y")))
		a := p.actions[0].(obj)
		a["primitives"] = append(a["primitives"].(list), tt.prims...)
		if got := newRigOf(t, p.json()).send(0, octets("01 0203 04050607 ff")).frames; len(got) != 1 || got[0] != hexFrame(6, []byte{tt.want, 0xff}) {
			t.Errorf("%v: %v, want %d", tt.prims, got, tt.want)
		}
	}
}

// TestDropOfGroup takes a packet out of its group, too.
func TestDropOfGroup(t *testing.T) {
	got := newRigOf(t, primProgram(set("standard_metadata", "mcast_grp", hexOf(3)), primOf("drop")).json()).send(0, octets("01 0203 04050607"))
	if got.drops[DropIngress] != 1 || got.drops[DropGroup] != 0 {
		t.Errorf("drops %v", got.drops)
	}
}

// TestConstTernary has a const entry with a bit beyond its mask, which says nothing.
func TestConstTernary(t *testing.T) {
	p := tableProgram(4, "ternary")
	p.tables[0].(obj)["entries"] = list{obj{"match_key": list{obj{"match_type": "ternary", "key": "0xff01", "mask": "0x00ff"}},
		"action_entry": obj{"action_id": 0, "action_data": list{"0x5"}}, "priority": 1}}
	frame := keyFrame([4][]byte{{0x12, 1}, make([]byte, 4), make([]byte, 16), {0}})
	if got := newRigOf(t, p.json()).send(0, frame).frames; len(got) != 1 || got[0] != hexFrame(0, u32(5)) {
		t.Errorf("got %v", got)
	}
}

// TestRegisterWorkers counts in a register by several workers: an action has its registers to itself.
func TestRegisterWorkers(t *testing.T) {
	r := newRigOf(t, primProgram(primOf("register_read", fieldOf("x", "b"), named1("register_array", "r"), hexOf(1)),
		primOf("add_to_field", fieldOf("x", "b"), hexOf(1)), primOf("register_write", named1("register_array", "r"), hexOf(1), fieldOf("x", "b"))).json())
	const workers, frames = 4, 10000
	var wg sync.WaitGroup
	for range workers {
		w := r.s.NewWorker()
		wg.Go(func() {
			batch := make([]Frame, 1000)
			for i := range batch {
				batch[i].Data = octets("01020304050607")
			}
			for range frames / len(batch) {
				w.Process(batch, &nothing{})
			}
		})
	}
	wg.Wait()
	r.s.View(func(tx *Tx) {
		if got, err := tx.Register(0, 1); err != nil || !bytes.Equal(got, []byte{workers * frames >> 8, workers * frames & 255}) {
			t.Errorf("register %x, %v, want %x", got, err, workers*frames)
		}
	})
}

// TestDirectMeters keeps the meter of an entry while the table grows, and lets none be inherited.
func TestDirectMeters(t *testing.T) {
	r := newRig(t, "upf.json")
	table, e := r.entry("I.downlink", "I.encap", [][]byte{{5}, {1}, {1}, {9}}, exact(u32(1)))
	cfg := MeterConfig{1, 2, 3, 4}
	bad := *e
	bad.Meter = &MeterConfig{CIR: 2, PIR: 1}
	e.Meter = &cfg
	meter := func(tx *Tx, want *MeterConfig) {
		t.Helper()
		if got, err := tx.Entry(table, e); err != nil || !cmp.Equal(got.Meter, want) {
			t.Errorf("meter %v, %v, want %v", got.Meter, err, want)
		}
	}
	r.s.Update(func(tx *Tx) {
		if err := tx.Insert(table, &bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("insert with a peak rate below the committed one: %v, want ErrInvalid", err)
		}
		if err := tx.Insert(table, e); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"modify": tx.Modify(table, &bad), "set": tx.SetEntryMeter(table, e, bad.Meter)} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s with a peak rate below the committed one: %v, want ErrInvalid", name, err)
			}
		}
		meter(tx, &cfg)
		for i := range uint32(200) {
			o := *e
			o.Meter, o.Match = nil, []Match{exact(u32(i + 2))}
			if err := tx.Insert(table, &o); err != nil {
				t.Fatal(err)
			}
		}
		meter(tx, &cfg)
		if err := tx.Delete(table, e); err != nil {
			t.Fatal(err)
		}
		e.Meter = nil
		if err := tx.Insert(table, e); err != nil {
			t.Fatal(err)
		}
		meter(tx, nil)
	})
}
