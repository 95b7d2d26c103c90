package pdcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// bed is a receiver and the counts of what it delivered.
type bed struct {
	*Receiver
	got []uint64
}

func newBed(c Config) *bed {
	b := &bed{}
	b.Receiver = NewReceiver(c, func(packet []byte) { b.got = append(b.got, binary.BigEndian.Uint64(packet)) })
	return b
}

func (b *bed) send(count uint64) error {
	pdu := make([]byte, HeaderSize+8)
	PutHeader(pdu, count)
	binary.BigEndian.PutUint64(pdu[HeaderSize:], count)
	return b.Receive(pdu)
}

func TestPutHeader(t *testing.T) {
	for count, want := range map[uint64]string{0: "800000", 1: "800001", 0x3ffff: "83ffff", 0x40000: "800000", 0x2abcd: "82abcd"} {
		b := make([]byte, 3)
		if PutHeader(b, count); fmt.Sprintf("%x", b) != want {
			t.Errorf("count %#x: got %x, want %s", count, b, want)
		}
	}
}

func TestReceive(t *testing.T) {
	config := Config{Reordering: 10, Packets: 64, Octets: 1 << 16}
	for _, test := range []struct {
		name  string
		sent  []int // counts; negative: so many slots pass
		want  []uint64
		stats Stats
	}{
		{"in order", []int{0, 1, 2}, []uint64{0, 1, 2}, Stats{Delivered: 3}},
		{"out of order", []int{1, 2, 0, 3}, []uint64{0, 1, 2, 3}, Stats{Delivered: 4, Reordered: 2}},
		{"twice", []int{0, 0, 2, 2, 1, 1}, []uint64{0, 1, 2}, Stats{Delivered: 3, Reordered: 1, Discarded: 3}},
		{"lost", []int{0, 2, 3, -9, 4, -1}, []uint64{0, 2, 3, 4}, Stats{Delivered: 4, Reordered: 3, Lost: 1, TimedOut: 1}},
		{"after the time", []int{1, -10, 0}, []uint64{1}, Stats{Delivered: 1, Reordered: 1, Lost: 1, TimedOut: 1, Discarded: 1}},
		{"the timer starts again", []int{1, -5, 3, -5, -9}, []uint64{1}, Stats{Delivered: 1, Reordered: 1, Lost: 1, TimedOut: 1}},
		{"and ends", []int{1, -5, 3, -5, -10}, []uint64{1, 3}, Stats{Delivered: 2, Reordered: 2, Lost: 2, TimedOut: 2}},
		{"more than can wait", []int{0, 2, 66}, []uint64{0, 2}, Stats{Delivered: 2, Reordered: 1, Lost: 1, Overflows: 1}},
		{"far ahead", []int{0, 1000}, []uint64{0, 1000}, Stats{Delivered: 2, Reordered: 1, Lost: 999, Overflows: 1}},
		{"beyond the window", []int{0, 1 + window, 1}, []uint64{0, 1}, Stats{Delivered: 2, Discarded: 1}},
	} {
		b := newBed(config)
		for _, n := range test.sent {
			if n < 0 {
				b.Tick(-n)
				continue
			}
			_ = b.send(uint64(n))
		}
		if !slices.Equal(b.got, test.want) || b.Stats() != test.stats {
			t.Errorf("%s: got %v, %+v, want %v, %+v", test.name, b.got, b.Stats(), test.want, test.stats)
		}
	}
}

func TestReceiveErrors(t *testing.T) {
	b := newBed(Config{Reordering: 10, Packets: 64, Octets: 1 << 16})
	for want, pdu := range map[error][]byte{
		ErrTruncated: {0x80, 0, 0}, ErrControl: {0x10, 0, 0, 0}, ErrLong: append([]byte{0x80, 0, 0}, make([]byte, MaxSDU+2)...),
	} {
		if err := b.Receive(pdu); !errors.Is(err, want) {
			t.Errorf("%d octets: got %v, want %v", len(pdu), err, want)
		}
	}
	if s := b.Stats(); s != (Stats{Discarded: 3}) {
		t.Errorf("got %+v", s)
	}
}

// TestSequenceNumbersComeRound: more packets than there are sequence numbers, in
// shuffled blocks.
func TestSequenceNumbersComeRound(t *testing.T) {
	b := newBed(Config{Packets: 64, Octets: 1 << 16})
	random := rand.New(rand.NewPCG(1, 2))
	const packets, block = 1<<snBits + 1000, 40
	for first := uint64(0); first < packets; first += block {
		for _, i := range random.Perm(block) {
			if err := b.send(first + uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		b.Recycle()
	}
	for i, n := range b.got {
		if n != uint64(i) {
			t.Fatalf("packet %d is %d", i, n)
		}
	}
	if len(b.got) < packets || b.Waiting() != 0 {
		t.Errorf("%d packets, %d octets wait", len(b.got), b.Waiting())
	}
}

func TestReset(t *testing.T) {
	b := newBed(Config{Reordering: 10, Packets: 64, Octets: 1 << 16})
	for _, n := range []uint64{0, 1, 5} {
		if err := b.send(n); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	b.Tick(100)
	if err := b.send(0); err != nil || !slices.Equal(b.got, []uint64{0, 1, 0}) || b.Waiting() != 0 {
		t.Errorf("%v, got %v", err, b.got)
	}
}

// FuzzReceive: whatever comes, what waits stays within bounds, counts rise, and time
// frees all of it.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 3, 0xff, 0, 5})
	f.Add([]byte{3, 0xff, 0xff, 0, 0, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, sns []byte) {
		const octets = 500
		last := int64(-1)
		r := NewReceiver(Config{Reordering: 5, Packets: 16, Octets: octets}, nil)
		r.deliver = func([]byte) {
			if int64(r.first) <= last {
				t.Errorf("count %d after %d", r.first, last)
			}
			last = int64(r.first)
		}
		for ; len(sns) >= 3; sns = sns[3:] {
			pdu := append([]byte{dataPDU | sns[0]&3, sns[1], sns[2]}, make([]byte, 1+int(sns[2]))...)
			_ = r.Receive(pdu)
			if r.Waiting() > octets || r.first > r.next {
				t.Fatalf("%d octets wait, %d to %d", r.Waiting(), r.first, r.next)
			}
			if sns[0]&0x80 != 0 {
				r.Tick(int(sns[0] >> 4 & 7))
				r.Recycle()
			}
		}
		for range 64 {
			r.Tick(5)
		}
		if r.Waiting() != 0 || r.first != r.next {
			t.Errorf("%d octets wait for ever", r.Waiting())
		}
	})
}
