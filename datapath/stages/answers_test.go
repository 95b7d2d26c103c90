package stages

import (
	"net/netip"
	"testing"
)

// TestAnswersAreShared: a user who makes the UPF talk all the time has a share,
// and others have theirs; all of them together have a bound, too.
func TestAnswersAreShared(t *testing.T) {
	a := NewAnswers()
	loud, quiet := netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("2001:db8:45:1::1")
	count := func(n int, nowNs uint64, ue netip.Addr) (allowed int) {
		for range n {
			if a.allow(nowNs, ue) {
				allowed++
			}
		}
		return allowed
	}
	// A burst is that of a second and the packet that ends it.
	if n := count(1000, 1, loud); n != answersToUser+1 {
		t.Errorf("%d answers to one who asks 1000 times at once, want %d", n, answersToUser+1)
	}
	if n := count(3, 1, quiet); n != 3 {
		t.Errorf("%d answers to one who asks 3 times, want 3", n)
	}
	if n := count(1000, 10_000_000_001, loud); n != answersToUser+1 {
		t.Errorf("%d answers later, want %d", n, answersToUser+1)
	}
	all := 0
	for i := range 100_000 {
		all += count(1, 10_000_000_001, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if all > answersToUsers {
		t.Errorf("%d answers to 100000 users at once, want at most %d", all, answersToUsers)
	}
	if all < answersToUsers/2 {
		t.Errorf("%d answers to 100000 users at once", all)
	}
	if none := (*Answers)(nil); none.allow(1, loud) {
		t.Errorf("an answer without bounds")
	}
}
