package n4

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// goPFCP is a CP function made of go-pfcp.
type goPFCP struct {
	*client
	t   *testing.T
	seq uint32
}

// ask sends a request and returns the response, of which it checks the number.
func (g *goPFCP) ask(m message.Message) message.Message {
	g.t.Helper()
	octets := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(octets); err != nil {
		g.t.Fatal(err)
	}
	r, err := message.Parse(g.client.ask(octets))
	if err != nil {
		g.t.Fatal(err)
	}
	if r.Sequence() != m.Sequence() {
		g.t.Errorf("%s: sequence number %d, want %d", m.MessageTypeName(), r.Sequence(), m.Sequence())
	}
	return r
}

func (g *goPFCP) next() uint32 { g.seq++; return g.seq }

// want fails unless a Cause is that.
func (g *goPFCP) want(what string, cause *ie.IE, want uint8) {
	g.t.Helper()
	if v, err := cause.Cause(); err != nil || v != want {
		g.t.Errorf("%s: cause %d, %v; want %d", what, v, err, want)
	}
}

// establish establishes a session of a UE in a session set.
func (g *goPFCP) establish(node *ie.IE, ue string, cp net.IP, csid uint16) uint64 {
	g.t.Helper()
	r := g.ask(message.NewSessionEstablishmentRequest(0, 0, 0, g.next(), 0, node,
		ie.NewFSEID(uint64(csid), cp, nil), ie.NewFQCSID("10.4.0.2", csid),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(100), ie.NewFARID(1),
			ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(2|4, ue, "", 0, 0))),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(1)),
	)).(*message.SessionEstablishmentResponse)
	g.want("establishment", r.Cause, ie.CauseRequestAccepted)
	f, err := r.UPFSEID.FSEID()
	if err != nil {
		g.t.Fatal(err)
	}
	return f.SEID
}

// TestGoPFCPNode: the node procedures, each asked for by go-pfcp.
func TestGoPFCPNode(t *testing.T) {
	b := newBed(t, Config{})
	g := &goPFCP{client: b.client(t, "127.0.0.2"), t: t}
	node := ie.NewNodeID("", "", "smf.example")
	setup := func(more ...*ie.IE) *message.AssociationSetupResponse {
		t.Helper()
		ies := append([]*ie.IE{node, ie.NewRecoveryTimeStamp(time.Now()), ie.NewCPFunctionFeatures(0x08),
			ie.NewSMFSetID("set.example"), ie.NewAlternativeSMFIPAddress(net.IPv4(127, 0, 0, 3), nil)}, more...)
		r := g.ask(message.NewAssociationSetupRequest(g.next(), ies...)).(*message.AssociationSetupResponse)
		g.want("setup", r.Cause, ie.CauseRequestAccepted)
		return r
	}
	if f := setup().UPFunctionFeatures; !f.HasFTUP() || !f.HasSSET() || !f.HasMPAS() || !f.HasBUNDL() || f.HasPFDM() || f.HasEMPU() || f.HasUEIP() {
		t.Errorf("UP Function Features %x", f.Payload)
	}
	hb := g.ask(message.NewHeartbeatRequest(g.next(), ie.NewRecoveryTimeStamp(time.Now()), nil)).(*message.HeartbeatResponse)
	if at, err := hb.RecoveryTimeStamp.RecoveryTimeStamp(); err != nil || !at.Equal(recoveryTime) {
		t.Errorf("Recovery Time Stamp %v, %v; want %v", at, err, recoveryTime)
	}
	update := g.ask(message.NewAssociationUpdateRequest(g.next(), node, ie.NewCPFunctionFeatures(0x03), ie.NewPFCPAUReqFlags(1)))
	g.want("update", update.(*message.AssociationUpdateResponse).Cause, ie.CauseRequestAccepted)

	pfds := func(more ...*ie.IE) {
		t.Helper()
		r := g.ask(message.NewPFDManagementRequest(g.next(), more...)).(*message.PFDManagementResponse)
		g.want("PFD management", r.Cause, ie.CauseRequestAccepted)
	}
	pfds(ie.NewApplicationIDsPFDs(ie.NewApplicationID("app"), ie.NewPFDContext(ie.NewPFDContents(
		"permit out tcp from 192.0.2.1 443 to assigned", "", "", "", "",
		[]string{"permit out udp from 192.0.2.0/24 to assigned"}, nil, nil))))
	b.pfds.mu.Lock()
	if n := len(b.pfds.apps["app"].flows); n != 2 {
		t.Errorf("%d flows of the application, want 2", n)
	}
	b.pfds.mu.Unlock()
	pfds()
	if n := b.sessions.Applications(); n != 0 {
		t.Errorf("%d applications, want none", n)
	}

	here, there := net.IPv4(127, 0, 0, 2), net.IPv4(127, 0, 0, 9)
	g.establish(node, "10.45.0.1", here, 1)
	g.establish(node, "10.45.0.2", there, 2)
	deleted := g.ask(message.NewSessionSetDeletionRequest(g.next(), node, ie.NewFQCSID("10.4.0.2", 1), nil, nil, nil, nil, nil, nil))
	g.want("session set deletion", deleted.(*message.SessionSetDeletionResponse).Cause, ie.CauseRequestAccepted)
	g.establish(node, "10.45.0.3", here, 3)
	kept := setup(ie.NewPFCPSessionRetentionInformation(ie.NewCPPFCPEntityIPAddress(there, nil)))
	if kept.PFCPASRspFlags == nil || !kept.PFCPASRspFlags.HasPSREI() {
		t.Error("setup with retention: no PSREI")
	}
	if got := b.addressesOfUEs(); len(got) != 1 || got[0] != "10.45.0.2" {
		t.Errorf("sessions of %v, want 10.45.0.2", got)
	}
	release := g.ask(message.NewAssociationReleaseRequest(g.next(), node)).(*message.AssociationReleaseResponse)
	g.want("release", release.Cause, ie.CauseRequestAccepted)
	if n := len(b.Associations()); n != 0 || b.sessions.Len() != 0 {
		t.Errorf("%d associations, %d sessions; want none", n, b.sessions.Len())
	}
}
