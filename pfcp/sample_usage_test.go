package pfcp

// Samples of rules and messages that have to do with usage, buffering and
// reports, and of node messages.

func some64(v uint64) Optional[uint64] { return Some(v) }

var (
	sampleURR = CreateURR{
		URRID: 7, MeasurementMethod: MeasureDURAT | MeasureVOLUM,
		ReportingTriggers: ReportPERIO | ReportVOLTH | ReportVOLQU | ReportQUVTI | ReportUPINT,
		URRParameters:     sampleURRParameters,
	}
	sampleURRParameters = URRParameters{
		MeasurementPeriodS: Some(uint32(3600)),
		VolumeThreshold:    Some(Volume{Total: some64(1 << 40)}),
		VolumeQuota:        Some(Volume{Total: some64(1), Uplink: some64(2), Downlink: some64(3)}),
		EventThreshold:     Some(uint32(4)), EventQuota: Some(uint32(5)),
		TimeThresholdS: Some(uint32(6)), TimeQuotaS: Some(uint32(7)), QuotaHoldingTimeS: Some(uint32(8)),
		DroppedDLTrafficThreshold: Some(DroppedDLTraffic{Packets: some64(9), Octets: some64(10)}),
		QuotaValidityTimeS:        Some(uint32(11)),
		MonitoringTime:            Some(TimeStamp(3977608738)),
		SubsequentVolumeThreshold: Some(Volume{Uplink: some64(12)}), SubsequentTimeThresholdS: Some(uint32(13)),
		SubsequentVolumeQuota: Some(Volume{Downlink: some64(14)}), SubsequentTimeQuotaS: Some(uint32(15)),
		SubsequentEventThreshold: Some(uint32(16)), SubsequentEventQuota: Some(uint32(17)),
		AdditionalMonitoringTimes: []AdditionalMonitoringTime{
			{MonitoringTime: 18, SubsequentVolumeThreshold: Some(Volume{Total: some64(19)}), SubsequentTimeThresholdS: Some(uint32(20))},
			{MonitoringTime: 21, SubsequentVolumeQuota: Some(Volume{Total: some64(22)}), EventThreshold: Some(uint32(23)), EventQuota: Some(uint32(24))},
		},
		InactivityDetectionTimeS: Some(uint32(25)), LinkedURRIDs: []uint32{8, 9},
		MeasurementInformation: Some(MeasurementMBQE | MeasurementMNOP), FARIDForQuotaAction: Some(uint32(3)),
		NumberOfReports: Some(uint16(2)), UserPlaneInactivityS: Some(uint32(26)),
	}
	sampleBAR = BAR{
		BARID: 1, NotificationDelay: Some(NotificationDelay(4)), BufferingDuration: Some(NewTimer(60e9)),
		BufferingSuggestedPackets: Some(uint16(300)), SuggestedBufferingPackets: Some(uint8(20)),
	}
	sampleTEP = TrafficEndpoint{
		TrafficEndpointID: 3, FTEID: Some(FTEID{CH: true, V4: true, CHID: Some(uint8(2))}), NetworkInstance: NewName("internet"),
		UEIPAddresses: []UEIPAddress{{IPv4: ue4}}, InterfaceType: Some(InterfaceTypeN33GPPAccess),
	}
	sampleUsage = UsageReport{
		URRID: 7, URSEQN: 1, Trigger: TriggerVOLTH | TriggerLIUSA, StartTime: Some(TimeStamp(1)), EndTime: Some(TimeStamp(2)),
		Volume: Some(VolumeMeasurement{
			Total: some64(300), Uplink: some64(100), Downlink: some64(200),
			TotalPackets: some64(3), UplinkPackets: some64(1), DownlinkPackets: some64(2),
		}),
		DurationS: Some(uint32(60)), TimeOfFirstPacket: Some(TimeStamp(3)), TimeOfLastPacket: Some(TimeStamp(4)),
		UsageInformation: UsageBEF | UsageUAE,
	}
	sampleLoad     = Some(LoadControl{SequenceNumber: 5, Metric: 80})
	sampleOverload = Some(OverloadControl{SequenceNumber: 6, Metric: 30, PeriodOfValidity: NewTimer(40e9), Flags: OCIAOCI})
	sampleCSID     = FQCSID{NodeType: CSIDNodeSMF, Node: CSIDNode{Addr: smf4}, CSIDs: []uint16{1}}
	sampleSMFSet   = []CPAddress{{IPv4: smf4, PPE: true}, {IPv4: smf4, IPv6: smf6}}
	samplePool     = UEIPAddressPool{
		Identities: [][]byte{[]byte("pool4"), []byte("pool6")}, NetworkInstance: NewName("internet"),
		SNSSAIs: []SNSSAI{{SST: 1, SD: 0xffffff}}, IPVersion: IPVersionV4 | IPVersionV6,
	}
)

