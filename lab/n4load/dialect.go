package n4load

import "github.com/plumbline-upf/plumbline/pfcp"

// Dialect is what a UP function needs to be told of a session beyond what all do:
// TS 29.244 leaves it to the operator, or an implementation insists on it. The
// zero value is for UP functions that need nothing more and choose F-TEIDs.
type Dialect struct {
	// CPFTEID: the UP function does not choose F-TEIDs (no FTUP), so
	// [Template.ULTEID] and [Template.N3] must be given.
	CPFTEID bool
	// InterfaceTypes: Source and Destination Interfaces come with a 3GPP Interface
	// Type, N3 or N6. Source: TS 29.244 V18.6.0, 8.2.118.
	InterfaceTypes bool
	// AccessInstance and CoreInstance are the Network Instances of N3 and N6. Empty: absent.
	AccessInstance, CoreInstance string
	DNN                          string // empty: absent
	GBR                          bool   // QERs have a GBR: of 0, if there is none
	// PDRs is how many PDRs of a session it tells apart, so that traffic is what was
	// established. 0: as many as [MaxPDRs].
	PDRs int
	// Window is how many requests in flight it bears. 0: [DefaultWindow].
	Window int
}

// Adapt says a request in the dialect: it fills in what is absent, and overwrites
// nothing.
func (d *Dialect) Adapt(m *pfcp.SessionEstablishmentRequest) {
	for i := range m.CreatePDRs {
		p := &m.CreatePDRs[i].PDI
		d.name(p.SourceInterface, &p.NetworkInstance, &p.InterfaceType)
	}
	for i := range m.CreateFARs {
		if f := &m.CreateFARs[i].ForwardingParameters; f.Present {
			d.name(f.Value.DestinationInterface, &f.Value.NetworkInstance, &f.Value.InterfaceType)
		}
	}
	for i := range m.CreateQERs {
		if q := &m.CreateQERs[i]; d.GBR && !q.GBR.Present {
			q.GBR = pfcp.Some(pfcp.BitRates{})
		}
	}
	if len(m.APNDNN) == 0 {
		m.APNDNN = pfcp.NewName(d.DNN)
	}
}

// name says more of an interface than its value.
func (d *Dialect) name(i pfcp.Interface, instance *pfcp.Name, kind *pfcp.Optional[pfcp.InterfaceType]) {
	ni, t := d.AccessInstance, pfcp.InterfaceTypeN33GPPAccess
	if i == pfcp.InterfaceCore {
		ni, t = d.CoreInstance, pfcp.InterfaceTypeN6
	}
	if len(*instance) == 0 {
		*instance = pfcp.NewName(ni)
	}
	if d.InterfaceTypes && !kind.Present {
		*kind = pfcp.Some(t)
	}
}
