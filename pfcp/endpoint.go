package pfcp

// TrafficEndpoint is a Create Traffic Endpoint, or an Update Traffic Endpoint,
// in which what is absent stays as it is.
// Source: TS 29.244 V18.6.0, tables 7.5.2.7-1 and 7.5.4.13-1.
type TrafficEndpoint struct {
	TrafficEndpointID uint8
	FTEID             Optional[FTEID]
	NetworkInstance   Name // empty: absent
	UEIPAddresses     []UEIPAddress
	FramedRoutes      FramedRoutes
	EthernetSession   EthernetPDUSessionInformation
	QFIs              QFISet // empty: any
	InterfaceType     Optional[InterfaceType]
	Noted             IEType   // the first IE that changes what is detected but is not done; 0: none
	Removed           []IEType // of an update: IEs of null length, whose parameters are removed
}

func (p *TrafficEndpoint) reset() {
	p.FramedRoutes.reset()
	*p = TrafficEndpoint{UEIPAddresses: p.UEIPAddresses[:0], FramedRoutes: p.FramedRoutes, Removed: p.Removed[:0]}
}

func (p *TrafficEndpoint) noted() *IEType { return &p.Noted }

var (
	createTEP = newTrafficEndpoint("Create Traffic Endpoint", "7.5.2.7", nil)
	updateTEP = newTrafficEndpoint("Update Traffic Endpoint", "7.5.4.13", func(p *TrafficEndpoint) *[]IEType { return &p.Removed })
)

func newTrafficEndpoint(name, clause string, removed func(*TrafficEndpoint) *[]IEType) *container[TrafficEndpoint] {
	members := []member[TrafficEndpoint]{
		one(IETrafficEndpointID, func(p *TrafficEndpoint) *uint8 { return &p.TrafficEndpointID }, u8[uint8]()),
		opt(IEFTEID, optional, func(p *TrafficEndpoint) *Optional[FTEID] { return &p.FTEID }, fteid),
		octets(IENetworkInstance, optional, func(p *TrafficEndpoint) *Name { return &p.NetworkInstance }),
		note(IERedundantTransmissionDetection, optional, (*TrafficEndpoint).noted),
		some(IEUEIPAddress, optional, MaxAddresses, func(p *TrafficEndpoint) *[]UEIPAddress { return &p.UEIPAddresses }, ueIPAddress),
		note(IEMappedN6IPAddress, optional, (*TrafficEndpoint).noted),
		note(IEN6RoutingInformation, optional, (*TrafficEndpoint).noted),
		flags(IEEthernetPDUSessionInformation, optional, func(p *TrafficEndpoint) *EthernetPDUSessionInformation { return &p.EthernetSession }),
	}
	members = append(members, framedRoutes(func(p *TrafficEndpoint) *FramedRoutes { return &p.FramedRoutes })...)
	return newContainer(container[TrafficEndpoint]{
		name: name, clause: clause, reset: (*TrafficEndpoint).reset, removed: removed,
		members: append(members,
			qfis(func(p *TrafficEndpoint) *QFISet { return &p.QFIs }),
			opt(IE3GPPInterfaceType, conditional, func(p *TrafficEndpoint) *Optional[InterfaceType] { return &p.InterfaceType }, low[InterfaceType](0x3f)),
			note(IELocalIngressTunnel, conditional, (*TrafficEndpoint).noted),
			note(IEIPMulticastAddressingInfo, conditional, (*TrafficEndpoint).noted),
			note(IEMBSSessionIdentifier, conditional, (*TrafficEndpoint).noted),
			note(IEAreaSessionID, conditional, (*TrafficEndpoint).noted),
			skip[TrafficEndpoint](IERATType, optional),
		),
	})
}

// CreatedTrafficEndpoint tells the CP function what the UP function chose for
// a Traffic Endpoint. Source: TS 29.244 V18.6.0, table 7.5.3.5-1.
type CreatedTrafficEndpoint struct {
	TrafficEndpointID uint8
	LocalFTEIDs       []FTEID // the second one, if any, is for redundant transmission
	UEIPAddresses     []UEIPAddress
}

var createdTEP = newContainer(container[CreatedTrafficEndpoint]{
	name: "Created Traffic Endpoint", clause: "7.5.3.5",
	reset: func(p *CreatedTrafficEndpoint) {
		*p = CreatedTrafficEndpoint{LocalFTEIDs: p.LocalFTEIDs[:0], UEIPAddresses: p.UEIPAddresses[:0]}
	},
	members: []member[CreatedTrafficEndpoint]{
		one(IETrafficEndpointID, func(p *CreatedTrafficEndpoint) *uint8 { return &p.TrafficEndpointID }, u8[uint8]()),
		some(IEFTEID, conditional, MaxAddresses, func(p *CreatedTrafficEndpoint) *[]FTEID { return &p.LocalFTEIDs }, fteid),
		some(IEUEIPAddress, conditional, MaxAddresses, func(p *CreatedTrafficEndpoint) *[]UEIPAddress { return &p.UEIPAddresses }, ueIPAddress),
		skip[CreatedTrafficEndpoint](IEMappedN6IPAddress, conditional),
		skip[CreatedTrafficEndpoint](IELocalIngressTunnel, conditional),
	},
})

// FramedRoutes are the framed routes of a PDI or Traffic Endpoint, as text of
// RFC 2865 and RFC 3162. Source: TS 29.244 V18.6.0, 8.2.109 to 8.2.111.
type FramedRoutes struct {
	IPv4    [][]byte         // Framed-Route: "10.60.0.0/16 0.0.0.0 1"
	Routing Optional[uint32] // Framed-Routing
	IPv6    [][]byte         // Framed-IPv6-Route
}

func (p *FramedRoutes) reset() { *p = FramedRoutes{IPv4: p.IPv4[:0], IPv6: p.IPv6[:0]} }

func framedRoutes[T any](get func(*T) *FramedRoutes) []member[T] {
	return []member[T]{
		some(IEFramedRoute, optional, MaxRuleRefs, func(p *T) *[][]byte { return &get(p).IPv4 }, view),
		opt(IEFramedRouting, optional, func(p *T) *Optional[uint32] { return &get(p).Routing }, u32[uint32]()),
		some(IEFramedIPv6Route, optional, MaxRuleRefs, func(p *T) *[][]byte { return &get(p).IPv6 }, view),
	}
}
