package correctness

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// IDs of the rules of a session.
const (
	uplink, downlink = 1, 2 // PDR and FAR
	ruleID           = 1    // QER, URR, BAR
	qfi              = 9
	downlinkTEID     = 0x4100 // of the gNB
)

// shape is what a session has beside a PDR and a FAR for each direction.
type shape struct {
	mbr      uint64 // kbit/s, both directions; 0: no QER but the QFI's
	triggers pfcp.ReportingTriggers
	urr      bool
	volume   pfcp.URRParameters
	buffer   bool // the downlink FAR is BUFF and NOCP
}

// session is one that stands.
type session struct {
	smf      *smf
	gnb      netip.Addr
	cp, up   uint64 // SEIDs
	ue       netip.Addr
	teid     uint32 // uplink, of the UPF
	reports  chan reported
	accepted int64 // ns: when its last response came
	deleted  bool  // or it was asked for
}

// establish sets up a session for the UE address.
func (b *bed) establish(ctx context.Context, ue netip.Addr, x shape) (*session, error) {
	s := &session{smf: b.smf, gnb: b.topology.N3.Peer.Address.Addr(), ue: ue, reports: make(chan reported, queued)}
	b.seid++
	s.cp = b.seid
	b.smf.mu.Lock()
	b.smf.reports[s.cp] = s.reports
	b.smf.mu.Unlock()
	m := s.establishment(b.smf.node, x)
	b.say(s, &m)
	var r pfcp.SessionEstablishmentResponse
	at, err := b.smf.ask(ctx, 0, &m, &r)
	switch {
	case err != nil:
		return nil, err
	case !r.Cause.Accepted():
		return nil, fmt.Errorf("correctness: establishment: %s (rule %+v, IE %s): %w", r.Cause, r.FailedRuleID.Value, r.OffendingIE.Value, errRefused)
	}
	s.accepted, s.up = at, r.UPFSEID.Value.SEID
	for i := range r.CreatedPDRs {
		if p := &r.CreatedPDRs[i]; p.PDRID == uplink && len(p.LocalFTEIDs) > 0 {
			s.teid = p.LocalFTEIDs[0].TEID
		}
	}
	b.smf.mu.Lock()
	b.smf.sessions[s.cp] = s.up
	b.smf.mu.Unlock()
	return s, nil
}

// say puts the establishment as the UP function needs it.
func (b *bed) say(s *session, m *pfcp.SessionEstablishmentRequest) {
	if b.template.ULTEID != 0 { // it does not choose F-TEIDs
		s.teid = b.template.ULTEID + uint32(s.cp)
		m.CreatePDRs[0].PDI.FTEID = pfcp.Some(pfcp.FTEID{V4: true, TEID: s.teid, IPv4: b.template.N3})
	}
	b.template.Dialect.Adapt(m)
}

func (s *session) establishment(node netip.Addr, x shape) pfcp.SessionEstablishmentRequest {
	qer := pfcp.CreateQER{QERID: ruleID, QFI: pfcp.Some(pfcp.QFI(qfi))}
	if x.mbr != 0 {
		qer.MBR = pfcp.Some(pfcp.BitRates{UplinkKbps: x.mbr, DownlinkKbps: x.mbr})
	}
	m := pfcp.SessionEstablishmentRequest{
		NodeID: pfcp.NodeID{Addr: node}, CPFSEID: pfcp.FSEID{SEID: s.cp, IPv4: node},
		CreatePDRs: []pfcp.CreatePDR{
			{
				PDRID: uplink, Precedence: 100, FARID: pfcp.Some(uint32(uplink)), QERIDs: []uint32{ruleID},
				PDI: pfcp.PDI{
					SourceInterface: pfcp.InterfaceAccess, FTEID: pfcp.Some(pfcp.FTEID{CH: true, V4: true}),
					UEIPAddresses: []pfcp.UEIPAddress{{IPv4: s.ue}},
				},
				OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4}),
			}, {
				PDRID: downlink, Precedence: 100, FARID: pfcp.Some(uint32(downlink)), QERIDs: []uint32{ruleID},
				PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceCore, UEIPAddresses: []pfcp.UEIPAddress{{IPv4: s.ue, Destination: true}}},
			},
		},
		CreateFARs: []pfcp.CreateFAR{
			{FARID: uplink, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{DestinationInterface: pfcp.InterfaceCore})},
			{FARID: downlink, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
				DestinationInterface: pfcp.InterfaceAccess, OuterHeaderCreation: s.tunnel(downlinkTEID),
			})},
		},
		CreateQERs: []pfcp.CreateQER{qer},
		PDNType:    pfcp.Some(pfcp.PDNTypeIPv4),
	}
	if x.buffer {
		m.CreateFARs[1].ApplyAction = pfcp.ApplyBUFF | pfcp.ApplyNOCP
	}
	if x.urr {
		m.CreateURRs = []pfcp.CreateURR{{
			URRID: ruleID, MeasurementMethod: pfcp.MeasureVOLUM, ReportingTriggers: x.triggers, URRParameters: x.volume,
		}}
		for i := range m.CreatePDRs {
			m.CreatePDRs[i].URRIDs = []uint32{ruleID}
		}
	}
	return m
}

