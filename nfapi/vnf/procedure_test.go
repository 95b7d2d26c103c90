package vnf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// script is an actor that writes down what it is to do.
type script struct {
	log    []string
	sent   []nfapi.Message
	noCell bool
}

func (s *script) send(phy uint16, m nfapi.Message) {
	s.log = append(s.log, fmt.Sprintf("%v %d", m.MessageID(), phy))
	s.sent = append(s.sent, m)
}

func (s *script) cell(phy int) ([]nfapi.TLV, error) {
	if s.noCell {
		return nil, errors.New("no cell")
	}
	return []nfapi.TLV{nfapi.OAI2025.UintTLV(nfapi.TagSCSCommon, 1, 1)}, nil
}

func (s *script) params(phy int, _ *nfapi.ParamResponse) {
	s.log = append(s.log, fmt.Sprint("params ", phy))
}
func (s *script) started(phy int) { s.log = append(s.log, fmt.Sprint("started ", phy)) }
func (s *script) stopped(phy int) { s.log = append(s.log, fmt.Sprint("stopped ", phy)) }
func (s *script) wrong(phy int, err error) {
	s.log = append(s.log, fmt.Sprintf("wrong %d: %v", phy, err))
}

// bench is a procedure in time of its own.
type bench struct {
	*testing.T
	script
	*procedure
	now time.Time
}

func newBench(t *testing.T, phys ...uint16) *bench {
	b := &bench{T: t, now: time.Unix(1000, 0)}
	var list []PHY
	for _, id := range phys {
		list = append(list, PHY{ID: id})
	}
	var timeouts Timeouts
	timeouts.complete()
	b.procedure = newProcedure(func() nfapi.Profile { return nfapi.OAI2025 }, timeouts, list, &b.script)
	b.connected(b.now)
	return b
}

// want compares what was done since the last call.
func (b *bench) want(lines ...string) {
	b.Helper()
	if !slices.Equal(b.log, lines) {
		b.Fatalf("got\n  %s\nwant\n  %s", strings.Join(b.log, "\n  "), strings.Join(lines, "\n  "))
	}
	b.log = nil
}

func (b *bench) get(phy uint16, m nfapi.Message, want ...string) {
	b.Helper()
	b.received(phy, m, b.now)
	b.want(want...)
}

func (b *bench) pass(d time.Duration, want ...string) {
	b.Helper()
	b.now = b.now.Add(d)
	b.elapsed(b.now)
	b.want(want...)
}

// run brings the PNF and its PHYs to the stage running.
func (b *bench) run() {
	b.Helper()
	b.want("PNF_PARAM.request 0")
	b.get(0, &nfapi.PNFParamResponse{}, "PNF_CONFIG.request 0")
	b.get(0, &nfapi.PNFConfigResponse{}, "PNF_START.request 0")
	b.received(0, &nfapi.PNFStartResponse{}, b.now)
	var asked []string
	for i := range b.phys {
		asked = append(asked, fmt.Sprintf("PARAM.request %d", b.phys[i].id))
	}
	b.want(asked...)
	for i := range b.phys {
		id := b.phys[i].id
		b.get(id, &nfapi.ParamResponse{}, fmt.Sprint("params ", i), fmt.Sprintf("CONFIG.request %d", id))
		b.get(id, &nfapi.ConfigResponse{}, fmt.Sprintf("START.request %d", id))
		b.get(id, &nfapi.StartResponse{}, fmt.Sprint("started ", i))
	}
	if !b.due().IsZero() {
		b.Fatalf("running, but something is due at %v", b.due())
	}
}

// refused are answers with an error code.
var invalidState = struct {
	pnfParam, pnfConfig, pnfStop, param, config, stop nfapi.Message
}{
	&nfapi.PNFParamResponse{ErrorCode: 1}, &nfapi.PNFConfigResponse{ErrorCode: 1}, &nfapi.PNFStopResponse{ErrorCode: 1},
	&nfapi.ParamResponse{ErrorCode: 1}, &nfapi.ConfigResponse{ErrorCode: 1}, &nfapi.StopResponse{ErrorCode: 1},
}

