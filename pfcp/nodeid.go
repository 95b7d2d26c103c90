package pfcp

import (
	"fmt"
	"net/netip"
)

// NodeID is a Node ID: an address or, if Addr is not valid, a domain name.
// Source: TS 29.244 V18.6.0, 8.2.38.
type NodeID struct {
	Addr netip.Addr
	FQDN Name
}

// Values of Node ID Type.
const (
	nodeIDIPv4 = 0
	nodeIDIPv6 = 1
	nodeIDFQDN = 2
)

// String returns the address or the domain name.
func (n NodeID) String() string {
	if n.Addr.IsValid() {
		return n.Addr.String()
	}
	return n.FQDN.String()
}

var nodeID = codec[NodeID]{read: readNodeID, write: writeNodeID}

func readNodeID(v *NodeID, b []byte) error {
	*v = NodeID{}
	r := reader{b: b}
	switch kind := r.u8() & 0xf; kind {
	case nodeIDIPv4:
		v.Addr = r.ipv4()
	case nodeIDIPv6:
		v.Addr = r.ipv6()
	case nodeIDFQDN:
		v.FQDN = Name(r.b)
		return v.FQDN.checkFQDN()
	default:
		return fmt.Errorf("Node ID Type %d: %w", kind, ErrIncorrect)
	}
	return r.err
}

func writeNodeID(b []byte, v *NodeID) []byte {
	switch {
	case v.Addr.Is4():
		return appendIPv4(append(b, nodeIDIPv4), v.Addr)
	case v.Addr.Is6():
		return appendIPv6(append(b, nodeIDIPv6), v.Addr)
	}
	return append(append(b, nodeIDFQDN), v.FQDN...)
}
