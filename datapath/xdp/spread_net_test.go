package xdp_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestSpread: packets of many UEs go through the CPUs, tagged and untagged, all
// arrive, those of a UE in their order, and a UE has one CPU both ways.
func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		name string
		mode xdp.Mode
		vlan bool
	}{{"native", xdp.Native, false}, {"generic", xdp.Generic, false}, {"vlan", xdp.Native, true}} {
		t.Run(tc.name, func(t *testing.T) {
			n := layNetwork(t, "xdp-spread-"+tc.name)
			n.spread = []int{0, 1}
			if runtime.NumCPU() == 1 {
				n.spread = []int{0} // all go through the one
			}
			if tc.vlan {
				n.tag(t, tc.mode, netip.Addr{})
			} else {
				n.start(t, tc.mode, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
			}
			n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
			n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
			n.install(t, n.N3.Peer.Address.Addr())
			n.untilResolved(t)
			n.uplink(t, payload(100))
			n.uplink(t, payload(1472)) // fragments
			n.echo(t)
			n.inOrder(t)
		})
	}
}

const spreadUEs, spreadPackets = 8, 50

// spreadUE is the address of a UE, which has the TEID 0x100 and its number.
func spreadUE(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 64, 1, byte(i)}) }

// inOrder sends packets of all UEs in turn, and sees them arrive.
func (n *network) inOrder(t *testing.T) {
	t.Helper()
	for i := range spreadUEs {
		n.ue = spreadUE(i)
		n.installAs(t, uint64(2+i), uint32(0x100+i))
	}
	before := n.given(t)
	next := [spreadUEs]byte{}
	buf := make([]byte, 2048)
	for seq := range spreadPackets {
		for i := range spreadUEs {
			n.ue = spreadUE(i)
			user := n.datagram([]byte{byte(i), byte(seq)})
			message := append(gtpu.AppendGPDU(nil, uint32(0x100+i), gtpu.PDUTypeUplink, 9, len(user)), user...)
			_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
			check(t, err)
		}
		for range spreadUEs {
			_, from, err := n.dn.ReadFromUDPAddrPort(buf)
			check(t, err)
			if buf[1] != next[buf[0]] || from.Addr() != spreadUE(int(buf[0])) {
				t.Fatalf("packet %d of UE %d from %v, want %d", buf[1], buf[0], from, next[buf[0]])
			}
			next[buf[0]]++
		}
	}
	after := n.given(t)
	sum := uint64(0)
	for cpu := range after {
		sum += after[cpu] - before[cpu]
		if after[cpu] == before[cpu] {
			t.Errorf("no packet for CPU %d", cpu)
		}
	}
	if sum != spreadUEs*spreadPackets {
		t.Errorf("packets by CPU: %v, before %v", after, before)
	}
	for i := range spreadUEs {
		n.oneCPU(t, i)
	}
}

// oneCPU: packets of the UE have the same CPU both ways.
func (n *network) oneCPU(t *testing.T, ue int) {
	t.Helper()
	n.ue = spreadUE(ue)
	before := n.given(t)
	user := n.datagram(payload(10))
	message := append(gtpu.AppendGPDU(nil, uint32(0x100+ue), gtpu.PDUTypeUplink, 9, len(user)), user...)
	_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
	check(t, err)
	_, _, err = n.dn.ReadFromUDPAddrPort(make([]byte, 100))
	check(t, err)
	n.downlink(t, payload(10))
	after := n.given(t)
	for cpu := range after {
		if more := after[cpu] - before[cpu]; more != 0 && more != 2 {
			t.Errorf("UE %d: packets by CPU %v, before %v", ue, after, before)
		}
	}
}

// given returns how many packets each CPU was given, once that is known of all.
func (n *network) given(t *testing.T) []uint64 {
	t.Helper()
	last := make([]uint64, len(n.spread))
	for {
		time.Sleep(20 * time.Millisecond)
		given, err := n.upf.Spread()
		check(t, err)
		if len(given) != len(n.spread) {
			t.Fatalf("packets of %d CPUs, want %d", len(given), len(n.spread))
		}
		if slices.Equal(given, last) {
			return given
		}
		last = given
	}
}

// installAs sets up a session of n.ue with this TEID.
func (n *network) installAs(t *testing.T, seid uint64, teid uint32) {
	t.Helper()
	s := n.session(n.N3.Peer.Address.Addr())
	s.Seid = seid
	s.Rules[0].Detect.FTeid.Teid = teid
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: seid, Session: s}))
}
