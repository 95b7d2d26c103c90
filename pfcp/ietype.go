package pfcp

import "fmt"

// IEType is an IE type. Source: TS 29.244 V18.6.0, table 8.1.2-1.
type IEType uint16

// IE types: those that may stand in the messages of this package.
const (
	IECreatePDR                       IEType = 1
	IEPDI                             IEType = 2
	IECreateFAR                       IEType = 3
	IEForwardingParameters            IEType = 4
	IEDuplicatingParameters           IEType = 5
	IECreateURR                       IEType = 6
	IECreateQER                       IEType = 7
	IECreatedPDR                      IEType = 8
	IEUpdatePDR                       IEType = 9
	IEUpdateFAR                       IEType = 10
	IEUpdateForwardingParameters      IEType = 11
	IEUpdateURR                       IEType = 13
	IEUpdateQER                       IEType = 14
	IERemovePDR                       IEType = 15
	IERemoveFAR                       IEType = 16
	IERemoveURR                       IEType = 17
	IERemoveQER                       IEType = 18
	IECause                           IEType = 19
	IESourceInterface                 IEType = 20
	IEFTEID                           IEType = 21
	IENetworkInstance                 IEType = 22
	IESDFFilter                       IEType = 23
	IEApplicationID                   IEType = 24
	IEGateStatus                      IEType = 25
	IEMBR                             IEType = 26
	IEGBR                             IEType = 27
	IEQERCorrelationID                IEType = 28
	IEPrecedence                      IEType = 29
	IETransportLevelMarking           IEType = 30
	IERedirectInformation             IEType = 38
	IEOffendingIE                     IEType = 40
	IEForwardingPolicy                IEType = 41
	IEDestinationInterface            IEType = 42
	IEUPFunctionFeatures              IEType = 43
	IEApplyAction                     IEType = 44
	IEPFCPSMReqFlags                  IEType = 49
	IELoadControlInformation          IEType = 51
	IEOverloadControlInformation      IEType = 54
	IEPDRID                           IEType = 56
	IEFSEID                           IEType = 57
	IENodeID                          IEType = 60
	IEFQCSID                          IEType = 65
	IEQueryURR                        IEType = 77
	IEUsageReportModification         IEType = 78
	IEUsageReportDeletion             IEType = 79
	IEURRID                           IEType = 81
	IEOuterHeaderCreation             IEType = 84
	IECreateBAR                       IEType = 85
	IEUpdateBAR                       IEType = 86
	IERemoveBAR                       IEType = 87
	IEBARID                           IEType = 88
	IECPFunctionFeatures              IEType = 89
	IEUEIPAddress                     IEType = 93
	IEPacketRate                      IEType = 94
	IEOuterHeaderRemoval              IEType = 95
	IERecoveryTimeStamp               IEType = 96
	IEDLFlowLevelMarking              IEType = 97
	IEHeaderEnrichment                IEType = 98
	IEUpdateDuplicatingParameters     IEType = 105
	IEActivatePredefinedRules         IEType = 106
	IEDeactivatePredefinedRules       IEType = 107
	IEFARID                           IEType = 108
	IEQERID                           IEType = 109
	IEPFCPAssociationReleaseRequest   IEType = 111
	IEGracefulReleasePeriod           IEType = 112
	IEPDNType                         IEType = 113
	IEFailedRuleID                    IEType = 114
	IEUserPlaneIPResourceInformation  IEType = 116
	IEUserPlaneInactivityTimer        IEType = 117
	IERQI                             IEType = 123
	IEQFI                             IEType = 124
	IEQueryURRReference               IEType = 125
	IEAdditionalUsageReports          IEType = 126
	IECreateTrafficEndpoint           IEType = 127
	IECreatedTrafficEndpoint          IEType = 128
	IEUpdateTrafficEndpoint           IEType = 129
	IERemoveTrafficEndpoint           IEType = 130
	IETrafficEndpointID               IEType = 131
	IEEthernetPacketFilter            IEType = 132
	IEProxying                        IEType = 137
	IEUserID                          IEType = 141
	IEEthernetPDUSessionInformation   IEType = 142
	IETraceInformation                IEType = 152
	IEFramedRoute                     IEType = 153
	IEFramedRouting                   IEType = 154
	IEFramedIPv6Route                 IEType = 155
	IEAveragingWindow                 IEType = 157
	IEPagingPolicyIndicator           IEType = 158
	IEAPNDNN                          IEType = 159
	IE3GPPInterfaceType               IEType = 160
	IEPFCPAUReqFlags                  IEType = 162
	IEActivationTime                  IEType = 163
	IEDeactivationTime                IEType = 164
	IECreateMAR                       IEType = 165
	IERemoveMAR                       IEType = 168
	IEUpdateMAR                       IEType = 169
	IEMARID                           IEType = 170
	IEUEIPAddressPoolIdentity         IEType = 177
	IEAlternativeSMFIPAddress         IEType = 178
	IEPacketReplication               IEType = 179
	IESMFSetID                        IEType = 180
	IEPFCPSessionRetentionInformation IEType = 183
	IEPFCPASRspFlags                  IEType = 184
	IEPFCPSEReqFlags                  IEType = 186
	IEIPMulticastAddressingInfo       IEType = 188
	IESourceIPAddress                 IEType = 192
	IEPacketRateStatus                IEType = 193
	IECreateBridgeInfoForTSC          IEType = 194
	IECreatedBridgeInfoForTSC         IEType = 195
	IETSCManagementInformation        IEType = 199
	IEClockDriftControlInformation    IEType = 203
	IERemoveSRR                       IEType = 211
	IECreateSRR                       IEType = 212
	IEUpdateSRR                       IEType = 213
	IESessionReport                   IEType = 214
	IEAccessAvailabilityInformation   IEType = 219
	IEProvideATSSSControlInformation  IEType = 220
	IEATSSSControlParameters          IEType = 221
	IEDataNetworkAccessIdentifier     IEType = 232
	IEUEIPAddressPoolInformation      IEType = 233
	IEGTPUPathQoSControlInformation   IEType = 238
	IEQERControlIndications           IEType = 251
	IEPacketRateStatusReport          IEType = 252
	IENFInstanceID                    IEType = 253
	IEEthernetContextInformation      IEType = 254
	IERedundantTransmissionDetection  IEType = 255
	IEUpdatedPDR                      IEType = 256
	IESNSSAI                          IEType = 257
	IEPFCPASReqFlags                  IEType = 259
	IEProvideRDSConfiguration         IEType = 261
	IERDSConfigurationInformation     IEType = 262
	IEQueryPacketRateStatus           IEType = 263
	IEMPTCPApplicableIndication       IEType = 265
	IEUEIPAddressUsageInformation     IEType = 267
	IERedundantTransmissionForwarding IEType = 270
	IETransportDelayReporting         IEType = 271
	IEPartialFailureEstablishment     IEType = 272
	IEPartialFailureModification      IEType = 273
	IERATType                         IEType = 275
	IEL2TPTunnelInformation           IEType = 276
	IEL2TPSessionInformation          IEType = 277
	IEGroupID                         IEType = 291
)

// maxIEType bounds the table of IEs; types above it are unknown. Types from
// 32768 on are vendor-specific.
const maxIEType = 319

// String returns the name of the specification, or "IE N".
func (t IEType) String() string {
	if t <= maxIEType && ies[t].name != "" {
		return ies[t].name
	}
	return fmt.Sprintf("IE %d", uint16(t))
}
