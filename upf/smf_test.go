package upf

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// smf is a CP function made of go-pfcp.
type smf struct {
	conn *net.UDPConn
	upf  *net.UDPAddr
	addr netip.Addr
	seq  uint32
}

// established is what the UPF answered to a session establishment.
type established struct {
	seid SEID
	teid TEID
	n3   netip.Addr
}

func newSMF(t *testing.T, top *topology.Topology) *smf {
	t.Helper()
	addr := top.Config.N4SMF
	return &smf{
		conn: listen(t, top.UPF, netip.AddrPortFrom(addr, 8805)), addr: addr,
		upf: net.UDPAddrFromAddrPort(netip.AddrPortFrom(top.Config.N4UPF, 8805)),
	}
}

// ask sends a request and returns the response to it.
func ask[R message.Message](t *testing.T, s *smf, request message.Message) R {
	t.Helper()
	b := make([]byte, request.MarshalLen())
	if err := request.MarshalTo(b); err != nil {
		t.Fatal(err)
	}
	if _, err := s.conn.WriteTo(b, s.upf); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := message.Parse(receive(t, s.conn))
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.(R); ok && m.Sequence() == request.Sequence() {
			return r
		}
	}
}

func (s *smf) next() uint32 {
	s.seq++
	return s.seq
}

// accepted fails the test unless cause is Request accepted.
func accepted(t *testing.T, cause *ie.IE) {
	t.Helper()
	if got, err := cause.Cause(); err != nil || got != ie.CauseRequestAccepted {
		t.Fatalf("cause: got %d, %v, want %d", got, err, ie.CauseRequestAccepted)
	}
}

func (s *smf) associate(t *testing.T) {
	t.Helper()
	r := ask[*message.AssociationSetupResponse](t, s, message.NewAssociationSetupRequest(s.next(),
		ie.NewNodeID(s.addr.String(), "", ""), ie.NewRecoveryTimeStamp(time.Unix(1_700_000_000, 0))))
	accepted(t, r.Cause)
}

// establish makes a session with one PDR and FAR each way, QFI 9 and an F-TEID
// that the UPF chooses.
func (s *smf) establish(t *testing.T) established {
	t.Helper()
	gnb := "10.3.0.2"
	r := ask[*message.SessionEstablishmentResponse](t, s, message.NewSessionEstablishmentRequest(0, 0, 0, s.next(), 0,
		ie.NewNodeID(s.addr.String(), "", ""),
		ie.NewFSEID(0xc0ffee, s.addr.AsSlice(), nil),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0),
				ie.NewUEIPAddress(2, ueAddress1.String(), "", 0, 0), ie.NewQFI(9)),
			ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1), ie.NewQERID(1)),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(6, ueAddress1.String(), "", 0, 0)),
			ie.NewFARID(2), ie.NewQERID(1)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(2),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
				ie.NewOuterHeaderCreation(0x0100, gnbTEID, gnb, "", 0, 0, 0))),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(ie.GateStatusOpen, ie.GateStatusOpen), ie.NewQFI(9)),
	))
	accepted(t, r.Cause)
	seid, err := r.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	fteid, err := r.CreatedPDR[0].FTEID()
	if err != nil {
		t.Fatal(err)
	}
	n3, _ := netip.AddrFromSlice(fteid.IPv4Address.To4())
	return established{SEID(seid.SEID), TEID(fteid.TEID), n3}
}

func (s *smf) delete(t *testing.T, e established) {
	t.Helper()
	r := ask[*message.SessionDeletionResponse](t, s, message.NewSessionDeletionRequest(0, 0, uint64(e.seid), s.next(), 0))
	accepted(t, r.Cause)
}

// udpPacket is an IPv4 packet from src to dst, UDP ports 9000, without UDP
// checksum.
func udpPacket(src, dst netip.Addr, payload string) []byte {
	b := make([]byte, 28, 28+len(payload))
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(28+len(payload)))
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
	binary.BigEndian.PutUint16(b[20:], 9000)
	binary.BigEndian.PutUint16(b[22:], 9000)
	binary.BigEndian.PutUint16(b[24:], uint16(8+len(payload)))
	return append(b, payload...)
}

// gpdu is a G-PDU with an uplink PDU Session Container.
// Source: TS 29.281 V18.1.0, 5.1 and 5.2.2.7; TS 38.415 V18.0.0, 5.5.2.2.
func gpdu(teid uint32, qfi uint8, packet []byte) []byte {
	b := []byte{0x34, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, qfi, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(8+len(packet)))
	binary.BigEndian.PutUint32(b[4:], teid)
	return append(b, packet...)
}

// errorIndication is one about a TEID at n3, from port 2152.
// Source: TS 29.281 V18.1.0, 7.3.1, 5.2.2.1 (UDP Port), 8.3 and 8.4.
func errorIndication(teid uint32, n3 netip.Addr, sequence []byte) []byte {
	b := []byte{0x36, 26, 0, 20, 0, 0, 0, 0, sequence[0], sequence[1], 0, 0x40, 1, 2152 >> 8, 2152 & 0xff, 0, 0x10}
	b = binary.BigEndian.AppendUint32(b, teid)
	b = append(b, 0x85, 0, 4)
	return append(b, n3.AsSlice()...)
}

// parseGPDU takes a G-PDU apart whose only extension header is a PDU Session
// Container.
func parseGPDU(t *testing.T, b []byte) (teid uint32, qfi uint8, packet []byte) {
	t.Helper()
	if len(b) < 16 || b[0] != 0x34 || b[1] != 0xff || b[11] != 0x85 || b[12] != 1 || b[15] != 0 {
		t.Fatalf("got %x, want a G-PDU with a PDU Session Container of 4 octets", b)
	}
	return binary.BigEndian.Uint32(b[4:]), b[14] & 0x3f, b[16:]
}
