package faulty

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// tunnel is where downlink packets of a UE go.
type tunnel struct {
	teid    uint32
	qfi     uint8
	session uint32 // its uplink TEID
}

// table is the sessions.
type table struct {
	mu     sync.Mutex
	byTEID map[uint32]netip.Addr // of the UE
	byUE   map[netip.Addr]tunnel
}

// serve answers PFCP requests. It sends none: no Session Report Request, whatever a URR
// asks for.
func serve(s *setup, t *table) error {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Node, pfcp.Port)))
	if err != nil {
		return err
	}
	b := make([]byte, 1<<16)
	started := pfcp.NewTimeStamp(time.Now())
	for {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return err
		}
		h, body, _, err := pfcp.Parse(b[:n])
		if err != nil {
			continue
		}
		seid, m := t.answer(s, started, h, body)
		if m == nil {
			continue
		}
		if out, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: h.Sequence}, m); err == nil {
			_, _ = conn.WriteToUDPAddrPort(out, from) // lost: it will be asked again
		}
	}
}

// answer returns the response and the SEID of its header.
func (t *table) answer(s *setup, started pfcp.TimeStamp, h pfcp.Header, body []byte) (uint64, pfcp.Message) {
	node := pfcp.NodeID{Addr: s.Node}
	switch h.Type {
	case pfcp.MsgHeartbeatRequest:
		return 0, &pfcp.HeartbeatResponse{RecoveryTimeStamp: started}
	case pfcp.MsgAssociationSetupRequest:
		return 0, &pfcp.AssociationSetupResponse{
			NodeID: node, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: started, UPFunctionFeatures: pfcp.Some(pfcp.UPFeatureFTUP),
		}
	case pfcp.MsgSessionEstablishmentRequest:
		return t.establish(s, body)
	case pfcp.MsgSessionDeletionRequest:
		t.delete(uint32(h.SEID))
		return h.SEID, &pfcp.SessionDeletionResponse{Cause: pfcp.CauseRequestAccepted} // both SEIDs are the same
	}
	return 0, nil
}

// establish takes a session as the laboratory says it: PDR and FAR 1 uplink, 2 downlink.
func (t *table) establish(s *setup, body []byte) (uint64, pfcp.Message) {
	var m pfcp.SessionEstablishmentRequest
	node := pfcp.NodeID{Addr: s.Node}
	if err := m.Decode(body); err != nil || len(m.CreatePDRs) != 2 || len(m.CreateFARs) != 2 || len(m.CreateQERs) != 1 ||
		len(m.CreatePDRs[1].PDI.UEIPAddresses) != 1 {
		return 0, &pfcp.SessionEstablishmentResponse{NodeID: node, Cause: pfcp.CauseRequestRejected}
	}
	cp := m.CPFSEID.SEID
	teid := uint32(cp)
	down := m.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation.Value
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Sessions > 0 && len(t.byTEID) >= s.Sessions {
		return cp, &pfcp.SessionEstablishmentResponse{NodeID: node, Cause: pfcp.CauseNoResourcesAvailable}
	}
	ue := m.CreatePDRs[1].PDI.UEIPAddresses[0].IPv4
	t.byTEID[teid] = ue
	t.byUE[ue] = tunnel{down.TEID, uint8(m.CreateQERs[0].QFI.Value), teid}
	return cp, &pfcp.SessionEstablishmentResponse{
		NodeID: node, Cause: pfcp.CauseRequestAccepted, UPFSEID: pfcp.Some(pfcp.FSEID{SEID: cp, IPv4: s.Node}),
		CreatedPDRs: []pfcp.CreatedPDR{{PDRID: m.CreatePDRs[0].PDRID, LocalFTEIDs: []pfcp.FTEID{{TEID: teid, V4: true, IPv4: s.N3Address}}}},
	}
}

// delete forgets a session. Its UE may have another one by now.
func (t *table) delete(teid uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ue := t.byTEID[teid]; t.byUE[ue].session == teid {
		delete(t.byUE, ue)
	}
	delete(t.byTEID, teid)
}
