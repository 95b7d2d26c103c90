package impair

import (
	"bytes"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// through sends one datagram through a box.
func through(t testing.TB, b *Box, d Direction, in []byte, now time.Duration) []byte {
	t.Helper()
	b.Take(d, in, now)
	list := drain(b)
	if len(list) != 1 {
		t.Fatalf("got %d datagrams, want 1", len(list))
	}
	return list[0].octets
}

// TestSFNOffset: SFNs and times of all messages are moved towards the VNF, and back
// towards the PNF; the checksum is that of the new octets; what has a wrong checksum
// stays.
func TestSFNOffset(t *testing.T) {
	const offset = 1000
	for _, p := range nfapi.Profiles() {
		c := Config{Profile: p.String(), SFNOffset: offset}
		for _, tc := range []struct {
			name     string
			in, want nfapi.Message
		}{
			{"tick", &nfapi.SlotIndication{SFN: 30, Slot: 5}, &nfapi.SlotIndication{SFN: 6, Slot: 5}},
			{"request", &nfapi.ULDCIRequest{SFN: 1, Slot: 2}, &nfapi.ULDCIRequest{SFN: 1001, Slot: 2}},
			{"indication", &nfapi.CRCIndication{SFN: 24, Slot: 2}, &nfapi.CRCIndication{SFN: 0, Slot: 2}},
			{"no such SFN", &nfapi.CRCIndication{SFN: 2000, Slot: 2}, &nfapi.CRCIndication{SFN: 2000, Slot: 2}},
			{"node sync", &nfapi.ULNodeSync{T1: 7, T2: 300_000, T3: 1}, &nfapi.ULNodeSync{T1: 7, T2: 60_000, T3: 10_000_001}},
			{"their node sync", &nfapi.DLNodeSync{T1: 7}, &nfapi.DLNodeSync{T1: 7}},
			{"timing", &nfapi.TimingInfo{LastSFN: 25, LastSlot: 3}, &nfapi.TimingInfo{LastSFN: 1, LastSlot: 3}},
		} {
			in := datagram(t, p, tc.in, 200, 400_000)
			want := datagram(t, p, tc.want, 200, 160_000)
			got := through(t, newBox(t, c), ToVNF, in, 0)
			if !bytes.Equal(got, want) {
				t.Errorf("%v: %s:\n got %x\nwant %x", p, tc.name, got, want)
			}
			if back := through(t, newBox(t, c), ToPNF, got, 0); !bytes.Equal(back, in) {
				t.Errorf("%v: %s: back:\n got %x\nwant %x", p, tc.name, back, in)
			}
			if p == nfapi.Aerial {
				continue
			}
			in[len(in)-1] ^= 1
			if got := through(t, newBox(t, c), ToVNF, in, 0); !bytes.Equal(got, in) {
				t.Errorf("%v: %s: changed behind a wrong checksum", p, tc.name)
			}
			absent := bytes.Clone(want)
			p.Stamp(p.Generation(), absent, 160_000)
			in[len(in)-1] ^= 1
			p.Stamp(p.Generation(), in, 400_000)
			if got := through(t, newBox(t, c), ToVNF, in, 0); !bytes.Equal(got, absent) {
				t.Errorf("%v: %s: without checksum:\n got %x\nwant %x", p, tc.name, got, absent)
			}
		}
	}
}

// TestSegments: the SFN is in the first segment, and only there.
func TestSegments(t *testing.T) {
	p := nfapi.OAI2025
	m := &nfapi.RXDataIndication{SFN: 1, Slot: 2, PDUs: []nfapi.RXDataPDU{{PDULength: 3000, Payload: bytes.Repeat([]byte{0, 1}, 1500)}}}
	cut := func() (list [][]byte) {
		whole := make([]byte, 8192)
		h := nfapi.Header{PhyID: 1}
		n, err := p.EncodeP7(&h, m, whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Segments(&h, whole[:n], 1400, 5, make([]byte, 8192), func(d []byte) error {
			p.Seal(h.Generation, d, 10_001)
			list = append(list, bytes.Clone(d))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	in := cut()
	m.SFN = 3
	b := newBox(t, Config{SFNOffset: 2})
	for i, want := range cut() {
		p.Seal(nfapi.Gen2025, want, 30_001)
		if got := through(t, b, ToVNF, in[i], 0); !bytes.Equal(got, want) {
			t.Errorf("segment %d:\n got %x\nwant %x", i, got[:40], want[:40])
		}
	}
}

// TestWrapAfter: the SFN comes round for the VNF when it is to, a multiple of 16 frames
// away from the PNF's.
func TestWrapAfter(t *testing.T) {
	for _, first := range []int{0, 5, 100, 1000, 1023} {
		b := newBox(t, Config{WrapAfter: time.Second})
		last, wrapped := -1, time.Duration(-1)
		for i := range 200 {
			now := time.Hour + time.Duration(i)*10*time.Millisecond
			got := through(t, b, ToVNF, tick(t, uint16((first+i)%1024), 0, 1), now)
			_, body, err := nfapi.OAI2025.ParseP7(got)
			if err != nil {
				t.Fatal(err)
			}
			sfn, _, _ := nfapi.OAI2025.PeekSlot(nfapi.MsgSlotIndication, body)
			if last >= 0 && int(sfn) != (last+1)%1024 {
				t.Fatalf("SFN %d after %d", sfn, last)
			}
			if last == 1023 && wrapped < 0 {
				wrapped = now - time.Hour
			}
			last = int(sfn)
		}
		if wrapped < time.Second || wrapped > 1160*time.Millisecond || b.offset%16 != 0 {
			t.Errorf("from %d: came round after %v with offset %d", first, wrapped, b.offset)
		}
	}
}

// TestClockDrift: the PNF's time runs away from the VNF's, from the first tick on.
func TestClockDrift(t *testing.T) {
	for _, ppm := range []float64{100, -100} {
		b := newBox(t, Config{ClockDriftPPM: ppm})
		if got := through(t, b, ToVNF, tick(t, 1, 0, 500), 0); !bytes.Equal(got, tick(t, 1, 0, 500)) {
			t.Errorf("got %x at the beginning", got)
		}
		drift := int64(ppm * 10) // us, in 10 s
		in, want := nfapi.ULNodeSync{T1: 1, T2: 5000, T3: 6000}, nfapi.ULNodeSync{T1: 1, T2: uint32(5000 + drift), T3: uint32(6000 + drift)}
		got := through(t, b, ToVNF, datagram(t, nfapi.OAI2025, &in, 0, 7000), 10*time.Second)
		if want := datagram(t, nfapi.OAI2025, &want, 0, uint32(7000+drift)); !bytes.Equal(got, want) {
			t.Errorf("to vnf:\n got %x\nwant %x", got, want)
		}
		got = through(t, b, ToPNF, datagram(t, nfapi.OAI2025, &nfapi.DLNodeSync{T1: 3}, 0, 7000), 10*time.Second)
		if want := datagram(t, nfapi.OAI2025, &nfapi.DLNodeSync{T1: 3}, 0, uint32(7000-drift)); !bytes.Equal(got, want) {
			t.Errorf("to pnf:\n got %x\nwant %x", got, want)
		}
		unknown := datagram(t, nfapi.OAI2025, &nfapi.DLNodeSync{T1: 3}, 0, 0)
		if got := through(t, b, ToPNF, unknown, 10*time.Second); !bytes.Equal(got, unknown) {
			t.Errorf("a time stamp that is not known became %x", got)
		}
	}
}

// TestTickDrift: ticks are late by more and more, up to the most, then by nothing again.
// Other messages are not.
func TestTickDrift(t *testing.T) {
	for _, tc := range []struct {
		ppm  float64
		want []time.Duration // after 0, 1, 2, ... s
	}{
		{200, []time.Duration{0, 200e3, 400e3, 100e3}},
		{-200, []time.Duration{500e3, 300e3, 100e3, 400e3}},
	} {
		b := newBox(t, Config{TickDriftPPM: tc.ppm})
		for i, want := range tc.want {
			now := time.Duration(i) * time.Second
			b.Take(ToVNF, tick(t, uint16(i), 0, 1), now)
			if at, _ := b.Next(); at-now != want {
				t.Errorf("%v ppm, after %d s: late by %v, want %v", tc.ppm, i, at-now, want)
			}
			drain(b)
			b.Take(ToVNF, datagram(t, nfapi.OAI2025, &nfapi.CRCIndication{}, 0, 1), now)
			if at, _ := b.Next(); at != now {
				t.Errorf("CRC.indication is late by %v", at-now)
			}
			drain(b)
		}
	}
}