// tunnel is Outer Header Creation towards the gNB.
func (s *session) tunnel(teid uint32) pfcp.Optional[pfcp.OuterHeaderCreation] {
	return pfcp.Some(pfcp.OuterHeaderCreation{Description: pfcp.CreateGTPUUDPIPv4, TEID: teid, IPv4: s.gnb})
}

// modify sends a modification and returns the Usage Reports in the response.
func (s *session) modify(ctx context.Context, m pfcp.SessionModificationRequest) ([]pfcp.UsageReport, error) {
	var r pfcp.SessionModificationResponse
	at, err := s.smf.ask(ctx, s.up, &m, &r)
	if err == nil && !r.Cause.Accepted() {
		err = fmt.Errorf("correctness: modification: %s: %w", r.Cause, errRefused)
	}
	s.accepted = at
	return r.UsageReports, err
}

// act gives the downlink FAR another Apply Action.
func (s *session) act(ctx context.Context, action pfcp.ApplyAction) error {
	_, err := s.modify(ctx, pfcp.SessionModificationRequest{UpdateFARs: []pfcp.UpdateFAR{{
		FARID: downlink, ApplyAction: pfcp.Some(action),
	}}})
	return err
}

// delete ends the session and returns its last Usage Reports.
func (s *session) delete(ctx context.Context) ([]pfcp.UsageReport, error) {
	var r pfcp.SessionDeletionResponse
	s.deleted = true
	_, err := s.smf.ask(ctx, s.up, &pfcp.SessionDeletionRequest{}, &r)
	if err == nil && !r.Cause.Accepted() {
		err = fmt.Errorf("correctness: deletion: %s: %w", r.Cause, errRefused)
	}
	s.smf.mu.Lock()
	delete(s.smf.sessions, s.cp)
	delete(s.smf.reports, s.cp)
	s.smf.mu.Unlock()
	return r.UsageReports, err
}

// abandon deletes the session if something has come between: it would be there while others
// are measured. Nobody waits for what comes of it.
func (s *session) abandon(ctx context.Context) {
	if !s.deleted {
		_, _ = s.delete(ctx)
	}
}

// report waits for the next Session Report Request.
func (s *session) report(ctx context.Context, within time.Duration) (reported, error) {
	select {
	case r := <-s.reports:
		return r, nil
	case <-time.After(within):
		return reported{}, fmt.Errorf("correctness: no Session Report Request within %v: %w", within, errSilent)
	case <-ctx.Done():
		return reported{}, ctx.Err()
	}
}

// sender makes a generator of the session's frames.
func (b *bed) sender(s *session, d generator.Direction, payload int) (*generator.Generator, error) {
	b.run++
	c := generator.Config{
		Link: b.topology.N3, Direction: d, Run: b.run, Server: b.topology.N6.Peer.Address.Addr(), PayloadOctets: payload,
		Sessions: []generator.Session{{TEID: s.teid, UE: s.ue, QFI: qfi}},
	}
	if d == generator.Downlink {
		c.Link, c.Sessions[0].TEID = b.topology.N6, downlinkTEID
	}
	return generator.New(c)
}
