package pnf

import "github.com/plumbline-upf/plumbline/nfapi"

// errorCode is that of a response, or of ERROR.indication. Source: SCF 222.10.02,
// table 3-33, as OpenAirInterface develop 2025-09 has it.
type errorCode uint8

const (
	codeOK            errorCode = 0
	codeInvalidState  errorCode = 1
	codeInvalidConfig errorCode = 2
	codeOutOfSync     errorCode = 3 // a request came when its slot had begun
	codeSlotError     errorCode = 4 // a request cannot be decoded, or its slot was left out
	codeInvalidSFN    errorCode = 6 // no such slot, or one beyond the window
	codeULDCIError    errorCode = 7 // UL_DCI.request cannot be decoded
	codeTXError       errorCode = 8 // TX_DATA.request cannot be decoded, or half of a pair is missing
)

var codeNames = [...]string{
	"OK", "INVALID_STATE", "INVALID_CONFIG", "SFN_OUT_OF_SYNC", "SLOT_ERR", "BCH_MISSING", "INVALID_SFN", "UL_DCI_ERR", "TX_ERR",
}

// String is the name that SCF 222 has.
func (c errorCode) String() string { return codeNames[c] }

// errorReport is an ERROR.indication to be sent.
type errorReport struct {
	phy       uint16
	sfn, slot uint16
	message   nfapi.MessageID
	code      errorCode
	err       error // may be nil
}

// state is that of the PNF, or of a PHY.
type state uint8

const (
	idle state = iota
	configured
	inOperation // RUNNING
)

var stateNames = [...]string{"IDLE", "CONFIGURED", "RUNNING"}

// String is the name that SCF 222 has.
func (s state) String() string { return stateNames[s] }
