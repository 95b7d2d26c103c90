package rlc

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put puts an SDU whose octets count up from first.
func put(t testing.TB, q *Queue, first byte, n int) {
	t.Helper()
	if !q.Put(n, func(sdu []byte, _ uint64) {
		for i := range sdu {
			sdu[i] = first + byte(i)
		}
	}) {
		t.Fatal("the queue is full")
	}
}

// send takes a PDU of up to room octets.
func send(e Entity, room int) string {
	n := e.Next(room)
	if n == 0 {
		return ""
	}
	pdu := make([]byte, n)
	e.Write(pdu)
	return hex.EncodeToString(pdu)
}

// TestUMPDUs: the PDUs of TS 38.322 V18, 6.2.2.3.
func TestUMPDUs(t *testing.T) {
	for _, test := range []struct {
		bits  int
		rooms []int
		want  []string
	}{
		{12, []int{9}, []string{"00 a0a1a2a3a4a5a6a7"}},
		{12, []int{2, 5, 6, 100, 100}, []string{"", "4000 a0a1a2", "c000 0003 a3a4", "8000 0005 a5a6a7", "00 b0b1"}},
		{6, []int{3, 5, 100, 4}, []string{"40 a0a1", "c0 0002 a2a3", "80 0004 a4a5a6a7", "00 b0b1"}},
	} {
		q := NewQueue(1000, 0, 8)
		u, err := NewUM(UMConfig{SNBits: test.bits}, q, nil)
		if err != nil {
			t.Fatal(err)
		}
		put(t, q, 0xa0, 8)
		put(t, q, 0xb0, 2)
		for i, want := range test.want {
			if got := send(u, test.rooms[i]); got != strings.ReplaceAll(want, " ", "") {
				t.Errorf("%d bits, PDU %d in %d octets: got %s, want %s", test.bits, i, test.rooms[i], got, want)
			}
		}
	}
}

func TestUMReceive(t *testing.T) {
	const a, b = "a0a1a2a3a4a5a6a7", "b0b1b2"
	for _, test := range []struct {
		name string
		pdus []string // "tick": t-Reassembly ends
		want string   // SDUs
		err  error    // of the last one
	}{
		{"whole", []string{"00" + a, "00" + b}, a + " " + b, nil},
		{"segments", []string{"4000 a0a1a2", "c000 0003 a3a4", "8000 0005 a5a6a7"}, a, nil},
		{"in any order", []string{"8000 0005 a5a6a7", "4000 a0a1a2", "c000 0003 a3a4"}, a, nil},
		{"twice", []string{"4000 a0a1a2", "4000 a0a1a2", "8000 0003 a3a4a5a6a7"}, a, nil},
		{"overlapping", []string{"4000 a0a1a2a3", "8000 0002 a2a3a4a5a6a7"}, a, nil},
		{"two SDUs mixed", []string{"4000 a0a1a2", "4001 b0b1", "8000 0003 a3a4a5a6a7", "8001 0002 b2"}, a + " " + b, nil},
		{"after the time", []string{"4000 a0a1a2", "4001 b0", "4002 00", "tick", "8000 0003 a3a4a5a6a7"}, "", ErrWindow},
		{"after delivery", []string{"4000 a0a1a2", "8000 0003 a3a4a5a6a7", "4000 a0a1a2"}, a, ErrWindow},
		{"shorter than known", []string{"8000 0003 a3", "c000 0004 a4"}, "", ErrSegment},
		{"two ends", []string{"8000 0003 a3", "8000 0004 a4"}, "", ErrSegment},
		{"beyond the longest", []string{"8000 23ff a3a4"}, "", ErrSegment},
		{"empty", []string{"00"}, "", ErrTruncated},
		{"no data", []string{"4000"}, "", ErrTruncated},
		{"no offset", []string{"8000 00"}, "", ErrTruncated},
	} {
		var got []string
		u, err := NewUM(UMConfig{SNBits: 12, Reassembly: 10}, NewQueue(100, 0, 8), func(sdu []byte) { got = append(got, hex.EncodeToString(sdu)) })
		if err != nil {
			t.Fatal(err)
		}
		for _, pdu := range test.pdus {
			if pdu == "tick" {
				u.Tick(10)
				continue
			}
			err = u.Receive(unhex(t, pdu))
			u.Recycle()
		}
		if strings.Join(got, " ") != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, %v, want %s, %v", test.name, got, err, test.want, test.err)
		}
	}
}

