package impair

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// datagram is a message of PHY 1 with a sequence number and a time stamp.
func datagram(t testing.TB, p nfapi.Profile, m nfapi.Message, sequence uint8, stamp uint32) []byte {
	t.Helper()
	b := make([]byte, 8192)
	h := nfapi.Header{Generation: p.Generation(), PhyID: 1, Messages: 1, Segment: uint16(sequence)}
	n, err := p.EncodeP7(&h, m, b)
	if err != nil {
		t.Fatal(err)
	}
	p.Seal(h.Generation, b[:n], stamp)
	return b[:n]
}

func tick(t testing.TB, sfn, slot uint16, stamp uint32) []byte {
	return datagram(t, nfapi.OAI2025, &nfapi.SlotIndication{SFN: sfn, Slot: slot}, 0, stamp)
}

func newBox(t testing.TB, c Config) *Box {
	t.Helper()
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sent is what a box has sent.
type sent struct {
	at     time.Duration
	d      Direction
	octets []byte
}

// drain takes everything out of a box, at the times at which it is due.
func drain(b *Box) (list []sent) {
	for {
		at, ok := b.Next()
		if !ok {
			return list
		}
		b.Due(at, func(d Direction, octets []byte) { list = append(list, sent{at, d, bytes.Clone(octets)}) })
		b.Release()
	}
}

func total(b *Box) (all Count) {
	for _, c := range b.Counts() {
		all.Received += c.Received
		all.Sent += c.Sent
		all.Lost += c.Lost
		all.SegmentsLost += c.SegmentsLost
		all.Duplicated += c.Duplicated
		all.Reordered += c.Reordered
		all.Delayed += c.Delayed
		all.Flipped += c.Flipped
		all.Rewritten += c.Rewritten
		all.Overflow += c.Overflow
	}
	return all
}

// TestNothing: without rules everything passes at once, as it came.
func TestNothing(t *testing.T) {
	b := newBox(t, Config{})
	in := [][]byte{tick(t, 1, 2, 77), []byte("no message"), {}}
	for _, d := range in {
		b.Take(ToVNF, d, 5)
	}
	list := drain(b)
	for i, s := range list {
		if s.at != 5 || s.d != ToVNF || !bytes.Equal(s.octets, in[i]) {
			t.Errorf("got %+v of %x", s, in[i])
		}
	}
	if all := total(b); len(list) != 3 || all != (Count{Received: 3, Sent: 3}) {
		t.Errorf("got %+v", all)
	}
}

// TestChances: what was counted is what is there, the shares are those that were asked
// for, and the same seed does the same again.
func TestChances(t *testing.T) {
	const n = 10_000
	run := func(seed uint64) (string, Count) {
		b := newBox(t, Config{Seed: seed, Rules: []Rule{{Loss: 0.1, Duplicate: 0.05, Flip: 0.02}}})
		original := map[string]bool{}
		for i := range n {
			d := tick(t, uint16(i%1024), uint16(i/1024), uint32(i)+1)
			original[string(d)] = true
			b.Take(ToVNF, d, time.Duration(i))
		}
		list := drain(b)
		wrong := 0
		seen := map[string]int{}
		for _, s := range list {
			if !original[string(s.octets)] {
				wrong++
			}
			seen[string(s.octets)]++
		}
		c := total(b)
		twice := 0
		for _, times := range seen {
			twice += times - 1
		}
		if c.Received != n || int(c.Sent) != len(list) || c.Sent != n-c.Lost+c.Duplicated || int(c.Duplicated) != twice ||
			c.Flipped == 0 || wrong < int(c.Flipped) || wrong > int(2*c.Flipped) {
			t.Errorf("got %d datagrams, %d twice, %d wrong, counted %+v", len(list), twice, wrong, c)
		}
		return fmt.Sprint(list), c
	}
	first, c := run(1)
	for _, share := range []struct {
		name  string
		got   uint64
		of, p float64
	}{{"loss", c.Lost, n, 0.1}, {"duplicate", c.Duplicated, n * 0.9, 0.05}, {"flip", c.Flipped, n * 0.9, 0.02}} {
		if d := math.Abs(float64(share.got) - share.of*share.p); d > 5*math.Sqrt(share.of*share.p*(1-share.p)) {
			t.Errorf("%s: got %d of %v, want a share of %v", share.name, share.got, share.of, share.p)
		}
	}
	if again, _ := run(1); again != first {
		t.Error("the same seed did something else")
	}
	if other, _ := run(2); other == first {
		t.Error("another seed did the same")
	}
}

// TestCertain: chances of 0 and 1.
func TestCertain(t *testing.T) {
	for _, tc := range []struct {
		rule  Rule
		in    int
		want  string // sequence of SFNs
		count Count
	}{
		{Rule{Loss: 1}, 3, "", Count{Received: 3, Lost: 3}},
		{Rule{Duplicate: 1}, 3, "0 0 1 1 2 2", Count{Received: 3, Sent: 6, Duplicated: 3}},
		{Rule{Reorder: 1}, 4, "1 0 3 2", Count{Received: 4, Sent: 4, Reordered: 2}},
		{Rule{Reorder: 1}, 3, "1 0 2", Count{Received: 3, Sent: 3, Reordered: 1}},
		{Rule{Duplicate: 1, Reorder: 1}, 4, "0 1 0 1 2 3 2 3", Count{Received: 4, Sent: 8, Duplicated: 4, Reordered: 2}},
		{Rule{Delay: time.Millisecond}, 2, "0 1", Count{Received: 2, Sent: 2, Delayed: 2}},
		{Rule{SegmentLoss: 1}, 2, "0 1", Count{Received: 2, Sent: 2}},
	} {
		b := newBox(t, Config{Rules: []Rule{tc.rule}})
		for i := range tc.in {
			b.Take(ToVNF, tick(t, uint16(i), 0, 1), time.Duration(i)*time.Microsecond)
		}
		var got []string
		for _, s := range drain(b) {
			_, body, err := nfapi.OAI2025.ParseP7(s.octets)
			if err != nil {
				t.Fatal(err)
			}
			sfn, _, _ := nfapi.OAI2025.PeekSlot(nfapi.MsgSlotIndication, body)
			got = append(got, fmt.Sprint(sfn))
		}
		if got := strings.Join(got, " "); got != tc.want || total(b) != tc.count {
			t.Errorf("%+v: got %q, %+v, want %q, %+v", tc.rule, got, total(b), tc.want, tc.count)
		}
	}
}

// TestDelay: a datagram goes when it is due, never before; jitter takes every time of its
// range; one that is held goes after 2 ms if none follows.
func TestDelay(t *testing.T) {
	b := newBox(t, Config{Rules: []Rule{{Delay: time.Millisecond, Jitter: time.Millisecond}}})
	least, most := time.Hour, time.Duration(0)
	for i := range 2000 {
		now := time.Duration(i) * time.Second
		b.Take(ToPNF, []byte{1}, now)
		at, ok := b.Next()
		if !ok {
			t.Fatal("nothing waits")
		}
		b.Due(at-1, func(Direction, []byte) { t.Error("sent before it was due") })
		drain(b)
		least, most = min(least, at-now), max(most, at-now)
	}
	if least < time.Millisecond || least > 1010*time.Microsecond || most > 2*time.Millisecond || most < 1990*time.Microsecond {
		t.Errorf("got delays of %v to %v, want 1 to 2 ms", least, most)
	}
	b = newBox(t, Config{Rules: []Rule{{Reorder: 1}}})
	b.Take(ToPNF, []byte{1}, 0)
	if at, _ := b.Next(); at != reorderTimeout {
		t.Errorf("got %v, want %v", at, reorderTimeout)
	}
	drain(b)
	b.Take(ToPNF, []byte{2}, time.Second)
	b.Take(ToVNF, []byte{3}, time.Second) // another direction
	if list := drain(b); len(list) != 2 || total(b).Reordered != 0 {
		t.Errorf("got %v, %+v", list, total(b))
	}
}

// TestRules: the first rule about a message's type and direction is the one.
func TestRules(t *testing.T) {
	b := newBox(t, Config{Rules: []Rule{
		{Direction: "to-vnf", Messages: []string{"SLOT", "uci.Indication"}, Loss: 1},
		{Messages: []string{"SLOT.indication"}, Duplicate: 1},
		{Direction: "to-pnf", Delay: time.Second},
	}})
	b.Take(ToVNF, tick(t, 1, 1, 1), 0)
	b.Take(ToPNF, tick(t, 1, 1, 1), 0)
	b.Take(ToPNF, datagram(t, nfapi.OAI2025, &nfapi.DLTTIRequest{}, 0, 1), 0)
	b.Take(ToVNF, datagram(t, nfapi.OAI2025, &nfapi.UCIIndication{}, 0, 1), 0)
	b.Take(ToVNF, datagram(t, nfapi.OAI2025, &nfapi.CRCIndication{}, 0, 1), 0)
	b.Take(ToPNF, []byte("no message"), 0)
	drain(b)
	var got []string
	for _, c := range b.Counts() {
		got = append(got, fmt.Sprintf("%s %s %d>%d lost %d twice %d late %d", c.Direction, c.Message, c.Received, c.Sent, c.Lost, c.Duplicated, c.Delayed))
	}
	want := []string{
		"to-pnf DL_TTI.request 1>1 lost 0 twice 0 late 1", "to-pnf SLOT.indication 1>2 lost 0 twice 1 late 0", "to-pnf other 1>1 lost 0 twice 0 late 1",
		"to-vnf SLOT.indication 1>0 lost 1 twice 0 late 0", "to-vnf CRC.indication 1>1 lost 0 twice 0 late 0", "to-vnf UCI.indication 1>0 lost 1 twice 0 late 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFlip: one bit is wrong, which is not of the time stamp: the receiver sees it.
func TestFlip(t *testing.T) {
	for _, p := range []nfapi.Profile{nfapi.OAI2025, nfapi.OAI2024} {
		b := newBox(t, Config{Profile: p.String(), Rules: []Rule{{Flip: 1}}})
		in := datagram(t, p, &nfapi.SlotIndication{SFN: 3}, 9, 1234)
		for range 2000 {
			b.Take(ToVNF, in, 0)
		}
		where := map[int]bool{}
		for _, s := range drain(b) {
			wrong := 0
			for i := range in {
				if n := bits.OnesCount8(in[i] ^ s.octets[i]); n > 0 {
					wrong += n
					where[i] = true
				}
			}
			h, _, err := p.ParseP7(s.octets)
			if state, _ := p.Verify(&h, s.octets); wrong != 1 || err == nil && state != nfapi.ChecksumWrong {
				t.Fatalf("%v: %d wrong bits, %v, %v", p, wrong, err, state)
			}
		}
		if want := len(in) - 4; len(where) != want {
			t.Errorf("%v: got %d octets with wrong bits, want %d", p, len(where), want)
		}
	}
}

// TestSegmentLoss: only segments are lost.
func TestSegmentLoss(t *testing.T) {
	b := newBox(t, Config{Rules: []Rule{{SegmentLoss: 1}}})
	p := nfapi.OAI2025
	whole := make([]byte, 8192)
	h := nfapi.Header{PhyID: 1}
	n, err := p.EncodeP7(&h, &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 3000, Payload: make([]byte, 3000)}}}, whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Segments(&h, whole[:n], 1400, 5, make([]byte, 8192), func(d []byte) error {
		p.Seal(h.Generation, d, 1)
		b.Take(ToVNF, d, 0)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.Take(ToVNF, tick(t, 1, 1, 1), 0)
	if list := drain(b); len(list) != 1 || total(b).SegmentsLost != 3 {
		t.Errorf("got %d datagrams, %+v", len(list), total(b))
	}
}

// TestBound: no more waits than may.
func TestBound(t *testing.T) {
	b := newBox(t, Config{Rules: []Rule{{Delay: time.Second}}})
	for range maxWaiting + 10 {
		b.Take(ToVNF, []byte{1}, 0)
	}
	if c := total(b); b.Waiting() != maxWaiting || c.Overflow != 10 {
		t.Errorf("got %d waiting, %+v", b.Waiting(), c)
	}
	drain(b)
	big := make([]byte, 65_000)
	for range 2000 {
		b.Take(ToVNF, big, time.Second)
	}
	if b.octets > maxOctets || b.Waiting() != maxOctets/len(big) {
		t.Errorf("got %d octets in %d datagrams", b.octets, b.Waiting())
	}
	for id := range nfapi.MessageID(1000) {
		b.Take(ToVNF, datagram(t, nfapi.OAI2025, &nfapi.Opaque{ID: nfapi.MsgVendorFirst + id}, 0, 1), 0)
	}
	if len(b.counts) > maxClasses+1 {
		t.Errorf("%d types counted", len(b.counts))
	}
}

// TestAllocations: datagrams pass without an allocation.
func TestAllocations(t *testing.T) {
	b := newBox(t, Config{SFNOffset: 16, Rules: []Rule{{Loss: 0.1, Duplicate: 0.1, Delay: time.Millisecond, Reorder: 0.1}}})
	d := tick(t, 1, 1, 1)
	now := time.Duration(0)
	pass := func() {
		for range 100 {
			now += 100 * time.Microsecond
			b.Take(ToVNF, d, now)
			b.Due(now, func(Direction, []byte) {})
			b.Release()
		}
	}
	pass()
	if n := testing.AllocsPerRun(50, pass); n != 0 {
		t.Errorf("got %v allocations for 100 datagrams", n)
	}
}

// FuzzBox: whatever datagrams come, each is sent, lost or waiting, as it is counted; and
// in the end none waits.
func FuzzBox(f *testing.F) {
	f.Add(tick(f, 1023, 19, 7), tick(f, 1023, 19, 7), uint8(0), false)
	f.Add(datagram(f, nfapi.OAI2024, &nfapi.ULNodeSync{T1: 1, T2: 2, T3: 3}, 0, 7), []byte{1}, uint8(1), true)
	f.Add(datagram(f, nfapi.Aerial, &nfapi.SlotIndication{SFN: 3}, 0, 7), []byte{}, uint8(2), false)
	f.Fuzz(func(t *testing.T, one, two []byte, profile uint8, up bool) {
		d := ToPNF
		if up {
			d = ToVNF
		}
		b := newBox(t, Config{Profile: nfapi.Profiles()[profile%3].String(), WrapAfter: time.Second, ClockDriftPPM: -50, TickDriftPPM: -10,
			Rules: []Rule{{Loss: 0.2, Duplicate: 0.3, Reorder: 0.3, Jitter: time.Millisecond, SegmentLoss: 0.2, Flip: 0.1}}})
		for i := range 10 {
			b.Take(d, one, time.Duration(i)*time.Millisecond)
			b.Take(ToVNF, two, time.Duration(i)*time.Millisecond)
		}
		waiting := uint64(b.Waiting())
		if c := total(b); c.Received != 20 || c.Received+c.Duplicated != c.Lost+c.SegmentsLost+c.Overflow+waiting {
			t.Fatalf("%d waiting, %+v", waiting, c)
		}
		for _, s := range drain(b) {
			if len(s.octets) != len(one) && len(s.octets) != len(two) {
				t.Fatalf("%d octets", len(s.octets))
			}
		}
		if c := total(b); c.Sent != waiting || b.octets != 0 {
			t.Fatalf("sent %d of %d", c.Sent, waiting)
		}
	})
}
