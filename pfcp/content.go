package pfcp

import "fmt"

// A content is a codec without its type, for programs that handle IEs one by
// one: simulators, printers.
type content interface {
	fresh() any
	readAny(v any, b []byte) error
	writeAny(b []byte, v any) []byte
}

func (c codec[V]) fresh() any                      { return new(V) }
func (c codec[V]) readAny(v any, b []byte) error   { return c.read(v.(*V), b) }
func (c codec[V]) writeAny(b []byte, v any) []byte { return c.write(b, v.(*V)) }

// NewContent returns a pointer to the empty Go value of the content of an IE,
// or nil if the IE is grouped or not decoded.
func NewContent(t IEType) any {
	if c, ok := contents[t]; ok {
		return c.fresh()
	}
	return nil
}

// DecodeContent reads the content of an IE into what [NewContent] returned.
// Errors: those of this package, [ErrUnknown] if there is no Go value.
func DecodeContent(t IEType, v any, b []byte) error {
	c, ok := contents[t]
	if !ok {
		return fmt.Errorf("pfcp: %s: %w", t, ErrUnknown)
	}
	if info := ies[t]; len(b) < info.min || len(b) > info.max {
		return fmt.Errorf("pfcp: %s: %d octets: %w", t, len(b), ErrLength)
	}
	if err := c.readAny(v, b); err != nil {
		return fmt.Errorf("pfcp: %s: %w", t, err)
	}
	return nil
}

// AppendContent appends the content of an IE, of the type that [NewContent]
// returns, with type and length.
func AppendContent(b []byte, t IEType, v any) ([]byte, error) {
	c, ok := contents[t]
	if !ok {
		return b, fmt.Errorf("pfcp: %s: %w", t, ErrUnknown)
	}
	out := openIE(b, t)
	start := len(out)
	if out = c.writeAny(out, v); len(out)-start > maxLength {
		return b, fmt.Errorf("pfcp: %s of %d octets: %w", t, len(out)-start, ErrTooLong)
	}
	return closeIE(out, start), nil
}

// IsGrouped reports whether the content of an IE is a list of IEs.
func IsGrouped(t IEType) bool { return t <= maxIEType && groups[t] }

// groups are the grouped IEs of table 8.1.2-1 that this package knows.
var groups = func() (set [maxIEType + 1]bool) {
	for _, t := range []IEType{
		IECreatePDR, IEPDI, IECreateFAR, IEForwardingParameters, IEDuplicatingParameters, IECreateURR, IECreateQER, IECreatedPDR,
		IEUpdatePDR, IEUpdateFAR, IEUpdateForwardingParameters, IEUpdateBARReport, IEUpdateURR, IEUpdateQER,
		IERemovePDR, IERemoveFAR, IERemoveURR, IERemoveQER, IELoadControlInformation, IEOverloadControlInformation,
		IEApplicationIDsPFDs, IEPFDContext, IEApplicationDetectionInformation, IEQueryURR, IEUsageReportModification,
		IEUsageReportDeletion, IEUsageReportReport, IEDownlinkDataReport, IECreateBAR, IEUpdateBAR, IERemoveBAR,
		IEErrorIndicationReport, IEUserPlanePathFailureReport, IEUpdateDuplicatingParameters, IEAggregatedURRs,
		IECreateTrafficEndpoint, IECreatedTrafficEndpoint, IEUpdateTrafficEndpoint, IERemoveTrafficEndpoint, IEEthernetPacketFilter,
		IEEthernetTrafficInformation, IEAdditionalMonitoringTime, IECreateMAR, IERemoveMAR, IEUpdateMAR,
		IEPFCPSessionRetentionInformation, IEUserPlanePathRecoveryReport, IEIPMulticastAddressingInfo, IEUEIPAddressPoolInformation,
		IEUpdatedPDR, IEUEIPAddressUsageInformation, IEPartialFailureInformation, IEPFCPSessionChangeInfo, IEPeerUPRestartReport,
		IECreateSRR, IERemoveSRR, IEUpdateSRR,
	} {
		set[t] = true
	}
	return set
}()

