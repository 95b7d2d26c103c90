package session

import "slices"

// ApplyAction says what is done with a packet: its first octet in the low 8
// bits, its second in the high ones.
// Source: TS 29.244 V18.6.0, 8.2.26.
type ApplyAction uint16

// The actions that the datapaths know.
const (
	Drop    ApplyAction = 0x01
	Forward ApplyAction = 0x02
	Buffer  ApplyAction = 0x04
	Notify  ApplyAction = 0x08 // NOCP, with Buffer: the CP function is told
	Copy    ApplyAction = 0x10 // DUPL, with Forward: as Duplicates say

	NotifyBuffered  ApplyAction = 0x0200 // BDPN, with Buffer: of the first packet that is buffered
	NotifyDiscarded ApplyAction = 0x0400 // DDPN, with Buffer or Drop: of the first packet that is discarded
)

// String names the flags as TS 29.244 does.
func (a ApplyAction) String() string {
	return flagNames(uint32(a), []string{
		"DROP", "FORW", "BUFF", "NOCP", "DUPL", "IPMA", "IPMD", "DFRT",
		"EDRT", "BDPN", "DDPN", "FSSM", "MBSU",
	})
}

// FAR is a Forwarding Action Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.3.
type FAR struct {
	ID          uint32      `record:"0"`
	ApplyAction ApplyAction `record:"1"`
	// HasForwarding: Forwarding Parameters were given at some time.
	HasForwarding bool                 `record:"2.0"`
	Forwarding    ForwardingParameters `record:"."`
	BARID         Optional[uint8]      `record:"7"`
	// Duplicates are where copies go; never changed once they are made.
	Duplicates []Duplicate `record:"16 shared"`
}

// Duplicate is the Duplicating Parameters of a FAR.
// Source: TS 29.244 V18.6.0, 7.5.2.3-3.
type Duplicate struct {
	DestinationInterface Interface           `record:"0" api:"DestinationInterface,copiesTowards"`
	DSCP                 Optional[uint8]     `record:"1.0 2" api:"Dscp"` // of the outer header, 0 to 63
	OuterHeaderCreation  OuterHeaderCreation `record:"3 4 5 7 8 9 10" api:"OuterHeaderCreation,*outerHeader"`
	ForwardingPolicy     string              `record:"1.1" api:"ForwardingPolicy"` // empty: none
}

// ForwardingParameters say where a FAR sends packets, and how.
// Source: TS 29.244 V18.6.0, 7.5.2.3-2.
type ForwardingParameters struct {
	DestinationInterface Interface               `record:"3" api:"DestinationInterface,api.Interface"`
	InterfaceType        Optional[InterfaceType] `record:"17" api:"InterfaceType"`
	DSCP                 Optional[uint8]         `record:"2.1 6" api:"Dscp"` // of the outer header, 0 to 63
	OuterHeaderCreation  OuterHeaderCreation     `record:"4 5 9 11 12 13 14" api:"OuterHeaderCreation,*outerHeader"`
	NetworkInstance      string                  `record:"2.2" api:"NetworkInstance"`
	// Endpoint is the Linked Traffic Endpoint ID.
	Endpoint Optional[uint8] `record:"8"`
	// ForwardingPolicy is a Forwarding Policy Identifier; empty: none.
	ForwardingPolicy string    `record:"15.0" api:"ForwardingPolicy"`
	Redirect         *Redirect `record:"15.1" api:"Redirect"` // nil: none; never changed once it is made
	// Replacement is an IP Address and Port number Replacement; nil: none; never changed
	// once it is made.
	Replacement *Replacement `record:"15.4" api:"Replacement"`
	// ProxyARP and ProxyND: the UP function answers for the UE's data network.
	// Source: TS 29.244 V18.6.0, 8.2.99.
	ProxyARP bool `record:"15.2" api:"ProxyArp"`
	ProxyND  bool `record:"15.3" api:"ProxyNd"`
}

// Redirect is Redirect Information: a URL, or an address of one or each IP version.
// Source: TS 29.244 V18.6.0, 8.2.20.
type Redirect struct {
	URL  string `record:"0.0" api:"Url"` // empty: none
	IPv4 IPv4   `record:"1" api:"Ipv4"`
	IPv6 IPv6   `record:"2" api:"Ipv6"`
}

// Replacement is what takes the place of addresses and ports of user packets; zero: they
// stay. Source: TS 29.244 V18.6.0, 8.2.200.
type Replacement struct {
	DestinationIPv4 IPv4   `record:"0" api:"DestinationIpv4"`
	DestinationIPv6 IPv6   `record:"1" api:"DestinationIpv6"`
	DestinationPort uint16 `record:"3" api:"DestinationPort"`
	SourceIPv4      IPv4   `record:"4" api:"SourceIpv4"`
	SourceIPv6      IPv6   `record:"5" api:"SourceIpv6"`
	SourcePort      uint16 `record:"7" api:"SourcePort"`
}

// OuterHeaderCreation is what is put around a packet; GTP-U with TEID 0: nothing.
// One of the addresses is there, but with VLAN tags alone.
// Source: TS 29.244 V18.6.0, 8.2.56.
type OuterHeaderCreation struct {
	TEID uint32 `api:"Teid"`
	IPv4 IPv4   `api:"Ipv4"` // the peer
	IPv6 IPv6   `api:"Ipv6"`

	Encapsulation Encapsulation `api:"Encapsulation,api.Encapsulation"`
	Port          uint16        `api:"Port"` // of UDP without GTP-U
	// CTAG and STAG are put on frames of Ethernet PDU sessions: PCP, DEI and VID as
	// on the wire, 16 bits in host order.
	CTAG Optional[uint16] `api:"CTag"`
	STAG Optional[uint16] `api:"STag"`
}