func init() {
	for name, m := range reportSamples {
		samples[name] = m
	}
}

// withReference returns the report as it answers a query.
func withReference(u UsageReport) UsageReport {
	u.Trigger, u.QueryURRReference = TriggerIMMER, Some(uint32(77))
	return u
}

var reportSamples = map[string]Message{
	"session report request, usage": &SessionReportRequest{
		ReportType: ReportTypeUSAR | ReportTypeUPIR,
		UsageReports: []UsageReport{sampleUsage, {
			URRID: 8, Trigger: TriggerSTART | TriggerQUVTI, UEIPAddress: Some(UEIPAddress{IPv4: ue4}), NetworkInstance: NewName("internet"),
			EventTimeStamps: []TimeStamp{5, 6}, QueryURRReference: Some(uint32(1)),
		}},
		LoadControl: sampleLoad, OverloadControl: sampleOverload,
		AdditionalUsageReports: Some(AdditionalUsageReports{Count: 300}), SRReqFlags: SRReqPSDBU,
	},
	"session report request, downlink data": &SessionReportRequest{
		ReportType: ReportTypeDLDR,
		DownlinkData: Some(DownlinkDataReport{
			PDRIDs: []uint16{2, 3}, ServiceInfos: []DownlinkDataServiceInfo{{PPI: Some(uint8(46)), QFI: Some(QFI(9))}},
		}),
	},
	"session report request, error indication": &SessionReportRequest{
		ReportType: ReportTypeERIR, ErrorIndication: []FTEID{{TEID: 77, V4: true, IPv4: gnb}, {TEID: 78, V6: true, IPv6: smf6}},
	},
	"session report response": &SessionReportResponse{Cause: CauseRequestAccepted, UpdateBAR: Some(sampleBAR), SRRspFlags: SRRspDROBU},
	"session report response, redirected": &SessionReportResponse{
		Cause: CauseRedirectionRequested, Alternatives: sampleSMFSet, CPFSEID: Some(FSEID{SEID: 3, IPv4: smf4}),
		FQCSIDs: []FQCSID{sampleCSID}, GroupID: []byte("group"), NodeID: Some(NodeID{Addr: smf4}),
	},
	"session modification request, usage": &SessionModificationRequest{
		CreateURRs: []CreateURR{sampleURR}, CreateBARs: []BAR{sampleBAR}, CreateTEPs: []TrafficEndpoint{sampleTEP},
		UpdateURRs: []UpdateURR{
			{URRID: 7, MeasurementMethod: Some(MeasureEVENT), ReportingTriggers: Some(ReportEVETH), URRParameters: sampleURRParameters},
		},
		UpdateBARs: []BAR{sampleBAR},
		UpdateTEPs: []TrafficEndpoint{{TrafficEndpointID: 3, NetworkInstance: NewName("ims")}},
		QueryURRs:  []uint32{7, 8}, QueryURRReference: Some(uint32(77)), SMReqFlags: SMReqQAURR,
		FQCSIDs: []FQCSID{sampleCSID},
		RATType: Some(RATTypeNR), GroupID: []byte("group"),
	},
	"session modification response, usage": &SessionModificationResponse{
		Cause: CauseRequestAccepted, UsageReports: []UsageReport{withReference(sampleUsage)}, LoadControl: sampleLoad,
		AdditionalUsageReports: Some(AdditionalUsageReports{AURI: true}),
		CreatedTEPs:            []CreatedTrafficEndpoint{{TrafficEndpointID: 3, LocalFTEIDs: []FTEID{{TEID: 4, V4: true, IPv4: n3}}}},
	},
	"session deletion request, SMF set": &SessionDeletionRequest{NodeID: Some(NodeID{Addr: smf4}), CPFSEID: Some(FSEID{SEID: 4, IPv4: smf4})},
	"session deletion response, usage": &SessionDeletionResponse{
		Cause: CauseRequestAccepted, UsageReports: []UsageReport{sampleUsage}, OverloadControl: sampleOverload, SDRspFlags: SDRspPURU,
	},
	"session establishment response, more": &SessionEstablishmentResponse{
		NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted, UPFSEID: Some(FSEID{SEID: 2, IPv4: upf4}),
		LoadControl: sampleLoad, OverloadControl: sampleOverload, FQCSIDs: []FQCSID{{NodeType: CSIDNodeUPF, Node: CSIDNode{Addr: upf4}, CSIDs: []uint16{2}}},
		CreatedTEPs: []CreatedTrafficEndpoint{{TrafficEndpointID: 3, UEIPAddresses: []UEIPAddress{{IPv4: ue4}}}},
	},
	"session set deletion request": &SessionSetDeletionRequest{
		NodeID: NodeID{Addr: smf4}, FQCSIDs: []FQCSID{sampleCSID, {NodeType: CSIDNodeMME, Node: CSIDNode{Number: 0x12345678}, CSIDs: []uint16{3, 4}}},
	},
	"session set deletion response": &SessionSetDeletionResponse{NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted},
	"node report request": &NodeReportRequest{
		NodeID: NodeID{Addr: upf4}, ReportType: NodeReportUPFR,
		PathFailure: []RemoteGTPUPeer{{IPv4: gnb}, {IPv6: smf6, DestinationInterface: Some(InterfaceCore), NetworkInstance: Name("n9")}},
	},
	"node report response": &NodeReportResponse{NodeID: NodeID{Addr: smf4}, Cause: CauseRequestAccepted},
	"pfd management request": &PFDManagementRequest{Applications: []ApplicationPFDs{
		{ApplicationID: []byte("app"), Contexts: []PFDContext{
			{Contents: []PFDContents{{FlowDescription: matchAll, URL: []byte("^http://a")}, {DomainName: []byte("example.org"), DomainNameProtocol: []byte{1}}}},
			{Contents: []PFDContents{{CustomPFDContent: []byte("x")}}},
		}},
		{ApplicationID: []byte("gone")},
	}},
	"pfd management response": &PFDManagementResponse{Cause: CauseRuleCreationModificationFail, OffendingIE: Some(IEPFDContents)},
}

