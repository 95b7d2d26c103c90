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

// TestRestorationAgain: nor is one sent for the sessions of a CP function that had given
// the UPF up, until it has restored them.
func TestRestorationAgain(t *testing.T) {
	for _, name := range []string{DatapathXDP, DatapathTUN} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.config.Datapath, b.config.RestorationPeriod = name, Duration(3*time.Second)
			b.start(t)
			smf := newSMF(t, b.Topology)
			smf.associate(t)
			s := smf.establish(t)
			gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
			n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.Config.N3UPF.Addr(), 2152))
			packet := udpPacket(ueAddress1, b.Config.N6DN.Addr(), "uplink")
			sequence := byte(0)
			// told sends a G-PDU and an Echo Request, and reports whether an Error Indication about the
			// TEID comes before the Echo Response. What is late of earlier ones is passed over.
			told := func(teid uint32) (told bool) {
				sequence++
				for _, m := range [][]byte{gpdu(teid, 9, packet), {0x32, 1, 0, 4, 0, 0, 0, 0, 0, sequence, 0, 0}} {
					if _, err := gnb.WriteTo(m, n3); err != nil {
						t.Fatal(err)
					}
				}
				for {
					switch m := receive(t, gnb); {
					case m[1] == 2 && m[9] == sequence:
						return told
					case m[1] == 26 && binary.BigEndian.Uint32(m[17:]) == teid: // TEID Data I, behind the UDP Port extension header
						told = true
					}
				}
			}
			for deadline := time.Now().Add(20 * time.Second); !told(0x99); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no Error Indication when the period is over")
				}
			}
			smf.associate(t) // deletes the session
			if told(uint32(s.teid)) {
				t.Error("an Error Indication about a session that is to be restored")
			}
		})
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
