package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// NodeReportType is a Node Report Type. Source: TS 29.244 V18.6.0, 8.2.69.
type NodeReportType uint8

// Node report types.
const (
	NodeReportUPFR NodeReportType = 1 << iota // User Plane Path Failure Report
	NodeReportUPRR                            // User Plane Path Recovery Report
	NodeReportCKDR                            // Clock Drift Report
	NodeReportGPQR                            // GTP-U Path QoS Report
	NodeReportPURR                            // Peer UP Restart Report
	NodeReportVSR                             // Vendor-Specific Report
)

// NodeReportRequest is a Node Report Request. Of what is reported in it, the
// clocks and the QoS of paths are not decoded.
// Source: TS 29.244 V18.6.0, table 7.4.5.1.1-1.
type NodeReportRequest struct {
	NodeID        NodeID
	ReportType    NodeReportType
	PathFailure   []RemoteGTPUPeer // User Plane Path Failure Report; empty: absent
	PathRecovery  []RemoteGTPUPeer // User Plane Path Recovery Report; empty: absent
	PeerUPRestart []RemoteGTPUPeer // Peer UP Restart Report; empty: absent
}

var nodeReportRequest = newContainer(container[NodeReportRequest]{
	name: "Node Report Request", clause: "7.4.5.1",
	reset: func(m *NodeReportRequest) {
		*m = NodeReportRequest{
			PathFailure: m.PathFailure[:0], PathRecovery: m.PathRecovery[:0], PeerUPRestart: m.PeerUPRestart[:0],
		}
	},
	check: (*NodeReportRequest).check,
	members: []member[NodeReportRequest]{
		one(IENodeID, func(m *NodeReportRequest) *NodeID { return &m.NodeID }, nodeID),
		one(IENodeReportType, func(m *NodeReportRequest) *NodeReportType { return &m.ReportType }, u8[NodeReportType]()),
		skip[NodeReportRequest](IEVendorSpecificNodeReportType, conditional),
		listOf(IEUserPlanePathFailureReport, pathFailure, func(m *NodeReportRequest) *[]RemoteGTPUPeer { return &m.PathFailure }),
		listOf(IEUserPlanePathRecoveryReport, pathRecovery, func(m *NodeReportRequest) *[]RemoteGTPUPeer { return &m.PathRecovery }),
		skip[NodeReportRequest](IEClockDriftReport, conditional),
		skip[NodeReportRequest](IEGTPUPathQoSReport, conditional),
		listOf(IEPeerUPRestartReport, peerUPRestart, func(m *NodeReportRequest) *[]RemoteGTPUPeer { return &m.PeerUPRestart }),
	},
})

// check says that what the type announces is there.
func (m *NodeReportRequest) check() error {
	for _, part := range []struct {
		flag NodeReportType
		ie   IEType
		list []RemoteGTPUPeer
	}{
		{NodeReportUPFR, IEUserPlanePathFailureReport, m.PathFailure},
		{NodeReportUPRR, IEUserPlanePathRecoveryReport, m.PathRecovery},
		{NodeReportPURR, IEPeerUPRestartReport, m.PeerUPRestart},
	} {
		if m.ReportType&part.flag != 0 && len(part.list) == 0 {
			return fail("Node Report Request", part.ie, ErrConditional)
		}
	}
	return nil
}

// NodeReportResponse is a Node Report Response.
// Source: TS 29.244 V18.6.0, table 7.4.5.2.1-1.
type NodeReportResponse struct {
	NodeID      NodeID
	Cause       Cause
	OffendingIE Optional[IEType]
}

var nodeReportResponse = newContainer(container[NodeReportResponse]{
	name: "Node Report Response", clause: "7.4.5.2", reset: zero[NodeReportResponse],
	members: []member[NodeReportResponse]{
		one(IENodeID, func(m *NodeReportResponse) *NodeID { return &m.NodeID }, nodeID),
		one(IECause, func(m *NodeReportResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *NodeReportResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
	},
})

// The reports about GTP-U peers: grouped IEs that are a list of peers.
var (
	pathFailure   = newPeerList("User Plane Path Failure Report", "7.4.5.1.2")
	pathRecovery  = newPeerList("User Plane Path Recovery Report", "7.4.5.1.3")
	peerUPRestart = newPeerList("Peer UP Restart Report", "7.4.5.1.7")
)

func newPeerList(name, clause string) *container[[]RemoteGTPUPeer] {
	list := some(IERemoteGTPUPeer, mandatory, MaxPeers, func(p *[]RemoteGTPUPeer) *[]RemoteGTPUPeer { return p }, remoteGTPUPeer)
	return newContainer(container[[]RemoteGTPUPeer]{
		name: name, clause: clause,
		reset:   func(p *[]RemoteGTPUPeer) { *p = (*p)[:0] },
		members: []member[[]RemoteGTPUPeer]{list},
	})
}

// RemoteGTPUPeer is a Remote GTP-U Peer. One of the addresses is valid.
// Source: TS 29.244 V18.6.0, 8.2.70.
type RemoteGTPUPeer struct {
	IPv4, IPv6           netip.Addr
	DestinationInterface Optional[Interface]
	NetworkInstance      Name // empty: absent
	RecoveryTimeStamp    Optional[TimeStamp]
}

const peerV6, peerV4, peerDI, peerNI, peerRTS = 0x01, 0x02, 0x04, 0x08, 0x10

var remoteGTPUPeer = codec[RemoteGTPUPeer]{read: readRemoteGTPUPeer, write: writeRemoteGTPUPeer}

func readRemoteGTPUPeer(v *RemoteGTPUPeer, b []byte) error {
	r := reader{b: b}
	flags := r.u8()
	*v = RemoteGTPUPeer{}
	if flags&(peerV4|peerV6) == 0 {
		return fmt.Errorf("flags %#02x, no address: %w", flags, ErrIncorrect)
	}
	if flags&peerV4 != 0 {
		v.IPv4 = r.ipv4()
	}
	if flags&peerV6 != 0 {
		v.IPv6 = r.ipv6()
	}
	if flags&peerDI != 0 {
		field := reader{b: r.take(int(r.u16()))}
		v.DestinationInterface = Some(Interface(field.u8() & 0xf))
		if field.err != nil {
			return field.err
		}
	}
	if flags&peerNI != 0 {
		v.NetworkInstance = r.take(int(r.u16()))
	}
	if flags&peerRTS != 0 {
		v.RecoveryTimeStamp = Some(TimeStamp(r.u32()))
	}
	return r.err
}

func writeRemoteGTPUPeer(b []byte, v *RemoteGTPUPeer) []byte {
	b = append(b, bit(v.IPv6.Is6(), peerV6)|bit(v.IPv4.Is4(), peerV4)|bit(v.DestinationInterface.Present, peerDI)|
		bit(len(v.NetworkInstance) > 0, peerNI)|bit(v.RecoveryTimeStamp.Present, peerRTS))
	b = appendAddrs(b, v.IPv4, v.IPv6)
	if v.DestinationInterface.Present {
		b = append(b, 0, 1, byte(v.DestinationInterface.Value))
	}
	if len(v.NetworkInstance) > 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(len(v.NetworkInstance)))
		b = append(b, v.NetworkInstance...)
	}
	if v.RecoveryTimeStamp.Present {
		b = binary.BigEndian.AppendUint32(b, uint32(v.RecoveryTimeStamp.Value))
	}
	return b
}
