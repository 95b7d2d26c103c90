package xdp_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
)

// tcpOptions is what the timestamps take of each segment (RFC 7323, appendix A).
const tcpOptions = 12

// TestMSS: TCP connections of both IP versions, whoever opens them, use segments
// no larger than what the clamp says, at both ends, and their content arrives. What
// the clamp makes of the MTUs fits the tunnel: nothing is fragmented. UEs believe
// in an MTU of 1500 octets, as theirs may.
func TestMSS(t *testing.T) {
	for _, tc := range []struct {
		name   string
		clamp  int
		v4, v6 int // MSS
		big    bool
	}{
		{"to the MTU", datapath.ClampToMTU, 1500 - 44 - 40, 1500 - 44 - 60, false},
		{"to 1000 octets", 1000, 1000, 1000, false},
		{"not", 0, 1460, 1440, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := layNetwork(t, "xdp-mss")
			n6 := datapath.DataNetwork{
				Name: "n6", Device: n.N6.UPF.Device, Gateways: []netip.Addr{n.N6.Peer.Address.Addr(), n.N6.Peer.Address6.Addr()}, MSSClamp: tc.clamp,
			}
			n.upf = n.startUPF(t, "", n6)
			t.Cleanup(func() { check(t, n.upf.Close()) })
			p, dn := n.startPhones(t, 1544, ""), inSpace(t, n.DN.Path())
			for _, pair := range []struct {
				name    string
				ue, dn  netip.Addr
				segment int
			}{
				{"IPv4", phoneAddress(0), n.N6.Peer.Address.Addr(), tc.v4 - tcpOptions},
				{"IPv6", phonePrefix(0), n.N6.Peer.Address6.Addr(), tc.v6 - tcpOptions},
			} {
				for _, way := range []struct {
					name         string
					from, to     space
					address, own netip.Addr
				}{
					{"opened by the UE", p.spaces[0], dn, pair.dn, pair.ue},
					{"opened by the data network", dn, p.spaces[0], pair.ue, pair.dn},
				} {
					if tc.big && way.to == p.spaces[0] {
						continue // the data network has learnt the path's MTU by now
					}
					opened, accepted := segments(t, way.from, way.to, netip.AddrPortFrom(way.address, 9000))
					if opened != pair.segment || accepted != pair.segment {
						t.Errorf("%s, %s: segments of %d and %d octets, want %d", pair.name, way.name, opened, accepted, pair.segment)
					}
				}
			}
			passes, err := n.upf.Passes()
			check(t, err)
			if big := passes["too_big"] > 0; big != tc.big {
				t.Errorf("%d packets were too big for the tunnel", passes["too_big"])
			}
		})
	}
}

// segments sends content both ways over a TCP connection between two namespaces,
// and returns how large the segments are at the first that each end sends.
func segments(t *testing.T, from, to space, at netip.AddrPort) (opened, accepted int) {
	t.Helper()
	var l net.Listener
	check(t, to.do(func() (err error) {
		l, err = net.Listen("tcp", at.String())
		return err
	}))
	defer l.Close()
	var conn net.Conn
	check(t, from.do(func() (err error) {
		conn, err = (&net.Dialer{Timeout: 10 * time.Second}).Dial("tcp", at.String())
		return err
	}))
	defer conn.Close()
	other, err := l.Accept()
	check(t, err)
	defer other.Close()
	for _, c := range []net.Conn{conn, other} {
		check(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	}
	opened, accepted = segment(t, conn), segment(t, other)
	transfer(t, conn, other)
	transfer(t, other, conn)
	return opened, accepted
}

// segment returns the largest segment that a connection sends.
func segment(t *testing.T, c net.Conn) (octets int) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	check(t, err)
	var opt error
	check(t, raw.Control(func(fd uintptr) { octets, opt = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG) }))
	check(t, opt)
	return octets
}

// transfer sends a megabyte from one end to the other.
func transfer(t *testing.T, from, to net.Conn) {
	t.Helper()
	content := random(1, 1<<20)
	sent := make(chan error)
	go func() {
		_, err := from.Write(content)
		sent <- err
	}()
	same(t, to, content)
	check(t, <-sent)
}
