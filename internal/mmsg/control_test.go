package mmsg

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// awaitStamps sends until datagrams are stamped when they come: the kernel begins with it
// some time after it was asked to, and until then takes the time at which they are read.
func awaitStamps(t *testing.T, r *Receiver, s *Sender, to netip.AddrPort) {
	t.Helper()
	for range 10000 {
		s.AddTo(to, []byte("stamp"))
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		s.Reset()
		sent := time.Now().UnixNano()
		time.Sleep(time.Millisecond)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if at := r.Arrival(0); at != 0 && at <= sent {
			return
		}
	}
	t.Fatal("10000 datagrams have no time at which they came")
}

// TestArrival: what lay in the socket came when it was sent, not when it was read; over
// more batches than one, since the kernel changes what it was given for an answer.
func TestArrival(t *testing.T) {
	for _, tc := range []struct{ network, address string }{{"udp4", "127.0.0.1:0"}, {"udp6", "[::1]:0"}} {
		t.Run(tc.network, func(t *testing.T) {
			_, in, to := socket(t, tc.network, tc.address)
			_, out, _ := socket(t, tc.network, tc.address)
			r, s := NewReceiver(in, buffers(2)), NewSender(out, 3)
			if err := r.StampArrivals(); err != nil {
				t.Fatal(err)
			}
			awaitStamps(t, r, s, to)
			for i := range 3 {
				s.AddTo(to, fmt.Append(nil, "datagram", i))
			}
			before := time.Now().UnixNano()
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			after := time.Now().UnixNano()
			time.Sleep(time.Millisecond)
			for _, want := range []int{2, 1} {
				n, err := r.Next()
				if n != want || err != nil {
					t.Fatalf("got %d, %v; want %d", n, err, want)
				}
				for i := range n {
					if got := r.Arrival(i); got < before || got > after {
						t.Errorf("datagram %d of %d came at %d, want from %d to %d", i, n, got, before, after)
					}
				}
			}
		})
	}
	_, in, _ := socket(t, "udp4", "127.0.0.1:0")
	if got := NewReceiver(in, buffers(1)).Arrival(0); got != 0 {
		t.Errorf("got %d of a receiver that did not ask, want 0", got)
	}
}