func TestProcedure(t *testing.T) {
	b := newBench(t, 1, 7)
	b.run()
	b.stop(b.now)
	b.want("stopped 0", "STOP.request 1", "stopped 1", "STOP.request 7")
	b.get(7, &nfapi.StopIndication{})
	b.get(1, &nfapi.StopResponse{}, "PNF_STOP.request 0")
	if b.over() {
		t.Error("over before PNF_STOP.response")
	}
	b.get(0, &nfapi.PNFStopResponse{})
	if !b.over() || b.err != nil {
		t.Errorf("over %v, error %v", b.over(), b.err)
	}
}

// TestProcedureIndices: PHYs become those that the PNF has said to have.
func TestProcedureIndices(t *testing.T) {
	all := nfapi.PNFPHY{PHYs: []nfapi.PNFPHYInfo{{PHYConfigIndex: 4, RFConfigs: []uint16{9}}, {PHYConfigIndex: 2}}}
	tlv, err := nfapi.OAI2025.EncodeTLV(nfapi.TagPNFPHY, &all)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, 1, 7)
	b.want("PNF_PARAM.request 0")
	b.get(0, &nfapi.PNFParamResponse{TLVs: []nfapi.TLV{tlv}}, "PNF_CONFIG.request 0")
	var got nfapi.PNFPHYRF
	if err := nfapi.OAI2025.DecodeTLV(&b.sent[1].(*nfapi.PNFConfigRequest).TLVs[0], &got); err != nil {
		t.Fatal(err)
	}
	if want := []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 4, RFConfigIndex: 9}, {PHYID: 7, PHYConfigIndex: 2}}; !slices.Equal(got.PHYs, want) {
		t.Errorf("got %+v, want %+v", got.PHYs, want)
	}

	b = newBench(t, 1, 7, 8)
	b.want("PNF_PARAM.request 0")
	b.get(0, &nfapi.PNFParamResponse{TLVs: []nfapi.TLV{tlv}}, "wrong -1: the pnf has 2 phys, 3 are configured")
	if !b.over() {
		t.Error("a pnf with too few phys is kept")
	}
}

// TestProcedureUsedBefore: a PNF that is not idle, and whose PHY runs, is brought to
// where it can be configured.
func TestProcedureUsedBefore(t *testing.T) {
	b := newBench(t, 1)
	b.want("PNF_PARAM.request 0")
	b.get(0, invalidState.pnfParam, "PNF_STOP.request 0")
	b.get(0, &nfapi.PNFStopResponse{}, "PNF_CONFIG.request 0")
	b.get(0, &nfapi.PNFConfigResponse{}, "PNF_START.request 0")
	b.get(0, &nfapi.PNFStartResponse{}, "PARAM.request 1")
	b.get(1, invalidState.param, "CONFIG.request 1")
	b.get(1, invalidState.config, "STOP.request 1")
	b.get(1, &nfapi.StopIndication{}, "CONFIG.request 1")
	b.get(1, &nfapi.ConfigResponse{}, "START.request 1")
	b.get(1, &nfapi.StartResponse2024{}, "started 0")
}

// TestProcedureUsedBeforeStopRefused: only configured, so that there is nothing to stop.
func TestProcedureUsedBeforeStopRefused(t *testing.T) {
	b := newBench(t, 1)
	b.want("PNF_PARAM.request 0")
	b.get(0, invalidState.pnfParam, "PNF_STOP.request 0")
	b.get(0, invalidState.pnfStop, "PNF_CONFIG.request 0")
	b.get(0, invalidState.pnfConfig, "wrong -1: PNF_CONFIG.response: INVALID_STATE (1)")
	if !b.over() {
		t.Error("it is tried again and again")
	}
}

