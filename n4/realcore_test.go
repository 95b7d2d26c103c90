package n4

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"plumbline/api"
	"plumbline/bus"
	"plumbline/pfcp"
	"plumbline/pfcp/pfcptest"
	"plumbline/rules"
	"plumbline/session"
)

// realCore replays what the SMF of a real core sent. The SEID that the UPF chose, and
// the F-TEID of the establishment, are put in.
type realCore struct {
	*client
	bed  *bed
	seid uint64
}

// newRealCore returns an SMF in association, 10.4.0.2 by its Node ID, with a UPF that
// has N3 at 10.3.0.1.
func newRealCore(t *testing.T) *realCore {
	t.Helper()
	d := &fakeDriver{sessions: make(map[uint64]*api.Session)}
	m, err := session.NewManager(session.Config{
		MaxSessions: 64, Can: ableDatapath, Endpoints: []session.Endpoint{{IPv4: session.IPv4{10, 3, 0, 1}}},
	}, rules.Compiler{Bus: bus.InProcess{Driver: d}})
	if err != nil {
		t.Fatal(err)
	}
	b := newBedAt(t, Config{}, time.Minute, func(*Endpoint) {}, m, d)
	c := &realCore{client: b.client(t, "127.0.0.1"), bed: b}
	if cause := c.associate("10.4.0.2", recoveryTime); cause != pfcp.CauseRequestAccepted {
		t.Fatal(cause)
	}
	return c
}

// play sends a captured request to the session and decodes its response into r.
func (c *realCore) play(name string, r pfcp.Message) {
	c.t.Helper()
	c.seq++
	datagram := pfcptest.Get(c.t, name).Octets
	if h := binary.BigEndian.Uint64(datagram[4:]); h != 0 { // else there is no session yet
		binary.BigEndian.PutUint64(datagram[4:], c.seid)
	}
	datagram[12], datagram[13], datagram[14] = byte(c.seq>>16), byte(c.seq>>8), byte(c.seq)
	c.decode(c.ask(datagram), r)
}

// establish plays an establishment and returns the response.
func (c *realCore) establish(name string) pfcp.SessionEstablishmentResponse {
	c.t.Helper()
	var r pfcp.SessionEstablishmentResponse
	c.play(name, &r)
	if r.Cause != pfcp.CauseRequestAccepted {
		c.t.Fatalf("%s: %v, rule %+v", name, r.Cause, r.FailedRuleID)
	}
	c.seid = r.UPFSEID.Value.SEID
	return r
}

// modify plays a modification and returns the response.
func (c *realCore) modify(name string) pfcp.SessionModificationResponse {
	c.t.Helper()
	var r pfcp.SessionModificationResponse
	c.play(name, &r)
	if r.Cause != pfcp.CauseRequestAccepted {
		c.t.Fatalf("%s: %v, rule %+v", name, r.Cause, r.FailedRuleID)
	}
	return r
}

// rule returns what the datapath holds of a PDR.
func (c *realCore) rule(pdr uint32) *api.Rule {
	c.t.Helper()
	for _, r := range c.bed.driver.held()[c.seid].GetRules() {
		if r.GetPdrId() == pdr {
			return r
		}
	}
	c.t.Fatalf("the datapath has no PDR %d", pdr)
	return nil
}

// does fails unless the FAR of the PDR does that, towards that TEID of the gNB 10.3.0.2.
func (c *realCore) does(pdr uint32, action api.Action, incomplete bool, teid uint32) {
	c.t.Helper()
	f := c.rule(pdr).GetForward()
	o := f.GetOuterHeaderCreation()
	if f.GetAction() != action || f.GetIncomplete() != incomplete || o.GetTeid() != teid || teid != 0 && o.GetIpv4() != 0x0a030002 {
		c.t.Errorf("PDR %d: %v, incomplete %v, TEID %#x at %#x; want %v, %v, %#x at 0x0a030002",
			pdr, f.GetAction(), f.GetIncomplete(), o.GetTeid(), o.GetIpv4(), action, incomplete, teid)
	}
}

