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
	RedirectInformation     Optional[RedirectInformation]
	ForwardingPolicy        Optional[[]byte] // Forwarding Policy Identifier
	HeaderEnrichment        Optional[HeaderEnrichment]
	Replacement             Optional[AddressReplacement]
	Proxying                Proxying
	Noted                   IEType // the first IE that changes the forwarding but is not done; 0: none
}

func (p *ForwardingParameters) noted() *IEType { return &p.Noted }

var forwardingParameters = newContainer(container[ForwardingParameters]{
	name: "Forwarding Parameters", clause: "7.5.2.3",
	reset: zero[ForwardingParameters],
	members: []member[ForwardingParameters]{
		one(IEDestinationInterface, func(p *ForwardingParameters) *Interface { return &p.DestinationInterface }, low[Interface](0xf)),
		octets(IENetworkInstance, optional, func(p *ForwardingParameters) *Name { return &p.NetworkInstance }),
		opt(IERedirectInformation, conditional, func(p *ForwardingParameters) *Optional[RedirectInformation] { return &p.RedirectInformation }, redirectInformation),
		opt(IEOuterHeaderCreation, conditional, func(p *ForwardingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional, func(p *ForwardingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		opt(IEForwardingPolicy, conditional, func(p *ForwardingParameters) *Optional[[]byte] { return &p.ForwardingPolicy }, forwardingPolicy),
		refuse(opt(IEHeaderEnrichment, optional, func(p *ForwardingParameters) *Optional[HeaderEnrichment] { return &p.HeaderEnrichment }, headerEnrichment), (*ForwardingParameters).noted),
		opt(IETrafficEndpointID, conditional, func(p *ForwardingParameters) *Optional[uint8] { return &p.LinkedTrafficEndpointID }, u8[uint8]()),
		flags(IEProxying, conditional, func(p *ForwardingParameters) *Proxying { return &p.Proxying }),
		opt(IE3GPPInterfaceType, optional, func(p *ForwardingParameters) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
		skip[ForwardingParameters](IEDataNetworkAccessIdentifier, conditional),
		opt(IEIPAddressAndPortReplacement, conditional, func(p *ForwardingParameters) *Optional[AddressReplacement] { return &p.Replacement }, addressReplacement),
		note(IEMetadata, optional, (*ForwardingParameters).noted),
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
	RedirectInformation     Optional[RedirectInformation]
	ForwardingPolicy        Optional[[]byte] // Forwarding Policy Identifier
	HeaderEnrichment        Optional[HeaderEnrichment]
	Replacement             Optional[AddressReplacement]
	Noted                   IEType   // the first IE that changes the forwarding but is not done; 0: none
	Removed                 []IEType // IEs of null length: what they had said holds no more
}

func (p *UpdateForwardingParameters) noted() *IEType { return &p.Noted }

var updateForwardingParameters = newContainer(container[UpdateForwardingParameters]{
	name: "Update Forwarding Parameters", clause: "7.5.4.3",
	reset:   func(p *UpdateForwardingParameters) { *p = UpdateForwardingParameters{Removed: p.Removed[:0]} },
	removed: func(p *UpdateForwardingParameters) *[]IEType { return &p.Removed },
	members: []member[UpdateForwardingParameters]{
		opt(IEDestinationInterface, conditional,
			func(p *UpdateForwardingParameters) *Optional[Interface] { return &p.DestinationInterface }, low[Interface](0xf)),
		octets(IENetworkInstance, conditional, func(p *UpdateForwardingParameters) *Name { return &p.NetworkInstance }),
		opt(IERedirectInformation, conditional, func(p *UpdateForwardingParameters) *Optional[RedirectInformation] { return &p.RedirectInformation }, redirectInformation),
		opt(IEOuterHeaderCreation, conditional,
			func(p *UpdateForwardingParameters) *Optional[OuterHeaderCreation] { return &p.OuterHeaderCreation }, outerHeaderCreation),
		opt(IETransportLevelMarking, conditional,
			func(p *UpdateForwardingParameters) *Optional[TransportLevelMarking] { return &p.TransportLevelMarking }, transportLevelMarking),
		opt(IEForwardingPolicy, conditional, func(p *UpdateForwardingParameters) *Optional[[]byte] { return &p.ForwardingPolicy }, forwardingPolicy),
		refuse(opt(IEHeaderEnrichment, conditional, func(p *UpdateForwardingParameters) *Optional[HeaderEnrichment] { return &p.HeaderEnrichment }, headerEnrichment), (*UpdateForwardingParameters).noted),
		flags(IEPFCPSMReqFlags, conditional, func(p *UpdateForwardingParameters) *SMReqFlags { return &p.SMReqFlags }),
		opt(IETrafficEndpointID, conditional,
			func(p *UpdateForwardingParameters) *Optional[uint8] { return &p.LinkedTrafficEndpointID }, u8[uint8]()),
		opt(IE3GPPInterfaceType, conditional,
			func(p *UpdateForwardingParameters) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
		skip[UpdateForwardingParameters](IEDataNetworkAccessIdentifier, conditional),
		opt(IEIPAddressAndPortReplacement, conditional, func(p *UpdateForwardingParameters) *Optional[AddressReplacement] { return &p.Replacement }, addressReplacement),
		note(IEMetadata, conditional, (*UpdateForwardingParameters).noted),
	},
})

// CreateFAR is a Create FAR. Forwarding Parameters are present if the Apply
// Action has FORW. Source: TS 29.244 V18.6.0, table 7.5.2.3-1.
type CreateFAR struct {
	FARID                uint32
	ApplyAction          ApplyAction
	ForwardingParameters Optional[ForwardingParameters]
	Duplicating          []DuplicatingParameters
	BARID                Optional[uint8]
	Noted                IEType // the first IE that changes the rule's meaning but is not done; 0: none
}

func (p *CreateFAR) noted() *IEType { return &p.Noted }

var createFAR = newContainer(container[CreateFAR]{
	name: "Create FAR", clause: "7.5.2.3",
	reset: func(p *CreateFAR) { *p = CreateFAR{Duplicating: p.Duplicating[:0]} }, check: (*CreateFAR).check,
	members: []member[CreateFAR]{
		one(IEFARID, func(p *CreateFAR) *uint32 { return &p.FARID }, u32[uint32]()),
		one(IEApplyAction, func(p *CreateFAR) *ApplyAction { return &p.ApplyAction }, applyAction),
		opt(IEForwardingParameters, conditional,
			func(p *CreateFAR) *Optional[ForwardingParameters] { return &p.ForwardingParameters }, forwardingParameters.codec()),
		some(IEDuplicatingParameters, conditional, MaxDuplicates,
			func(p *CreateFAR) *[]DuplicatingParameters { return &p.Duplicating }, duplicatingParameters.codec()),
		opt(IEBARID, optional, func(p *CreateFAR) *Optional[uint8] { return &p.BARID }, u8[uint8]()),
		note(IERedundantTransmissionForwarding, conditional, (*CreateFAR).noted),
		note(IEMBSMulticastParameters, conditional, (*CreateFAR).noted),
		note(IEAddMBSUnicastParameters, conditional, (*CreateFAR).noted),
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
	UpdateDuplicating          []UpdateDuplicatingParameters // in the order of those of the FAR
	BARID                      Optional[uint8]
	Noted                      IEType   // the first IE that changes the rule's meaning but is not done; 0: none
	Removed                    []IEType // IEs of null length: what they had said holds no more
}

func (p *UpdateFAR) reset() {
	parameters := UpdateForwardingParameters{Removed: p.UpdateForwardingParameters.Value.Removed[:0]}
	*p = UpdateFAR{
		UpdateForwardingParameters: Optional[UpdateForwardingParameters]{Value: parameters},
		UpdateDuplicating:          p.UpdateDuplicating[:0],
		Removed:                    p.Removed[:0],
	}
}

func (p *UpdateFAR) noted() *IEType { return &p.Noted }

var updateFAR = newContainer(container[UpdateFAR]{
	name: "Update FAR", clause: "7.5.4.3",
	reset:   (*UpdateFAR).reset,
	removed: func(p *UpdateFAR) *[]IEType { return &p.Removed },
	members: []member[UpdateFAR]{
		one(IEFARID, func(p *UpdateFAR) *uint32 { return &p.FARID }, u32[uint32]()),
		opt(IEApplyAction, conditional, func(p *UpdateFAR) *Optional[ApplyAction] { return &p.ApplyAction }, applyAction),
		opt(IEUpdateForwardingParameters, conditional,
			func(p *UpdateFAR) *Optional[UpdateForwardingParameters] { return &p.UpdateForwardingParameters }, updateForwardingParameters.codec()),
		some(IEUpdateDuplicatingParameters, conditional, MaxDuplicates,
			func(p *UpdateFAR) *[]UpdateDuplicatingParameters { return &p.UpdateDuplicating }, updateDuplicatingParameters.codec()),
		note(IERedundantTransmissionForwarding, conditional, (*UpdateFAR).noted),
		note(IEAddMBSUnicastParameters, conditional, (*UpdateFAR).noted),
		note(IERemoveMBSUnicastParameters, conditional, (*UpdateFAR).noted),
		opt(IEBARID, conditional, func(p *UpdateFAR) *Optional[uint8] { return &p.BARID }, u8[uint8]()),
	},
})
