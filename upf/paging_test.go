package upf

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// TestPaging takes a UE through idle and connected again and again, as an SMF
// does: packets come, the SMF is told and pages, the gNB gets what waited, in
// order, and then the UE is idle again. In the last round it asks for the delivery
// status alone (BDPN).
func TestPaging(t *testing.T) {
	b := newBed(t)
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	const ue, rounds, packets = "10.64.0.1", 40, 5
	s := b.smf.chainSession(t, ue, 9, []*ie.IE{
		pdr(1, accessTunnel(ue), true, 1, 9), far(1, ie.DstInterfaceCore, 0, ""),
		pdr(2, coreAddress(ue), false, 2, 9),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c)), // BUFF, NOCP
	})[0]
	server := listen(t, b.DN, netip.AddrPortFrom(b.Config.N6DN.Addr(), 9000))
	gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 2152))
	modify := func(far *ie.IE) time.Duration {
		start := time.Now()
		r := ask[*message.SessionModificationResponse](t, b.smf,
			message.NewSessionModificationRequest(0, 0, uint64(s.seid), b.smf.next(), 0, far))
		accepted(t, r.Cause)
		return time.Since(start)
	}
	var delays, releases []time.Duration
	for round := range rounds {
		start := time.Now()
		for i := range packets {
			if _, err := fmt.Fprintf(toUE{server, ue}, "%d.%d", round, i); err != nil {
				t.Fatal(err)
			}
		}
		report := b.smf.report(t)
		delays = append(delays, time.Since(start))
		if id, err := report.DownlinkDataReport.PDRID(); err != nil || id != 2 {
			t.Fatalf("round %d: Downlink Data Report of PDR %d, %v; want 2", round, id, err)
		}
		time.Sleep(2 * time.Millisecond) // the last packet, too
		modify(ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, gnbTEID, b.Config.N3GNB.Addr().String(), "", 0, 0, 0))))
		for i := range packets {
			_, _, inner := parseGPDU(t, receive(t, gnb))
			if got, want := string(inner[28:]), fmt.Sprintf("%d.%d", round, i); got != want {
				t.Fatalf("the gNB got %q, want %q", got, want)
			}
		}
		releases = append(releases, modify(ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c))))
	}
	modify(ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x04, 0x02))) // BUFF, BDPN
	if _, err := fmt.Fprint(toUE{server, ue}, "status"); err != nil {
		t.Fatal(err)
	}
	report := b.smf.report(t).DownlinkDataReport
	if status, err := report.DataStatus(); err != nil || status != 2 { // BUFF
		t.Errorf("Data Status %#x, %v; want 2", status, err)
	}
	page := b.scrape(t)
	for name, want := range map[string]float64{"upf_buffer_sessions": 1, "upf_buffer_packets": 1} {
		if got, ok := page[name][""]; !ok || got != want {
			t.Errorf("%s: got %v (%t), want %v", name, got, ok, want)
		}
	}
	if got := page["upf_buffer_bytes"][""]; got < 28+6 {
		t.Errorf("upf_buffer_bytes: got %v, want that of a packet of %d octets at least", got, 28+6)
	}
	slices.Sort(delays)
	slices.Sort(releases)
	t.Logf("packet in to report out: median %v, longest %v; modification: median %v", delays[rounds/2], delays[rounds-1], releases[rounds/2])
}

// toUE writes to a UE.
type toUE struct {
	conn *net.UDPConn
	ue   string
}

func (s toUE) Write(b []byte) (int, error) {
	return s.conn.WriteTo(b, &net.UDPAddr{IP: net.ParseIP(s.ue), Port: 9000})
}
