package gnb_test

import (
	"net/netip"
	"testing"

	"plumbline/gnb"
	"plumbline/lab/programs"
	"plumbline/lab/topology"
)

// TestBackToBack runs programs between the UEs of two gNBs that take each
// other for the UPF: the uplink F-TEID of each is the downlink F-TEID of the
// other.
//
//	plt-gnb-…-ue0 ─ TUN ─ gNB ─ n3 10.3.0.2 ─── N3 ─── 10.3.0.1 n3 ─ gNB ─ TUN ─ plt-gnb-…-ue1
//	10.64.0.1                                                                    10.64.0.2
func TestBackToBack(t *testing.T) {
	bed := newBed(t, topology.Config{Name: "plt-gnb-b2b"})
	near := gnb.UE{
		Name: "ue0", Namespace: newNamespace(t, "ue0"), QFI: 9, UplinkTEID: 0x1001, DownlinkTEID: 0x2001,
		Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("fd64::1")},
	}
	far := gnb.UE{
		Name: "ue1", Namespace: newNamespace(t, "ue1"), QFI: 9, UplinkTEID: 0x2001, DownlinkTEID: 0x1001,
		Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.2"), netip.MustParseAddr("fd64::2")},
	}
	n3, peer := bed.N3.Peer.Address.Addr(), bed.N3.UPF.Address.Addr()
	g := start(t, gnb.Config{N3: gnb.N3{Address: n3, UPF: peer, Namespace: bed.GNB.Name}, UEs: []gnb.UE{near}})
	start(t, gnb.Config{N3: gnb.N3{Address: peer, UPF: n3, Namespace: bed.UPF.Name}, UEs: []gnb.UE{far}})

	file := programs.NewContent(4 << 20)
	programs.ServeHTTP(t, far.Namespace, file)
	for _, to := range far.Addresses {
		programs.Ping(t, near.Namespace, to, 56)
		programs.Ping(t, near.Namespace, to, g.MTU()-48) // the largest that is not a fragment, for IPv6
		programs.Curl(t, near.Namespace, to, file)
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "64M")
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "64M", "--reverse")
		programs.Iperf(t, near.Namespace, far.Namespace, to, "--bytes", "2M", "--udp", "--bitrate", "50M", "--length", "1200")
	}

	s := g.Stats()
	if s.N3.Datagrams != s.N3.Delivered || s.N3.Delivered != s.UEs[0].DownlinkPackets || s.UEs[0].OtherQFI != 0 {
		t.Errorf("got %+v, want every datagram delivered", s)
	}
	if s.UEs[0].UplinkErrors != 0 || s.UEs[0].DownlinkErrors != 0 {
		t.Errorf("got %+v, want no errors", s.UEs[0])
	}
}
