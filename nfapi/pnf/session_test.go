package pnf

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// aSession has PHYs 1 and 2, of which nothing is configured.
func aSession() *session {
	s := &session{
		log: slog.New(slog.DiscardHandler), local: netip.MustParseAddrPort("10.0.0.2:40000"), remote: netip.MustParseAddrPort("10.0.0.1:50001"),
		assigned: func([]*phy) {}, admit: func(*phy) {},
	}
	for id := range uint16(2) {
		p := &phy{
			config: PHYConfig{ID: id + 1, BandwidthMHz: 100, Layers: 4}, layer: &layer{}, watch: stopwatch.New(), log: s.log, p7: &wire{},
			report: func(errorReport) {},
		}
		p.socket = &endpoint{at: netip.MustParseAddrPort("0.0.0.0:50010")}
		s.all = append(s.all, p)
	}
	return s
}

// aCell is one that any PHY takes.
func aCell(t *testing.T) *cell.Config {
	t.Helper()
	tdd, err := slot.ParseTDD(1, "DDDDDDDSUU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := cell.Carrier{BandwidthMHz: 40, FrequencyKHz: 3_600_000, GridSize: 106, Antennas: 1}
	return &cell.Config{
		Numerology: 1, PCI: 42, TDD: tdd, Downlink: carrier, Uplink: carrier, TimingWindow: 30,
		P7: netip.MustParseAddrPort("10.0.0.1:50011"), SSB: cell.SSB{PeriodMs: 20, Mask: 1 << 63},
	}
}

func configRequest(t *testing.T, p nfapi.Profile) *nfapi.ConfigRequest {
	return &nfapi.ConfigRequest{TLVs: aCell(t).TLVs(p)}
}

func pnfConfigRequest(t *testing.T, p nfapi.Profile, phys ...nfapi.PHYRFConfig) *nfapi.PNFConfigRequest {
	t.Helper()
	v, err := p.EncodeTLV(nfapi.TagPNFPHYRFConfig, &nfapi.PNFPHYRF{PHYs: phys})
	if err != nil {
		t.Fatal(err)
	}
	return &nfapi.PNFConfigRequest{NumTLVs: 1, TLVs: []nfapi.TLV{v}}
}

var onePHY = []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 1}, {}} // as OpenAirInterface sends it

// codeIn is the error code of the answer that is of a type.
func codeIn(t *testing.T, out []outgoing) (uint32, nfapi.MessageID) {
	t.Helper()
	if len(out) == 0 {
		t.Fatal("no answer")
	}
	id := out[0].m.MessageID()
	switch m := out[0].m.(type) {
	case *nfapi.PNFParamResponse:
		return uint32(m.ErrorCode), id
	case *nfapi.PNFConfigResponse:
		return uint32(m.ErrorCode), id
	case *nfapi.PNFStartResponse:
		return m.ErrorCode, id
	case *nfapi.PNFStopResponse:
		return m.ErrorCode, id
	case *nfapi.ParamResponse:
		return uint32(m.ErrorCode), id
	case *nfapi.ConfigResponse:
		return uint32(m.ErrorCode), id
	case *nfapi.StartResponse:
		return m.ErrorCode, id
	case *nfapi.StartResponse2024:
		return m.ErrorCode, id
	case *nfapi.StopResponse:
		return uint32(m.ErrorCode), id
	case *nfapi.ErrorIndication:
		return uint32(m.ErrorCode), id
	}
	return 0, id
}

// steps are messages by their short names, for PHY 1.
func step(t *testing.T, s *session, p nfapi.Profile, name string) []outgoing {
	t.Helper()
	var out []outgoing
	var run func()
	switch name {
	case "pnf_param":
		out, _ = s.handle(p, 0, &nfapi.PNFParamRequest{})
	case "pnf_config":
		out, _ = s.handle(p, 0, pnfConfigRequest(t, p, onePHY...))
	case "pnf_start":
		out, _ = s.handle(p, 0, &nfapi.PNFStartRequest{})
	case "pnf_stop":
		out, _ = s.handle(p, 0, &nfapi.PNFStopRequest{})
	case "param":
		out, _ = s.handle(p, 1, &nfapi.ParamRequest{})
	case "config":
		out, _ = s.handle(p, 1, configRequest(t, p))
	case "start":
		out, run = s.handle(p, 1, &nfapi.StartRequest{})
	case "stop":
		out, _ = s.handle(p, 1, &nfapi.StopRequest{})
	default:
		t.Fatalf("no message %s", name)
	}
	_ = run // no slots: P5 alone is what is tested
	return out
}