// ourSamples are of messages and IEs that neither of the other codecs has.
var ourSamples = map[string]Message{
	"session set modification request": &SessionSetModificationRequest{NodeID: NodeID{Addr: smf4}, Changes: []SessionChangeInfo{
		{FQCSIDs: []FQCSID{sampleCSID}, GroupIDs: [][]byte{[]byte("a"), []byte("b")}, Alternative: CPAddress{IPv4: smf4}},
		{CPAddresses: sampleSMFSet[1:], Alternative: CPAddress{IPv6: smf6}},
	}},
	"session set modification response": &SessionSetModificationResponse{NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted},
	"node report request, more": &NodeReportRequest{
		NodeID: NodeID{Addr: upf4}, ReportType: NodeReportUPRR | NodeReportPURR,
		PathRecovery:  []RemoteGTPUPeer{{IPv4: gnb}},
		PeerUPRestart: []RemoteGTPUPeer{{IPv4: gnb, RecoveryTimeStamp: Some(TimeStamp(9))}},
	},
	"association setup request, more": &AssociationSetupRequest{
		NodeID: NodeID{Addr: smf4}, RecoveryTimeStamp: 1, CPFunctionFeatures: Some(CPFeatureSSET | CPFeatureRPGUR),
		Alternatives: sampleSMFSet, SMFSetID: NewName("set.smf.5gc"), SessionRetention: Some(SessionRetention{CPEntities: sampleSMFSet[1:]}),
		UEIPAddressPools: []UEIPAddressPool{samplePool}, UPFInstanceID: make([]byte, 16), ASReqFlags: ASReqUUPSI,
		UserPlaneIPResourceInfo: []UserPlaneIPResource{
			{TEIDRange: Some(uint8(3)), TEIDRangeBits: 2, IPv4: n3, NetworkInstance: NewName("internet"), SourceInterface: Some(InterfaceAccess)},
			{IPv6: smf6},
		},
	},
	"association setup response, more": &AssociationSetupResponse{
		NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted, RecoveryTimeStamp: 1, ASRspFlags: ASRspPSREI, UEIPAddressPools: []UEIPAddressPool{samplePool},
	},
	"association update request, more": &AssociationUpdateRequest{
		NodeID: NodeID{Addr: upf4}, AssociationRelease: AssociationReleaseSARR, GracefulReleasePeriod: Some(NewTimer(10e9)), AUReqFlags: AUReqPARPS,
		UEIPAddressUsage: []UEIPAddressUsage{{
			SequenceNumber: 1, Metric: 50, ValidityTimerS: 60, IPv4: Some(uint32(7)), NetworkInstance: NewName("internet"),
			PoolIdentity: Some([]byte("pool4")), SNSSAI: Some(SNSSAI{SST: 1, SD: 0xffffff}),
		}},
	},
	"MAC addresses": &SessionReportRequest{ReportType: ReportTypeUSAR, UsageReports: []UsageReport{{
		URRID: 1, Trigger: TriggerMACAR, EthernetTraffic: Some(EthernetTraffic{
			Detected: []MACList{{Addresses: []MAC{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}, CTAG: Some(VLANTag{VID: Some(uint16(0xabc))})}},
			Removed:  []MACList{{Addresses: []MAC{{2, 0, 0, 0, 0, 3}}}},
		}),
	}}},
	"updated PDRs": &SessionModificationResponse{
		Cause: CauseRequestAccepted, UpdatedPDRs: []CreatedPDR{{PDRID: 2, UEIPAddresses: []UEIPAddress{{IPv4: ue4}}}},
	},
	"IEs of null length": &SessionModificationRequest{
		UpdateURRs: []UpdateURR{{URRID: 8, Removed: []IEType{IEVolumeThreshold, IENumberOfReports}}},
		UpdateBARs: []BAR{{BARID: 2, Removed: []IEType{IEDLBufferingDuration}}},
		UpdateTEPs: []TrafficEndpoint{{TrafficEndpointID: 1, Removed: []IEType{IEUEIPAddress}}},
		FQCSIDs:    []FQCSID{{NodeType: CSIDNodeMME, Node: CSIDNode{Addr: smf6}}, {All: true}},
		Removed:    []IEType{IEUserPlaneInactivityTimer},
	},
	"rules that are refused": &SessionModificationRequest{
		CreatePDRs: []CreatePDR{{
			PDRID: 1, PDI: PDI{
				UEIPAddresses: []UEIPAddress{{CHV4: true}}, Noted: IEDNSQueryFilter,
				EthernetSession: EthernetETHI, EthernetFilters: sampleEthernet,
				FramedRoutes: FramedRoutes{IPv4: [][]byte{[]byte("10.60.0.0/16 0.0.0.0 1")}, Routing: Some(uint32(1)), IPv6: [][]byte{[]byte("2001:db8::/48")}},
			},
			PredefinedRules:    PredefinedRules{Activate: [][]byte{[]byte("rule1")}, ActivationTime: Some(TimeStamp(1)), DeactivationTime: Some(TimeStamp(2))},
			UEIPPoolIdentities: [][]byte{[]byte("pool4")},
		}},
		UpdatePDRs: []UpdatePDR{{PDRID: 2, PredefinedRules: PredefinedRules{Deactivate: [][]byte{[]byte("rule1")}}}},
		CreateFARs: []CreateFAR{{
			FARID: 1, ApplyAction: ApplyFORW | ApplyDUPL, Noted: IEMBSMulticastParameters,
			Duplicating: []DuplicatingParameters{{DestinationInterface: InterfaceLIFunction, OuterHeaderCreation: gtp(1, gnb), ForwardingPolicy: Some([]byte("copy"))}},
			ForwardingParameters: Some(ForwardingParameters{
				RedirectInformation: Some(RedirectInformation{Type: RedirectIPv4IPv6Port, Server: []byte("10.0.0.1"), Other: []byte("::1"), Port: Some(uint16(80))}),
				ForwardingPolicy:    Some([]byte("policy")), HeaderEnrichment: Some(HeaderEnrichment{Name: []byte("X-A"), Value: []byte("b")}),
				Proxying: ProxyingARP, Noted: IEHeaderEnrichment,
			}),
		}},
		UpdateFARs: []UpdateFAR{{FARID: 2, Removed: []IEType{IEBARID}, UpdateForwardingParameters: Some(UpdateForwardingParameters{
			RedirectInformation: Some(RedirectInformation{Type: RedirectURL, Server: []byte("http://a/")}), Noted: IEMetadata,
			Removed: []IEType{IETransportLevelMarking},
		}), UpdateDuplicating: []UpdateDuplicatingParameters{{
			DestinationInterface: Some(InterfaceCore), OuterHeaderCreation: gtp(3, gnb), Removed: []IEType{IEForwardingPolicy},
		}}}},
		CreateQERs: []CreateQER{{
			QERID: 1, PagingPolicyIndicator: Some(uint8(5)), Noted: IEQERIndications,
			PacketRate: Some(PacketRate{
				Uplink: Some(PacketLimit{0, 10}), Downlink: Some(PacketLimit{1, 20}),
				AdditionalUplink: Some(PacketLimit{2, 1}), AdditionalDownlink: Some(PacketLimit{3, 2}),
			}),
			DLFlowLevelMarking: Some(DLFlowLevelMarking{TrafficClass: Some(ToS{0xb8, 0xfc}), ServiceClassIndicator: Some(uint16(1))}),
		}},
		UpdateQERs: []UpdateQER{{QERID: 1, Removed: []IEType{IEMBR}}},
	},
}

// sampleEthernet has Ethernet Packet Filters with all that they can have, and one of
// an ID alone.
var sampleEthernet = []EthernetPacketFilter{
	{
		FilterID: Some(uint32(7)), Properties: EthernetBIDE, Ethertype: Some(uint16(0x0800)),
		MACAddresses: []MACAddress{
			{Source: Some(MAC{2, 0, 0, 0, 0, 1}), UpperSource: Some(MAC{2, 0, 0, 0, 0, 9})},
			{Destination: Some(MAC{2, 0, 0, 0, 1, 1}), UpperDestination: Some(MAC{2, 0, 0, 0, 1, 9})},
		},
		CTAG:       Some(VLANTag{PCP: Some(uint8(5)), DEI: Some(true), VID: Some(uint16(0xabc))}),
		STAG:       Some(VLANTag{VID: Some(uint16(1))}),
		SDFFilters: []SDFFilter{{FlowDescription: []byte("permit out ip from any to assigned")}},
	},
	{FilterID: Some(uint32(8))},
}
