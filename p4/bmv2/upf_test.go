package bmv2

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// sink keeps what comes out, as text: frames in hexadecimal with their ports.
type sink struct {
	frames  []string
	digests []string
	drops   [Drops]int
	inPlace int
}

func (s *sink) Emit(o *Out) {
	s.frames = append(s.frames, hexFrame(o.Port, append(bytes.Clone(o.Head), o.Payload...)))
	if o.InPlace {
		s.inPlace++
	}
}

func (s *sink) Digest(_, digest int, data []byte) {
	s.digests = append(s.digests, hexFrame(uint32(digest), data))
}

func (s *sink) Drop(_ int, why Drop) { s.drops[why]++ }

func hexFrame(port uint32, b []byte) string {
	return string(rune('0'+port/100%10)) + string(rune('0'+port/10%10)) + string(rune('0'+port%10)) + " " + hex.EncodeToString(b)
}

// octets reads hexadecimal digits; spaces are for the reader.
func octets(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// rig is an instance of a program, with a clock that stands still until it is set.
type rig struct {
	t   testing.TB
	p   *Program
	s   *Instance
	w   *Worker
	now int64
}

func newRig(t testing.TB, file string) *rig {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return newRigOf(t, data)
}

func newRigOf(t testing.TB, data []byte) *rig {
	t.Helper()
	p, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, p: p}
	r.s = p.New(Config{Clock: func() int64 { return r.now }, Passes: 4})
	r.w = r.s.NewWorker()
	return r
}

func (r *rig) send(port uint32, frames ...[]byte) *sink {
	var s sink
	var in []Frame
	for _, f := range frames {
		in = append(in, Frame{Port: port, Data: f})
	}
	r.w.Process(in, &s)
	return &s
}

func (r *rig) table(name string) int {
	i, there := r.p.Table(name)
	if !there {
		r.t.Fatalf("no table %q", name)
	}
	return i
}

// entry makes an entry of a table of the program.
func (r *rig) entry(table, action string, params [][]byte, match ...Match) (int, *Entry) {
	t := r.table(table)
	a, there := r.p.Action(t, action)
	if !there {
		r.t.Fatalf("table %q has no action %q", table, action)
	}
	return t, &Entry{Match: match, Action: a, Params: params}
}

func (r *rig) insert(table, action string, params [][]byte, match ...Match) {
	r.t.Helper()
	r.insertPriority(0, table, action, params, match...)
}

func (r *rig) insertPriority(priority int32, table, action string, params [][]byte, match ...Match) {
	r.t.Helper()
	t, e := r.entry(table, action, params, match...)
	e.Priority = priority
	r.s.Update(func(tx *Tx) {
		if err := tx.Insert(t, e); err != nil {
			r.t.Fatalf("insert into %s: %v", table, err)
		}
	})
}

// counter reads the direct counter of an entry.
func (r *rig) counter(table, action string, match ...Match) CounterValue {
	r.t.Helper()
	t, e := r.entry(table, action, nil, match...)
	var got Entry
	var err error
	r.s.View(func(tx *Tx) { got, err = tx.Entry(t, e) })
	if err != nil {
		r.t.Fatalf("entry of %s: %v", table, err)
	}
	return *got.Counter
}

func u32(v uint32) []byte  { return binary.BigEndian.AppendUint32(nil, v) }
func exact(b []byte) Match { return Match{Value: b} }

// gpdu is a G-PDU of TEID teid, with a PDU Session Container, that has an IPv4 packet of a UE.
//
//	Ethernet 14 │ IPv4 20 │ UDP 8 │ GTP-U 8+4 │ container 4 │ IPv4 20 │ UDP ports 4 │ payload
func gpdu(teid, ue uint32, payload int) []byte {
	b := octets("0200000000aa 0200000000bb 0800")
	b = append(b, ipv4(20+8+16+20+8+payload, 17, 0x0a000002, 0x0a000001)...)
	b = binary.BigEndian.AppendUint16(b, 2152)
	b = binary.BigEndian.AppendUint16(b, 2152)
	b = binary.BigEndian.AppendUint16(b, uint16(8+16+20+8+payload))
	b = append(b, 0, 0)
	b = append(b, 0x34, 255)
	b = binary.BigEndian.AppendUint16(b, uint16(8+20+8+payload))
	b = binary.BigEndian.AppendUint32(b, teid)
	b = append(b, octets("0000 00 85 01 10 09 00")...)
	b = append(b, ipv4(20+8+payload, 17, ue, 0x08080808)...)
	b = append(b, octets("1388 0035")...)
	b = binary.BigEndian.AppendUint16(b, uint16(8+payload))
	b = append(b, 0, 0)
	for i := range payload {
		b = append(b, byte(i))
	}
	return b
}

// ipv4 is a header with a checksum.
func ipv4(length int, proto byte, src, dst uint32) []byte {
	b := octets("4500 0000 1234 4000 40 00 0000 00000000 00000000")
	binary.BigEndian.PutUint16(b[2:], uint16(length))
	b[9] = proto
	binary.BigEndian.PutUint32(b[12:], src)
	binary.BigEndian.PutUint32(b[16:], dst)
	sumIPv4(b)
	return b
}

// sumIPv4 sets the checksum, word by word as the RFC has it.
func sumIPv4(b []byte) {
	b[10], b[11] = 0, 0
	binary.BigEndian.PutUint16(b[10:], internetSum(b[:20]))
}

func internetSum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		sum += w
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
