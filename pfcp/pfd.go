package pfcp

import "encoding/binary"

// PFDManagementRequest is a PFD Management Request. Without any application
// all PFDs that this CP function provisioned are removed.
// Source: TS 29.244 V18.6.0, table 7.4.3.1-1.
type PFDManagementRequest struct {
	Applications []ApplicationPFDs
	NodeID       Optional[NodeID]
}

var pfdManagementRequest = newContainer(container[PFDManagementRequest]{
	name: "PFD Management Request", clause: "7.4.3.1",
	reset: func(m *PFDManagementRequest) { *m = PFDManagementRequest{Applications: m.Applications[:0]} },
	members: []member[PFDManagementRequest]{
		some(IEApplicationIDsPFDs, conditional, MaxPFDs, func(m *PFDManagementRequest) *[]ApplicationPFDs { return &m.Applications }, applicationPFDs.codec()),
		opt(IENodeID, optional, func(m *PFDManagementRequest) *Optional[NodeID] { return &m.NodeID }, nodeID),
	},
})

// PFDManagementResponse is a PFD Management Response.
// Source: TS 29.244 V18.6.0, table 7.4.3.2-1.
type PFDManagementResponse struct {
	Cause       Cause
	OffendingIE Optional[IEType]
	NodeID      Optional[NodeID]
}

var pfdManagementResponse = newContainer(container[PFDManagementResponse]{
	name: "PFD Management Response", clause: "7.4.3.2", reset: zero[PFDManagementResponse],
	members: []member[PFDManagementResponse]{
		one(IECause, func(m *PFDManagementResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *PFDManagementResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		opt(IENodeID, optional, func(m *PFDManagementResponse) *Optional[NodeID] { return &m.NodeID }, nodeID),
	},
})

// ApplicationPFDs is an Application ID's PFDs: they take the place of all that
// the application had. Without contexts it has none any more.
// Source: TS 29.244 V18.6.0, table 7.4.3.1-2.
type ApplicationPFDs struct {
	ApplicationID []byte
	Contexts      []PFDContext
}

// The lists inside are not kept from message to message: what can be nested
// would otherwise be held for the worst of every level.
var applicationPFDs = newContainer(container[ApplicationPFDs]{
	name: "Application ID's PFDs", clause: "7.4.3.1", reset: zero[ApplicationPFDs],
	members: []member[ApplicationPFDs]{
		one(IEApplicationID, func(p *ApplicationPFDs) *[]byte { return &p.ApplicationID }, view),
		some(IEPFDContext, conditional, MaxPFDs, func(p *ApplicationPFDs) *[]PFDContext { return &p.Contexts }, pfdContext.codec()),
	},
})

// PFDContext is a PFD context. Source: TS 29.244 V18.6.0, table 7.4.3.1-3.
type PFDContext struct {
	Contents []PFDContents
}

var pfdContext = newContainer(container[PFDContext]{
	name: "PFD context", clause: "7.4.3.1", reset: zero[PFDContext],
	members: []member[PFDContext]{
		some(IEPFDContents, mandatory, MaxPFDs, func(p *PFDContext) *[]PFDContents { return &p.Contents }, pfdContents),
	},
})

// PFDContents is PFD Contents. Nil fields are absent. The Additional ones are kept undecoded: each
// is a list of fields, each preceded by its length in two octets, to be read with [PFDList].
// Source: TS 29.244 V18.6.0, 8.2.39.
type PFDContents struct {
	FlowDescription           []byte // an IPFilterRule
	URL                       []byte
	DomainName                []byte
	CustomPFDContent          []byte
	DomainNameProtocol        []byte // only with DomainName
	AdditionalFlowDescription []byte
	AdditionalURL             []byte
	AdditionalDomainName      []byte // names and protocols in turn
}

// fields lists the parts of a PFD Contents in the order of their flags, lowest
// bit first, which is also their order on the wire.
func (v *PFDContents) fields() [8]*[]byte {
	return [...]*[]byte{
		&v.FlowDescription, &v.URL, &v.DomainName, &v.CustomPFDContent,
		&v.DomainNameProtocol, &v.AdditionalFlowDescription, &v.AdditionalURL, &v.AdditionalDomainName,
	}
}

var pfdContents = codec[PFDContents]{
	func(v *PFDContents, b []byte) error {
		*v = PFDContents{}
		r := reader{b: b}
		flags := r.u8()
		r.u8() // spare
		for i, field := range v.fields() {
			if flags&(1<<i) != 0 {
				*field = r.take(int(r.u16()))
			}
		}
		return r.err
	},
	func(b []byte, v *PFDContents) []byte {
		flags := len(b)
		b = append(b, 0, 0)
		for i, field := range v.fields() {
			if *field != nil {
				b[flags] |= 1 << i
				b = binary.BigEndian.AppendUint16(b, uint16(len(*field)))
				b = append(b, *field...)
			}
		}
		return b
	},
}

// PFDList yields the fields of an Additional part of a PFD Contents. It ends
// before a field that reaches beyond the part.
func PFDList(part []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		r := reader{b: part}
		for len(r.b) > 0 {
			field := r.take(int(r.u16()))
			if r.err != nil || !yield(field) {
				return
			}
		}
	}
}
