package upf

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// TestReports takes a session over XDP through what needs more than the fast
// path and a report: a PDR with an SDF filter beside one without, on one F-TEID;
// a URR whose threshold one packet reaches; a downlink packet that waits for the
// UE to be paged.
func TestReports(t *testing.T) {
	b := newBed(t)
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	const ue, threshold = "10.64.0.1", 100
	filter := ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x0d, 0, nil, nil, 7),
		ie.NewUEIPAddress(2, ue, "", 0, 0), ie.NewSDFFilter("permit out udp from 10.6.0.2 9001 to assigned", "", "", "", 0))
	rest := ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x0d, 0, nil, nil, 7), ie.NewUEIPAddress(2, ue, "", 0, 0))
	s := b.smf.chainSession(t, ue, 9, []*ie.IE{
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(10), filter, ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(3)),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(20), rest, ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1), ie.NewURRID(1)),
		pdr(3, coreAddress(ue), false, 2, 9),
		far(1, ie.DstInterfaceCore, 0, ""),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c)), // BUFF, NOCP
		ie.NewCreateFAR(ie.NewFARID(3), ie.NewApplyAction(0x01)), // DROP
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0, 0), // VOLTH
			ie.NewVolumeThreshold(1, threshold, 0, 0)),
	})[0]
	server := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9000))
	filtered := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9001))
	gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
	n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.n3, 2152))
	send := func(port uint16, payload string) {
		packet := udpPacket(netip.MustParseAddr(ue), b.Config.N6DN.Addr(), payload)
		packet[22], packet[23] = byte(port>>8), byte(port) // there is no checksum over it
		if _, err := gnb.WriteTo(gpdu(uint32(s.teid), 9, packet), n3); err != nil {
			t.Fatal(err)
		}
	}

	// The filter's packet goes nowhere, the other one to the server and over the
	// threshold.
	send(9001, "dropped")
	send(9000, string(make([]byte, threshold-28)))
	if got := receive(t, server); len(got) != threshold-28 {
		t.Errorf("server got %d octets, want %d", len(got), threshold-28)
	}
	report := b.smf.report(t)
	if len(report.UsageReport) != 1 {
		t.Fatalf("report: got %v, want one Usage Report", report)
	}
	volume, err := report.UsageReport[0].VolumeMeasurement()
	if err != nil || volume.TotalVolume != threshold {
		t.Errorf("volume: got %+v, %v, want %d octets in all", volume, err, threshold)
	}

	// A downlink packet waits, is reported, and goes when the gNB is known.
	if _, err := server.WriteTo([]byte("downlink"), &net.UDPAddr{IP: net.ParseIP(ue), Port: 9000}); err != nil {
		t.Fatal(err)
	}
	report = b.smf.report(t)
	if id, err := report.DownlinkDataReport.PDRID(); err != nil || id != 3 {
		t.Errorf("downlink data: got PDR %d, %v, want 3", id, err)
	}
	r := ask[*message.SessionModificationResponse](t, b.smf, message.NewSessionModificationRequest(0, 0,
		uint64(s.seid), b.smf.next(), 0,
		ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, gnbTEID, b.Config.N3GNB.Addr().String(), "", 0, 0, 0)))))
	accepted(t, r.Cause)
	if teid, qfi, inner := parseGPDU(t, receive(t, gnb)); teid != gnbTEID || qfi != 9 || string(inner[28:]) != "downlink" {
		t.Errorf("buffered packet: got TEID %#x, QFI %d, %x", teid, qfi, inner)
	}
	_ = filtered.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // it was sent before the one that arrived
	if n, _, err := filtered.ReadFrom(make([]byte, 1)); err == nil {
		t.Errorf("the filter's packet arrived: %d octets", n)
	}
}

// report receives a Session Report Request, and answers it.
func (s *smf) report(t *testing.T) *message.SessionReportRequest {
	t.Helper()
	for {
		m, err := message.Parse(receive(t, s.conn))
		if err != nil {
			t.Fatal(err)
		}
		r, ok := m.(*message.SessionReportRequest)
		if !ok {
			continue
		}
		answer := message.NewSessionReportResponse(0, 0, r.SEID(), r.Sequence(), 0, ie.NewCause(ie.CauseRequestAccepted))
		b := make([]byte, answer.MarshalLen())
		if err := answer.MarshalTo(b); err != nil {
			t.Fatal(err)
		}
		if _, err := s.conn.WriteTo(b, s.upf); err != nil {
			t.Fatal(err)
		}
		return r
	}
}
