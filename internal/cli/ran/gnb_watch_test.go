package rancmd

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// forgetful is a UPF that may lose an association or sessions.
type forgetful struct {
	node netip.Addr

	mu         sync.Mutex
	recovery   pfcp.TimeStamp
	teid       uint32 // the last one given
	associated bool
	sessions   map[uint64]bool
	refused    uint64 // SEID of a session that is refused
	setUps     int    // associations so far
}

func (f *forgetful) answer(h pfcp.Header, body []byte) (uint64, pfcp.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	node, accepted := pfcp.NodeID{Addr: f.node}, pfcp.CauseRequestAccepted
	switch h.Type {
	case pfcp.MsgAssociationSetupRequest:
		f.associated, f.sessions, f.setUps = true, map[uint64]bool{}, f.setUps+1
		return 0, &pfcp.AssociationSetupResponse{NodeID: node, Cause: accepted, RecoveryTimeStamp: f.recovery}
	case pfcp.MsgAssociationReleaseRequest:
		f.associated, f.sessions = false, nil
		return 0, &pfcp.AssociationReleaseResponse{NodeID: node, Cause: accepted}
	case pfcp.MsgHeartbeatRequest:
		return 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: f.recovery}
	case pfcp.MsgSessionModificationRequest:
		if !f.sessions[h.SEID] {
			return 0, &pfcp.SessionModificationResponse{Cause: pfcp.CauseSessionContextNotFound}
		}
		return h.SEID, &pfcp.SessionModificationResponse{Cause: accepted}
	case pfcp.MsgSessionDeletionRequest:
		delete(f.sessions, h.SEID)
		return h.SEID, &pfcp.SessionDeletionResponse{Cause: accepted}
	}
	return f.establish(node, body)
}

func (f *forgetful) establish(node pfcp.NodeID, body []byte) (uint64, pfcp.Message) {
	var m pfcp.SessionEstablishmentRequest
	err := m.Decode(body)
	seid := m.CPFSEID.SEID
	switch {
	case err != nil || seid == f.refused:
		return seid, &pfcp.SessionEstablishmentResponse{NodeID: node, Cause: pfcp.CauseNoResourcesAvailable}
	case !f.associated:
		return seid, &pfcp.SessionEstablishmentResponse{NodeID: node, Cause: pfcp.CauseNoEstablishedPFCPAssociation}
	}
	f.sessions[seid] = true
	f.teid++
	return seid, &pfcp.SessionEstablishmentResponse{
		NodeID: node, Cause: pfcp.CauseRequestAccepted, UPFSEID: pfcp.Some(pfcp.FSEID{SEID: seid, IPv4: f.node}),
		CreatedPDRs: []pfcp.CreatedPDR{{PDRID: m.CreatePDRs[0].PDRID, LocalFTEIDs: []pfcp.FTEID{{TEID: f.teid, V4: true, IPv4: f.node}}}},
	}
}

// led is a gNB that keeps where its uplinks lead.
type led struct {
	teids []uint32
	stats gnb.Stats
}

func (l *led) SetUplink(ue int, teid uint32, _ netip.Addr) error {
	l.teids[ue] = teid
	return nil
}

func (l *led) Stats() gnb.Stats { return l.stats }

