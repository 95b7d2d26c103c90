package bearer

import (
	"fmt"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// pair is a gNB's end and a UE's, and a transport block between them.
func pair(t testing.TB, mode string, deliver func(uint8, []byte)) (gnb, ue *Bearer) {
	t.Helper()
	gnb, err := New(Config{Mode: mode, Numerology: 1}, func(uint8, []byte) {})
	if err != nil {
		t.Fatal(err)
	}
	ue, err = New(Config{Mode: mode, Numerology: 1, UE: true}, deliver)
	if err != nil {
		t.Fatal(err)
	}
	return gnb, ue
}

// step is a slot in downlink: packets for a transport block, the block, the status in
// the other direction.
func step(n int, gnb, ue *Bearer, packet, tb, small []byte) {
	at := slot.Numerology(1).Add(0, n)
	gnb.Tick(at)
	ue.Tick(at)
	for gnb.queue.Waiting() < len(tb) && gnb.Send(9, packet) {
	}
	gnb.Fill(tb)
	_, _ = ue.Receive(tb)
	if n%10 == 0 {
		ue.Fill(small)
		_, _ = gnb.Receive(small)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, mode := range []string{"um", "am"} {
		delivered := 0
		gnb, ue := pair(t, mode, func(uint8, []byte) { delivered++ })
		packet, tb, small := make([]byte, 1400), make([]byte, 147483), make([]byte, 500)
		n := 0
		for ; n < 200; n++ {
			step(n, gnb, ue, packet, tb, small)
		}
		allocations := testing.AllocsPerRun(500, func() {
			step(n, gnb, ue, packet, tb, small)
			n++
		})
		if allocations != 0 || delivered < 700*100 {
			t.Errorf("%s: %g allocations per slot, %d packets delivered", mode, allocations, delivered)
		}
	}
}

func BenchmarkDownlink(b *testing.B) {
	for _, mode := range []string{"um", "am"} {
		for _, size := range []int{200, 1400} {
			b.Run(fmt.Sprintf("%s/%dB", mode, size), func(b *testing.B) {
				gnb, ue := pair(b, mode, func(uint8, []byte) {})
				packet, tb, small := make([]byte, size), make([]byte, 147483), make([]byte, 500)
				b.SetBytes(int64(len(tb)))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					step(n, gnb, ue, packet, tb, small)
				}
			})
		}
	}
}
