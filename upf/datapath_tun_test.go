package upf

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestTUNKilled kills a UPF on TUN and on TAP: with the process go its devices; the next
// one has the session from the store, and packets flow again both ways, over one pair of
// routing rules for the gateway.
func TestTUNKilled(t *testing.T) {
	for _, name := range []string{DatapathTUN, DatapathTAP} {
		t.Run(name, func(t *testing.T) {
			b := newNamedBed(t, "plt-upf-"+name)
			b.config.Datapath, b.config.Store.Path = name, t.TempDir()
			b.start(t)
			b.smf = newSMF(t, b.Topology)
			b.smf.associate(t)
			s := b.smf.establish(t)
			server := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9000))
			gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
			b.bothWays(t, s, gnb, server)

			if err := b.process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = b.process.Wait() // says that it was killed
			b.start(t)
			b.bothWays(t, s, gnb, server)
			if got := b.rules(t); got != 2 {
				t.Errorf("%d routing rules of devices, want 2", got)
			}
			b.stop(t)
			if got := b.rules(t); got != 0 {
				t.Errorf("%d routing rules of devices are left", got)
			}
		})
	}
}

// bothWays sends a packet of the session to the server, and one back.
func (b *bed) bothWays(t *testing.T, s established, gnb, server *net.UDPConn) {
	t.Helper()
	packet := udpPacket(ueAddress1, b.Config.N6DN.Addr(), "uplink")
	n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.n3, 2152))
	if _, err := gnb.WriteTo(gpdu(uint32(s.teid), 9, packet), n3); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, server); string(got) != "uplink" {
		t.Errorf("uplink: got %q", got)
	}
	if _, err := server.WriteTo([]byte("downlink"), &net.UDPAddr{IP: ueAddress1.AsSlice(), Port: 9000}); err != nil {
		t.Fatal(err)
	}
	teid, qfi, inner := parseGPDU(t, receive(t, gnb))
	if teid != gnbTEID || qfi != 9 || string(inner[28:]) != "downlink" {
		t.Errorf("downlink: got TEID %#x, QFI %d, %x", teid, qfi, inner)
	}
}

// rules returns how many IPv4 routing rules there are for what comes from a device.
func (b *bed) rules(t *testing.T) (n int) {
	t.Helper()
	err := b.UPF.Do(func() error {
		all, err := netlink.RuleList(netlink.FAMILY_V4)
		for _, r := range all {
			if r.IifName != "" {
				n++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