// TestProcedureRefusals: what error codes mean, and that a PHY that failed is tried
// again, alone.
func TestProcedureRefusals(t *testing.T) {
	tlv := func(tags ...uint16) (list []nfapi.TLV) {
		for _, tag := range tags {
			list = append(list, nfapi.TLV{Tag: tag})
		}
		return list
	}
	for name, test := range map[string]struct {
		answer nfapi.Message
		want   string
	}{
		"code":    {&nfapi.ConfigResponse{ErrorCode: 2}, "CONFIG.response: INVALID_CONFIG (2)"},
		"unknown": {&nfapi.ConfigResponse{ErrorCode: 77}, "CONFIG.response: error code 77"},
		"lists": {
			&nfapi.ConfigResponse{ErrorCode: 2, NumInvalid: 1, NumMissing: 2, TLVs: tlv(0x1026, 0x1010, 0x9999)},
			"CONFIG.response: INVALID_CONFIG (2): cell: invalid: 1026 tdd_period; missing: 1010 scs_common, 9999",
		},
		"fewer than announced": {
			&nfapi.ConfigResponse{ErrorCode: 2, NumInvalidIdle: 200, NumInvalidRunning: 3, TLVs: tlv(0x1010)},
			"CONFIG.response: INVALID_CONFIG (2): cell: allowed in idle only: 1010 scs_common",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1, 7)
			b.want("PNF_PARAM.request 0")
			b.get(0, &nfapi.PNFParamResponse{}, "PNF_CONFIG.request 0")
			b.get(0, &nfapi.PNFConfigResponse{}, "PNF_START.request 0")
			b.get(0, &nfapi.PNFStartResponse{}, "PARAM.request 1", "PARAM.request 7")
			b.get(1, &nfapi.ParamResponse{}, "params 0", "CONFIG.request 1")
			b.get(1, test.answer, "wrong 0: "+test.want)
			b.get(7, &nfapi.ParamResponse{}, "params 1", "CONFIG.request 7")
			b.get(7, &nfapi.ConfigResponse{}, "START.request 7")
			b.get(7, &nfapi.StartResponse{}, "started 1")
			if b.over() {
				t.Fatal("one phy that failed ends the connection")
			}
			b.pass(b.timeouts.Retry, "PARAM.request 1")
		})
	}
}

// TestProcedureSilence: what may be is asked again, then the PNF is given up.
func TestProcedureSilence(t *testing.T) {
	b := newBench(t, 1)
	b.want("PNF_PARAM.request 0")
	b.pass(b.timeouts.Answer - 1)
	b.pass(1, "PNF_PARAM.request 0")
	b.pass(b.timeouts.Answer, "PNF_PARAM.request 0")
	b.pass(b.timeouts.Answer, "wrong -1: PNF_PARAM.request: no answer within 2s: is it a pnf of profile oai-2025, as is configured here?")
	if !b.over() {
		t.Error("not given up")
	}

	// The answer to a request and that to its repetition: the second one means nothing.
	b = newBench(t, 1)
	b.want("PNF_PARAM.request 0")
	b.pass(b.timeouts.Answer, "PNF_PARAM.request 0")
	b.get(0, &nfapi.PNFParamResponse{}, "PNF_CONFIG.request 0")
	b.get(0, &nfapi.PNFParamResponse{})
	b.get(0, &nfapi.PNFConfigResponse{}, "PNF_START.request 0")
	// PNF_START must not be repeated: if the first was carried out, the second is an error.
	b.pass(b.timeouts.Answer, "wrong -1: PNF_START.request: no answer within 2s")
}

// TestProcedurePHYStops: a PHY that stops by itself is started again.
func TestProcedurePHYStops(t *testing.T) {
	b := newBench(t, 1)
	b.run()
	b.get(1, &nfapi.StopIndication{}, "stopped 0", "wrong 0: STOP.indication: the phy has stopped")
	b.pass(b.timeouts.Retry, "PARAM.request 1")
	b.get(1, invalidState.param, "CONFIG.request 1")
	b.get(1, &nfapi.ConfigResponse{}, "START.request 1")
	b.get(1, &nfapi.StartResponse{}, "started 0")
}

// TestProcedureStopSilent: a PNF that does not answer is left after a while.
func TestProcedureStopSilent(t *testing.T) {
	b := newBench(t, 1)
	b.run()
	b.stop(b.now)
	b.want("stopped 0", "STOP.request 1")
	b.pass(b.timeouts.Answer, "wrong 0: STOP.request: no answer within 2s", "PNF_STOP.request 0")
	b.pass(b.timeouts.Answer, "wrong -1: PNF_STOP.request: no answer within 2s")
	if !b.over() {
		t.Error("not over")
	}
}

