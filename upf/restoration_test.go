package upf

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestRestorationPeriod: after a start no Error Indication is sent for a TEID that is
// not known, while Echo Requests are answered; without a period one is.
func TestRestorationPeriod(t *testing.T) {
	for _, name := range []string{DatapathXDP, DatapathTC, DatapathAFXDP, DatapathTUN} {
		for _, period := range []time.Duration{0, time.Hour} {
			t.Run(name+"/"+period.String(), func(t *testing.T) {
				b := newBed(t)
				b.config.Datapath, b.config.RestorationPeriod = name, Duration(period)
				b.start(t)
				gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
				n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.Config.N3UPF.Addr(), 2152))
				if _, err := gnb.WriteTo(gpdu(0x99, 9, udpPacket(ueAddress1, b.Config.N6DN.Addr(), "uplink")), n3); err != nil {
					t.Fatal(err)
				}
				b.dropped(t, "no_pdr", 1)
				if _, err := gnb.WriteTo([]byte{0x32, 1, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0}, n3); err != nil {
					t.Fatal(err)
				}
				// What there is to say about the G-PDU was said before the Echo Response.
				want := byte(26)
				if period > 0 {
					want = 2
				}
				if got := receive(t, gnb); got[1] != want {
					t.Errorf("message type %d, TEID %#x; want type %d first", got[1], binary.BigEndian.Uint32(got[4:]), want)
				}
			})
		}
	}
}

// dropped waits until that many packets were dropped for a reason.
func (b *bed) dropped(t *testing.T, reason string, want uint64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		drops, err := b.api.Drops(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range drops.Drops {
			if d.Reason == reason && d.Packets == want {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("drops: %+v, want %d for %s", drops, want, reason)
		}
	}
}
