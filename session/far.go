package session

import "fmt"

// ApplyAction says what is done with a packet: its first octet in the low 8
// bits, its second in the high ones.
// Source: TS 29.244 V18.6.0, 8.2.26.
type ApplyAction uint16

// The actions that the datapaths know.
const (
	Drop    ApplyAction = 0x01
	Forward ApplyAction = 0x02
)

// String names the flags as TS 29.244 does.
func (a ApplyAction) String() string {
	names := [...]string{
		"DROP", "FORW", "BUFF", "NOCP", "DUPL", "IPMA", "IPMD", "DFRT",
		"EDRT", "BDPN", "DDPN", "FSSM", "MBSU",
	}
	s := ""
	for i := range 16 {
		if a>>i&1 == 0 {
			continue
		}
		if s != "" {
			s += "+"
		}
		if i < len(names) {
			s += names[i]
		} else {
			s += fmt.Sprintf("bit%d", i)
		}
	}
	if s == "" {
		return "none"
	}
	return s
}

// FAR is a Forwarding Action Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.3.
type FAR struct {
	ID          uint32
	ApplyAction ApplyAction
	// HasForwarding: Forwarding Parameters were given at some time.
	HasForwarding bool
	Forwarding    ForwardingParameters
}

// ForwardingParameters say where a FAR sends packets, and how.
// Source: TS 29.244 V18.6.0, 7.5.2.3-2.
type ForwardingParameters struct {
	DestinationInterface Interface
	HasDSCP              bool
	DSCP                 uint8 // of the outer header, 0 to 63, if HasDSCP
	OuterHeaderCreation  OuterHeaderCreation
	NetworkInstance      string
}

// OuterHeaderCreation is GTP-U/UDP/IPv4; TEID 0: none.
// Source: TS 29.244 V18.6.0, 8.2.56.
type OuterHeaderCreation struct {
	TEID uint32
	IPv4 IPv4 // the peer
}

// UpdateFAR changes those parts of a FAR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.3.
type UpdateFAR struct {
	ID          uint32
	ApplyAction *ApplyAction
	// Update Forwarding Parameters: only the given fields change.
	HasForwarding        bool
	DestinationInterface *Interface
	NetworkInstance      *string
	OuterHeaderCreation  *OuterHeaderCreation
	DSCP                 *uint8
}

// apply changes f as u says.
func (u *UpdateFAR) apply(f *FAR) {
	if u.ApplyAction != nil {
		f.ApplyAction = *u.ApplyAction
	}
	if !u.HasForwarding {
		return
	}
	p := &f.Forwarding
	// Parameters of a FAR that had none need a Destination Interface.
	f.HasForwarding = f.HasForwarding || u.DestinationInterface != nil
	if u.DestinationInterface != nil {
		p.DestinationInterface = *u.DestinationInterface
	}
	if u.NetworkInstance != nil {
		p.NetworkInstance = *u.NetworkInstance
	}
	if u.OuterHeaderCreation != nil {
		p.OuterHeaderCreation = *u.OuterHeaderCreation
	}
	if u.DSCP != nil {
		p.HasDSCP, p.DSCP = true, *u.DSCP
	}
}
