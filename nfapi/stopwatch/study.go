package stopwatch

import (
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// StudyRow is a span of time that a study of OpenAirInterface had measured in its nFAPI
// mode in 2024, and the same span here.
type StudyRow struct {
	Name  string
	Span  string        // from where to where
	There time.Duration // one figure: how often it was measured is not said
	Here  *Distribution // nil: it did not happen, or no peer sets time stamps
}

// Study is the spans of the study, in its order. Those of requests are measured by a
// PNF, those of indications by a VNF: [Snapshot.Merge] has both.
func (s *Snapshot) Study() []StudyRow {
	const toPNF, toVNF = "from the VNF until decoded into its slot", "from the PNF until the MAC has had it"
	handled := func(id nfapi.MessageID) *Distribution { return s.Message(id).Handled }
	return []StudyRow{
		{"DL_TTI.request", toPNF, 2105 * time.Microsecond, handled(nfapi.MsgDLTTIRequest)},
		{"TX_DATA.request", toPNF, 2428 * time.Microsecond, handled(nfapi.MsgTXDataRequest)},
		{"UL_DCI.request", toPNF, 3028 * time.Microsecond, handled(nfapi.MsgULDCIRequest)},
		{"DCI", toPNF, 2064 * time.Microsecond, s.part(partNames[partULDCI])},
		{"UCI.indication", toVNF, 1223 * time.Microsecond, handled(nfapi.MsgUCIIndication)},
		{"RX_DATA.indication", toVNF, 1006 * time.Microsecond, handled(nfapi.MsgRXDataIndication)},
		{"CRC.indication", toVNF, 1179 * time.Microsecond, handled(nfapi.MsgCRCIndication)},
		{"ULSCH", toPNF, 2497 * time.Microsecond, s.part(partNames[partPUSCH])},
		{"PUCCH", toPNF, 2424 * time.Microsecond, s.part(partNames[partPUCCH])},
		{"PUCCH waits", "from there until its slot begins", 6373 * time.Microsecond, s.Message(nfapi.MsgULTTIRequest).Lead},
		{"PRACH", toPNF, 2056 * time.Microsecond, s.part(partNames[partPRACH])},
	}
}
