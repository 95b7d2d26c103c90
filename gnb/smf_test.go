package gnb_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"plumbline/gnb"
	"plumbline/lab/topology"
	"plumbline/pfcp"
)

// smf is a CP function that does just what a test of user traffic needs: one
// request at a time, over an N4 that loses nothing.
type smf struct {
	conn     *net.UDPConn
	address  netip.Addr
	sequence uint32
}

// associate starts an SMF in the UPF's namespace and sets up an association.
func associate(t testing.TB, bed *topology.Topology) *smf {
	t.Helper()
	c := bed.Config
	s := &smf{address: c.N4SMF}
	err := bed.UPF.Do(func() (err error) {
		s.conn, err = net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.N4SMF, pfcp.Port)),
			net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.N4UPF, pfcp.Port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	var response pfcp.AssociationSetupResponse
	s.ask(t, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: s.address}, RecoveryTimeStamp: pfcp.NewTimeStamp(time.Now()),
	}, &response)
	if response.Cause != pfcp.CauseRequestAccepted {
		t.Fatalf("association: %v", response.Cause)
	}
	return s
}

// ask sends a request and takes the response of the same number; anything else
// that arrives is passed over.
func (s *smf) ask(t testing.TB, request, response pfcp.Message) {
	t.Helper()
	s.sequence++
	b, err := pfcp.Append(nil, pfcp.Header{Sequence: s.sequence}, request)
	if err == nil {
		_, err = s.conn.Write(b)
	}
	if err == nil {
		err = s.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	}
	for b = make([]byte, 1<<16); err == nil; {
		var n int
		if n, err = s.conn.Read(b); err != nil {
			break
		}
		h, body, _, parseErr := pfcp.Parse(b[:n])
		if parseErr == nil && h.Type == response.MessageType() && h.Sequence == s.sequence {
			if err = response.Decode(body); err == nil {
				return
			}
		}
	}
	t.Fatalf("%v: %v", request.MessageType(), err)
}

// establish makes the session of u: the UPF chooses the uplink F-TEID, which
// is returned; u has the downlink TEID and QFI.
func (s *smf) establish(t testing.TB, u gnb.UE, n3 netip.Addr) pfcp.FTEID {
	t.Helper()
	var source pfcp.UEIPAddress
	for _, a := range u.Addresses {
		if a.Is4() {
			source.IPv4 = a
		} else {
			source.IPv6 = a
		}
	}
	destination := source
	destination.Destination = true
	var response pfcp.SessionEstablishmentResponse
	s.ask(t, &pfcp.SessionEstablishmentRequest{
		NodeID:  pfcp.NodeID{Addr: s.address},
		CPFSEID: pfcp.FSEID{SEID: uint64(u.DownlinkTEID), IPv4: s.address},
		CreatePDRs: []pfcp.CreatePDR{{
			PDRID: 1, Precedence: 100, FARID: pfcp.Some[uint32](1), QERIDs: []uint32{1},
			PDI: pfcp.PDI{
				SourceInterface: pfcp.InterfaceAccess,
				FTEID:           pfcp.Some(pfcp.FTEID{CH: true, V4: true}),
				UEIPAddresses:   []pfcp.UEIPAddress{source},
				QFIs:            pfcp.NewQFISet(pfcp.QFI(u.QFI)),
			},
			OuterHeaderRemoval: pfcp.Some(pfcp.OuterHeaderRemoval{Description: pfcp.RemoveGTPUUDPIPv4}),
		}, {
			PDRID: 2, Precedence: 100, FARID: pfcp.Some[uint32](2), QERIDs: []uint32{1},
			PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceCore, UEIPAddresses: []pfcp.UEIPAddress{destination}},
		}},
		CreateFARs: []pfcp.CreateFAR{{
			FARID: 1, ApplyAction: pfcp.ApplyFORW,
			ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{DestinationInterface: pfcp.InterfaceCore}),
		}, {
			FARID: 2, ApplyAction: pfcp.ApplyFORW,
			ForwardingParameters: pfcp.Some(pfcp.ForwardingParameters{
				DestinationInterface: pfcp.InterfaceAccess,
				OuterHeaderCreation: pfcp.Some(pfcp.OuterHeaderCreation{
					Description: pfcp.CreateGTPUUDPIPv4, TEID: u.DownlinkTEID, IPv4: n3,
				}),
			}),
		}},
		CreateQERs: []pfcp.CreateQER{{QERID: 1, QFI: pfcp.Some(pfcp.QFI(u.QFI))}},
	}, &response)
	if response.Cause != pfcp.CauseRequestAccepted || len(response.CreatedPDRs) != 1 ||
		len(response.CreatedPDRs[0].LocalFTEIDs) != 1 {
		t.Fatalf("session: %+v", response)
	}
	return response.CreatedPDRs[0].LocalFTEIDs[0]
}