// Encapsulation is the outermost part of an [OuterHeaderCreation].
type Encapsulation uint8

// Encapsulations.
const (
	GTPU    Encapsulation = iota // GTP-U/UDP/IP
	UDP                          // UDP/IP
	PlainIP                      // IP alone
	Tags                         // VLAN tags alone
)

// Creates reports whether there is anything to be put around packets.
func (o *OuterHeaderCreation) Creates() bool { return o.Encapsulation != GTPU || o.TEID != 0 }

// Incomplete reports whether the FAR forwards to a tunnel that it does not name
// yet: towards Access or the CP function without Outer Header Creation, or with one
// that lacks the TEID or the address. An SMF that establishes a session before it
// knows the gNB's F-TEID sends such a FAR, and the tunnel with Update FAR. Until
// then there is nowhere to forward packets to.
func (f *FAR) Incomplete() bool {
	if f.ApplyAction&Forward == 0 {
		return false
	}
	o, to := &f.Forwarding.OuterHeaderCreation, f.Forwarding.DestinationInterface
	switch {
	case o.Encapsulation != GTPU:
		return false
	case *o == OuterHeaderCreation{}:
		return to == Access || to == CPFunction
	}
	return o.TEID == 0 || o.IPv4 == IPv4{} && o.IPv6 == IPv6{}
}

// UpdateFAR changes those parts of a FAR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.3.
type UpdateFAR struct {
	ID          uint32
	ApplyAction Optional[ApplyAction]
	BARID       Optional[uint8]
	// Update Forwarding Parameters: only the given fields change.
	HasForwarding        bool
	DestinationInterface Optional[Interface]
	InterfaceType        Optional[InterfaceType]
	NetworkInstance      Optional[string]
	OuterHeaderCreation  Optional[OuterHeaderCreation]
	DSCP                 Optional[uint8]
	Endpoint             Optional[uint8]
	ForwardingPolicy     Optional[string]
	Redirect             Optional[*Redirect]
	Replacement          Optional[*Replacement]
	// Duplicates are Update Duplicating Parameters, in the order of those of the
	// FAR; further ones are new.
	Duplicates []UpdateDuplicate
	// SendEndMarkers (SNDEM): the old tunnel gets an End Marker when the Outer
	// Header Creation changes.
	SendEndMarkers bool
	// Parameters that hold no longer.
	RemoveBAR, RemoveDSCP, RemoveEndpoint, RemoveInterfaceType bool
}

// UpdateDuplicate changes those parts of Duplicating Parameters that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.3-3.
type UpdateDuplicate struct {
	DestinationInterface Optional[Interface]
	OuterHeaderCreation  Optional[OuterHeaderCreation]
	DSCP                 Optional[uint8]
	ForwardingPolicy     Optional[string]
	RemoveDSCP           bool
}

// apply changes f as u says.
func (u *UpdateFAR) apply(f *FAR) {
	set(&f.ApplyAction, u.ApplyAction)
	u.applyDuplicates(f)
	if u.BARID.Present {
		f.BARID = u.BARID
	}
	if u.RemoveBAR {
		f.BARID = Optional[uint8]{}
	}
	if !u.HasForwarding {
		return
	}
	p := &f.Forwarding
	// Parameters of a FAR that had none need a Destination Interface.
	f.HasForwarding = f.HasForwarding || u.DestinationInterface.Present
	set(&p.DestinationInterface, u.DestinationInterface)
	if u.InterfaceType.Present || u.RemoveInterfaceType {
		p.InterfaceType = u.InterfaceType
	}
	set(&p.NetworkInstance, u.NetworkInstance)
	set(&p.OuterHeaderCreation, u.OuterHeaderCreation)
	if u.DSCP.Present {
		p.DSCP = u.DSCP
	}
	if u.RemoveDSCP {
		p.DSCP = Optional[uint8]{}
	}
	if u.Endpoint.Present || u.RemoveEndpoint {
		p.Endpoint = u.Endpoint
	}
	set(&p.ForwardingPolicy, u.ForwardingPolicy)
	set(&p.Redirect, u.Redirect)
	set(&p.Replacement, u.Replacement)
}

// applyDuplicates makes the FAR's Duplicates anew if any of them changes.
func (u *UpdateFAR) applyDuplicates(f *FAR) {
	if len(u.Duplicates) == 0 {
		return
	}
	list := slices.Clone(f.Duplicates)
	for i := range u.Duplicates {
		if i == len(list) {
			list = append(list, Duplicate{})
		}
		from, d := &u.Duplicates[i], &list[i]
		set(&d.DestinationInterface, from.DestinationInterface)
		set(&d.OuterHeaderCreation, from.OuterHeaderCreation)
		set(&d.ForwardingPolicy, from.ForwardingPolicy)
		if from.DSCP.Present {
			d.DSCP = from.DSCP
		}
		if from.RemoveDSCP {
			d.DSCP = Optional[uint8]{}
		}
	}
	f.Duplicates = list
}

// set changes a parameter if there is a new value.
func set[T any](v *T, to Optional[T]) {
	if to.Present {
		*v = to.Value
	}
}
