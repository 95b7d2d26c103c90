package bearer

import (
	"fmt"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// sendAll sends packets until one is refused, and returns how many octets were taken.
func sendAll(b *Bearer, size int) (octets int) {
	packet := make([]byte, size)
	for b.Send(9, packet) {
		octets += size
	}
	return octets
}

// TestQueueTime: at either end, packets wait as long as [QueueTime] says, at the rate of the
// cell, and never less than what TCP begins with.
func TestQueueTime(t *testing.T) {
	for _, mode := range []string{"um", "am"} {
		for _, rate := range []float64{1e6, 33.6e6, 123.2e6, 1729e6} {
			for _, toUE := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %g Mbit/s, at the UE %v", mode, rate/1e6, toUE), func(t *testing.T) {
					c := Config{Mode: mode, Numerology: 1, UE: toUE, Downlink: rate, Uplink: 1}
					if toUE {
						c.Downlink, c.Uplink = c.Uplink, c.Downlink
					}
					b, err := New(c, func(uint8, []byte) {})
					if err != nil {
						t.Fatal(err)
					}
					const size, headers = 1400, 4
					taken := sendAll(b, size)
					most := max(rate/8*QueueTime.Seconds(), leastOctets)
					if got := float64(taken) * (size + headers) / size; got > most || got < most-size-headers {
						t.Errorf("%d octets were taken, %v at this rate are %.0f", taken, QueueTime, most)
					}
				})
			}
		}
	}
}

// TestNeverConfirmed: a gNB whose UE confirms nothing keeps what the cell carries in
// [QueueTime] and [ConfirmTime], and then takes no more.
func TestNeverConfirmed(t *testing.T) {
	const rate, size, headers = 123.2e6, 1400, 4
	b, err := New(Config{Mode: "am", Numerology: 1, Downlink: rate, Uplink: rate}, func(uint8, []byte) {})
	if err != nil {
		t.Fatal(err)
	}
	taken, tb := 0, make([]byte, 10_497)
	for n := range 2000 {
		b.Tick(slot.Number(n))
		taken += sendAll(b, size)
		b.Fill(tb)
	}
	most := rate / 8 * (QueueTime + ConfirmTime).Seconds()
	if got := float64(taken) * (size + headers) / size; got > most+leastOctets || got < most-leastOctets {
		t.Errorf("%d octets were taken, want %.0f", taken, most)
	}
}

// TestHeld: what PDCP holds until a packet before it comes is all that the peer may have sent
// meanwhile, of any size.
func TestHeld(t *testing.T) {
	for _, size := range []int{60, 300, 1400, MaxPacket} {
		c := Config{Mode: "am", Numerology: 1, Downlink: 123.2e6, Uplink: 33.6e6}
		gnb, err := New(c, func(uint8, []byte) {})
		if err != nil {
			t.Fatal(err)
		}
		c.UE = true
		delivered := 0
		ue, err := New(c, func(uint8, []byte) { delivered++ })
		if err != nil {
			t.Fatal(err)
		}
		first, tb := []byte(nil), make([]byte, 10_497)
		sent := 0
		for n := range int((QueueTime + ConfirmTime) * 2 / (500 * time.Microsecond)) {
			sent += sendAll(gnb, size) / size
			if gnb.Fill(tb) == 0 {
				break
			}
			if n == 0 { // it is late
				first = append(first, tb...)
				continue
			}
			if _, err := ue.Receive(tb); err != nil {
				t.Fatal(err)
			}
		}
		if delivered > 0 {
			t.Errorf("packets of %d octets: %d were delivered before the first", size, delivered)
		}
		if _, err := ue.Receive(first); err != nil {
			t.Fatal(err)
		}
		if s := ue.Stats().PDCP; s.Lost != 0 || s.Overflows != 0 || delivered < sent*9/10 {
			t.Errorf("packets of %d octets: %d of %d were delivered, %+v", size, delivered, sent, s)
		}
	}
}
