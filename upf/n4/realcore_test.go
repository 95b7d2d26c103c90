package n4

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
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
	return newCPOf(t, newCoreBed(t), "127.0.0.1", "10.4.0.2")
}

// newCoreBed returns a UPF that has N3 and S1-U at 10.3.0.1, and S5/S8-U at 10.9.0.1.
func newCoreBed(t *testing.T) *bed {
	t.Helper()
	d := &fakeDriver{can: ableDatapath, sessions: make(map[uint64]*api.Session)}
	m, err := session.NewManager(session.Config{
		MaxSessions: 64, Endpoints: []session.Endpoint{
			{IPv4: session.IPv4{10, 3, 0, 1}, Interfaces: []session.Interface{session.Access}},
			{IPv4: session.IPv4{10, 9, 0, 1}, Interfaces: []session.Interface{session.Core},
				InterfaceTypes: []session.InterfaceType{session.InterfaceType(pfcp.InterfaceTypeS5S8U)}},
		},
	}, rules.Compiler{Bus: bus.InProcess{Driver: d}})
	if err != nil {
		t.Fatal(err)
	}
	return newBedAt(t, Config{}, time.Minute, func(*Endpoint) {}, m, d)
}

// newCPOf returns a CP function of that Node ID in association.
func newCPOf(t *testing.T, b *bed, from, node string) *realCore {
	t.Helper()
	c := &realCore{client: b.client(t, from), bed: b}
	if cause := c.associate(node, recoveryTime); cause != pfcp.CauseRequestAccepted {
		t.Fatal(cause)
	}
	return c
}

// play sends a captured request to the session and decodes its response into r.
func (c *realCore) play(name string, r pfcp.Message) {
	c.t.Helper()
	c.seq++
	datagram := pfcptest.Get(c.t, name).Octets
	if c.seid != 0 { // else there is no session yet
		binary.BigEndian.PutUint64(datagram[4:], c.seid)
	}
	datagram[12], datagram[13], datagram[14] = byte(c.seq>>16), byte(c.seq>>8), byte(c.seq)
	c.decode(c.ask(datagram), r)
}

