package n4

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// TestGoPFCP: a CP function made of go-pfcp associates, establishes a session
// with an F-TEID to be chosen, switches the path, deletes and releases.
func TestGoPFCP(t *testing.T) {
	b := newBed(t, Config{NodeID: "upf.example"})
	c := b.client(t, "127.0.0.1")
	ask := func(m message.Message) message.Message {
		t.Helper()
		octets := make([]byte, m.MarshalLen())
		if err := m.MarshalTo(octets); err != nil {
			t.Fatal(err)
		}
		r, err := message.Parse(c.ask(octets))
		if err != nil {
			t.Fatal(err)
		}
		if r.Sequence() != m.Sequence() {
			t.Errorf("%s: sequence number %d, want %d", m.MessageTypeName(), r.Sequence(), m.Sequence())
		}
		return r
	}
	accepted := func(what string, cause *ie.IE) {
		t.Helper()
		if v, err := cause.Cause(); err != nil || v != ie.CauseRequestAccepted {
			t.Fatalf("%s: cause %d, %v", what, v, err)
		}
	}

	setup := ask(message.NewAssociationSetupRequest(1,
		ie.NewNodeID("", "", "smf.example"), ie.NewRecoveryTimeStamp(time.Now()), ie.NewCPFunctionFeatures(0),
	)).(*message.AssociationSetupResponse)
	accepted("setup", setup.Cause)
	if node, err := setup.NodeID.NodeID(); err != nil || node != "upf.example" {
		t.Errorf("Node ID %q, %v", node, err)
	}
	if !setup.UPFunctionFeatures.HasFTUP() || setup.UPFunctionFeatures.HasEMPU() {
		t.Error("UP Function Features: want FTUP and not EMPU")
	}

	est := ask(message.NewSessionEstablishmentRequest(0, 0, 0, 2, 0,
		ie.NewNodeID("", "", "smf.example"),
		ie.NewFSEID(0xabcdef, net.IPv4(127, 0, 0, 1), nil),
		ie.NewCreatePDR(
			ie.NewPDRID(1), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess),
				ie.NewFTEID(0x05, 0, nil, nil, 0), ie.NewNetworkInstance("internet"), ie.NewQFI(5)),
			ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1), ie.NewQERID(1)),
		ie.NewCreatePDR(
			ie.NewPDRID(2), ie.NewPrecedence(100),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(2|4, "10.60.0.1", "", 0, 0)),
			ie.NewFARID(2), ie.NewQERID(1)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(2),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(1)), // dropped until the tunnel is known
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(1000, 2000), ie.NewQFI(5)),
	)).(*message.SessionEstablishmentResponse)
	accepted("establishment", est.Cause)
	if est.SEID() != 0xabcdef || len(est.CreatedPDR) != 1 {
		t.Fatalf("SEID %#x, %d Created PDRs", est.SEID(), len(est.CreatedPDR))
	}
	f, err := est.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	created, err := est.CreatedPDR[0].CreatedPDR()
	if err != nil {
		t.Fatal(err)
	}
	var teid uint32
	for _, i := range created {
		if v, err := i.FTEID(); err == nil {
			teid = v.TEID
			if !v.IPv4Address.Equal(n3Addr[:]) {
				t.Errorf("F-TEID at %v, want %v", v.IPv4Address, n3Addr)
			}
		}
	}
	rules := b.driver.held()[f.SEID].GetRules()
	if len(rules) != 2 || teid == 0 || rules[0].Detect.FTeid.Teid != teid || rules[1].Forward.Action != 0 {
		t.Errorf("TEID %#x, datapath holds %v", teid, rules)
	}

	mod := ask(message.NewSessionModificationRequest(0, 0, f.SEID, 3, 0,
		ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2),
			ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
				ie.NewOuterHeaderCreation(0x100, 0x99, "10.3.0.9", "", 0, 0, 0))),
	)).(*message.SessionModificationResponse)
	accepted("path switch", mod.Cause)
	if o := b.driver.held()[f.SEID].GetRules()[1].Forward.OuterHeaderCreation; o.GetTeid() != 0x99 || o.GetIpv4() != 0x0a030009 {
		t.Errorf("Outer Header Creation %v", o)
	}

	accepted("deletion", ask(message.NewSessionDeletionRequest(0, 0, f.SEID, 4, 0)).(*message.SessionDeletionResponse).Cause)
	accepted("release", ask(message.NewAssociationReleaseRequest(5,
		ie.NewNodeID("", "", "smf.example"))).(*message.AssociationReleaseResponse).Cause)
	if len(b.driver.held()) != 0 || b.sessions.Len() != 0 {
		t.Error("a session is left")
	}
}
