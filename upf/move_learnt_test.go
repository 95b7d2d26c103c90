package upf

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// TestMoveBuffered moves a UPF between all pairs of datapaths while packets wait for a UE
// and a connection stands through the NAT. The SMF is told once, the gNB gets what came
// before the move and behind it, in order, once, when the FAR forwards; and the server
// sees the UE where it was before.
func TestMoveBuffered(t *testing.T) {
	names := []string{DatapathXDP, DatapathTC, DatapathAFXDP, DatapathTUN, DatapathTAP, DatapathP4}
	const ue, before, after = "10.64.0.1", 3, 2
	b := newNamedBed(t, "plt-upf-learnt")
	b.config.Datapath = names[0]
	// The test's SMF answers no heartbeat, and thirty moves may take longer than one interval.
	b.config.N4.HeartbeatInterval = Duration(time.Hour)
	outside := netip.MustParseAddr("10.64.200.1")
	b.config.N6.NAT.Addresses = []netip.Prefix{netip.PrefixFrom(outside, 32)}
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	s := b.smf.chainSession(t, ue, 9, []*ie.IE{
		pdr(1, accessTunnel(ue), true, 1, 9), far(1, ie.DstInterfaceCore, 0, ""),
		pdr(2, coreAddress(ue), false, 2, 9),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c)), // BUFF, NOCP
	})[0]
	server := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9000))
	gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
	mapped := b.fromUE(t, s, gnb, server)
	if mapped.Addr() != outside {
		t.Fatalf("the server sees the UE at %v, want an address of the NAT, %v", mapped, outside)
	}
	modify := func(far *ie.IE) {
		t.Helper()
		r := ask[*message.SessionModificationResponse](t, b.smf,
			message.NewSessionModificationRequest(0, 0, uint64(s.seid), b.smf.next(), 0, far))
		accepted(t, r.Cause)
	}
	n, at := 0, names[0]
	move := func(to string) {
		what, first := at+" to "+to, n
		send := func(packets int) {
			for range packets {
				if _, err := server.WriteTo(fmt.Appendf(nil, "%s %d", what, n), net.UDPAddrFromAddrPort(mapped)); err != nil {
					t.Fatal(err)
				}
				n++
			}
			b.buffers(t, what, n-first)
		}
		send(before)
		b.smf.report(t)
		m, err := b.api.Move(t.Context(), to)
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, b.log)
		}
		if m.Buffered != before || m.BufferedDropped != 0 || m.NATMappings != 1 || m.NATMappingsLost != 0 {
			t.Errorf("%s: %+v, want that %d packets and 1 mapping went over", what, m, before)
		}
		send(after)
		modify(ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, gnbTEID, b.Config.N3GNB.Addr().String(), "", 0, 0, 0))))
		for i := first; i < n; i++ {
			_, _, inner := parseGPDU(t, receive(t, gnb))
			if got, want := string(inner[28:]), fmt.Sprintf("%s %d", what, i); got != want {
				t.Fatalf("the gNB got %q, want %q", got, want)
			}
		}
		if now := b.fromUE(t, s, gnb, server); now != mapped {
			t.Errorf("%s: the server sees the UE at %v, before at %v", what, now, mapped)
		}
		if _, err := server.WriteTo([]byte(what), net.UDPAddrFromAddrPort(mapped)); err != nil {
			t.Fatal(err)
		}
		if _, _, inner := parseGPDU(t, receive(t, gnb)); string(inner[28:]) != what {
			t.Errorf("the gNB got %q from outside, want %q", inner[28:], what)
		}
		b.smf.silent(t, what)
		modify(ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c)))
		at = to
	}
	for i := range names {
		if at != names[i] {
			move(names[i])
		}
		for j := i + 1; j < len(names); j++ {
			move(names[j])
			move(names[i])
		}
	}
	_ = gnb.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := gnb.Read(make([]byte, 1)); err == nil {
		t.Errorf("the gNB got one packet more, of %d octets", n)
	}
}

// fromUE sends a packet of the UE to the server, and returns where it sees the UE.
func (b *bed) fromUE(t *testing.T, s established, gnb, server *net.UDPConn) netip.AddrPort {
	t.Helper()
	packet := gpdu(uint32(s.teid), 9, udpPacket(ueAddress1, b.Config.N6DN.Addr(), "uplink"))
	if _, err := gnb.WriteTo(packet, net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.n3, 2152))); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, from, err := server.ReadFromUDPAddrPort(make([]byte, 64))
	if err != nil {
		t.Fatalf("uplink: %v", err)
	}
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

// buffers waits until so many packets are buffered.
func (b *bed) buffers(t *testing.T, what string, want int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := b.scrape(t)["upf_buffer_packets"][""]
		if got == float64(want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v packets are buffered, want %d\n%s", what, got, want, b.log)
		}
	}
}

// silent fails if a Session Report Request has come.
func (s *smf) silent(t *testing.T, what string) {
	t.Helper()
	_ = s.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	for b := make([]byte, 2048); ; {
		n, err := s.conn.Read(b)
		if err != nil {
			return
		}
		if m, err := message.Parse(b[:n]); err == nil && m.MessageType() == message.MsgTypeSessionReportRequest {
			t.Errorf("%s: the SMF was told once more", what)
		}
	}
}
