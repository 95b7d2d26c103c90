package pfcp

// PDI is the Packet Detection Information of a PDR.
// Source: TS 29.244 V18.6.0, table 7.5.2.2-2.
type PDI struct {
	SourceInterface    Interface
	FTEID              Optional[FTEID]
	NetworkInstance    Name // empty: absent
	UEIPAddresses      []UEIPAddress
	TrafficEndpointIDs []uint8
	SDFFilters         []SDFFilter
	EthernetSession    EthernetPDUSessionInformation
	EthernetFilters    []EthernetPacketFilter
	ApplicationID      []byte // empty: absent
	FramedRoutes       FramedRoutes
	QFIs               QFISet // empty: any
	InterfaceType      Optional[InterfaceType]
	Noted              IEType // the first IE that changes what is detected but is not done; 0: none
}

func (p *PDI) reset() {
	p.FramedRoutes.reset()
	*p = PDI{
		FramedRoutes:       p.FramedRoutes,
		UEIPAddresses:      p.UEIPAddresses[:0],
		TrafficEndpointIDs: p.TrafficEndpointIDs[:0],
		SDFFilters:         p.SDFFilters[:0],
		EthernetFilters:    p.EthernetFilters[:0],
	}
}

var pdi = newContainer(container[PDI]{
	name: "PDI", clause: "7.5.2.2", reset: (*PDI).reset,
	members: append([]member[PDI]{
		one(IESourceInterface, func(p *PDI) *Interface { return &p.SourceInterface }, low[Interface](0xf)),
		opt(IEFTEID, optional, func(p *PDI) *Optional[FTEID] { return &p.FTEID }, fteid),
		note(IELocalIngressTunnel, conditional, (*PDI).noted),
		octets(IENetworkInstance, optional, func(p *PDI) *Name { return &p.NetworkInstance }),
		note(IERedundantTransmissionDetection, optional, (*PDI).noted),
		some(IEUEIPAddress, optional, MaxAddresses, func(p *PDI) *[]UEIPAddress { return &p.UEIPAddresses }, ueIPAddress),
		note(IEMappedN6IPAddress, optional, (*PDI).noted),
		note(IEN6RoutingInformation, optional, (*PDI).noted),
		some(IETrafficEndpointID, conditional, MaxRuleRefs, func(p *PDI) *[]uint8 { return &p.TrafficEndpointIDs }, u8[uint8]()),
		some(IESDFFilter, optional, MaxSDFFilters, func(p *PDI) *[]SDFFilter { return &p.SDFFilters }, sdfFilter),
		octets(IEApplicationID, optional, func(p *PDI) *[]byte { return &p.ApplicationID }),
		flags(IEEthernetPDUSessionInformation, optional, func(p *PDI) *EthernetPDUSessionInformation { return &p.EthernetSession }),
		some(IEEthernetPacketFilter, optional, MaxSDFFilters,
			func(p *PDI) *[]EthernetPacketFilter { return &p.EthernetFilters }, ethernetPacketFilter.codec()),
		qfis(func(p *PDI) *QFISet { return &p.QFIs }),
		opt(IE3GPPInterfaceType, conditional, func(p *PDI) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
		note(IEIPMulticastAddressingInfo, optional, (*PDI).noted),
		note(IEDNSQueryFilter, optional, (*PDI).noted),
		note(IEMBSSessionIdentifier, conditional, (*PDI).noted),
		note(IEAreaSessionID, conditional, (*PDI).noted),
		note(IEProtocolDescription, optional, (*PDI).noted),
	}, framedRoutes(func(p *PDI) *FramedRoutes { return &p.FramedRoutes })...),
})

func (p *PDI) noted() *IEType { return &p.Noted }

// CreatePDR is a Create PDR. Source: TS 29.244 V18.6.0, table 7.5.2.2-1.
type CreatePDR struct {
	PDRID              uint16
	Precedence         uint32 // the lowest value is matched first; 0 if absent, as it may be on Sxa
	PDI                PDI
	OuterHeaderRemoval Optional[OuterHeaderRemoval]
	FARID              Optional[uint32] // absent: the treatment of packets is set later, or by a predefined rule or Noted
	URRIDs             []uint32
	QERIDs             []uint32
	PredefinedRules    PredefinedRules
	UEIPPoolIdentities [][]byte // UE IP address Pool Identities: one, or one for IPv4 and one for IPv6
	Noted              IEType   // the first IE that changes the rule's meaning but is not done; 0: none
}

func (p *CreatePDR) reset() {
	p.PDI.reset()
	p.PredefinedRules.reset()
	*p = CreatePDR{
		PDI: p.PDI, URRIDs: p.URRIDs[:0], QERIDs: p.QERIDs[:0],
		PredefinedRules: p.PredefinedRules, UEIPPoolIdentities: p.UEIPPoolIdentities[:0],
	}
}

var createPDR = newContainer(container[CreatePDR]{
	name: "Create PDR", clause: "7.5.2.2", reset: (*CreatePDR).reset,
	members: append([]member[CreatePDR]{
		one(IEPDRID, func(p *CreatePDR) *uint16 { return &p.PDRID }, u16[uint16]()),
		exempt(one(IEPrecedence, func(p *CreatePDR) *uint32 { return &p.Precedence }, u32[uint32]()), (*CreatePDR).onSxa),
		one(IEPDI, func(p *CreatePDR) *PDI { return &p.PDI }, pdi.codec()),
		opt(IEOuterHeaderRemoval, conditional, func(p *CreatePDR) *Optional[OuterHeaderRemoval] { return &p.OuterHeaderRemoval }, outerHeaderRemoval),
		opt(IEFARID, conditional, func(p *CreatePDR) *Optional[uint32] { return &p.FARID }, u32[uint32]()),
		some(IEURRID, conditional, MaxRuleRefs, func(p *CreatePDR) *[]uint32 { return &p.URRIDs }, u32[uint32]()),
		some(IEQERID, conditional, MaxRuleRefs, func(p *CreatePDR) *[]uint32 { return &p.QERIDs }, u32[uint32]()),
		note(IEMARID, conditional, (*CreatePDR).noted),
		note(IEPacketReplication, conditional, (*CreatePDR).noted),
		note(IEIPMulticastAddressingInfo, optional, (*CreatePDR).noted),
		some(IEUEIPAddressPoolIdentity, optional, MaxAddresses, func(p *CreatePDR) *[][]byte { return &p.UEIPPoolIdentities }, poolIdentity),
		note(IEMPTCPApplicableIndication, conditional, (*CreatePDR).noted),
		note(IETransportDelayReporting, conditional, (*CreatePDR).noted),
		skip[CreatePDR](IERATType, optional),
	}, predefinedRules(func(p *CreatePDR) *PredefinedRules { return &p.PredefinedRules })...),
})

func (p *CreatePDR) noted() *IEType { return &p.Noted }

// onSxa reports whether this can be a rule of Sxa, for which table 7.5.2.2-1 has no Precedence, and
// table 7.5.2.2-2 no match fields other than the tunnel.
func (p *CreatePDR) onSxa() bool {
	d := &p.PDI
	return len(d.UEIPAddresses)+len(d.SDFFilters)+len(d.ApplicationID) == 0 && d.QFIs == 0 &&
		(d.FTEID.Present || len(d.TrafficEndpointIDs) > 0)
}

// UpdatePDR is an Update PDR: what is absent stays as it is.
// Source: TS 29.244 V18.6.0, table 7.5.4.2-1.
type UpdatePDR struct {
	PDRID              uint16
	OuterHeaderRemoval Optional[OuterHeaderRemoval]
	Precedence         Optional[uint32]
	PDI                Optional[PDI] // replaces the whole PDI
	FARID              Optional[uint32]
	URRIDs             []uint32 // replace all, if there are any
	QERIDs             []uint32 // replace all, if there are any
	PredefinedRules    PredefinedRules
	Noted              IEType   // the first IE that changes the rule's meaning but is not done; 0: none
	Removed            []IEType // IEs of null length: what they had said holds no more
}

func (p *UpdatePDR) reset() {
	p.PDI.Value.reset()
	p.PredefinedRules.reset()
	*p = UpdatePDR{
		PDI: Optional[PDI]{Value: p.PDI.Value}, URRIDs: p.URRIDs[:0], QERIDs: p.QERIDs[:0],
		PredefinedRules: p.PredefinedRules, Removed: p.Removed[:0],
	}
}

var updatePDR = newContainer(container[UpdatePDR]{
	name: "Update PDR", clause: "7.5.4.2", reset: (*UpdatePDR).reset,
	removed: func(p *UpdatePDR) *[]IEType { return &p.Removed },
	members: append([]member[UpdatePDR]{
		one(IEPDRID, func(p *UpdatePDR) *uint16 { return &p.PDRID }, u16[uint16]()),
		opt(IEOuterHeaderRemoval, conditional, func(p *UpdatePDR) *Optional[OuterHeaderRemoval] { return &p.OuterHeaderRemoval }, outerHeaderRemoval),
		opt(IEPrecedence, conditional, func(p *UpdatePDR) *Optional[uint32] { return &p.Precedence }, u32[uint32]()),
		opt(IEPDI, conditional, func(p *UpdatePDR) *Optional[PDI] { return &p.PDI }, pdi.codec()),
		opt(IEFARID, conditional, func(p *UpdatePDR) *Optional[uint32] { return &p.FARID }, u32[uint32]()),
		some(IEURRID, conditional, MaxRuleRefs, func(p *UpdatePDR) *[]uint32 { return &p.URRIDs }, u32[uint32]()),
		some(IEQERID, conditional, MaxRuleRefs, func(p *UpdatePDR) *[]uint32 { return &p.QERIDs }, u32[uint32]()),
		note(IEIPMulticastAddressingInfo, optional, (*UpdatePDR).noted),
		note(IETransportDelayReporting, conditional, (*UpdatePDR).noted),
		skip[UpdatePDR](IERATType, optional),
	}, append(predefinedRules(func(p *UpdatePDR) *PredefinedRules { return &p.PredefinedRules }),
		some(IEDeactivatePredefinedRules, conditional, MaxRuleRefs,
			func(p *UpdatePDR) *[][]byte { return &p.PredefinedRules.Deactivate }, view))...),
})

func (p *UpdatePDR) noted() *IEType { return &p.Noted }

// CreatedPDR tells the CP function what the UP function chose for a PDR.
// Source: TS 29.244 V18.6.0, table 7.5.3.2-1.
type CreatedPDR struct {
	PDRID         uint16
	LocalFTEIDs   []FTEID // the second one, if any, is for redundant transmission
	UEIPAddresses []UEIPAddress
}

func (p *CreatedPDR) reset() {
	*p = CreatedPDR{LocalFTEIDs: p.LocalFTEIDs[:0], UEIPAddresses: p.UEIPAddresses[:0]}
}

// createdPDR and updatedPDR: an Updated PDR (table 7.5.5.5-1) has new choices of the UP function.
var (
	createdPDR = newCreatedPDR("Created PDR", "7.5.3.2")
	updatedPDR = newCreatedPDR("Updated PDR", "7.5.5.5")
)

func newCreatedPDR(name, clause string) *container[CreatedPDR] {
	return newContainer(container[CreatedPDR]{
		name: name, clause: clause, reset: (*CreatedPDR).reset,
		members: []member[CreatedPDR]{
			one(IEPDRID, func(p *CreatedPDR) *uint16 { return &p.PDRID }, u16[uint16]()),
			some(IEFTEID, conditional, MaxAddresses, func(p *CreatedPDR) *[]FTEID { return &p.LocalFTEIDs }, fteid),
			some(IEUEIPAddress, conditional, MaxAddresses, func(p *CreatedPDR) *[]UEIPAddress { return &p.UEIPAddresses }, ueIPAddress),
			skip[CreatedPDR](IEMappedN6IPAddress, conditional),
			skip[CreatedPDR](IELocalIngressTunnel, conditional),
		},
	})
}