// TestOpen5GS: a session of Open5GS's SMF that gets a QoS flow, and whose UE goes idle.
func TestOpen5GS(t *testing.T) {
	c := newRealCore(t)
	created := c.establish("open5gs-2.7.7-establishment").CreatedPDRs
	c.does(1, api.Action_BUFF, false, 0)
	c.modify("open5gs-2.7.7-tunnel")
	c.does(1, api.Action_FORW, false, 2)

	flow := c.modify("open5gs-2.7.7-qos-flow")
	ue := c.rule(1).GetDetect().GetUeAddress().GetIpv4()
	if d := c.rule(5).GetDetect(); ue == 0 || d.GetUeAddress().GetIpv4() != ue || d.GetFTeid() != nil || len(d.GetFilters()) != 1 {
		t.Errorf("PDR 5 detects %v, want UE IP Address %#x and one SDF filter", d, ue)
	}
	if len(flow.CreatedPDRs) != 1 || flow.CreatedPDRs[0].PDRID != 6 || len(created) == 0 ||
		flow.CreatedPDRs[0].LocalFTEIDs[0] != created[0].LocalFTEIDs[0] {
		t.Errorf("created %+v, want PDR 6 with the F-TEID of the default flow: %+v", flow.CreatedPDRs, created)
	}
	if a, b := c.rule(2).GetDetect().GetFTeid().GetTeid(), c.rule(6).GetDetect().GetFTeid().GetTeid(); a != b {
		t.Errorf("TEIDs of PDR 2 and 6: %#x and %#x, want one", a, b)
	}
	c.does(5, api.Action_BUFF, false, 0)

	c.modify("open5gs-2.7.7-idle")
	c.does(1, api.Action_BUFF, false, 0)
	c.does(5, api.Action_BUFF, false, 0)

	var r pfcp.SessionDeletionResponse
	c.play("open5gs-2.7.7-deletion", &r)
	if r.Cause != pfcp.CauseRequestAccepted || len(r.UsageReports) != 2 || len(c.bed.driver.held()) != 0 {
		t.Errorf("deletion: %v, %d Usage Reports, %d sessions left; want accepted, 2, 0", r.Cause, len(r.UsageReports), len(c.bed.driver.held()))
	}
}

// TestOpen5GSRestores: the session of a UE with a QoS flow comes back with its F-TEIDs.
func TestOpen5GSRestores(t *testing.T) {
	c := newRealCore(t)
	c.establish("open5gs-2.7.7-restore")
	if f := c.rule(2).GetDetect().GetFTeid(); f.GetTeid() != 0x7f790003 || f.GetIpv4() != 0x0a030001 {
		t.Errorf("F-TEID of PDR 2: %#x at %#x, want 0x7f790003 at 0x0a030001", f.GetTeid(), f.GetIpv4())
	}
	if a, b := c.rule(1).GetDetect().GetUeAddress().GetIpv4(), c.rule(5).GetDetect().GetUeAddress().GetIpv4(); a == 0 || a != b {
		t.Errorf("UE IP Addresses of PDR 1 and 5: %#x and %#x, want one", a, b)
	}
}

// TestFree5GC: free5GC's SMF establishes a session before it knows the gNB, with a FAR
// that forwards to nowhere.
func TestFree5GC(t *testing.T) {
	c := newRealCore(t)
	c.establish("free5gc-9a18772-establishment")
	c.does(1, api.Action_FORW, false, 0)
	c.does(2, api.Action_DROP, true, 0)
	c.modify("free5gc-9a18772-tunnel")
	c.does(2, api.Action_FORW, false, 1)
	c.modify("free5gc-9a18772-idle")
	c.does(2, api.Action_BUFF, false, 0)
	if !c.rule(2).GetForward().GetNotify() {
		t.Error("an idle UE is not paged")
	}
}

// TestPDRWithoutFAR: a PDR that names no FAR is held until an update names one.
func TestPDRWithoutFAR(t *testing.T) {
	c := newRealCore(t)
	r := c.establish("pdr-no-far")
	c.does(1, api.Action_DROP, true, 0)
	c.seid = r.UPFSEID.Value.SEID
	var m pfcp.SessionModificationResponse
	c.do(c.seid, &pfcp.SessionModificationRequest{
		CreateFARs: []pfcp.CreateFAR{{FARID: 9, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
			DestinationInterface: pfcp.InterfaceAccess, OuterHeaderCreation: pfcp.Some(pfcp.OuterHeaderCreation{
				Description: pfcp.CreateGTPUUDPIPv4, TEID: 7, IPv4: netip.MustParseAddr("10.3.0.2")}),
		})}},
		UpdatePDRs: []pfcp.UpdatePDR{{PDRID: 1, FARID: pfcp.Some(uint32(9)),
			OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIP})}},
	}, &m)
	if m.Cause != pfcp.CauseRequestAccepted {
		t.Fatalf("modification: %v, rule %+v", m.Cause, m.FailedRuleID)
	}
	c.does(1, api.Action_FORW, false, 7)
}