var stepNames = []string{"pnf_param", "pnf_config", "pnf_start", "pnf_stop", "param", "config", "start", "stop"}

// TestStates: each message in each state: what is answered, and where that leads.
func TestStates(t *testing.T) {
	const bad = codeInvalidState
	states := []struct {
		name string
		way  []string             // from the beginning
		want map[string]errorCode // not there: INVALID_STATE
		pnf  state
		phy  state
	}{
		{name: "PNF IDLE", want: map[string]errorCode{"pnf_param": 0, "pnf_config": 0}},
		{
			name: "PNF CONFIGURED", way: []string{"pnf_config"}, pnf: configured,
			want: map[string]errorCode{"pnf_config": 0, "pnf_start": 0},
		},
		{
			name: "PHY IDLE", way: []string{"pnf_config", "pnf_start"}, pnf: inOperation,
			want: map[string]errorCode{"pnf_stop": 0, "param": 0, "config": 0},
		},
		{
			name: "PHY CONFIGURED", way: []string{"pnf_config", "pnf_start", "config"}, pnf: inOperation, phy: configured,
			want: map[string]errorCode{"pnf_stop": 0, "config": 0, "start": 0},
		},
		{
			name: "PHY RUNNING", way: []string{"pnf_config", "pnf_start", "config", "start"}, pnf: inOperation, phy: inOperation,
			want: map[string]errorCode{"pnf_stop": 0, "stop": 0},
		},
		{
			name: "PHY stopped", way: []string{"pnf_config", "pnf_start", "config", "start", "stop"}, pnf: inOperation, phy: configured,
			want: map[string]errorCode{"pnf_stop": 0, "config": 0, "start": 0},
		},
		{
			name: "PNF stopped", way: []string{"pnf_config", "pnf_start", "config", "start", "pnf_stop"}, pnf: configured,
			want: map[string]errorCode{"pnf_config": 0, "pnf_start": 0},
		},
	}
	for _, profile := range nfapi.Profiles() {
		for _, st := range states {
			for _, name := range stepNames {
				t.Run(fmt.Sprintf("%v/%s/%s", profile, st.name, name), func(t *testing.T) {
					s := aSession()
					t.Cleanup(s.end)
					for _, w := range st.way {
						step(t, s, profile, w)
					}
					if s.state != st.pnf || s.all[0].state != st.phy {
						t.Fatalf("PNF is %v and PHY %v, want %v and %v", s.state, s.all[0].state, st.pnf, st.phy)
					}
					want, allowed := st.want[name]
					if !allowed {
						want = bad
					}
					if name == "stop" && profile == nfapi.Aerial && allowed {
						want = 0 // STOP.indication has no code
					}
					got, _ := codeIn(t, step(t, s, profile, name))
					if got != uint32(want) {
						t.Errorf("answered with %d, want %d", got, want)
					}
					if !allowed && (s.state != st.pnf || s.all[0].state != st.phy) {
						t.Errorf("PNF is %v and PHY %v after what was refused, want %v and %v", s.state, s.all[0].state, st.pnf, st.phy)
					}
				})
			}
		}
	}
}

