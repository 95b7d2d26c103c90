package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// DataNetwork is what lies behind N6, SGi or an N6-LAN: where user packets come
// from and go to as they are. Several may have the same prefixes and next hops,
// as VRFs do. UE addresses are unique over all of them.
type DataNetwork struct {
	Name string // "internet"
	// NetworkInstances are those of PDIs and FARs that mean this one. Where a UPF
	// has none in any of its data networks, every Network Instance means the first.
	NetworkInstances []string
	Device           string // "" where a datapath has no devices
	VLAN             uint16 // VID; 0: untagged
	// Ethernet: frames of Ethernet PDU sessions go here as they are, and nothing
	// else does.
	Ethernet bool
	// Gateways are the next hops of all that is not on-link, of each IP version;
	// of several each flow has its own. None: those of the kernel's routes.
	Gateways []netip.Addr
	NAT      *NAT // nil: packets go as they are
	// MSSClamp is the largest MSS that a TCP SYN may announce, either way: octets,
	// or [ClampToMTU]; 0: any.
	MSSClamp int
}

// ClampToMTU is the MSS that fits the MTU of N6, and that of N3 less the outer
// headers.
const ClampToMTU = -1

// ForwardingPolicy is what a FAR may ask for by name.
// Source: TS 29.244 V18.6.0, 8.2.23.
type ForwardingPolicy struct {
	Name        string
	DataNetwork string       // by name; "": the first
	Gateways    []netip.Addr // in place of the data network's routes; none: those
	DSCP        int          // of the user packet that leaves; -1: as it is
}

// N6 is all data networks and forwarding policies of a datapath.
type N6 struct {
	Networks []DataNetwork // at least one
	Policies []ForwardingPolicy
}

// MaxWays is how many data networks and forwarding policies there can be in all.
const MaxWays = 62

// What a packet leaves by is a way, a number: 0 is the first data network, 1 to
// len(Networks) are the data networks, behind them come the policies.

// Way returns that of a FAR or Duplicating Parameters; [Check] has let pass its
// names.
func (n *N6) Way(networkInstance, forwardingPolicy string) int {
	if forwardingPolicy != "" {
		for i := range n.Policies {
			if n.Policies[i].Name == forwardingPolicy {
				return 1 + len(n.Networks) + i
			}
		}
	}
	return n.Network(networkInstance)
}

// Network returns the number of the data network, from 1 on; 0: any, for a PDI,
// or the first, for a FAR.
func (n *N6) Network(networkInstance string) int {
	if networkInstance == "" {
		return 0
	}
	best, number := 0, 0
	for i := range n.Networks {
		if how := endpoint.Named(n.Networks[i].NetworkInstances, networkInstance); how > best {
			best, number = how, i+1
		}
	}
	return number
}

// Ways returns how many ways there are.
func (n *N6) Ways() int { return 1 + len(n.Networks) + len(n.Policies) }

// Policy returns the policy of a way, or nil.
func (n *N6) Policy(way int) *ForwardingPolicy {
	if i := way - 1 - len(n.Networks); i >= 0 && i < len(n.Policies) {
		return &n.Policies[i]
	}
	return nil
}

// Of returns the index in Networks of the data network behind a way.
func (n *N6) Of(way int) int {
	name := ""
	switch p := n.Policy(way); {
	case p != nil:
		name = p.DataNetwork
	case way > 0:
		return way - 1
	}
	return max(0, slices.IndexFunc(n.Networks, func(d DataNetwork) bool { return name != "" && d.Name == name }))
}

// HasEthernet reports whether any data network is for Ethernet PDU sessions.
func (n *N6) HasEthernet() bool {
	return slices.ContainsFunc(n.Networks, func(d DataNetwork) bool { return d.Ethernet })
}

