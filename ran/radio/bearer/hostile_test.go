package bearer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// TestReset: both ends begin anew in the middle of everything; what comes afterwards is
// delivered once and in order, in both directions.
func TestReset(t *testing.T) {
	for _, mode := range []string{"um", "am"} {
		random := rand.New(rand.NewPCG(11, 12))
		var got []string
		gnb, ue := pair(t, mode, func(qfi uint8, packet []byte) { got = append(got, fmt.Sprint(qfi, packet)) })
		tb := make([]byte, 500)
		for round := range 20 {
			got = nil
			for i := range 10 {
				if !gnb.Send(uint8(i), []byte{byte(round), byte(i)}) {
					t.Fatal("the queue is full")
				}
			}
			for n := range 200 {
				at := slot.Numerology(1).Add(0, 200*round+n)
				gnb.Tick(at)
				ue.Tick(at)
				exchange(t, gnb, ue, tb)
			}
			for i := range 10 {
				if want := fmt.Sprint(i, []byte{byte(round), byte(i)}); len(got) != 10 || got[i] != want {
					t.Fatalf("%s, round %d: got %v, want %s at %d", mode, round, got, want, i)
				}
			}
			for range random.IntN(20) { // blocks and reports that never come
				gnb.Send(1, make([]byte, 300))
				ue.Send(1, make([]byte, 300))
				gnb.Fill(tb)
				_, _ = ue.Receive(tb)
				ue.Fill(tb)
			}
			gnb.Reset()
			ue.Reset()
			if gnb.Buffered() != 0 || ue.Buffered() != 0 {
				t.Fatalf("%s: %d and %d octets wait after a reset", mode, gnb.Buffered(), ue.Buffered())
			}
		}
	}
}

func exchange(t testing.TB, gnb, ue *Bearer, tb []byte) {
	t.Helper()
	gnb.Fill(tb)
	if _, err := ue.Receive(tb); err != nil {
		t.Fatal(err)
	}
	ue.Fill(tb)
	if _, err := gnb.Receive(tb); err != nil {
		t.Fatal(err)
	}
}

func TestSendRefuses(t *testing.T) {
	gnb, ue := pair(t, "um", nil)
	for name, ok := range map[string]bool{
		"empty":    gnb.Send(1, nil),
		"too long": gnb.Send(1, make([]byte, MaxPacket+1)),
		"QFI":      ue.Send(64, []byte{1}),
	} {
		if ok {
			t.Errorf("%s: it is sent", name)
		}
	}
	if !gnb.Send(63, make([]byte, MaxPacket)) {
		t.Error("the longest packet is refused")
	}
	if _, err := New(Config{Mode: "tm"}, nil); err == nil {
		t.Error("mode tm is one")
	}
}

// FuzzReceive: a block of anything delivers no more than came, keeps no more than the
// bounds say, and leaves a bearer that fills its blocks.
func FuzzReceive(f *testing.F) {
	for _, mode := range []string{"um", "am"} {
		gnb, _ := pair(f, mode, nil)
		gnb.Send(9, make([]byte, 60))
		gnb.Send(9, make([]byte, 60))
		tb := make([]byte, 100)
		gnb.Fill(tb)
		f.Add(tb, mode == "am", true)
		f.Add([]byte{4, 3, 0, 0, 8, 0x3d, 0x29}, mode == "am", false) // a status report, a buffer status
	}
	f.Fuzz(func(t *testing.T, tb []byte, acknowledged, toUE bool) {
		mode := "um"
		if acknowledged {
			mode = "am"
		}
		octets := 0
		b, err := New(Config{Mode: mode, Numerology: 1, UE: toUE, Downlink: 1, Uplink: 1}, func(_ uint8, packet []byte) { octets += len(packet) })
		if err != nil {
			t.Fatal(err)
		}
		b.Send(1, make([]byte, 200))
		out := make([]byte, 150)
		b.Fill(out)
		for n := range 3 {
			waiting, _ := b.Receive(tb)
			if toUE && waiting >= 0 {
				t.Errorf("a UE is told a buffer status: %d", waiting)
			}
			b.Tick(slot.Number(1000 * n))
			if data := b.Fill(out); data < 0 || data > len(out) {
				t.Errorf("%d octets of data in a block of %d", data, len(out))
			}
		}
		if octets > 3*len(tb) || b.pdcp.Waiting() > 3*len(tb) {
			t.Errorf("%d octets delivered, %d kept, of %d", octets, b.pdcp.Waiting(), 3*len(tb))
		}
	})
}
