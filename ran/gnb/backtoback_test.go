package gnb_test

import (
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// TestBackToBack runs programs between the UEs of two gNBs that take each
// other for the UPF: the uplink F-TEID of each is the downlink F-TEID of the
// other.
//
//	plt-gnb-…-ue0 ─ TUN ─ gNB ─ n3 10.3.0.2 ─── N3 ─── 10.3.0.1 n3 ─ gNB ─ TUN ─ plt-gnb-…-ue1
//	10.64.0.1                                                                    10.64.0.2
func TestBackToBack(t *testing.T) {
	for _, tc := range []struct {
		name  string
		super bool // both send super-packets whole
	}{{"packets", false}, {"super-packets", true}} {
		t.Run(tc.name, func(t *testing.T) {
			bed := newBed(t, topology.Config{Name: "plt-gnb-b2b", Offload: tc.super})
			near := gnb.UE{
				Name: "ue0", Namespace: newNamespace(t, "ue0"), QFI: 9, UplinkTEID: 0x1001, DownlinkTEID: 0x2001,
				Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("fd64::1")},
			}
			far := gnb.UE{
				Name: "ue1", Namespace: newNamespace(t, "ue1"), UplinkTEID: 0x2001, DownlinkTEID: 0x1001,
				Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.2"), netip.MustParseAddr("fd64::2")},
			}
			n3, peer := bed.N3.Peer.Address.Addr(), bed.N3.UPF.Address.Addr()
			gs := []*gnb.GNB{
				labtest.RunGNB(t, gnb.Config{N3: gnb.N3{Address: n3, UPF: peer, Namespace: bed.GNB.Name, SuperPackets: tc.super}, UEs: []gnb.UE{near}}),
				labtest.RunGNB(t, gnb.Config{N3: gnb.N3{Address: peer, UPF: n3, Namespace: bed.UPF.Name, SuperPackets: tc.super}, UEs: []gnb.UE{far}}),
			}
			backToBack(t, near, far, gs[0].MTU())
			for _, g := range gs {
				checkBackToBack(t, g.Stats(), tc.super)
			}
		})
	}
}

// backToBack runs programs from one UE to the other.
func backToBack(t *testing.T, near, far gnb.UE, mtu int) {
	file := programs.NewContent(4 << 20)
	programs.ServeHTTP(t, far.Namespace, file)
	for _, to := range far.Addresses {
		programs.Ping(t, near.Namespace, to, 56)
		programs.Ping(t, near.Namespace, to, mtu-48) // the largest that is not a fragment, for IPv6
		programs.Curl(t, near.Namespace, to, file)
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "64M")
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "64M", "--reverse")
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "2M", "--udp", "--bitrate", "50M", "--length", "1200")
	}
}

// checkBackToBack: everything was delivered, and with super-packets many packets
// by each datagram that has TCP's data.
func checkBackToBack(t *testing.T, s gnb.Stats, super bool) {
	t.Helper()
	ue := s.UEs[0]
	if s.N3.Datagrams != s.N3.Delivered || ue.OtherQFI != 0 || ue.UplinkErrors != 0 || ue.DownlinkErrors != 0 {
		t.Errorf("got %+v, want every datagram delivered, and no errors", s)
	}
	if !super && s.N3.Delivered != ue.DownlinkPackets {
		t.Errorf("got %d datagrams, %d user packets, want one in each", s.N3.Delivered, ue.DownlinkPackets)
	}
	if super && ue.DownlinkPackets < 4*s.N3.Delivered {
		t.Errorf("got %d datagrams, %d user packets, want super-packets", s.N3.Delivered, ue.DownlinkPackets)
	}
}
