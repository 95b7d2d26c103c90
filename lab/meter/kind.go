package meter

import "fmt"

// Kind is a way in which a delivered frame can be wrong.
type Kind uint8

// Kinds of misdelivery, in the order in which they are looked for.
const (
	Encapsulation = Kind(meterMisdeliveryMISDELIVERED_ENCAPSULATION)
	Length        = Kind(meterMisdeliveryMISDELIVERED_LENGTH)
	Checksum      = Kind(meterMisdeliveryMISDELIVERED_CHECKSUM)
	OuterAddress  = Kind(meterMisdeliveryMISDELIVERED_OUTER_ADDRESS)
	UE            = Kind(meterMisdeliveryMISDELIVERED_UE)
	TEID          = Kind(meterMisdeliveryMISDELIVERED_TEID)
	Server        = Kind(meterMisdeliveryMISDELIVERED_SERVER)
	Payload       = Kind(meterMisdeliveryMISDELIVERED_PAYLOAD)
	QFI           = Kind(meterMisdeliveryMISDELIVERED_QFI)
	NoQFI         = Kind(meterMisdeliveryMISDELIVERED_NO_QFI)
	DSCP          = Kind(meterMisdeliveryMISDELIVERED_DSCP)

	// Kinds is the number of kinds.
	Kinds = int(meterMisdeliveryMISDELIVERED_MAX)
)

// String returns the kind's name in snake case, for tables and JSON.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

var kindNames = [Kinds]string{
	Encapsulation: "encapsulation",
	Length:        "length",
	Checksum:      "checksum",
	OuterAddress:  "outer_address",
	UE:            "ue",
	TEID:          "teid",
	Server:        "server",
	Payload:       "payload",
	QFI:           "qfi",
	NoQFI:         "no_qfi",
	DSCP:          "dscp",
}