// TestProcedureStopAnywhere: whatever the stage, stopping comes to an end, and no PHY is
// left that was started and not stopped.
func TestProcedureStopAnywhere(t *testing.T) {
	answers := []func(b *bench){
		func(b *bench) { b.received(0, &nfapi.PNFParamResponse{}, b.now) },
		func(b *bench) { b.received(0, &nfapi.PNFConfigResponse{}, b.now) },
		func(b *bench) { b.received(0, &nfapi.PNFStartResponse{}, b.now) },
		func(b *bench) { b.received(1, &nfapi.ParamResponse{}, b.now) },
		func(b *bench) { b.received(1, &nfapi.ConfigResponse{}, b.now) },
		func(b *bench) { b.received(1, &nfapi.StartResponse{}, b.now) },
	}
	for n := range len(answers) + 1 {
		for _, answers2 := range []bool{true, false} {
			b := newBench(t, 1)
			for _, f := range answers[:n] {
				f(b)
			}
			b.stop(b.now)
			for range 10 {
				if answers2 {
					b.received(1, &nfapi.StopIndication{}, b.now)
					b.received(0, &nfapi.PNFStopResponse{}, b.now)
				}
				b.now = b.now.Add(b.timeouts.Answer)
				b.elapsed(b.now)
			}
			if !b.over() {
				t.Errorf("after %d answers, with answers to STOP %v: not over, pnf %v, phy %v", n, answers2, b.pnf.stage, b.phys[0].stage)
			}
			if started, stopped := slices.Contains(b.log, "started 0"), slices.Contains(b.log, "stopped 0"); started != stopped {
				t.Errorf("after %d answers: started %v, stopped %v", n, started, stopped)
			}
		}
	}
}

func TestProcedureNoCell(t *testing.T) {
	b := newBench(t, 1)
	b.noCell = true
	b.want("PNF_PARAM.request 0")
	b.get(0, &nfapi.PNFParamResponse{}, "PNF_CONFIG.request 0")
	b.get(0, &nfapi.PNFConfigResponse{}, "PNF_START.request 0")
	b.get(0, &nfapi.PNFStartResponse{}, "PARAM.request 1")
	b.get(1, &nfapi.ParamResponse{}, "params 0", "wrong 0: no cell")
}

// FuzzProcedure: whatever a PNF sends, and when, a
// PHY is started and stopped in turn, and stopping ends.
func FuzzProcedure(f *testing.F) {
	f.Add([]byte{1, 0, 3, 0, 5, 0, 0x10, 0, 0x11, 0, 0x12, 0})
	f.Add([]byte{1, 1, 7, 0, 3, 0, 5, 0, 0x10, 1, 0x11, 1, 0x13, 0, 0x11, 0, 0x12, 0, 0x13, 0})
	f.Add([]byte{0xff, 0, 0xff, 0, 0xff, 0, 0xff, 0})
	messages := map[byte]nfapi.MessageID{
		1: nfapi.MsgPNFParamResponse, 3: nfapi.MsgPNFConfigResponse, 5: nfapi.MsgPNFStartResponse, 7: nfapi.MsgPNFStopResponse,
		0x10: nfapi.MsgParamResponse, 0x11: nfapi.MsgConfigResponse, 0x12: nfapi.MsgStartResponse, 0x13: nfapi.MsgStopIndication,
		0x14: nfapi.MsgStopResponse, 0x15: nfapi.MsgULNodeSync, 0x16: nfapi.MsgConfigRequest,
	}
	f.Fuzz(func(t *testing.T, events []byte) {
		b := newBench(t, 1)
		for len(events) >= 2 && !b.over() {
			what, value := events[0], events[1]
			events = events[2:]
			id, ok := messages[what]
			if !ok {
				b.now = b.now.Add(b.timeouts.Answer)
				b.elapsed(b.now)
				continue
			}
			m := nfapi.NewMessage(id)
			body := append([]byte{value, value, value, value}, make([]byte, 8)...)
			if m.DecodeBody(nfapi.OAI2025, body) != nil {
				continue
			}
			b.received(1, m, b.now)
		}
		b.stop(b.now)
		for range 4 {
			b.now = b.now.Add(b.timeouts.Answer)
			b.elapsed(b.now)
		}
		if !b.over() {
			t.Errorf("not over: pnf %v, phy %v", b.pnf.stage, b.phys[0].stage)
		}
		running := false
		for _, line := range b.log {
			switch line {
			case "started 0", "stopped 0":
				if running == (line == "started 0") {
					t.Errorf("%q while running is %v", line, running)
				}
				running = !running
			}
		}
		if running && b.err == nil {
			t.Error("over, and a phy runs")
		}
	})
}
