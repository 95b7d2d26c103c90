package n4

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// usedDatapath is a datapath whose URRs have all been used.
type usedDatapath struct{}

func (usedDatapath) Install(context.Context, *session.Change) error { return nil }
func (usedDatapath) Remove(context.Context, uint64) error           { return nil }
func (usedDatapath) Usage(_ context.Context, _ uint64, u *session.Usage) error {
	u.URRs = append(u.URRs[:0], session.URRCounts{URRID: 1, Counts: session.Counts{UplinkOctets: 1000, UplinkPackets: 1}})
	return nil
}

// manyDatapath is one whose URRs up to 18 have been used, but for URR 7.
type manyDatapath struct{ usedDatapath }

func (manyDatapath) Usage(_ context.Context, _ uint64, u *session.Usage) error {
	u.URRs = u.URRs[:0]
	for id := range uint32(18) {
		if id+1 != 7 {
			u.URRs = append(u.URRs, session.URRCounts{URRID: id + 1, Counts: session.Counts{UplinkOctets: 1000, UplinkPackets: 1}})
		}
	}
	return nil
}

// withURR is an establishment whose usage is measured.
func withURR(node, ue string) *pfcp.SessionEstablishmentRequest {
	m := usual(node, ue)
	m.CreateURRs = []pfcp.CreateURR{{URRID: 1, MeasurementMethod: pfcp.MeasureVOLUM}}
	for i := range m.CreatePDRs {
		m.CreatePDRs[i].URRIDs = []uint32{1}
	}
	return m
}

// TestEnhancedRelease: before the association is released the usage of its
// sessions is reported, each session once, with the session; then we say so.
func TestEnhancedRelease(t *testing.T) {
	for _, byUs := range []bool{false, true} {
		name := "by the CP function"
		if byUs {
			name = "by the UP function"
		}
		t.Run(name, func(t *testing.T) { testEnhancedRelease(t, byUs) })
	}
}

// newEnhanced returns an endpoint over a datapath, with an association of a CP function that
// has Enhanced PFCP Association Release.
func newEnhanced(t *testing.T, d session.Datapath) (*Endpoint, *cpFunction, *client) {
	t.Helper()
	p := port(t)
	cp := newCPFunction(t, "127.0.0.2", p)
	m, err := session.NewManager(session.Config{MaxSessions: 64, Endpoints: []session.Endpoint{{IPv4: n3Addr}}}, d)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Listen(Config{Listen: netip.MustParseAddrPort("127.0.0.1:0"), PeerPort: p, Log: quietLog, Sockets: 1,
		Capabilities: Capabilities{Capabilities: &api.Capabilities{Usage: true}}, GracefulRelease: 10 * time.Second}, m)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = e.Serve() })
	t.Cleanup(func() { e.Close(); serving.Wait() })
	c := (&bed{Endpoint: e}).client(t, "127.0.0.2")
	var setup pfcp.AssociationSetupResponse
	c.do(0, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: cp.addr}, RecoveryTimeStamp: cp.recovery,
		CPFunctionFeatures: pfcp.Some(pfcp.CPFeatureEPFAR)}, &setup)
	if setup.UPFunctionFeatures.Value&pfcp.UPFeatureEPFAR == 0 {
		t.Fatal("EPFAR is not advertised")
	}
	return e, cp, c
}

func testEnhancedRelease(t *testing.T, byUs bool) {
	e, cp, c := newEnhanced(t, usedDatapath{})
	m, node := e.sessions, pfcp.NodeID{Addr: cp.addr}
	for _, ue := range []string{"10.45.0.2", "10.45.0.3"} {
		c.establish(withURR("127.0.0.2", ue))
	}
	c.establish(usual("127.0.0.2", "10.45.0.4")) // nothing to report

	released := make(chan error, 1)
	skip := 0
	if byUs {
		go func() { released <- e.Release(t.Context()) }()
		if ask := await[*pfcp.AssociationUpdateRequest](t, cp, 0); ask.AUReqFlags != pfcp.AUReqPARPS {
			t.Errorf("first update %+v, want PARPS", ask)
		}
		skip = 1
	} else {
		var r pfcp.AssociationUpdateResponse
		if c.do(0, &pfcp.AssociationUpdateRequest{NodeID: node, AUReqFlags: pfcp.AUReqPARPS}, &r); r.Cause != pfcp.CauseRequestAccepted {
			t.Errorf("PARPS: %v", r.Cause)
		}
	}
	done := await[*pfcp.AssociationUpdateRequest](t, cp, skip)
	if sarr := done.AssociationRelease&pfcp.AssociationReleaseSARR != 0; done.AssociationRelease&pfcp.AssociationReleaseURSS == 0 || sarr != byUs {
		t.Errorf("last update %+v, want URSS", done)
	}
	for i := range 2 {
		r := await[*pfcp.SessionReportRequest](t, cp, i)
		if r.SRReqFlags != pfcp.SRReqPSDBU || len(r.UsageReports) != 1 || r.UsageReports[0].Volume.Value.Uplink.Value != 1000 ||
			r.UsageReports[0].Trigger != pfcp.UsageReportTrigger(session.TriggerTEBUR) {
			t.Errorf("report %+v", r)
		}
	}
	if n := m.Len(); n != 1 || e.Associations()[0].Sessions != 1 {
		t.Errorf("%d sessions, %+v; want the one without usage", n, e.Associations())
	}
	var est pfcp.SessionEstablishmentResponse
	if c.do(0, usual("127.0.0.2", "10.45.0.9"), &est); est.Cause.Accepted() {
		t.Error("a new session while the association is about to be released")
	}
	var r pfcp.AssociationReleaseResponse
	if c.do(0, &pfcp.AssociationReleaseRequest{NodeID: node}, &r); r.Cause != pfcp.CauseRequestAccepted || m.Len() != 0 {
		t.Errorf("release: %v, %d sessions", r.Cause, m.Len())
	}
	if byUs {
		if err := <-released; err != nil {
			t.Error(err)
		}
	}
}

// TestEnhancedReleaseMany: the last usage of a session is in as many requests as it takes,
// and only the last one of them says that the session is gone.
func TestEnhancedReleaseMany(t *testing.T) {
	_, cp, c := newEnhanced(t, manyDatapath{})
	est := withURR("127.0.0.2", "10.45.0.2")
	for id := range uint32(17) {
		est.CreateURRs = append(est.CreateURRs, pfcp.CreateURR{URRID: id + 2, MeasurementMethod: pfcp.MeasureVOLUM})
		pdr := &est.CreatePDRs[id%2]
		pdr.URRIDs = append(pdr.URRIDs, id+2)
	}
	c.establish(est)
	var r pfcp.AssociationUpdateResponse
	if c.do(0, &pfcp.AssociationUpdateRequest{NodeID: pfcp.NodeID{Addr: cp.addr}, AUReqFlags: pfcp.AUReqPARPS}, &r); r.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("PARPS: %v", r.Cause)
	}
	var got []uint32
	for i, want := range []int{maxReportsInRequest, maxReportsInRequest, 1} {
		m := await[*pfcp.SessionReportRequest](t, cp, i)
		if last := m.SRReqFlags == pfcp.SRReqPSDBU; len(m.UsageReports) != want || last != (i == 2) {
			t.Errorf("request %d: %d reports, the last one %v; want %d", i, len(m.UsageReports), last, want)
		}
		for _, u := range m.UsageReports {
			got = append(got, u.URRID)
		}
	}
	if want := []uint32{1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}; !slices.Equal(got, want) {
		t.Errorf("URRs %v, want %v", got, want)
	}
}