// TestWatch: whatever makes the SMF of plumb gnb --n4 doubt that its UPF has the sessions, they
// are set up again if they are not there, and left alone if they are.
func TestWatch(t *testing.T) {
	f := &forgetful{node: netip.MustParseAddr("127.29.9.31"), recovery: 1000}
	answerAt(t, f.node, f.answer)
	config := gnb.Config{N3: gnb.N3{Address: netip.MustParseAddr("127.0.0.1")}}
	for i := range 3 {
		config.UEs = append(config.UEs, gnb.UE{
			Name: fmt.Sprint("ue", i), Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 64, 0, byte(i + 1)})}, DownlinkTEID: uint32(i + 1)})
	}
	var log strings.Builder
	s, err := establish(t.Context(), f.node, netip.MustParseAddr("127.29.9.32"), n4load.Dialect{}, &config, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	g := &led{teids: []uint32{1, 2, 3}}
	w := &watcher{smf: s, g: g}
	report := func(seid uint64, m *pfcp.SessionReportRequest) { s.told(pfcp.Header{SEID: seid}, m) }
	for _, tc := range []struct {
		name string
		do   func()
		want []uint32 // TEIDs
		says string   // and no other line; "": nothing
	}{
		{"nothing", func() {}, []uint32{1, 2, 3}, ""},
		{"Error Indication, sessions there", func() { g.stats.N3.ErrorIndications++ }, []uint32{1, 2, 3}, ""},
		{"Error Indication, one is not", func() {
			g.stats.N3.ErrorIndications++
			delete(f.sessions, 2)
		}, []uint32{4, 5, 6}, "UPF has lost sessions: association and sessions are set up anew\" n4=127.29.9.31 sessions=3"},
		{"another Recovery Time Stamp", func() { f.recovery++ }, []uint32{7, 8, 9}, "UPF has lost all sessions: association"},
		{"one is refused", func() {
			f.recovery++
			f.refused = 2
		}, []uint32{10, 8, 11}, "UPF has lost all sessions, and not all can be set up anew; it is tried again\" n4=127.29.9.31 sessions=2 of=3"},
		{"still", func() {}, []uint32{10, 8, 11}, ""},
		{"no more", func() { f.refused = 0 }, []uint32{10, 12, 11}, "UPF has lost all sessions: association"},
		{"deleted by the UPF", func() {
			delete(f.sessions, 3)
			report(3, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUSAR, SRReqFlags: pfcp.SRReqPSDBU})
		}, []uint32{13, 14, 15}, "UPF has lost sessions: association"},
		{"Error Indication of the gNB", func() {
			report(3, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeERIR, ErrorIndication: []pfcp.FTEID{{TEID: 3, V4: true, IPv4: config.N3.Address}}})
		}, []uint32{13, 14, 15}, "a gNB does not know a downlink tunnel; another program may have its address\" ue=ue2 downlink_teid=3 gnb=127.0.0.1"},
		{"UPF associates, has the sessions", func() { s.told(pfcp.Header{}, &pfcp.AssociationSetupRequest{}) }, []uint32{13, 14, 15}, ""},
		{"UPF associates, has none", func() {
			f.sessions = nil
			s.told(pfcp.Header{}, &pfcp.AssociationSetupRequest{})
		}, []uint32{16, 17, 18}, "UPF has lost sessions: association"},
		{"features change", func() { s.told(pfcp.Header{}, &pfcp.AssociationUpdateRequest{}) }, []uint32{16, 17, 18}, ""},
		{"release", func() {
			s.told(pfcp.Header{}, &pfcp.AssociationUpdateRequest{AssociationRelease: pfcp.AssociationReleaseSARR})
		}, []uint32{16, 17, 18}, "UPF asks for the release of the association"},
		{"after it", func() {}, []uint32{19, 20, 21}, "UPF had asked for the release of the association: association"},
	} {
		log.Reset()
		f.mu.Lock()
		tc.do()
		f.mu.Unlock()
		w.look(t.Context())
		lines := strings.Count(log.String(), "\n")
		if !slices.Equal(g.teids, tc.want) || !strings.Contains(log.String(), tc.says) || lines != min(len(tc.says), 1) {
			t.Errorf("%s: TEIDs %d, want %d; said, want %q:\n%s", tc.name, g.teids, tc.want, tc.says, log.String())
		}
	}
	err = s.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || len(f.sessions) != 0 || f.setUps != 7 {
		t.Errorf("at the end: %v, %d sessions, %d associations; want none left, 7", err, len(f.sessions), f.setUps)
	}
}
