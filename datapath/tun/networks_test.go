package tun

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestNetworks: a session of the second data network leaves by its device, and what comes
// for its UE comes by that one; what comes for it by the other is dropped.
func TestNetworks(t *testing.T) {
	n := openNetwork(t, "tunnets", Config{
		Pools: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/16")},
		N6: datapath.N6{Networks: []datapath.DataNetwork{
			{Name: "n6", Device: "n6", NetworkInstances: []string{"internet"}}, {Name: "corp", NetworkInstances: []string{"corp"}},
		}},
	})
	n.ue, n.sessions = netip.MustParseAddr("10.65.0.1"), 1
	s := n.session(1, n.ue, netip.Addr{})
	s.Rules[0].Forward.NetworkInstance, s.Rules[1].Detect.NetworkInstance = "corp", "corp"
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: s}))

	n.uplink(t, datagram(n.ue, n.Config.N6DN.Addr(), []byte("uplink")))
	if got, _ := receive(t, n.dn); string(got) != "uplink" {
		t.Errorf("got %q", got)
	}
	_, err := n.dn.WriteToUDPAddrPort([]byte("downlink"), netip.AddrPortFrom(n.ue, uePort))
	check(t, err)
	n.isDownlink(t, n.ue, "downlink")
	for i, want := range []uint64{0, 1} {
		link, err := n.upf.host.kernel.LinkByName(n.upf.traffic.devices[i].Name)
		check(t, err)
		if s := link.Attrs().Statistics; s.RxPackets != want || s.TxPackets < want {
			t.Errorf("%s: %d packets from the UPF and %d to it, want %d of each", link.Attrs().Name, s.RxPackets, s.TxPackets, want)
		}
	}
}

// TestTooLong: what does not fit into the tunnel has its sender told of the MTU that is
// left, whose kernel sends no more of it.
func TestTooLong(t *testing.T) {
	for _, ring := range []bool{false, true} {
		t.Run(fmt.Sprint("ring ", ring), func(t *testing.T) { tooLong(t, ring) })
	}
}

func tooLong(t *testing.T, ring bool) {
	n := openNetwork(t, "tunmtu", Config{Ring: ring})
	n.install(t)
	ue := netip.AddrPortFrom(n.ue, uePort)
	raw, err := n.dn.SyscallConn()
	check(t, err)
	check(t, pathMTU(raw))
	// 1500 octets less IPv4, UDP, GTP-U with a PDU Session Container.
	const most = 1500 - 20 - 8 - 16 - 28
	_, err = n.dn.WriteToUDPAddrPort(make([]byte, most), ue)
	check(t, err)
	n.isDownlink(t, n.ue, string(make([]byte, most)))
	_, err = n.dn.WriteToUDPAddrPort(make([]byte, most+1), ue)
	check(t, err)
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) { // until that has been told
		if _, err = n.dn.WriteToUDPAddrPort(make([]byte, most+1), ue); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.EMSGSIZE) {
		t.Errorf("one octet too many: %v, want %v", err, unix.EMSGSIZE)
	}
	_, err = n.dn.WriteToUDPAddrPort(make([]byte, most), ue)
	check(t, err)
	n.isDownlink(t, n.ue, string(make([]byte, most)))
}

// pathMTU has a socket send with DF.
func pathMTU(raw syscall.RawConn) error {
	var err error
	control := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
	})
	return errors.Join(control, err)
}

// TestNATProxyARP: with what docs/howto-n6.md says, the data network finds NAT addresses of N6's own
// subnet by ARP, without a route to them.
func TestNATProxyARP(t *testing.T) {
	for name, tap := range map[string]bool{"tun": false, "tap": true} {
		t.Run(name, func(t *testing.T) {
			outside := netip.MustParsePrefix("10.6.0.64/32")
			n := openNetwork(t, "tunnatarp", Config{TAP: tap, N6: datapath.N6{Networks: []datapath.DataNetwork{{
				Name: "n6", Device: "n6", NAT: datapath.DefaultNAT(outside),
			}}}})
			n.install(t)
			for _, command := range []string{
				"sysctl -w net.ipv4.ip_forward=1",
				"ip route add 10.6.0.64/32 dev lo metric 1000",
				"ip neigh add proxy 10.6.0.64 dev " + n.N6.UPF.Device,
			} {
				check(t, n.UPF.Do(func() error {
					words := strings.Fields(command)
					out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput()
					if err != nil {
						return fmt.Errorf("%s: %w: %s", command, err, out)
					}
					return nil
				}))
			}
			n.uplink(t, datagram(n.ue, n.Config.N6DN.Addr(), []byte("uplink")))
			got, from := receive(t, n.dn)
			if string(got) != "uplink" || from.Addr() != outside.Addr() {
				t.Fatalf("got %q from %v, want %q from %v", got, from, "uplink", outside.Addr())
			}
			_, err := n.dn.WriteToUDPAddrPort([]byte("downlink"), from)
			check(t, err)
			n.isDownlink(t, n.ue, "downlink")
		})
	}
}

// TestUEToUE: the kernel turns round what a UE sends to another, or sends it to the data network's
// router with the rule of docs/datapaths.md. Each kernel takes one
// off the TTL, and the UPF one each way.
func TestUEToUE(t *testing.T) {
	n := openNetwork(t, "tunuetoue", Config{})
	n.install(t)
	other := netip.MustParseAddr("10.64.0.2")
	check(t, n.upf.Apply(t.Context(), &api.Change{Seid: 2, Session: n.session(2, other, netip.Addr{})}))
	run := func(ns *topology.Namespace, command string) {
		t.Helper()
		check(t, ns.Do(func() error {
			words := strings.Fields(command)
			out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", command, err, out)
			}
			return nil
		}))
	}
	arrives := func(ttl byte) {
		t.Helper()
		n.uplink(t, datagram(n.ue, other, []byte("hello")))
		b, _ := receive(t, n.gnb)
		h, err := gtpu.Parse(b)
		check(t, err)
		if packet := b[len(h):]; h.TEID() != 2<<8|dlTEID || packet[8] != ttl {
			t.Errorf("TEID %#x, TTL %d; want %#x, %d", h.TEID(), packet[8], 2<<8|dlTEID, ttl)
		}
	}
	arrives(61)
	run(n.DN, "sysctl -w net.ipv4.ip_forward=1")
	run(n.UPF, "ip route add default via 10.6.0.2 dev n6 table 106")
	run(n.UPF, "ip rule add iif plumb0 to 10.64.0.0/16 lookup 106 priority 4000")
	run(n.UPF, "sysctl -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.n6.rp_filter=0")
	arrives(59)
}
