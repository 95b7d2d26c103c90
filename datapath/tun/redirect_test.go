package tun

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestNoRedirects: the kernel turns a packet from one UE to another round on the device,
// and tells the first one of a better next hop, which does not go into its tunnel. With
// TAP it does not: UEs are behind a next hop there.
func TestNoRedirects(t *testing.T) {
	for _, ring := range []bool{false, true} {
		t.Run(fmt.Sprint("ring ", ring), func(t *testing.T) {
			n := openNetwork(t, "tunredir", Config{Ring: ring, Workers: 1})
			check(t, n.UPF.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/conf/all/send_redirects", []byte("1"), 0) }))
			other := netip.MustParseAddr("10.64.0.2")
			n.install(t)
			n.sessions++
			check(t, n.upf.Apply(context.Background(), &api.Change{Seid: n.sessions, Session: n.session(n.sessions, other, netip.Addr{})}))
			n.sessions = 1
			n.uplink(t, datagram(n.ue, other, []byte("to a UE")))
			n.sessions = 2
			n.isDownlink(t, other, "to a UE")
			n.sessions = 1
			reason := datapath.DropICMPRedirect.String()
			var dropped uint64
			for begin := time.Now(); dropped == 0 && time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) {
				all, err := n.upf.Drops()
				check(t, err)
				dropped = all[reason]
			}
			if dropped != 1 {
				t.Errorf("%d packets dropped as %s, want 1", dropped, reason)
			}
			n.uplink(t, datagram(n.ue, n.Config.N6DN.Addr(), []byte("uplink")))
			_, from := receive(t, n.dn)
			_, err := n.dn.WriteToUDPAddrPort([]byte("downlink"), from)
			check(t, err)
			n.isDownlink(t, n.ue, "downlink") // and nothing before it
		})
	}
}

// TestIsRedirect: Redirects of others go on, and so does all else of this host.
func TestIsRedirect(t *testing.T) {
	own, own6 := netip.MustParseAddr("10.4.0.1"), netip.MustParseAddr("fe80::1:2")
	far, far6 := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8::1")
	h := &host{}
	h.own.Set([]netip.Addr{own, own6})
	packet := func(from netip.Addr, proto, kind byte) []byte {
		if from.Is4() {
			p := datagram(from, netip.MustParseAddr("10.64.0.1"), make([]byte, 8))
			p[9], p[20] = proto, kind
			return p
		}
		p := datagram(from, netip.MustParseAddr("fd64::1"), make([]byte, 8))
		p[6], p[40] = proto, kind
		return p
	}
	later := packet(own, 1, 5)
	later[7] = 1 // Fragment Offset
	for _, tc := range []struct {
		name string
		in   []byte
		want bool
	}{
		{"IPv4", packet(own, 1, 5), true},
		{"IPv6", packet(own6, 58, 137), true},
		{"of another router", packet(far, 1, 5), false},
		{"IPv6, of another router", packet(far6, 58, 137), false},
		{"Time Exceeded", packet(own, 1, 11), false},
		{"IPv6, Packet Too Big", packet(own6, 58, 2), false},
		{"UDP from port 0x0500", packet(own, 17, 5), false},
		{"later fragment", later, false},
		{"cut behind the header", packet(own, 1, 5)[:20], false},
		{"IPv6, cut behind the header", packet(own6, 58, 137)[:40], false},
		{"no packet", nil, false},
	} {
		if got := h.isRedirect(tc.in); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