// ams is two ends of AM.
func ams(t testing.TB) (q *Queue, sender, receiver *AM, got *[]string) {
	t.Helper()
	got = new([]string)
	config := AMConfig{Reassembly: 10, PollRetransmit: 20, StatusProhibit: 5}
	q = NewQueue(4000, 4000, 64)
	sender, err := NewAM(config, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err = NewAM(config, NewQueue(100, 100, 8), func(sdu []byte) { *got = append(*got, hex.EncodeToString(sdu)) })
	if err != nil {
		t.Fatal(err)
	}
	return q, sender, receiver, got
}

// TestAMRetransmission: a segment that is lost is asked for and sent again; what is
// confirmed leaves the queue. The PDUs are those of TS 38.322 V18, 6.2.2.4 and 6.2.2.5.
func TestAMRetransmission(t *testing.T) {
	q, sender, receiver, got := ams(t)
	put(t, q, 0xa0, 8)
	put(t, q, 0xb0, 3)
	step := func(e Entity, room int, want string, to Entity) {
		t.Helper()
		pdu := send(e, room)
		if pdu != strings.ReplaceAll(want, " ", "") {
			t.Fatalf("got %s, want %s", pdu, want)
		}
		if to != nil {
			if err := to.Receive(unhex(t, pdu)); err != nil {
				t.Fatal(err)
			}
		}
	}
	step(sender, 6, "90 0000 a0a1a2", receiver)
	step(sender, 7, "b0 0000 0003 a3a4", nil) // lost
	step(sender, 100, "a0 0000 0005 a5a6a7", receiver)
	step(sender, 100, "c0 0001 b0b1b2", receiver) // the last one: it polls
	step(sender, 100, "", nil)
	step(receiver, 100, "", nil) // the report waits for t-Reassembly
	receiver.Tick(10)
	step(receiver, 2, "", nil)
	// Up to 2, of 0 the octets 3 to 4 are missing.
	step(receiver, 100, "00 00 0a 00 00 10 0003 0004", sender)
	step(sender, 100, "f0 0000 0003 a3a4", receiver)
	step(receiver, 100, "", nil) // prohibited
	receiver.Tick(5)
	step(receiver, 100, "00 00 08", sender)
	if want := []string{"b0b1b2", "a0a1a2a3a4a5a6a7"}; strings.Join(*got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", *got, want)
	}
	if octets, pdus := sender.Pending(); octets != 0 || pdus != 0 || q.freed.Load() != 2 || sender.polled.running() {
		t.Errorf("%d octets in %d PDUs wait, %d SDUs confirmed", octets, pdus, q.freed.Load())
	}
}

// TestAMPollAgain: if the only PDU is lost, or the report, t-PollRetransmit sends again.
func TestAMPollAgain(t *testing.T) {
	q, sender, receiver, got := ams(t)
	put(t, q, 0xa0, 2)
	const want = "c00000a0a1"
	for range 3 {
		if pdu := send(sender, 100); pdu != want {
			t.Fatalf("got %s, want %s", pdu, want)
		}
		if pdu := send(sender, 100); pdu != "" {
			t.Fatalf("got %s before the time", pdu)
		}
		sender.Tick(20)
	}
	if err := receiver.Receive(unhex(t, send(sender, 100))); err != nil {
		t.Fatal(err)
	}
	sender.Tick(20) // the report is lost
	send(receiver, 100)
	receiver.Tick(5)
	if err := receiver.Receive(unhex(t, send(sender, 100))); !errors.Is(err, ErrWindow) {
		t.Errorf("a duplicate: %v", err)
	}
	if err := sender.Receive(unhex(t, send(receiver, 100))); err != nil || q.freed.Load() != 1 || len(*got) != 1 {
		t.Errorf("%v, %d confirmed, got %v", err, q.freed.Load(), *got)
	}
}

// TestAMStatusInPieces: a report that does not fit says the first gaps of an SDU, and
// the next one the rest. Source: TS 38.322 V18, 5.3.4.
func TestAMStatusInPieces(t *testing.T) {
	_, _, receiver, _ := ams(t)
	for _, pdu := range []string{"b00000 0002 a2", "b00000 0005 a5", "a00000 0008 a8", "c00001 b0", "800003 d0"} {
		if err := receiver.Receive(unhex(t, pdu)); err != nil {
			t.Fatal(err)
		}
	}
	receiver.Tick(10)
	receiver.Tick(10)
	for room, want := range map[int]string{
		9:   "00 00 00",                                                                 // nothing fits: up to 0
		10:  "00 00 0a 00 00 10 0000 0001",                                              // up to 2: of 0 octets 0 and 1
		17:  "00 00 0a 00 00 30 0000 0001 00 00 10 0003 0004",                           // and 3 and 4
		24:  "00 00 0a 00 00 30 0000 0001 00 00 30 0003 0004 00 00 10 0006 0007",        // all of 0
		27:  "00 00 12 00 00 30 0000 0001 00 00 30 0003 0004 00 00 30 0006 0007 000080", // and 2, up to 4
		100: "00 00 12 00 00 30 0000 0001 00 00 30 0003 0004 00 00 30 0006 0007 000080",
	} {
		size := receiver.Next(room)
		if got := hex.EncodeToString(receiver.status[:size]); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("in %d octets: got %s, want %s", room, got, want)
		}
	}
	if cut := send(receiver, 10); cut == "" || receiver.statusDue() || !receiver.report {
		t.Errorf("after %s nothing more is to be said", cut)
	}
	receiver.Tick(5)
	if send(receiver, 100); receiver.report {
		t.Error("after a whole report there is another one")
	}
}