// Check reports rules of s that forward frames to a data network for IP packets,
// or packets to one for frames. [Check] has let pass the names.
//
// Errors: [RuleError], wrapping [ErrUnsupported].
func (n *N6) Check(s *api.Session) error {
	if !n.HasEthernet() {
		return nil
	}
	ethernet := s.GetPduType() == api.PDUType_ETHERNET
	for _, r := range s.GetRules() {
		f := r.GetForward()
		tunnel := f.GetOuterHeaderCreation() != nil && f.GetOuterHeaderCreation().GetEncapsulation() != api.Encapsulation_TAG
		if f.GetAction() != api.Action_FORW || tunnel {
			continue
		}
		d := &n.Networks[n.Of(n.Way(f.GetNetworkInstance(), f.GetForwardingPolicy()))]
		if d.Ethernet != ethernet {
			return &RuleError{api.RuleType_FAR_RULE, r.GetFarId(),
				fmt.Errorf("data network %s, PDU session of type %v: %w", d.Name, s.GetPduType(), ErrUnsupported)}
		}
	}
	return nil
}

// Instances returns the Network Instances of all data networks.
func (n *N6) Instances() []string {
	var all []string
	for i := range n.Networks {
		all = append(all, n.Networks[i].NetworkInstances...)
	}
	return all
}

// PolicyNames returns those of the forwarding policies.
func (n *N6) PolicyNames() []string {
	var all []string
	for i := range n.Policies {
		all = append(all, n.Policies[i].Name)
	}
	return all
}

// NAT is IPv4 network address and port translation between UEs and a data
// network: endpoint-independent mapping and filtering, addresses paired.
//
// Source: RFC 4787 (UDP), RFC 5382 (TCP), RFC 5508 (ICMP), RFC 6888 (carrier
// grade).
type NAT struct {
	Addresses           []netip.Prefix // IPv4 addresses outside: the UPF's alone
	FirstPort, LastPort uint16         // ports outside, and Identifiers of ICMP queries
	// A UE gets ports in blocks of BlockPorts, BlocksPerUE at most, all of one
	// address. The log says which UE has which block.
	BlockPorts, BlocksPerUE int
	// How long a mapping lasts without packets from the UE: UDP, TCP whose
	// connections stand, TCP otherwise, ICMP queries.
	UDP, TCP, Transitory, ICMP time.Duration
}

// DefaultNAT returns what a NAT is without more being said.
// Source: RFC 4787, REQ-5; RFC 5382, REQ-5; RFC 5508, REQ-2.
func DefaultNAT(addresses ...netip.Prefix) *NAT {
	return &NAT{
		Addresses: addresses, FirstPort: 1024, LastPort: 65535, BlockPorts: 256, BlocksPerUE: 4,
		UDP: 5 * time.Minute, TCP: 2*time.Hour + 4*time.Minute, Transitory: 4 * time.Minute, ICMP: time.Minute,
	}
}

// MaxMappings is how many mappings the NATs of a datapath have in all.
const MaxMappings = 1 << 18

// MSS returns what the MSS is clamped to, octets, between a data network and
// tunnels that take IP packets of these sizes; 0: it is not.
//
// Source: RFC 9293, 3.7.1: the MSS counts neither IP nor TCP options.
func (n *DataNetwork) MSS(n6MTU, tunnelMTU int, v6 bool) int {
	headers := 20 + 20
	if v6 {
		headers = 40 + 20
	}
	switch {
	case n.MSSClamp == ClampToMTU && n6MTU > headers && tunnelMTU > headers:
		return min(n6MTU, tunnelMTU) - headers
	case n.MSSClamp == ClampToMTU:
		return 0
	}
	return n.MSSClamp
}

// OuterOctets returns how many octets the outer headers of a G-PDU have at most
// that leaves from one of the endpoints: IP, UDP, GTP-U, PDU Session Container.
func OuterOctets(endpoints []Endpoint) int {
	for i := range endpoints {
		if endpoints[i].Address6.IsValid() {
			return 40 + 8 + 8 + 8
		}
	}
	return 20 + 8 + 8 + 8
}
