package rawip

import (
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestHostAsks: while the kernel does not tell the host's addresses, it is
// asked once a second, and nothing may reach the host.
func TestHostAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		asked, failing := 0, error(unix.ENOBUFS)
		ours := netip.MustParseAddr("10.6.0.1")
		l := &Host{n6: 7, log: slog.New(slog.NewTextHandler(&log, nil)), list: func() ([]netlink.Addr, error) {
			asked++
			return []netlink.Addr{{IPNet: &net.IPNet{IP: ours.AsSlice(), Mask: net.CIDRMask(24, 32)}, LinkIndex: 7}}, failing
		}}
		look := func(wantAsked int, wantLocal, wantOther bool) {
			t.Helper()
			for range 1000 {
				local, other := l.Has(ours), l.Has(netip.MustParseAddr("10.6.0.2"))
				if local != wantLocal || other != wantOther || l.Router(false).IsValid() == wantOther {
					t.Fatalf("ours: %v, other: %v, router %v", local, other, l.Router(false))
				}
			}
			if asked != wantAsked {
				t.Errorf("the kernel was asked %d times, want %d", asked, wantAsked)
			}
		}
		look(1, true, true)
		time.Sleep(localAge + time.Millisecond)
		look(2, true, true)
		failing = nil
		look(2, true, true) // not yet
		time.Sleep(localAge + time.Millisecond)
		look(3, true, false)
		failing = unix.ENOBUFS
		time.Sleep(localAge + time.Millisecond)
		look(4, true, true)
		if n := strings.Count(log.String(), "not known"); n != 2 {
			t.Errorf("%d lines in the log, want 2:\n%s", n, log.String())
		}
	})
}