var contents = func() map[IEType]content {
	m := map[IEType]content{
		IECause: cause, IESourceInterface: low[Interface](0xf), IEDestinationInterface: low[Interface](0xf),
		IEFTEID: fteid, IEFSEID: fseid, IENodeID: nodeID, IEUEIPAddress: ueIPAddress, IESDFFilter: sdfFilter,
		IENetworkInstance: nameContent, IEAPNDNN: nameContent, IEApplicationID: view, IEUserID: view, IEGroupID: view,
		IEFramedRoute: view, IEFramedIPv6Route: view, IEFramedRouting: u32[uint32](), IENFInstanceID: view,
		IEActivatePredefinedRules: view, IEDeactivatePredefinedRules: view, IEUEIPAddressPoolIdentity: poolIdentity,
		IEOuterHeaderCreation: outerHeaderCreation, IEOuterHeaderRemoval: outerHeaderRemoval,
		IEApplyAction: applyAction, IETransportLevelMarking: transportLevelMarking, IEForwardingPolicy: forwardingPolicy,
		IERedirectInformation: redirectInformation, IEHeaderEnrichment: headerEnrichment, IEIPAddressAndPortReplacement: addressReplacement, IEProxying: u8[Proxying](), IEMACAddress: macAddress, IECTAG: vlanTag, IESTAG: vlanTag, IEEthertype: u16[uint16](),
		IEEthernetFilterProperties: u8[EthernetFilterProperties](), IEEthernetPDUSessionInformation: u8[EthernetPDUSessionInformation](),
		IEMACAddressesDetected: macList, IEMACAddressesRemoved: macList, IEEthernetFilterID: u32[uint32](),
		IEGateStatus: gateStatus, IEMBR: bitRates, IEGBR: bitRates, IEQFI: low(maskQFI), IERQI: lowBit,
		IEPacketRate: packetRate, IEDLFlowLevelMarking: dlFlowLevelMarking, IEPagingPolicyIndicator: low[uint8](0x7),
		IE3GPPInterfaceType: low[InterfaceType](0x3f), IEPDNType: low[PDNType](0x7), IESNSSAI: snssai, IERATType: u8[RATType](),
		IEUPFunctionFeatures: upFunctionFeatures, IECPFunctionFeatures: cpFunctionFeatures,
		IEOffendingIE: u16[IEType](), IEFailedRuleID: failedRuleID, IEFQCSID: fqCSID, IERemoteGTPUPeer: remoteGTPUPeer,
		IEMeasurementMethod: u8[MeasurementMethod](), IEReportingTriggers: reportingTriggers, IEUsageReportTrigger: usageReportTrigger,
		IEMeasurementInformation: u8[MeasurementInformation](), IEUsageInformation: u8[UsageInformation](),
		IEVolumeThreshold: volume, IEVolumeQuota: volume, IESubsequentVolumeThreshold: volume, IESubsequentVolumeQuota: volume,
		IEVolumeMeasurement: volumeMeasurement, IEDroppedDLTrafficThreshold: droppedDLTraffic,
		IEAdditionalUsageReportsInformation: additionalUsageReports, IEReportType: u8[ReportType](), IENodeReportType: u8[NodeReportType](),
		IEDownlinkDataServiceInformation: downlinkDataServiceInfo, IEDataStatus: u8[DataStatus](),
		IEDownlinkDataNotificationDelay: u8[NotificationDelay](), IEDLBufferingDuration: u8[Timer](), IETimer: u8[Timer](),
		IEGracefulReleasePeriod: u8[Timer](), IEDLBufferingSuggestedPacketCount: packetCount, IEMetric: metric,
		IEOCIFlags: u8[OCIFlags](), IEPFCPSMReqFlags: u8[SMReqFlags](), IEPFCPSEReqFlags: u8[SEReqFlags](),
		IEPFCPSRReqFlags: u8[SRReqFlags](), IEPFCPSRRspFlags: u8[SRRspFlags](), IEPFCPSDRspFlags: u8[SDRspFlags](),
		IEPFCPASReqFlags: u8[ASReqFlags](), IEPFCPASRspFlags: u8[ASRspFlags](), IEPFCPAUReqFlags: u8[AUReqFlags](),
		IEPFCPAssociationReleaseRequest: u8[AssociationRelease](), IEPFDContents: pfdContents,
		IEAlternativeSMFIPAddress: cpAddress, IECPPFCPEntityIPAddress: cpAddress, IECPIPAddress: cpAddress,
		IEUserPlaneIPResourceInformation: userPlaneIPResource, IEIPVersion: u8[IPVersion](),
		IEPDRID: u16[uint16](), IEMARID: u16[uint16](), IENumberOfReports: u16[uint16](), IEDLDataPacketsSize: u16[uint16](),
		IEValidityTimer: u16[uint16](), IEBARID: u8[uint8](), IETrafficEndpointID: u8[uint8](), IESuggestedBufferingPacketsCount: u8[uint8](),
	}
	for _, t := range []IEType{
		IEPrecedence, IEFARID, IEQERID, IEURRID, IELinkedURRID, IEQERCorrelationID, IEURSEQN, IESequenceNumber, IETimeThreshold,
		IETimeQuota, IESubsequentTimeThreshold, IESubsequentTimeQuota, IEEventThreshold, IEEventQuota, IESubsequentEventThreshold,
		IESubsequentEventQuota, IEQuotaHoldingTime, IEQuotaValidityTime, IEMeasurementPeriod, IEInactivityDetectionTime,
		IEDurationMeasurement, IEUserPlaneInactivityTimer, IEEthernetInactivityTimer, IEAveragingWindow, IEQueryURRReference,
	} {
		m[t] = u32[uint32]()
	}
	for _, t := range []IEType{
		IERecoveryTimeStamp, IEMonitoringTime, IEStartTime, IEEndTime, IETimeOfFirstPacket, IETimeOfLastPacket, IETimeStamp,
		IEActivationTime, IEDeactivationTime,
	} {
		m[t] = u32[TimeStamp]()
	}
	return m
}()

// nameContent is a Network Instance or APN/DNN.
var nameContent = codec[Name]{
	func(v *Name, b []byte) error { *v = b; return nil },
	func(b []byte, v *Name) []byte { return append(b, *v...) },
}