func TestAMStatusErrors(t *testing.T) {
	for _, test := range []struct {
		name, status string
		err          error
	}{
		{"beyond what was sent", "00 00 14", ErrWindow},
		{"part of an SDU confirmed", "00 00 10", ErrReserved},
		{"cut off", "00 00 0e 00 00", ErrTruncated},
		{"offsets cut off", "00 00 0e 00 00 10 00", ErrTruncated},
		{"range cut off", "00 00 0e 00 00 08", ErrTruncated},
		{"falling", "00 00 0e 00 00 60 00 00 00", ErrReserved},
		{"range of none", "00 00 0e 00 00 08 00", ErrReserved},
		{"range beyond", "00 00 0e 00 00 08 04", ErrReserved},
		{"at the end", "00 00 0e 00 00 c0", ErrReserved},
		{"octets backwards", "00 00 0e 00 00 10 0003 0001", ErrReserved},
		{"another control PDU", "10 00 0c", ErrReserved},
		{"nothing", "00 00", ErrTruncated},
		{"good", "00 00 0e 00 00 48 02", nil},
		{"good, part of an SDU missing", "00 00 12 00 00 d0 0000 ffff", nil},
	} {
		q, sender, _, _ := ams(t)
		for i := range 4 {
			put(t, q, byte(i), 10)
		}
		for range 3 {
			send(sender, 13)
		}
		send(sender, 8) // 5 octets of SDU 3
		err := sender.Receive(unhex(t, test.status))
		if !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.err)
		}
		if again := len(sender.again); err != nil && (again != 0 || sender.una != 0 || q.freed.Load() != 0) {
			t.Errorf("%s: refused, and %d are sent again, %d confirmed", test.name, again, sender.una)
		}
	}
}

// FuzzReceive: whatever comes, SDUs are made of octets that came, and a healthy peer is
// understood afterwards.
func FuzzReceive(f *testing.F) {
	for _, s := range []string{
		"02 00a0 06 4000a0a1a2a3 07 80000003a3a4a5", "06 900000a0a1a2 08 b000000003a3a4a5 00 00", "09 00000a000010 000300 03 000008",
	} {
		f.Add(unhex(f, s), true)
		f.Add(unhex(f, s), false)
	}
	f.Fuzz(func(t *testing.T, script []byte, acknowledged bool) {
		q, am, _, _ := ams(t)
		total := 0
		var e Entity = am
		am.deliver = func(sdu []byte) { total += len(sdu) }
		if !acknowledged {
			um, err := NewUM(UMConfig{SNBits: 12, Reassembly: 10}, q, am.deliver)
			if err != nil {
				t.Fatal(err)
			}
			e = um
		}
		put(t, q, 0, 100)
		put(t, q, 1, 50)
		room := make([]byte, 60)
		for came := 0; len(script) > 0; {
			n := min(int(script[0]), len(script)-1)
			pdu := script[1 : 1+n]
			script = script[1+n:]
			came += n
			_ = e.Receive(pdu)
			if total > came {
				t.Fatalf("%d octets delivered of %d that came", total, came)
			}
			if size := e.Next(len(room)); size > len(room) {
				t.Fatalf("a PDU of %d octets in %d", size, len(room))
			} else if size > 0 {
				e.Write(room[:size])
			}
			e.Tick(n % 12)
			e.Recycle()
		}
		if octets, pdus := e.Pending(); octets < 0 || pdus < 0 || octets > 4000 {
			t.Errorf("%d octets in %d PDUs wait", octets, pdus)
		}
	})
}

// TestAssemblyPieces: an SDU in more pieces than are kept apart is refused, not grown.
func TestAssemblyPieces(t *testing.T) {
	a := &assembly{}
	added := 0
	for i := range 2 * maxSpans {
		if a.add(10*i, []byte{1, 2}, false) {
			added++
		}
	}
	if added != maxSpans || len(a.spans) != maxSpans {
		t.Errorf("%d pieces, %d kept", added, len(a.spans))
	}
	if !a.add(2, bytes.Repeat([]byte{3}, 8), false) || len(a.spans) != maxSpans-1 {
		t.Errorf("a piece that joins two is refused: %d are kept", len(a.spans))
	}
}
