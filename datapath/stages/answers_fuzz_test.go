package stages

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// FuzzReport: whatever packet is dropped, what its sender is told is a packet to
// it of the size that is allowed, with right checksums, quotes it, and is itself
// nothing of which anybody would be told.
func FuzzReport(f *testing.F) {
	f.Add([]byte(packetOf(nil, 100, 0)), 1500)
	f.Add([]byte(packetOf([]byte{0x94, 4, 0, 0}, 2000, flagDF)), 1456)
	f.Add([]byte(packet6(inet.ProtoUDP, tosControl, netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 1, make([]byte, 2000), 6)), 1280)
	f.Fuzz(func(t *testing.T, b []byte, mtu int) {
		u, reason := parseUser(b)
		if reason != 0 {
			t.Skip()
		}
		for _, p := range []problem{tooBig, expired} {
			if !p.mayReport(u) {
				continue
			}
			router, most, at := netip.MustParseAddr("192.0.2.1"), maxError4, inet.LenIPv4
			if u.isIPv6() {
				router, most, at = netip.MustParseAddr("2001:db8::1"), maxError6, inet.LenIPv6
			}
			got := p.report(u, router, mtu)
			again, reason := parseUser(got)
			if reason != 0 || len(again) != len(got) || len(got) > most || got.source() != router || got.destination() != u.source() {
				t.Fatalf("about %x: %x", u, got)
			}
			if quoted := got[at+inet.LenICMP:]; !bytes.HasPrefix(u, quoted) || len(got) < most && len(quoted) != len(u) {
				t.Errorf("about %x: quotes %x", u, quoted)
			}
			if u.isIPv6() && !got.upperSumRight(inet.ProtoICMPv6, at) || !u.isIPv6() && (!got.sumRight() || checksum.Of(got[at:]) != 0) {
				t.Errorf("about %x: wrong checksum in %x", u, got)
			}
			if expired.mayReport(got) || tooBig.mayReport(got) {
				t.Errorf("an error about an error: %x", got)
			}
		}
	})
}

// FuzzSolicitation: only what RFC 4861 lets pass is taken for a solicitation, and
// what is answered is not.
func FuzzSolicitation(f *testing.F) {
	ue, group := netip.MustParseAddr("fe80::7"), netip.MustParseAddr("ff02::2")
	f.Add([]byte(packet6(inet.ProtoICMPv6, tosControl, ue, group, ndHopLimit, []byte{ndRouterSolicitation, 0, 0, 0, 0, 0, 0, 0}, 2)))
	f.Add([]byte(packet6(inet.ProtoICMPv6, tosControl, ue, group, ndHopLimit, append([]byte{ndNeighbourSolicitation, 0, 0, 0, 0, 0, 0, 0}, RouterLinkLocal.AsSlice()...), 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, reason := parseUser(b)
		if reason != 0 {
			t.Skip()
		}
		kind := u.solicitation()
		if kind == 0 {
			return
		}
		if u[7] != 255 || u[6] != 58 || u[40] != kind || u[41] != 0 || !u.upperSumRight(58, 40) {
			t.Errorf("taken for %d: %x", kind, u)
		}
		answer := packet6(inet.ProtoICMPv6, tosControl, RouterLinkLocal, allNodes, ndHopLimit, neighbour(u.source()), 2)
		if answer.solicitation() != 0 || !answer.upperSumRight(inet.ProtoICMPv6, inet.LenIPv6) {
			t.Errorf("answer %x", answer)
		}
	})
}
