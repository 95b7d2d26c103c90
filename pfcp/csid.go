package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// FQCSID is an FQ-CSID: sets of sessions, named by the node that made them. In
// a Session Modification Request one without CSIDs takes the node type's
// FQ-CSID off the session, and one of null length those of all node types.
// Source: TS 29.244 V18.6.0, 8.2.43.
type FQCSID struct {
	All      bool         // of null length
	NodeType CSIDNodeType // owner of the FQ-CSID
	Node     CSIDNode
	CSIDs    []uint16 // at most 15
}

// CSIDNode is the Node-Address of an FQ-CSID. It can be compared.
type CSIDNode struct {
	Addr   netip.Addr // valid if the node has an address
	Number uint32     // without address: MCC * 1000 + MNC in 20 bits, a node number in 12
}

// CSIDNodeType says what kind of node made an FQ-CSID.
type CSIDNodeType uint8

// Node types of an FQ-CSID.
const (
	CSIDNodeMME  CSIDNodeType = 0
	CSIDNodeSGWC CSIDNodeType = 1
	CSIDNodeSMF  CSIDNodeType = 2 // PGW-C/SMF
	CSIDNodeEPDG CSIDNodeType = 3
	CSIDNodeTWAN CSIDNodeType = 4
	CSIDNodeUPF  CSIDNodeType = 5 // PGW-U/SGW-U/UPF
)

const csidIPv4, csidIPv6, csidNumber, maxCSIDs = 0, 1, 2, 15

var fqCSID = codec[FQCSID]{read: readFQCSID, write: writeFQCSID}

func readFQCSID(v *FQCSID, b []byte) error {
	*v = FQCSID{CSIDs: v.CSIDs[:0]}
	if len(b) == 0 {
		v.All = true
		return nil
	}
	r := reader{b: b}
	head := r.u8()
	switch head >> 4 {
	case csidIPv4:
		v.Node.Addr = r.ipv4()
	case csidIPv6:
		v.Node.Addr = r.ipv6()
	case csidNumber:
		v.Node.Number = r.u32()
	default:
		return fmt.Errorf("FQ-CSID Node-ID Type %d: %w", head>>4, ErrIncorrect)
	}
	for range head & 0xf {
		v.CSIDs = append(v.CSIDs, r.u16())
	}
	if len(r.b) > 0 { // absent in messages of Rel-14
		v.NodeType = CSIDNodeType(r.u8() & 0xf)
	}
	return r.err
}

func writeFQCSID(b []byte, v *FQCSID) []byte {
	if v.All {
		return b
	}
	n := min(len(v.CSIDs), maxCSIDs)
	switch {
	case v.Node.Addr.Is4():
		b = appendIPv4(append(b, csidIPv4<<4|byte(n)), v.Node.Addr)
	case v.Node.Addr.Is6():
		b = appendIPv6(append(b, csidIPv6<<4|byte(n)), v.Node.Addr)
	default:
		b = binary.BigEndian.AppendUint32(append(b, csidNumber<<4|byte(n)), v.Node.Number)
	}
	for _, csid := range v.CSIDs[:n] {
		b = binary.BigEndian.AppendUint16(b, csid)
	}
	return append(b, byte(v.NodeType))
}