// TestAnswers: the messages that each profile has for an answer.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		profile nfapi.Profile
		start   nfapi.MessageID
		stop    []nfapi.MessageID
		refused nfapi.MessageID // STOP.request of a PHY that does not run
	}{
		{nfapi.OAI2025, nfapi.MsgStartResponse, []nfapi.MessageID{nfapi.MsgStopResponse, nfapi.MsgStopIndication}, nfapi.MsgStopResponse},
		{nfapi.OAI2024, nfapi.MsgStartResponse2024, []nfapi.MessageID{nfapi.MsgStopResponse, nfapi.MsgStopIndication}, nfapi.MsgStopResponse},
		{nfapi.Aerial, nfapi.MsgStartResponse, []nfapi.MessageID{nfapi.MsgStopIndication}, nfapi.MsgErrorIndication},
	} {
		s := aSession()
		for _, w := range []string{"pnf_config", "pnf_start", "config"} {
			step(t, s, test.profile, w)
		}
		if _, id := codeIn(t, step(t, s, test.profile, "stop")); id != test.refused {
			t.Errorf("%v: STOP.request while CONFIGURED is answered by %v, want %v", test.profile, id, test.refused)
		}
		if _, id := codeIn(t, step(t, s, test.profile, "start")); id != test.start {
			t.Errorf("%v: START.request is answered by %v, want %v", test.profile, id, test.start)
		}
		var got []nfapi.MessageID
		for _, o := range step(t, s, test.profile, "stop") {
			got = append(got, o.m.MessageID())
		}
		if diff := cmp.Diff(test.stop, got); diff != "" {
			t.Errorf("%v: STOP.request is answered by (-want +got)\n%s", test.profile, diff)
		}
		s.end()
	}
}

// TestPNFConfig: which PHYs may be asked for.
func TestPNFConfig(t *testing.T) {
	const p = nfapi.OAI2025
	for _, test := range []struct {
		name string
		phys []nfapi.PHYRFConfig
		want errorCode
	}{
		{"one, as OpenAirInterface sends it", onePHY, codeOK},
		{"both", []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 2}, {PHYID: 7, PHYConfigIndex: 1}}, codeOK},
		{"none", nil, codeInvalidConfig},
		{"zeros alone", []nfapi.PHYRFConfig{{}, {}}, codeInvalidConfig},
		{"not offered", []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 3}}, codeInvalidConfig},
		{"one twice", []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 1}, {PHYID: 2, PHYConfigIndex: 1}}, codeInvalidConfig},
		{"one number twice", []nfapi.PHYRFConfig{{PHYID: 1, PHYConfigIndex: 1}, {PHYID: 1, PHYConfigIndex: 2}}, codeInvalidConfig},
	} {
		s := aSession()
		got, _ := s.handle(p, 0, pnfConfigRequest(t, p, test.phys...))
		if code, _ := codeIn(t, got); code != uint32(test.want) {
			t.Errorf("%s: %d, want %d", test.name, code, test.want)
		}
		if want := map[bool]state{true: configured, false: idle}[test.want == codeOK]; s.state != want {
			t.Errorf("%s: PNF is %v, want %v", test.name, s.state, want)
		}
	}
	s := aSession()
	got, _ := s.handle(p, 0, &nfapi.PNFConfigRequest{TLVs: []nfapi.TLV{{Tag: nfapi.TagPNFPHYRFConfig, Value: []byte{0, 9}}}})
	if code, _ := codeIn(t, got); code != uint32(codeInvalidConfig) {
		t.Errorf("nine PHYs in no octets: %d, want %d", code, codeInvalidConfig)
	}
}

// TestUnknownPHY: PARAM and CONFIG of a PHY that is not there are INVALID_CONFIG.
func TestUnknownPHY(t *testing.T) {
	const p = nfapi.OAI2025
	s := aSession()
	step(t, s, p, "pnf_config")
	step(t, s, p, "pnf_start")
	for _, test := range []struct {
		m    nfapi.Message
		want errorCode
	}{
		{&nfapi.ParamRequest{}, codeInvalidConfig}, {configRequest(t, p), codeInvalidConfig},
		{&nfapi.StartRequest{}, codeInvalidState}, {&nfapi.StopRequest{}, codeInvalidState},
	} {
		out, run := s.handle(p, 2, test.m)
		if got, _ := codeIn(t, out); got != uint32(test.want) || run != nil {
			t.Errorf("%v: %d, want %d", test.m.MessageID(), got, test.want)
		}
	}
}

