package session

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
	ID          uint32
	ApplyAction ApplyAction
	// HasForwarding: Forwarding Parameters were given at some time.
	HasForwarding bool
	Forwarding    ForwardingParameters
	BARID         Optional[uint8]
}

// ForwardingParameters say where a FAR sends packets, and how.
// Source: TS 29.244 V18.6.0, 7.5.2.3-2.
type ForwardingParameters struct {
	DestinationInterface Interface
	HasDSCP              bool
	DSCP                 uint8 // of the outer header, 0 to 63, if HasDSCP
	OuterHeaderCreation  OuterHeaderCreation
	NetworkInstance      string
	// Endpoint is the Linked Traffic Endpoint ID.
	Endpoint Optional[uint8]
}

// OuterHeaderCreation is GTP-U/UDP/IP; TEID 0: none. One of the addresses is
// there. Source: TS 29.244 V18.6.0, 8.2.56.
type OuterHeaderCreation struct {
	TEID uint32
	IPv4 IPv4 // the peer
	IPv6 IPv6
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
	NetworkInstance      Optional[string]
	OuterHeaderCreation  Optional[OuterHeaderCreation]
	DSCP                 Optional[uint8]
	Endpoint             Optional[uint8]
	// SendEndMarkers (SNDEM): the old tunnel gets an End Marker when the Outer
	// Header Creation changes.
	SendEndMarkers bool
	// Parameters that hold no longer.
	RemoveBAR, RemoveDSCP, RemoveEndpoint bool
}

// apply changes f as u says.
func (u *UpdateFAR) apply(f *FAR) {
	set(&f.ApplyAction, u.ApplyAction)
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
	set(&p.NetworkInstance, u.NetworkInstance)
	set(&p.OuterHeaderCreation, u.OuterHeaderCreation)
	if u.DSCP.Present {
		p.HasDSCP, p.DSCP = true, u.DSCP.Value
	}
	if u.RemoveDSCP {
		p.HasDSCP, p.DSCP = false, 0
	}
	if u.Endpoint.Present || u.RemoveEndpoint {
		p.Endpoint = u.Endpoint
	}
}

// set changes a parameter if there is a new value.
func set[T any](v *T, to Optional[T]) {
	if to.Present {
		*v = to.Value
	}
}
