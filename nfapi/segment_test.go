package nfapi

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// cut sends a message through Segments and returns the datagrams.
func cut(t testing.TB, p Profile, b []byte, size int, sequence uint8) [][]byte {
	t.Helper()
	h, _, err := p.ParseP7(b)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	err = p.Segments(&h, bytes.Clone(b), size, sequence, make([]byte, 2*len(b)+size), func(d []byte) error {
		p.Seal(h.Generation, d, 77)
		list = append(list, bytes.Clone(d))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// add gives a datagram to a reassembly, as a receiver does.
func add(t testing.TB, p Profile, r *Reassembly, d []byte) []byte {
	t.Helper()
	h, body, err := p.ParseP7(d)
	if err != nil {
		t.Fatal(err)
	}
	if state, want := p.Verify(&h, d); state != ChecksumCorrect || h.Timestamp != 77 {
		t.Errorf("checksum %08x is %v, want %08x; time stamp %d", h.Checksum, state, want, h.Timestamp)
	}
	return r.Add(&h, body)
}

// TestSegments: what was cut is put together from segments in any order, some of
// them twice, in datagrams of the size of either peer.
func TestSegments(t *testing.T) {
	for _, p := range []Profile{OAI2025, OAI2024} {
		m := &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 60000, Payload: make([]byte, 60000)}}}
		for i := range m.PDUs[0].Payload {
			m.PDUs[0].Payload[i] = byte(i * i)
		}
		b := make([]byte, 61000)
		n, err := p.EncodeP7(&Header{Generation: p.Generation(), PhyID: 1}, m, b)
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(b[lenHeader(P7, p.Generation()):n])
		list := cut(t, p, b[:n], SegmentSize2024, 200)
		if len(list) != 44 {
			t.Errorf("%v: got %d segments, want 44", p, len(list))
		}
		r := NewReassembly(0)
		for range 20 {
			order := rand.Perm(len(list))
			for i, k := range order {
				got := add(t, p, r, list[k])
				if last := i == len(order)-1; (got != nil) != last || last && !bytes.Equal(got, want) {
					t.Fatalf("%v: segment %d of %d: got %d octets", p, i, len(order), len(got))
				}
				if add(t, p, r, list[k]) != nil {
					t.Error("a duplicate made a message")
				}
			}
			add(t, p, r, cut(t, p, encoded(t, p, &SlotIndication{}), 65000, 201)[0]) // another sequence comes between
		}
		if want := (ReassemblyStats{Messages: 20, Segments: 2 * 20 * 44, Duplicates: 20 * 44}); r.Stats != want {
			t.Errorf("%v: got %+v, want %+v", p, r.Stats, want)
		}
	}
}

func encoded(t testing.TB, p Profile, m Message) []byte {
	t.Helper()
	b := make([]byte, 4096)
	n, err := p.EncodeP7(&Header{Generation: p.Generation(), PhyID: 1}, m, b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// TestReassembly: what is missing is given up when a newer message comes; segments
// that contradict each other, or are too much, make none.
func TestReassembly(t *testing.T) {
	p := OAI2025
	m := &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 3000, Payload: make([]byte, 3000)}}}
	first, second := cut(t, p, encoded(t, p, m), 1000, 5), cut(t, p, encoded(t, p, m), 1000, 6)
	whole := cut(t, p, encoded(t, p, &SlotIndication{SFN: 1}), 1000, 7)[0]
	for _, tc := range []struct {
		name string
		in   [][]byte
		want ReassemblyStats
	}{
		{"newer segment", [][]byte{first[0], second[0], first[1], second[1], second[2], second[3]}, ReassemblyStats{Messages: 1, Segments: 6, Dropped: 1, Late: 1}},
		{"newer whole message", [][]byte{first[0], whole, first[1]}, ReassemblyStats{Segments: 2, Dropped: 1}},
		{"two ends", [][]byte{first[3], renumbered(p, first[3], 2)}, ReassemblyStats{Segments: 2, Bad: 1}},
		{"behind the end", [][]byte{first[3], renumbered(p, first[0], 9)}, ReassemblyStats{Segments: 2, Bad: 1}},
		{"an end before what is here", [][]byte{renumbered(p, first[0], 9), first[3]}, ReassemblyStats{Segments: 2, Bad: 1}},
	} {
		r := NewReassembly(0)
		for _, d := range tc.in {
			add(t, p, r, d)
		}
		if r.Stats != tc.want {
			t.Errorf("%s: got %+v, want %+v", tc.name, r.Stats, tc.want)
		}
	}
	r := NewReassembly(2500)
	for _, d := range first {
		if add(t, p, r, d) != nil {
			t.Error("more octets than there may be")
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, d := range first {
			h, body, _ := p.ParseP7(d)
			r.Add(&h, body)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// renumbered is a segment with another number.
func renumbered(p Profile, d []byte, n uint16) []byte {
	d = bytes.Clone(d)
	h, _, _ := p.ParseP7(d)
	h.Segment = h.Segment&0x80ff | n<<8
	p.put(P7, &h, d)
	p.Seal(h.Generation, d, 77)
	return d
}

// TestTooManySegments: a message of more than 128 segments is refused.
func TestTooManySegments(t *testing.T) {
	b := encoded(t, OAI2025, &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 4000, Payload: make([]byte, 4000)}}})
	h, _, _ := OAI2025.ParseP7(b)
	err := OAI2025.Segments(&h, b, 40, 0, make([]byte, 40), func([]byte) error { return nil })
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
}

// TestTimestamp: the time stamp is that of the slot, and comes round with the SFN.
// FuzzReassembly: segments in an order, and as often, as the input says never make
// anything but the message, and it is made when all of them were there.
func FuzzReassembly(f *testing.F) {
	body := make([]byte, 900)
	for i := range body {
		body[i] = byte(i)
	}
	f.Add([]byte{0, 1, 2, 3, 4})
	f.Add([]byte{4, 3, 3, 2, 1, 0, 0})
	m := &Opaque{ID: MsgVendorFirst, Body: body}
	list := cut(f, OAI2025, encoded(f, OAI2025, m), 218, 3)
	f.Fuzz(func(t *testing.T, order []byte) {
		r := NewReassembly(0)
		here := map[int]bool{}
		made := false
		for _, k := range order {
			i := int(k) % len(list)
			here[i] = true
			got := add(t, OAI2025, r, list[i])
			if got != nil && (made || !bytes.Equal(got, body)) {
				t.Fatalf("after %v: got %x", order, got)
			}
			made = made || got != nil
			if made != (len(here) == len(list)) {
				t.Fatalf("after %v: made %v of %d segments", order, made, len(here))
			}
		}
	})
}
