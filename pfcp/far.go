package pfcp

// ForwardingParameters is the Forwarding Parameters of a FAR.
// Source: TS 29.244 V18.6.0, table 7.5.2.3-2.
type ForwardingParameters struct {
	DestinationInterface    Interface
	NetworkInstance         Name // empty: absent
	OuterHeaderCreation     Optional[OuterHeaderCreation]
	TransportLevelMarking   Optional[TransportLevelMarking]
	LinkedTrafficEndpointID Optional[uint8]
	InterfaceType           Optional[InterfaceType]
	Noted                   IEType // the first IE that changes the forwarding but is not decoded; 0: none
}

func (p *ForwardingParameters) noted() *IEType { return &p.Noted }

var forwardingParameters = newContainer(container[ForwardingParameters]{
	name: "Forwarding Parameters", clause: "7.5.2.3",
	reset: func(p *ForwardingParameters) { *p = ForwardingParameters{} },
	members: []member[ForwardingParameters]{
		one(IEDestinationInterface, func(p *ForwardingParameters) *Interface { return &p.DestinationInterface }, low[Interface](0xf)),
		octets(IENetworkInstance, optional, func(p *ForwardingParameters) *Name { return &p.NetworkInstance }),
		note(IERedirectInformation, conditional, (*ForwardingParameters).noted),
		opt(IEOuterHeaderCreation, conditional, func(p *ForwardingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional, func(p *ForwardingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		note(IEForwardingPolicy, conditional, (*ForwardingParameters).noted),
		note(IEHeaderEnrichment, optional, (*ForwardingParameters).noted),
		opt(IETrafficEndpointID, conditional, func(p *ForwardingParameters) *Optional[uint8] { return &p.LinkedTrafficEndpointID }, u8[uint8]()),
		note(IEProxying, conditional, (*ForwardingParameters).noted),
		opt(IE3GPPInterfaceType, optional, func(p *ForwardingParameters) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
		skip[ForwardingParameters](IEDataNetworkAccessIdentifier, conditional),
	},
})

// UpdateForwardingParameters is the Update Forwarding Parameters of an Update
// FAR: what is absent stays as it is. Source: TS 29.244 V18.6.0, table 7.5.4.3-2.
type UpdateForwardingParameters struct {
	DestinationInterface    Optional[Interface]
	NetworkInstance         Name // empty: absent
	OuterHeaderCreation     Optional[OuterHeaderCreation]
	TransportLevelMarking   Optional[TransportLevelMarking]
	SMReqFlags              SMReqFlags // SNDEM: send End Marker packets to the old peer
	LinkedTrafficEndpointID Optional[uint8]
	InterfaceType           Optional[InterfaceType]
	Noted                   IEType // the first IE that changes the forwarding but is not decoded; 0: none
}

func (p *UpdateForwardingParameters) noted() *IEType { return &p.Noted }

var updateForwardingParameters = newContainer(container[UpdateForwardingParameters]{
	name: "Update Forwarding Parameters", clause: "7.5.4.3",
	reset: func(p *UpdateForwardingParameters) { *p = UpdateForwardingParameters{} },
	members: []member[UpdateForwardingParameters]{
		opt(IEDestinationInterface, conditional,
			func(p *UpdateForwardingParameters) *Optional[Interface] { return &p.DestinationInterface }, low[Interface](0xf)),
		octets(IENetworkInstance, conditional, func(p *UpdateForwardingParameters) *Name { return &p.NetworkInstance }),
		note(IERedirectInformation, conditional, (*UpdateForwardingParameters).noted),
		opt(IEOuterHeaderCreation, conditional,
			func(p *UpdateForwardingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional,
			func(p *UpdateForwardingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		note(IEForwardingPolicy, conditional, (*UpdateForwardingParameters).noted),
		note(IEHeaderEnrichment, conditional, (*UpdateForwardingParameters).noted),
		smReqFlags(func(p *UpdateForwardingParameters) *SMReqFlags { return &p.SMReqFlags }),
		opt(IETrafficEndpointID, conditional,
			func(p *UpdateForwardingParameters) *Optional[uint8] { return &p.LinkedTrafficEndpointID }, u8[uint8]()),
		opt(IE3GPPInterfaceType, conditional,
			func(p *UpdateForwardingParameters) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
		skip[UpdateForwardingParameters](IEDataNetworkAccessIdentifier, conditional),
	},
})

// CreateFAR is a Create FAR. Forwarding Parameters are present if the Apply
// Action has FORW. Source: TS 29.244 V18.6.0, table 7.5.2.3-1.
type CreateFAR struct {
	FARID                uint32
	ApplyAction          ApplyAction
	ForwardingParameters Optional[ForwardingParameters]
	BARID                Optional[uint8]
	Noted                IEType // the first IE that changes the rule's meaning but is not decoded; 0: none
}

func (p *CreateFAR) noted() *IEType { return &p.Noted }

var createFAR = newContainer(container[CreateFAR]{
	name: "Create FAR", clause: "7.5.2.3",
	reset: func(p *CreateFAR) { *p = CreateFAR{} }, check: (*CreateFAR).check,
	members: []member[CreateFAR]{
		one(IEFARID, func(p *CreateFAR) *uint32 { return &p.FARID }, u32[uint32]()),
		one(IEApplyAction, func(p *CreateFAR) *ApplyAction { return &p.ApplyAction }, applyAction),
		opt(IEForwardingParameters, conditional,
			func(p *CreateFAR) *Optional[ForwardingParameters] { return &p.ForwardingParameters }, forwardingParameters.codec()),
		note(IEDuplicatingParameters, conditional, (*CreateFAR).noted),
		opt(IEBARID, optional, func(p *CreateFAR) *Optional[uint8] { return &p.BARID }, u8[uint8]()),
		note(IERedundantTransmissionForwarding, conditional, (*CreateFAR).noted),
	},
})

// check says that a FAR that forwards says where to.
func (p *CreateFAR) check() error {
	if p.ApplyAction&ApplyFORW != 0 && !p.ForwardingParameters.Present {
		return fail("Create FAR", IEForwardingParameters, ErrConditional)
	}
	return nil
}

// UpdateFAR is an Update FAR: what is absent stays as it is.
// Source: TS 29.244 V18.6.0, table 7.5.4.3-1.
type UpdateFAR struct {
	FARID                      uint32
	ApplyAction                Optional[ApplyAction]
	UpdateForwardingParameters Optional[UpdateForwardingParameters]
	BARID                      Optional[uint8]
	Noted                      IEType // the first IE that changes the rule's meaning but is not decoded; 0: none
}

func (p *UpdateFAR) noted() *IEType { return &p.Noted }

var updateFAR = newContainer(container[UpdateFAR]{
	name: "Update FAR", clause: "7.5.4.3",
	reset: func(p *UpdateFAR) { *p = UpdateFAR{} },
	members: []member[UpdateFAR]{
		one(IEFARID, func(p *UpdateFAR) *uint32 { return &p.FARID }, u32[uint32]()),
		opt(IEApplyAction, conditional, func(p *UpdateFAR) *Optional[ApplyAction] { return &p.ApplyAction }, applyAction),
		opt(IEUpdateForwardingParameters, conditional,
			func(p *UpdateFAR) *Optional[UpdateForwardingParameters] { return &p.UpdateForwardingParameters }, updateForwardingParameters.codec()),
		note(IEUpdateDuplicatingParameters, conditional, (*UpdateFAR).noted),
		note(IERedundantTransmissionForwarding, conditional, (*UpdateFAR).noted),
		opt(IEBARID, conditional, func(p *UpdateFAR) *Optional[uint8] { return &p.BARID }, u8[uint8]()),
	},
})

// smReqFlags is the IE PFCPSMReq-Flags, absent if no flag is set.
func smReqFlags[T any](get func(*T) *SMReqFlags) member[T] {
	c := u8[SMReqFlags]()
	return member[T]{
		ie: IEPFCPSMReqFlags, presence: conditional, state: decoded,
		read: func(dst *T, content []byte) error { return c.read(get(dst), content) },
		write: func(b []byte, src *T) []byte {
			if *get(src) == 0 {
				return b
			}
			b = openIE(b, IEPFCPSMReqFlags)
			start := len(b)
			return closeIE(c.write(b, get(src)), start)
		},
	}
}