// TestConfigRefused: a cell that is not complete, one that the PHY does not take and a
// window below slot_ahead leave the PHY as it was.
func TestConfigRefused(t *testing.T) {
	const p = nfapi.OAI2025
	s := aSession()
	step(t, s, p, "pnf_config")
	step(t, s, p, "pnf_start")
	out, _ := s.handle(p, 1, &nfapi.ConfigRequest{})
	r := out[0].m.(*nfapi.ConfigResponse)
	if r.ErrorCode != uint8(codeInvalidConfig) || r.NumMissing == 0 || len(r.TLVs) != int(r.NumInvalid)+int(r.NumInvalidIdle)+int(r.NumInvalidRunning)+int(r.NumMissing) {
		t.Errorf("a cell of nothing: %+v, want what is missing", r)
	}
	s.all[0].layer.(*layer).refuse = errRefused
	out, _ = s.handle(p, 1, configRequest(t, p))
	if got, _ := codeIn(t, out); got != uint32(codeInvalidConfig) {
		t.Errorf("a cell that the phy refuses: %d", got)
	}
	s.all[0].layer.(*layer).refuse = nil
	s.all[0].config.SlotAhead = 31
	out, _ = s.handle(p, 1, configRequest(t, p))
	if got, _ := codeIn(t, out); got != uint32(codeInvalidConfig) {
		t.Errorf("slot_ahead 31 and a window of 30: %d", got)
	}
	if s.all[0].state != idle {
		t.Errorf("the phy is %v, want IDLE", s.all[0].state)
	}
	s.all[0].config.SlotAhead = 30
	out, _ = s.handle(p, 1, configRequest(t, p))
	if got, _ := codeIn(t, out); got != 0 || s.all[0].state != configured {
		t.Errorf("slot_ahead 30 and a window of 30: %d", got)
	}
	if want := netip.MustParseAddrPort("10.0.0.1:50011"); s.all[0].vnf != want {
		t.Errorf("the VNF is at %v, want %v", s.all[0].vnf, want)
	}
}

// TestVNFAddress: where P7 goes if the VNF says all or half of it.
func TestVNFAddress(t *testing.T) {
	s := aSession()
	for in, want := range map[string]string{
		"192.0.2.7:50011": "192.0.2.7:50011",
		"0.0.0.0:50011":   "10.0.0.1:50011",
		"192.0.2.7:0":     "invalid AddrPort",
		"":                "invalid AddrPort",
	} {
		var c cell.Config
		if in != "" {
			c.P7 = netip.MustParseAddrPort(in)
		}
		if got := s.vnfOf(&c).String(); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestParam: what the PNF says of itself can be read in each profile.
func TestParam(t *testing.T) {
	for _, p := range nfapi.Profiles() {
		s := aSession()
		out := step(t, s, p, "pnf_param")
		m := out[0].m.(*nfapi.PNFParamResponse)
		var phys nfapi.PNFPHY
		for i := range m.TLVs {
			if m.TLVs[i].Tag == nfapi.TagPNFPHY {
				if err := p.DecodeTLV(&m.TLVs[i], &phys); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(phys.PHYs) != 2 || phys.PHYs[0].PHYConfigIndex != 1 || phys.PHYs[1].PHYConfigIndex != 2 {
			t.Errorf("%v: PHYs %+v, want 1 and 2", p, phys.PHYs)
		}
		step(t, s, p, "pnf_config")
		step(t, s, p, "pnf_start")
		param := step(t, s, p, "param")[0].m.(*nfapi.ParamResponse)
		b := make([]byte, 4096)
		n, err := p.EncodeP5(&nfapi.Header{Generation: p.Generation(), PhyID: 1}, param, b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.JSON(nfapi.P5, b[:n]); err != nil {
			t.Errorf("%v: PARAM.response: %v", p, err)
		}
	}
}

// TestMalformed: a body that cannot be decoded is answered where there is a code for it.
func TestMalformed(t *testing.T) {
	s := aSession()
	for id, want := range map[nfapi.MessageID]int{nfapi.MsgConfigRequest: 1, nfapi.MsgPNFConfigRequest: 1, nfapi.MsgErrorIndication: 0} {
		out := s.malformed(&nfapi.Header{MessageID: id, PhyID: 1})
		if len(out) != want {
			t.Errorf("%v: %d answers, want %d", id, len(out), want)
		}
		if want == 0 {
			continue
		}
		if code, _ := codeIn(t, out); code != uint32(codeInvalidConfig) {
			t.Errorf("%v: %d, want %d", id, code, codeInvalidConfig)
		}
	}
}
