package pfcp

import (
	"fmt"
	"net/netip"
	"strings"
)

// Facts are what three codecs agree on about a message: lines of the form
// "1.0/2.0/21.0:TEID=1", which are the types of the IEs from the outside in,
// each with its index among its like, and a field by the name that scapy has.
type facts struct {
	path string
	seen map[IEType]int
	out  *[]string
}

func newFacts(h Header) facts {
	f := facts{seen: map[IEType]int{}, out: new([]string)}
	*f.out = append(*f.out, fmt.Sprintf("type=%d", h.Type), fmt.Sprintf("seq=%d", h.Sequence))
	if h.S {
		*f.out = append(*f.out, fmt.Sprintf("seid=%d", h.SEID))
	}
	return f
}

// ie steps into the next IE of type t.
func (f facts) ie(t IEType) facts {
	i := f.seen[t]
	f.seen[t]++
	return facts{path: fmt.Sprintf("%s%d.%d/", f.path, t, i), seen: map[IEType]int{}, out: f.out}
}

// is states a field.
func (f facts) is(field string, value any) {
	*f.out = append(*f.out, fmt.Sprintf("%s:%s=%v", strings.TrimSuffix(f.path, "/"), field, value))
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

func (f facts) addrs(ipv4, ipv6 netip.Addr) {
	if ipv4.IsValid() {
		f.is("ipv4", ipv4)
	}
	if ipv6.IsValid() {
		f.is("ipv6", ipv6)
	}
}

func (f facts) nodeID(v NodeID) {
	f = f.ie(IENodeID)
	switch {
	case v.Addr.Is4():
		f.is("ipv4", v.Addr)
	case v.Addr.Is6():
		f.is("ipv6", v.Addr)
	default:
		f.is("id", v.FQDN)
	}
}

func (f facts) fseid(v FSEID) {
	f = f.ie(IEFSEID)
	f.is("seid", v.SEID)
	f.addrs(v.IPv4, v.IPv6)
}

func (f facts) fteid(v FTEID) {
	f = f.ie(IEFTEID)
	f.is("CH", number(v.CH))
	if v.CHID.Present {
		f.is("choose_id", v.CHID.Value)
	}
	if !v.CH {
		f.is("TEID", v.TEID)
		f.addrs(v.IPv4, v.IPv6)
	}
}

func (f facts) interfaceType(v Optional[InterfaceType]) {
	if v.Present {
		f.ie(IE3GPPInterfaceType).is("interface_type", v.Value)
	}
}

func (f facts) name(t IEType, field string, v Name) {
	if len(v) > 0 {
		f.ie(t).is(field, v)
	}
}

func (f facts) ueip(v UEIPAddress) {
	f = f.ie(IEUEIPAddress)
	f.is("SD", number(v.Destination))
	f.addrs(v.IPv4, v.IPv6)
}

func (f facts) pdi(v PDI) {
	f = f.ie(IEPDI)
	f.ie(IESourceInterface).is("interface", v.SourceInterface)
	if v.FTEID.Present {
		f.fteid(v.FTEID.Value)
	}
	f.name(IENetworkInstance, "instance", v.NetworkInstance)
	for _, a := range v.UEIPAddresses {
		f.ueip(a)
	}
	for _, s := range v.SDFFilters {
		g := f.ie(IESDFFilter)
		g.is("flow_description", string(s.FlowDescription))
		if s.FilterID.Present {
			g.is("sdf_filter_id", s.FilterID.Value)
		}
	}
	for q := range maskQFI {
		if v.QFIs.Has(q) {
			f.ie(IEQFI).is("QFI", q)
		}
	}
	f.interfaceType(v.InterfaceType)
}

// id states one IE of type t with a field id.
func (f facts) id(t IEType, id uint32) { f.ie(t).is("id", id) }

func (f facts) ids(t IEType, ids []uint32) {
	for _, id := range ids {
		f.id(t, id)
	}
}

func (f facts) removal(v Optional[OuterHeaderRemoval]) {
	if v.Present {
		f.ie(IEOuterHeaderRemoval).is("header", v.Value.Description)
	}
}

func (f facts) createPDR(v CreatePDR) {
	f = f.ie(IECreatePDR)
	f.id(IEPDRID, uint32(v.PDRID))
	if v.Precedence != 0 { // 0 is also what an absent one is read as
		f.ie(IEPrecedence).is("precedence", v.Precedence)
	}
	f.pdi(v.PDI)
	f.removal(v.OuterHeaderRemoval)
	if v.FARID.Present {
		f.id(IEFARID, v.FARID.Value)
	}
	f.ids(IEURRID, v.URRIDs)
	f.ids(IEQERID, v.QERIDs)
}

func (f facts) apply(v ApplyAction) {
	f = f.ie(IEApplyAction)
	f.is("DROP", number(v&ApplyDROP != 0))
	f.is("FORW", number(v&ApplyFORW != 0))
	f.is("BUFF", number(v&ApplyBUFF != 0))
	f.is("NOCP", number(v&ApplyNOCP != 0))
}

func (f facts) creation(v Optional[OuterHeaderCreation]) {
	if !v.Present {
		return
	}
	f = f.ie(IEOuterHeaderCreation)
	if v.Value.Description&createTEID != 0 {
		f.is("TEID", v.Value.TEID)
	}
	f.addrs(v.Value.IPv4, v.Value.IPv6)
	if v.Value.Description&createPort != 0 {
		f.is("port", v.Value.Port)
	}
}

func (f facts) createFAR(v CreateFAR) {
	far := f.ie(IECreateFAR)
	f = far
	f.id(IEFARID, v.FARID)
	f.apply(v.ApplyAction)
	if p := v.ForwardingParameters; p.Present {
		f = f.ie(IEForwardingParameters)
		f.ie(IEDestinationInterface).is("interface", p.Value.DestinationInterface)
		f.name(IENetworkInstance, "instance", p.Value.NetworkInstance)
		f.creation(p.Value.OuterHeaderCreation)
		if m := p.Value.TransportLevelMarking; m.Present {
			g := f.ie(IETransportLevelMarking)
			g.is("tos", m.Value.Value)
			g.is("traffic_class", m.Value.Mask)
		}
		f.interfaceType(p.Value.InterfaceType)
	}
	if v.BARID.Present {
		far.id(IEBARID, uint32(v.BARID.Value))
	}
}

func (f facts) updateFAR(v UpdateFAR) {
	f = f.ie(IEUpdateFAR)
	f.id(IEFARID, v.FARID)
	if v.ApplyAction.Present {
		f.apply(v.ApplyAction.Value)
	}
	if v.BARID.Present {
		f.id(IEBARID, uint32(v.BARID.Value))
	}
	if p := v.UpdateForwardingParameters; p.Present {
		f = f.ie(IEUpdateForwardingParameters)
		if p.Value.DestinationInterface.Present {
			f.ie(IEDestinationInterface).is("interface", p.Value.DestinationInterface.Value)
		}
		f.name(IENetworkInstance, "instance", p.Value.NetworkInstance)
		f.creation(p.Value.OuterHeaderCreation)
		if p.Value.SMReqFlags&SMReqSNDEM != 0 {
			f.ie(IEPFCPSMReqFlags).is("SNDEM", 1)
		}
		f.interfaceType(p.Value.InterfaceType)
	}
}

func (f facts) rates(t IEType, v Optional[BitRates]) {
	if v.Present {
		f = f.ie(t)
		f.is("ul", v.Value.UplinkKbps)
		f.is("dl", v.Value.DownlinkKbps)
	}
}

func (f facts) createQER(v CreateQER) {
	f = f.ie(IECreateQER)
	f.id(IEQERID, v.QERID)
	if v.QERCorrelationID.Present {
		f.id(IEQERCorrelationID, v.QERCorrelationID.Value)
	}
	g := f.ie(IEGateStatus)
	g.is("ul", number(v.GateStatus.UplinkClosed))
	g.is("dl", number(v.GateStatus.DownlinkClosed))
	f.rates(IEMBR, v.MBR)
	f.rates(IEGBR, v.GBR)
	if v.QFI.Present {
		f.ie(IEQFI).is("QFI", v.QFI.Value)
	}
	if v.RQI.Present {
		f.ie(IERQI).is("RQI", number(v.RQI.Value))
	}
	if v.AveragingWindowMs.Present {
		f.ie(IEAveragingWindow).is("averaging_window", v.AveragingWindowMs.Value)
	}
}

func (f facts) createdPDRs(list []CreatedPDR) {
	for _, v := range list {
		g := f.ie(IECreatedPDR)
		g.id(IEPDRID, uint32(v.PDRID))
		for _, t := range v.LocalFTEIDs {
			g.fteid(t)
		}
		for _, a := range v.UEIPAddresses {
			g.ueip(a)
		}
	}
}

func (f facts) result(c Cause, offending Optional[IEType], failed Optional[FailedRuleID]) {
	f.ie(IECause).is("cause", uint8(c))
	if offending.Present {
		f.ie(IEOffendingIE).is("type", uint16(offending.Value))
	}
	if failed.Present {
		g := f.ie(IEFailedRuleID)
		g.is("type", uint8(failed.Value.Type))
		g.is(strings.ToLower(failed.Value.Type.String())+"_id", failed.Value.ID)
	}
}

func (f facts) features(up Optional[UPFunctionFeatures], cp Optional[CPFunctionFeatures]) {
	if up.Present {
		g := f.ie(IEUPFunctionFeatures)
		g.is("FTUP", number(up.Value&UPFeatureFTUP != 0))
		g.is("EMPU", number(up.Value&UPFeatureEMPU != 0))
	}
	if cp.Present {
		g := f.ie(IECPFunctionFeatures)
		g.is("LOAD", number(cp.Value&CPFeatureLOAD != 0))
		g.is("OVRL", number(cp.Value&CPFeatureOVRL != 0))
	}
}

func (f facts) timestamp(v TimeStamp) { f.ie(IERecoveryTimeStamp).is("timestamp", uint32(v)) }
