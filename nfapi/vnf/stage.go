package vnf

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
)

// stage is how far a PNF or a PHY is. Both have the same ones:
//
//	          param ─► config ─► start ─► running ─► stopping ─► stopped
//	PNF   PNF_PARAM  PNF_CONFIG  PNF_START           PNF_STOP
//	PHY       PARAM      CONFIG      START               STOP
type stage uint8

const (
	stageIdle stage = iota
	stageParam
	stageConfig
	stageStart
	stageRunning
	stageStopping
	stageStopped
	stageFailed // of a PHY: its procedure restarts after a while
)

var stageNames = [...]string{"idle", "param", "config", "start", "running", "stopping", "stopped", "failed"}

// String returns the stage's name.
func (s stage) String() string { return stageNames[s] }

// Error codes of responses. Source: SCF 222, as OpenAirInterface develop 2025-09 has it.
const (
	codeOK           = 0
	codeInvalidState = 1
	codeSFNOutOfSync = 3
	codeInvalidSFN   = 6
)

// codeText is what a code means.
func codeText(code uint32) string {
	names := [...]string{"OK", "INVALID_STATE", "INVALID_CONFIG", "SFN_OUT_OF_SYNC", "SLOT_ERR", "BCH_MISSING", "INVALID_SFN", "UL_DCI_ERR", "TX_ERR"}
	if code < uint32(len(names)) {
		return fmt.Sprintf("%s (%d)", names[code], code)
	}
	return fmt.Sprintf("error code %d", code)
}

// request is the request of a stage.
type request struct {
	id      nfapi.MessageID
	answers []nfapi.MessageID
	repeat  bool // asking again does no harm
}

var pnfRequests = map[stage]request{
	stageParam:    {nfapi.MsgPNFParamRequest, []nfapi.MessageID{nfapi.MsgPNFParamResponse}, true},
	stageConfig:   {nfapi.MsgPNFConfigRequest, []nfapi.MessageID{nfapi.MsgPNFConfigResponse}, true},
	stageStart:    {nfapi.MsgPNFStartRequest, []nfapi.MessageID{nfapi.MsgPNFStartResponse}, false},
	stageStopping: {nfapi.MsgPNFStopRequest, []nfapi.MessageID{nfapi.MsgPNFStopResponse}, false},
}

var phyRequests = map[stage]request{
	stageParam:    {nfapi.MsgParamRequest, []nfapi.MessageID{nfapi.MsgParamResponse}, true},
	stageConfig:   {nfapi.MsgConfigRequest, []nfapi.MessageID{nfapi.MsgConfigResponse}, true},
	stageStart:    {nfapi.MsgStartRequest, []nfapi.MessageID{nfapi.MsgStartResponse, nfapi.MsgStartResponse2024}, false},
	stageStopping: {nfapi.MsgStopRequest, []nfapi.MessageID{nfapi.MsgStopIndication, nfapi.MsgStopResponse}, false},
}

// refusal is an error code with its subject.
func refusal(m nfapi.Message, code uint32) error {
	err := fmt.Errorf("%v: %s", m.MessageID(), codeText(code))
	if c, ok := m.(*nfapi.ConfigResponse); ok {
		problems := cell.ProblemsOf(c)
		if why := problems.Err(); why != nil {
			err = fmt.Errorf("%w: %w", err, why)
		}
	}
	return err
}
