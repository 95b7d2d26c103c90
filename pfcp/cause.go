package pfcp

import "fmt"

// Cause is the answer to a request. Source: TS 29.244 V18.6.0, 8.2.1.
type Cause uint8

// Causes, by the names of the specification.
const (
	CauseRequestAccepted                Cause = 1
	CauseMoreUsageReportToSend          Cause = 2
	CauseRequestPartiallyAccepted       Cause = 3
	CauseRequestRejected                Cause = 64
	CauseSessionContextNotFound         Cause = 65
	CauseMandatoryIEMissing             Cause = 66
	CauseConditionalIEMissing           Cause = 67
	CauseInvalidLength                  Cause = 68
	CauseMandatoryIEIncorrect           Cause = 69
	CauseInvalidForwardingPolicy        Cause = 70
	CauseInvalidFTEIDAllocationOption   Cause = 71
	CauseNoEstablishedPFCPAssociation   Cause = 72
	CauseRuleCreationModificationFail   Cause = 73
	CausePFCPEntityInCongestion         Cause = 74
	CauseNoResourcesAvailable           Cause = 75
	CauseServiceNotSupported            Cause = 76
	CauseSystemFailure                  Cause = 77
	CauseRedirectionRequested           Cause = 78
	CauseAllDynamicAddressesAreOccupied Cause = 79
	CauseUnknownPredefinedRule          Cause = 80
	CauseUnknownApplicationID           Cause = 81
	CauseL2TPTunnelEstablishmentFailure Cause = 82
	CauseL2TPSessionEstablishmentFail   Cause = 83
	CauseL2TPTunnelRelease              Cause = 84
	CauseL2TPSessionRelease             Cause = 85
	CauseSessionRestorationFailure      Cause = 86 // the requested resource is not available
	CauseL2TPTunnelAuthFailure          Cause = 87
	CauseL2TPSessionAuthFailure         Cause = 88
	CauseL2TPLNSNotReachable            Cause = 89
)

var causeNames = map[Cause]string{
	CauseRequestAccepted:                "Request accepted",
	CauseMoreUsageReportToSend:          "More Usage Report to send",
	CauseRequestPartiallyAccepted:       "Request partially accepted",
	CauseRequestRejected:                "Request rejected",
	CauseSessionContextNotFound:         "Session context not found",
	CauseMandatoryIEMissing:             "Mandatory IE missing",
	CauseConditionalIEMissing:           "Conditional IE missing",
	CauseInvalidLength:                  "Invalid length",
	CauseMandatoryIEIncorrect:           "Mandatory IE incorrect",
	CauseInvalidForwardingPolicy:        "Invalid Forwarding Policy",
	CauseInvalidFTEIDAllocationOption:   "Invalid F-TEID allocation option",
	CauseNoEstablishedPFCPAssociation:   "No established PFCP Association",
	CauseRuleCreationModificationFail:   "Rule creation/modification Failure",
	CausePFCPEntityInCongestion:         "PFCP entity in congestion",
	CauseNoResourcesAvailable:           "No resources available",
	CauseServiceNotSupported:            "Service not supported",
	CauseSystemFailure:                  "System failure",
	CauseRedirectionRequested:           "Redirection Requested",
	CauseAllDynamicAddressesAreOccupied: "All dynamic addresses are occupied",
	CauseUnknownPredefinedRule:          "Unknown Pre-defined Rule",
	CauseUnknownApplicationID:           "Unknown Application ID",
	CauseL2TPTunnelEstablishmentFailure: "L2TP tunnel Establishment failure",
	CauseL2TPSessionEstablishmentFail:   "L2TP session Establishment failure",
	CauseL2TPTunnelRelease:              "L2TP tunnel release",
	CauseL2TPSessionRelease:             "L2TP session release",
	CauseSessionRestorationFailure:      "PFCP session restoration failure due to requested resource not available",
	CauseL2TPTunnelAuthFailure:          "L2TP tunnel Establishment failure - Tunnel Auth Failure",
	CauseL2TPSessionAuthFailure:         "L2TP Session Establishment failure - Session Auth Failure",
	CauseL2TPLNSNotReachable:            "L2TP tunnel Establishment failure - LNS not reachable",
}

// String returns the name of the specification, or "cause N".
func (c Cause) String() string {
	if s, ok := causeNames[c]; ok {
		return s
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// cause takes no 0: "treated as an invalid IE".
var cause = codec[Cause]{
	func(v *Cause, b []byte) error {
		*v = Cause(b[0])
		if *v == 0 {
			return fmt.Errorf("cause 0: %w", ErrIncorrect)
		}
		return nil
	},
	func(b []byte, v *Cause) []byte { return append(b, byte(*v)) },
}

// Accepted reports whether c means acceptance, in whole or in part (1 to 63).
func (c Cause) Accepted() bool { return c > 0 && c < CauseRequestRejected }
