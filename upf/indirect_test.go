package upf

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

// TestIndirectForwarding: an SGW-U, or an UPF, takes downlink packets back from
// the source eNB and sends them to the target eNB, as they are.
// Source: TS 23.401 V18, 5.5.1.2.2; TS 23.502 V18, 4.9.1.3.
func TestIndirectForwarding(t *testing.T) {
	b := newBed(t)
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	created := b.smf.chainSession(t, "10.64.0.9", 0, []*ie.IE{
		pdr(1, ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0)), true, 1, 0),
		far(1, ie.DstInterfaceAccess, 0x7001, b.Config.N3GNB.Addr().String()),
	})
	enb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
	packet := udpPacket(b.Config.N6DN.Addr(), netip.MustParseAddr("10.64.0.9"), "downlink, on its second way")
	message := append([]byte{0x30, 0xff, 0, byte(len(packet)), 0, 0, 0, 0}, packet...)
	copy(message[4:], []byte{byte(created[0].teid >> 24), byte(created[0].teid >> 16), byte(created[0].teid >> 8), byte(created[0].teid)})
	if _, err := enb.WriteTo(message, net.UDPAddrFromAddrPort(netip.AddrPortFrom(created[0].n3, 2152))); err != nil {
		t.Fatal(err)
	}
	copy(message[4:], []byte{0, 0, 0x70, 0x01})
	if diff := cmp.Diff(message, receive(t, enb)); diff != "" {
		t.Errorf("at the target eNB (-want +got):\n%s", diff)
	}
}
