package stages

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// FuzzQuoted: what an ICMP error quotes is its end and a whole header at least; with
// another address there, all before it is as it was but for the checksum, which is
// right if it was.
func FuzzQuoted(f *testing.F) {
	ue, server := netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("198.18.0.1")
	about := webSegment(ue, server, segment{flags: tcpSYN})
	f.Add([]byte(expired.report(about, server, 0)), []byte{1, 2, 3, 4}, true)
	f.Add([]byte(tooBig.report(about[:30], server, 1400)), []byte{1, 2, 3, 4}, false)
	f.Add([]byte(about), []byte{1, 2, 3, 4}, false)
	six := packet6(inet.ProtoUDP, 0, netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 64, make([]byte, 12), 6)
	f.Add([]byte(tooBig.report(six, netip.MustParseAddr("2001:db8::3"), 1400)), make([]byte, 16), true)
	f.Fuzz(func(t *testing.T, b, address []byte, source bool) {
		u, reason := parseUser(b)
		a, ok := netip.AddrFromSlice(address)
		if reason != 0 || !ok || a.Is4() == u.isIPv6() {
			t.Skip()
		}
		inner := u.quoted()
		if inner == nil {
			return
		}
		at := len(u) - len(inner)
		if !bytes.HasSuffix(u, inner) || at < inet.LenIPv4+inet.LenICMP || inner.isIPv6() != u.isIPv6() {
			t.Fatalf("%x quotes %x", u, inner)
		}
		got := u.withQuoted(inner, source, a)
		again, reason := parseUser(got)
		if reason != 0 || len(again) != len(u) {
			t.Fatalf("%x became %x", u, got)
		}
		sum := at - inet.LenICMP + 2
		if !bytes.Equal(got[:sum], u[:sum]) || !bytes.Equal(got[sum+2:at], u[sum+2:at]) {
			t.Errorf("%x changed before what it quotes: %x", u, got)
		}
		right := func(u user) bool {
			if u.isIPv6() {
				return u.upperSumRight(inet.ProtoICMPv6, at-inet.LenICMP)
			}
			return checksum.Of(u[at-inet.LenICMP:]) == 0
		}
		if right(u) != right(got) {
			t.Errorf("checksum of %x changed sides in %x", u, got)
		}
		now := user(got[at:]).destination()
		if source {
			now = user(got[at:]).source()
		}
		if now != a {
			t.Errorf("%x quotes %v, want %v", got, now, a)
		}
	})
}
