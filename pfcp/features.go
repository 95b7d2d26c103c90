package pfcp

// UPFunctionFeatures has octet 5 of the IE in its lowest byte. Octets after
// the eighth are not kept. Source: TS 29.244 V18.6.0, 8.2.25.
type UPFunctionFeatures uint64

// UP function features, by the names of the specification.
const (
	UPFeatureBUCP UPFunctionFeatures = 1 << iota // downlink data is buffered in the CP function
	UPFeatureDDND                                // Downlink Data Notification Delay
	UPFeatureDLBD                                // DL Buffering Duration
	UPFeatureTRST                                // traffic steering
	UPFeatureFTUP                                // F-TEIDs are allocated by the UP function
	UPFeaturePFDM                                // PFD management
	UPFeatureHEEU                                // header enrichment
	UPFeatureTREU                                // redirection

	UPFeatureEMPU  // End Marker packets are sent by the UP function
	UPFeaturePDIU  // Traffic Endpoints
	UPFeatureUDBC  // uplink and downlink buffering control
	UPFeatureQUOAC // FAR ID for Quota Action
	UPFeatureTRACE // trace
	UPFeatureFRRT  // framed routes
	UPFeaturePFDE  // PFD Contents with several values
	UPFeatureEPFAR // enhanced association release

	UPFeatureDPDRA // Activation Time and Deactivation Time of PDRs
	UPFeatureADPDP // predefined PDRs
	UPFeatureUEIP  // UE IP addresses are allocated by the UP function
	UPFeatureSSET  // sessions controlled by several SMFs of a set in turn
	UPFeatureMNOP  // number of packets
	UPFeatureMTE   // several Traffic Endpoint IDs in a PDI
	UPFeatureBUNDL // several messages in a datagram
	UPFeatureGCOM

	UPFeatureMPAS // several associations with an SMF set
	UPFeatureRTTL
	UPFeatureVTIME // Quota Validity Time
	UPFeatureNORP  // Number of Reports
	UPFeatureIPTV
	UPFeatureIP6PL // IPv6 prefixes other than /64
	UPFeatureTSN
	UPFeatureMPTCP

	UPFeatureATSSSLL
	UPFeatureQFQM  // QoS monitoring per flow
	UPFeatureGPQM  // QoS monitoring per path
	UPFeatureMTEDT // MT-EDT
	UPFeatureCIOT  // small data packet rates
	UPFeatureETHAR
	UPFeatureDDDS // downlink data delivery status
	UPFeatureRDS

	UPFeatureRTTWP
	UPFeatureQUASF // exemptions from the quota action
	UPFeatureNSPOC
	UPFeatureL2TP
	UPFeatureUPBER
	UPFeatureRESPS // restoration of sessions by FQ-CSID, Group Id or CP IP Address
	UPFeatureIPREP
	UPFeatureDNSTS

	UPFeatureDRQOS
	UPFeatureMBSN4
	UPFeaturePSUPRM // resources per slice
	UPFeatureEPPPI  // DSCP to PPI
	UPFeatureRATP
	UPFeatureUPIDP // User Plane Inactivity Timer of a URR
	UPFeatureAFSFC
	UPFeatureMPQUIC

	UPFeatureREDSM
	UPFeatureDBDM // buffering parameters in a modification
	UPFeatureTSCTS
	UPFeatureDRTSC
	UPFeatureN6JEDB
	UPFeatureQMCON
	UPFeatureDETNET
	UPFeatureEML4S
)

// CPFunctionFeatures has octet 5 of the IE in its lowest byte. Octets after
// the fourth are not kept. Source: TS 29.244 V18.6.0, 8.2.58.
type CPFunctionFeatures uint32

// CP function features, by the names of the specification.
const (
	CPFeatureLOAD  CPFunctionFeatures = 1 << iota // load control
	CPFeatureOVRL                                 // overload control
	CPFeatureEPFAR                                // enhanced association release
	CPFeatureSSET                                 // sessions controlled by several SMFs of a set in turn
	CPFeatureBUNDL                                // several messages in a datagram
	CPFeatureMPAS                                 // several associations with an SMF set
	CPFeatureARDR                                 // Additional Usage Reports in a Session Deletion Response
	CPFeatureUIAUR                                // UE IP Address Usage Information
	CPFeaturePSUCC                                // partial success
	CPFeatureRPGUR                                // Peer UP Restart Report
)

// readFlags reads up to max octets of flags, the first octet lowest.
func readFlags(b []byte, max int) (flags uint64) {
	for i := range min(len(b), max) {
		flags |= uint64(b[i]) << (8 * i)
	}
	return flags
}

// writeFlags writes at least min octets, and as many more as flags has.
func writeFlags(b []byte, flags uint64, min int) []byte {
	for i := 0; i < min || flags != 0; i++ {
		b = append(b, byte(flags))
		flags >>= 8
	}
	return b
}

var upFunctionFeatures = codec[UPFunctionFeatures]{
	func(v *UPFunctionFeatures, b []byte) error { *v = UPFunctionFeatures(readFlags(b, 8)); return nil },
	func(b []byte, v *UPFunctionFeatures) []byte { return writeFlags(b, uint64(*v), 2) },
}

var cpFunctionFeatures = codec[CPFunctionFeatures]{
	func(v *CPFunctionFeatures, b []byte) error { *v = CPFunctionFeatures(readFlags(b, 4)); return nil },
	func(b []byte, v *CPFunctionFeatures) []byte { return writeFlags(b, uint64(*v), 1) },
}
