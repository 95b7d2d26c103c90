package bench

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"plumbline/lab/report"
	"plumbline/pfcp"
)

type smf struct {
	conn     *net.UDPConn
	sequence uint32
}

func (s *smf) close() error { return s.conn.Close() }

func (r *run) establish(ctx context.Context, n int) error {
	if r.n4 == nil {
		c := r.topology.Config
		s := &smf{}
		err := r.topology.UPF.Do(func() (err error) {
			s.conn, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.N4SMF, pfcp.Port)),
				net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.N4UPF, pfcp.Port)))
			return err
		})
		if err != nil {
			return err
		}
		r.n4 = s
		s.sequence++
		b, _ := pfcp.Append(nil, pfcp.Header{Sequence: s.sequence}, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: c.N4SMF}, RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now())})
		s.conn.Write(b)
		buf := make([]byte, 65536)
		s.conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		n, err := s.conn.Read(buf)
		if err != nil {
			return err
		}
		_, body, _, err := pfcp.Parse(buf[:n])
		if err != nil {
			return err
		}
		var resp pfcp.AssociationSetupResponse
		if err := resp.Decode(body); err != nil {
			return err
		}
		if resp.Cause != pfcp.CauseRequestAccepted {
			return fmt.Errorf("assoc %v", resp.Cause)
		}
	}
	m0, err := r.dut.Memory()
	if err != nil {
		return err
	}
	if r.result.Install.Sessions == 0 {
		r.result.Install.DUTMemoryBeforeOctets = m0.ResidentOctets
	}
	start := time.Now()
	first := len(r.sessions)
	for i := first; i < n; i++ {
		ue := netip.AddrFrom4([4]byte{10, byte(64 + (i+2)>>16), byte((i + 2) >> 8), byte(i + 2)})
		r.sessions = append(r.sessions, session{ue: ue, downlink: uint32(i + 1)})
	}
	next, done := first, first
	base := r.n4.sequence + 1
	buf := make([]byte, 65536)
	var out []byte
	for done < n {
		for next < n && next-done < 64 {
			out, err = pfcp.Append(out[:0], pfcp.Header{Sequence: base + uint32(next-first)}, r.request(next))
			if err != nil {
				return err
			}
			if _, err := r.n4.conn.Write(out); err != nil {
				return err
			}
			next++
		}
		r.n4.conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		k, err := r.n4.conn.Read(buf)
		if err != nil {
			return err
		}
		h, body, _, err := pfcp.Parse(buf[:k])
		if err != nil {
			return err
		}
		if h.Type != pfcp.MsgSessionEstablishmentResponse {
			continue
		}
		var resp pfcp.SessionEstablishmentResponse
		if err := resp.Decode(body); err != nil {
			return err
		}
		if resp.Cause != pfcp.CauseRequestAccepted {
			return fmt.Errorf("session: %v %v %+v", resp.Cause, resp.OffendingIE, resp.FailedRuleID)
		}
		i := int(h.Sequence-base) + first
		r.sessions[i].uplink = resp.CreatedPDRs[0].LocalFTEIDs[0].TEID
		done++
	}
	r.n4.sequence = base + uint32(n-first)
	in := &r.result.Install
	in.DurationNS += time.Since(start).Nanoseconds()
	in.Sessions = n
	in.SessionsPerSec = float64(n) / (float64(in.DurationNS) / 1e9)
	m, err := r.dut.Memory()
	if err != nil {
		return err
	}
	in.DUTMemoryOctets, in.MapMemoryOctets = m.ResidentOctets, m.MapOctets
	return nil
}

func (r *run) request(i int) pfcp.Message {
	t := r.topology
	s := r.sessions[i]
	return &pfcp.SessionEstablishmentRequest{
		NodeID:  pfcp.NodeID{Addr: t.Config.N4SMF},
		CPFSEID: pfcp.FSEID{SEID: uint64(i + 1), IPv4: t.Config.N4SMF},
		CreatePDRs: []pfcp.CreatePDR{{
			PDRID: 1, Precedence: 100,
			PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceAccess, FTEID: pfcp.Some(pfcp.FTEID{CH: true, V4: true}),
				UEIPAddresses: []pfcp.UEIPAddress{{IPv4: s.ue}}},
			OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4}),
			FARID:              pfcp.Some(uint32(1)), QERIDs: []uint32{1},
		}, {
			PDRID: 2, Precedence: 100,
			PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceCore,
				UEIPAddresses: []pfcp.UEIPAddress{{IPv4: s.ue, Destination: true}}},
			FARID: pfcp.Some(uint32(2)), QERIDs: []uint32{1},
		}},
		CreateFARs: []pfcp.CreateFAR{{
			FARID: 1, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{DestinationInterface: pfcp.InterfaceCore}),
		}, {
			FARID: 2, ApplyAction: pfcp.ApplyFORW, ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
				DestinationInterface: pfcp.InterfaceAccess,
				OuterHeaderCreation: pfcp.Some(pfcp.OuterHeaderCreation{Description: pfcp.CreateGTPUUDPIPv4, TEID: s.downlink,
					IPv4: t.N3.Peer.Address.Addr()}),
			}),
		}},
		CreateQERs: []pfcp.CreateQER{{QERID: 1, QFI: pfcp.Some(pfcp.QFI(qfi))}},
	}
}

var _ = report.Schema