// playNode sends a captured request of a node and decodes its response into r.
func (c *realCore) playNode(name string, r pfcp.Message) {
	c.t.Helper()
	c.seq++
	datagram := pfcptest.Get(c.t, name).Octets
	datagram[4], datagram[5], datagram[6] = byte(c.seq>>16), byte(c.seq>>8), byte(c.seq)
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

// at is the F-TEID address of a PDR.
func (c *realCore) at(pdr uint32) uint32 { return c.rule(pdr).GetDetect().GetFTeid().GetIpv4() }

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

// TestHandover: the SMF moves the UE to another gNB over Xn, then over N2 with indirect data
// forwarding. Each time the old gNB gets an End Marker.
func TestHandover(t *testing.T) {
	const gnb1, gnb2, upf = 0x0a030002, 0x0a030003, 0x0a030001
	for _, tc := range []struct {
		core            string
		up, down, indir uint32 // PDRs; the last is that of the forwarding tunnel
		to, forwarded   uint32 // TEIDs of the new gNB
		removes         string // request after which there is no forwarding tunnel
	}{
		{"open5gs-2.7.7", 2, 1, 5, 5, 5, "-n2-indirect-removed"},
		{"free5gc-9a18772", 1, 2, 3, 4, 4, ""},
	} {
		t.Run(tc.core, func(t *testing.T) {
			c := newRealCore(t)
			goes := func(pdr, at, teid uint32) {
				t.Helper()
				if o := c.rule(pdr).GetForward().GetOuterHeaderCreation(); o.GetTeid() != teid || o.GetIpv4() != at {
					t.Errorf("PDR %d: TEID %#x at %#x, want %#x at %#x", pdr, o.GetTeid(), o.GetIpv4(), teid, at)
				}
			}
			ended := func(at, teid uint32) {
				t.Helper()
				if m := c.bed.driver.ended(); len(m) != 1 || m[0].GetTunnel().GetTeid() != teid || m[0].GetTunnel().GetIpv4() != at {
					t.Errorf("End Markers to %v, want one to TEID %#x at %#x", m, teid, at)
				}
			}
			c.establish(tc.core + "-establishment")
			c.modify(tc.core + "-tunnel")
			rules := len(c.bed.driver.held()[c.seid].GetRules())
			first := c.rule(tc.down).GetForward().GetOuterHeaderCreation().GetTeid()
			goes(tc.down, gnb1, first)
			c.modify(tc.core + "-path-switch")
			goes(tc.down, gnb2, 2)
			ended(gnb1, first)

			c.modify(tc.core + "-n2-indirect")
			if a, b := c.rule(tc.indir).GetDetect().GetFTeid().GetTeid(), c.rule(tc.up).GetDetect().GetFTeid().GetTeid(); c.at(tc.indir) != upf || a == b {
				t.Errorf("forwarding tunnel: TEID %#x at %#x, want one that is not %#x at %#x", a, c.at(tc.indir), b, upf)
			}
			goes(tc.indir, gnb2, tc.forwarded)
			c.modify(tc.core + "-n2-complete")
			goes(tc.down, gnb2, tc.to)
			ended(gnb2, 2)
			if tc.removes != "" {
				c.modify(tc.core + tc.removes)
			}
			if n := len(c.bed.driver.held()[c.seid].GetRules()); n != rules {
				t.Errorf("%d rules, want %d", n, rules)
			}
		})
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

// TestOAI: a session of OpenAirInterface's SMF, which removes all rules of an idle UE.
func TestOAI(t *testing.T) {
	b := newCoreBed(t)
	c := &realCore{client: b.client(t, "127.0.0.1"), bed: b}
	var a pfcp.AssociationSetupResponse
	if c.playNode("oai-2.1.0-association", &a); a.Cause != pfcp.CauseRequestAccepted {
		t.Fatal(a.Cause)
	}
	c.establish("oai-2.1.0-establishment")
	first := c.rule(1).GetDetect().GetFTeid().GetTeid()
	c.does(1, api.Action_FORW, false, 0)
	c.modify("oai-2.1.0-tunnel")
	c.does(2, api.Action_FORW, false, 1)

	c.modify("oai-2.1.0-idle")
	if n := len(b.driver.held()[c.seid].GetRules()); n != 0 {
		t.Errorf("an idle UE has %d rules, want none", n)
	}
	if r := c.modify("oai-2.1.0-resume").CreatedPDRs; len(r) != 1 || r[0].PDRID != 3 || r[0].LocalFTEIDs[0].TEID == first {
		t.Errorf("created %+v, want PDR 3 with a TEID that is not %#x", r, first)
	}
	c.modify("oai-2.1.0-resume-tunnel")
	c.does(4, api.Action_FORW, false, 1)
	c.modify("oai-2.1.0-path-switch")
	if o := c.rule(4).GetForward().GetOuterHeaderCreation(); o.GetTeid() != 2 || o.GetIpv4() != 0x0a030003 {
		t.Errorf("after the path switch: TEID %#x at %#x, want 2 at 0x0a030003", o.GetTeid(), o.GetIpv4())
	}
	var gone pfcp.SessionDeletionResponse
	if c.play("oai-2.1.0-deletion", &gone); gone.Cause != pfcp.CauseRequestAccepted || len(b.driver.held()) != 0 {
		t.Errorf("deletion: %v, %d sessions left", gone.Cause, len(b.driver.held()))
	}
}

// TestOAIUsage: with a URR, which the uplink rule alone has, the SMF names URR 0 in all
// other rules, and there is none.
func TestOAIUsage(t *testing.T) {
	c := newRealCore(t)
	urrs := func(pdr uint32, want ...uint32) {
		t.Helper()
		if got := c.rule(pdr).GetUrrIds(); !slices.Equal(got, want) {
			t.Errorf("PDR %d is measured by URRs %v, want %v", pdr, got, want)
		}
	}
	c.establish("oai-2.1.0-usage-establishment")
	urrs(1, 1)
	c.modify("oai-2.1.0-usage-tunnel")
	c.does(2, api.Action_FORW, false, 1)
	urrs(2)
	if r := c.modify("oai-2.1.0-usage-idle").UsageReports; len(r) != 1 || r[0].URRID != 1 {
		t.Errorf("idle: reports %+v, want one of URR 1", r)
	}
	c.modify("oai-2.1.0-usage-resume")
	urrs(3)
	c.modify("oai-2.1.0-usage-resume-tunnel")
	c.does(4, api.Action_FORW, false, 1)
	urrs(4)
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

// TestOpen5GSEPC: one UP function is SGW-U and PGW-U of a UE, for Open5GS's SGW-C and its SMF
// as PGW-C: default and dedicated bearer, idle.
func TestOpen5GSEPC(t *testing.T) {
	b := newCoreBed(t)
	sgw, pgw := newCPOf(t, b, "127.0.0.4", "10.4.0.4"), newCPOf(t, b, "127.0.0.2", "10.4.0.2")
	sgw.establish("open5gs-sgwc-establishment")
	if s1, s5 := sgw.at(2), sgw.at(1); s1 != 0x0a030001 || s5 != 0x0a090001 {
		t.Errorf("F-TEIDs of S1-U at %#x, of S5/S8-U at %#x; want 0x0a030001 and 0x0a090001", s1, s5)
	}
	sgw.does(2, api.Action_BUFF, false, 0)
	pgw.establish("open5gs-pgwc-establishment")
	sgw.modify("open5gs-sgwc-tunnel") // S5/S8-U, uplink
	sgw.modify("open5gs-sgwc-tunnel-enb")
	for pdr, peer := range map[uint32]uint32{1: 0x0a030002, 2: 0x0a030001} { // the eNB; the PGW-U, which is this one
		f := sgw.rule(pdr).GetForward()
		if got := f.GetOuterHeaderCreation().GetIpv4(); f.GetAction() != api.Action_FORW || got != peer || !sgw.rule(pdr).GetOuterHeaderRemoval() {
			t.Errorf("PDR %d of the SGW-U: %v to %#x; want FORW to %#x", pdr, f.GetAction(), got, peer)
		}
	}

	pgw.modify("open5gs-pgwc-bearer")
	if d, ue := pgw.rule(5).GetDetect(), pgw.rule(1).GetDetect().GetUeAddress().GetIpv4(); d.GetUeAddress().GetIpv4() != ue || ue == 0 || d.GetFTeid() != nil {
		t.Errorf("PDR 5 of the dedicated bearer detects %v, want UE IP Address %#x", d, ue)
	}
	if a, b := pgw.rule(2).GetDetect().GetFTeid().GetTeid(), pgw.rule(6).GetDetect().GetFTeid().GetTeid(); a == b || b == 0 {
		t.Errorf("TEIDs of the bearers: %#x and %#x, want one for each", a, b)
	}
	pgw.does(5, api.Action_BUFF, false, 0)
	pgw.modify("open5gs-pgwc-bearer-tunnel")
	if f := pgw.rule(5).GetForward(); f.GetAction() != api.Action_FORW || f.GetOuterHeaderCreation().GetIpv4() != 0x0a090001 {
		t.Errorf("PDR 5 with its tunnel: %v", f)
	}
	sgw.modify("open5gs-sgwc-bearer")
	if at := sgw.at(4); at != 0x0a030001 {
		t.Errorf("S1-U F-TEID of the dedicated bearer at %#x, want 0x0a030001", at)
	}
	sgw.modify("open5gs-sgwc-idle")
	sgw.does(1, api.Action_BUFF, false, 0)
}
