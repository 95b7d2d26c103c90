package pfcp

import (
	"encoding/binary"
	"time"
)

// Interface is a Source or Destination Interface.
// Source: TS 29.244 V18.6.0, 8.2.2 and 8.2.24.
type Interface uint8

// Interfaces.
const (
	InterfaceAccess       Interface = 0
	InterfaceCore         Interface = 1
	InterfaceSGiLAN       Interface = 2 // SGi-LAN or N6-LAN
	InterfaceCPFunction   Interface = 3
	InterfaceLIFunction   Interface = 4 // as destination
	Interface5GVNInternal Interface = 5 // as destination; as source it is 4
)

// InterfaceType is a 3GPP Interface Type. Source: TS 29.244 V18.6.0, 8.2.118.
type InterfaceType uint8

// 3GPP Interface Types.
const (
	InterfaceTypeS1U                InterfaceType = 0
	InterfaceTypeS5S8U              InterfaceType = 1
	InterfaceTypeS4U                InterfaceType = 2
	InterfaceTypeS11U               InterfaceType = 3
	InterfaceTypeS12                InterfaceType = 4
	InterfaceTypeGnGpU              InterfaceType = 5
	InterfaceTypeS2aU               InterfaceType = 6
	InterfaceTypeS2bU               InterfaceType = 7
	InterfaceTypeENodeBDLForwarding InterfaceType = 8
	InterfaceTypeENodeBULForwarding InterfaceType = 9
	InterfaceTypeSGWDLForwarding    InterfaceType = 10
	InterfaceTypeN33GPPAccess       InterfaceType = 11
	InterfaceTypeN3TrustedNon3GPP   InterfaceType = 12
	InterfaceTypeN3UntrustedNon3GPP InterfaceType = 13
	InterfaceTypeN3Forwarding       InterfaceType = 14
	InterfaceTypeN9                 InterfaceType = 15
	InterfaceTypeSGi                InterfaceType = 16
	InterfaceTypeN6                 InterfaceType = 17
	InterfaceTypeN19                InterfaceType = 18
	InterfaceTypeS8U                InterfaceType = 19
	InterfaceTypeGpU                InterfaceType = 20
	InterfaceTypeN9Roaming          InterfaceType = 21
	InterfaceTypeIuU                InterfaceType = 22
	InterfaceTypeN9Forwarding       InterfaceType = 23
	InterfaceTypeSxaU               InterfaceType = 24
	InterfaceTypeSxbU               InterfaceType = 25
	InterfaceTypeSxcU               InterfaceType = 26
	InterfaceTypeN4U                InterfaceType = 27
	InterfaceTypeSGWULForwarding    InterfaceType = 28
)

// PDNType is a PDN Type. Source: TS 29.244 V18.6.0, 8.2.79.
type PDNType uint8

// PDN types.
const (
	PDNTypeIPv4     PDNType = 1
	PDNTypeIPv6     PDNType = 2
	PDNTypeIPv4v6   PDNType = 3
	PDNTypeNonIP    PDNType = 4
	PDNTypeEthernet PDNType = 5
)

// ApplyAction is what a FAR does; octet 5 of the IE in the low byte, octet 6
// in the high one. Of a 1-octet IE the high byte is 0.
// Source: TS 29.244 V18.6.0, 8.2.26.
type ApplyAction uint16

// Actions.
const (
	ApplyDROP ApplyAction = 1 << iota
	ApplyFORW
	ApplyBUFF
	ApplyNOCP
	ApplyDUPL
	ApplyIPMA
	ApplyIPMD
	ApplyDFRT
	ApplyEDRT
	ApplyBDPN
	ApplyDDPN
	ApplyFSSM
	ApplyMBSU
)

// applyAction writes 2 octets, as specified since Rel-16.
var applyAction = codec[ApplyAction]{
	func(v *ApplyAction, b []byte) error { *v = ApplyAction(readFlags(b, 2)); return nil },
	func(b []byte, v *ApplyAction) []byte { return append(b, byte(*v), byte(*v>>8)) },
}

// SMReqFlags is PFCPSMReq-Flags. Source: TS 29.244 V18.6.0, 8.2.31.
type SMReqFlags uint8

// Flags of a Session Modification Request, or of one FAR in it.
const (
	SMReqDROBU  SMReqFlags = 1 << iota // drop what is buffered
	SMReqSNDEM                         // send End Marker packets
	SMReqQAURR                         // query all URRs
	SMReqSUMPC                         // stop usage measurement
	SMReqRUMUC                         // resume it
	SMReqDETEID                        // delete all old F-TEIDs
	SMReqHRSBOM                        // HR-SBO mode
)

// SEReqFlags is PFCPSEReq-Flags. Source: TS 29.244 V18.6.0, 8.2.136.
type SEReqFlags uint8

// Flags of a Session Establishment Request.
const (
	SEReqRESTI  SEReqFlags = 1 << iota // the session is to restore an existing one
	SEReqSUMPC                         // stop usage measurement
	SEReqHRSBOM                        // HR-SBO mode
	SEReqEPRI                          // not to be restored by another SMF of the set
)

// RATType is a RAT Type. Source: TS 29.244 V18.6.0, 8.2.186.
type RATType uint8

// The RAT types of 4G and 5G; others pass as numbers.
const (
	RATTypeEUTRAN RATType = 6
	RATTypeNR     RATType = 10
)

// TimeStamp is a Recovery Time Stamp: seconds since 1900-01-01T00:00:00Z, the
// upper half of an NTP time stamp. Source: TS 29.244 V18.6.0, 8.2.65.
type TimeStamp uint32

// ntpEpoch is 1900-01-01T00:00:00Z in Unix time, seconds.
const ntpEpoch = -2208988800

// NewTimeStamp returns t in whole seconds; it wraps around in 2036.
func NewTimeStamp(t time.Time) TimeStamp { return TimeStamp(t.Unix() - ntpEpoch) }

// Time returns the moment between 1968 and 2104 that t may mean, by the rule of
// RFC 4330, 3: with bit 0 clear the count starts in 2036.
func (t TimeStamp) Time() time.Time {
	seconds := int64(t)
	if t < 1<<31 {
		seconds += 1 << 32
	}
	return time.Unix(seconds+ntpEpoch, 0).UTC()
}

// TransportLevelMarking is a DSCP for the outer header: the ToS or Traffic
// Class octet and the mask of the bits in it that count.
// Source: TS 29.244 V18.6.0, 8.2.12.
type TransportLevelMarking struct {
	Value, Mask uint8
}

var transportLevelMarking = codec[TransportLevelMarking]{
	func(v *TransportLevelMarking, b []byte) error { *v = TransportLevelMarking{b[0], b[1]}; return nil },
	func(b []byte, v *TransportLevelMarking) []byte { return append(b, v.Value, v.Mask) },
}

// SNSSAI is an S-NSSAI. Source: TS 29.244 V18.6.0, 8.2.176.
type SNSSAI struct {
	SST uint8
	SD  uint32 // 24 bits; 0xffffff: none
}

var snssai = codec[SNSSAI]{
	func(v *SNSSAI, b []byte) error {
		*v = SNSSAI{b[0], binary.BigEndian.Uint32(b) & 0xffffff}
		return nil
	},
	func(b []byte, v *SNSSAI) []byte {
		return binary.BigEndian.AppendUint32(b, uint32(v.SST)<<24|v.SD&0xffffff)
	},
}
