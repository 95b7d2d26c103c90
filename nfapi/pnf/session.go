package pnf

import (
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
)

// session is the state machine of a PNF connected to a VNF: its answers to P5 messages. It does no I/O.
//
//	PNF   IDLE ─ PNF_CONFIG ─► CONFIGURED ─ PNF_START ─► RUNNING ─ PNF_STOP ─► CONFIGURED
//	PHY   IDLE ─ CONFIG ─► CONFIGURED ─ START ─► RUNNING ─ STOP ─► CONFIGURED
//
// A message in another state is answered with INVALID_STATE and changes nothing.
//
// Source: SCF 222.10.02, 2.1 and 3.3; SCF 225, 2.1, as implemented by OpenAirInterface develop 2025-09.
type session struct {
	log           *slog.Logger
	all           []*phy // those of the configuration
	local, remote netip.AddrPort

	state   state
	phys    []*phy // those of PNF_CONFIG
	started bool   // a PHY was started once
	spoken  bool   // the VNF has said something that is understood
	told    string // what was logged last of what the VNF does wrong

	// assigned is called with the PHYs that get P7 messages, admit with their senders.
	assigned func([]*phy)
	admit    func(*phy)
}

// outgoing is a message that is to be sent.
type outgoing struct {
	phy uint16
	m   nfapi.Message
}

// handle carries out a message and returns the answers. after, if not nil, is to be
// called when they are sent.
func (s *session) handle(profile nfapi.Profile, id uint16, m nfapi.Message) (out []outgoing, after func()) {
	answer := func(m nfapi.Message) ([]outgoing, func()) { return []outgoing{{id, m}}, nil }
	switch m := m.(type) {
	case *nfapi.PNFParamRequest:
		return answer(s.pnfParam(profile))
	case *nfapi.PNFConfigRequest:
		return answer(&nfapi.PNFConfigResponse{ErrorCode: uint8(s.pnfConfig(profile, m.TLVs))})
	case *nfapi.PNFStartRequest:
		return answer(&nfapi.PNFStartResponse{ErrorCode: uint32(s.pnfStart())})
	case *nfapi.PNFStopRequest:
		code, stopped := s.pnfStop()
		out, _ := answer(&nfapi.PNFStopResponse{ErrorCode: uint32(code)})
		return append(out, stopped...), nil
	case *nfapi.ParamRequest:
		return answer(s.param(profile, id))
	case *nfapi.ConfigRequest:
		return answer(s.config(profile, id, m.TLVs))
	case *nfapi.StartRequest:
		code, run := s.start(id)
		out, _ := answer(startResponse(profile, code))
		return out, run
	case *nfapi.StopRequest:
		return s.stop(profile, id), nil
	}
	s.warn("p5 message that a pnf does not get", "message", m.MessageID(), "phy", id)
	return nil, nil
}

// fromVNF are the messages that handle has an answer to.
var fromVNF = [...]nfapi.MessageID{
	nfapi.MsgPNFParamRequest, nfapi.MsgPNFConfigRequest, nfapi.MsgPNFStartRequest, nfapi.MsgPNFStopRequest,
	nfapi.MsgParamRequest, nfapi.MsgConfigRequest, nfapi.MsgStartRequest, nfapi.MsgStopRequest,
}

// warn logs errors of the VNF; repeated ones are logged once.
func (s *session) warn(text string, values ...any) {
	if line := fmt.Sprint(text, values); line != s.told {
		s.told = line
		s.log.Warn(text, values...)
	}
}

// malformed answers a message with an undecodable body.
func (s *session) malformed(h *nfapi.Header) []outgoing {
	switch h.MessageID {
	case nfapi.MsgPNFConfigRequest:
		return []outgoing{{h.PhyID, &nfapi.PNFConfigResponse{ErrorCode: uint8(codeInvalidConfig)}}}
	case nfapi.MsgConfigRequest:
		return []outgoing{{h.PhyID, &nfapi.ConfigResponse{ErrorCode: uint8(codeInvalidConfig)}}}
	}
	return nil
}

// startResponse is the one that the profile has.
func startResponse(profile nfapi.Profile, code errorCode) nfapi.Message {
	if profile == nfapi.OAI2024 {
		return &nfapi.StartResponse2024{ErrorCode: uint32(code)}
	}
	return &nfapi.StartResponse{ErrorCode: uint32(code)}
}

// find is a PHY by the VNF's number.
func (s *session) find(id uint16) *phy {
	for _, p := range s.phys {
		if p.id == id {
			return p
		}
	}
	return nil
}

// pnfConfig assigns the VNF's PHYs. OpenAirInterface always sends two, the second one all zero.
func (s *session) pnfConfig(profile nfapi.Profile, tlvs []nfapi.TLV) errorCode {
	if s.state == inOperation {
		return codeInvalidState
	}
	var wanted nfapi.PNFPHYRF
	for i := range tlvs {
		if tlvs[i].Tag != nfapi.TagPNFPHYRFConfig {
			continue
		}
		if err := profile.DecodeTLV(&tlvs[i], &wanted); err != nil {
			s.warn("PNF_CONFIG.request", "err", err)
			return codeInvalidConfig
		}
	}
	chosen := map[uint16]*phy{}
	taken := map[*phy]bool{}
	var order []*phy
	for _, w := range wanted.PHYs {
		if w == (nfapi.PHYRFConfig{}) {
			continue
		}
		p := s.offered(w.PHYConfigIndex)
		if p == nil || taken[p] || chosen[w.PHYID] != nil {
			s.warn("PNF_CONFIG.request: a phy that is not offered, or twice", "phy", w.PHYID, "phy_config_index", w.PHYConfigIndex)
			return codeInvalidConfig
		}
		chosen[w.PHYID], taken[p] = p, true
		order = append(order, p)
	}
	if len(order) == 0 {
		s.warn("PNF_CONFIG.request: no phys")
		return codeInvalidConfig
	}
	for id, p := range chosen {
		p.id, p.state = id, idle
	}
	s.phys, s.state = order, configured
	s.assigned(order)
	return codeOK
}

func (s *session) offered(index uint16) *phy {
	for _, p := range s.all {
		if p.config.ID == index {
			return p
		}
	}
	return nil
}

func (s *session) pnfStart() errorCode {
	if s.state != configured {
		return codeInvalidState
	}
	s.state = inOperation
	return codeOK
}

// pnfStop stops all PHYs; they have to be configured again.
func (s *session) pnfStop() (errorCode, []outgoing) {
	if s.state != inOperation {
		return codeInvalidState, nil
	}
	var out []outgoing
	for _, p := range s.phys {
		if p.state == inOperation {
			p.halt()
			out = append(out, outgoing{p.id, &nfapi.StopIndication{}})
		}
		p.state = idle
	}
	s.state = configured
	return codeOK, out
}

// config is CONFIG.request.
func (s *session) config(profile nfapi.Profile, id uint16, tlvs []nfapi.TLV) *nfapi.ConfigResponse {
	if s.state != inOperation {
		return &nfapi.ConfigResponse{ErrorCode: uint8(codeInvalidState)}
	}
	p := s.find(id)
	if p == nil {
		return &nfapi.ConfigResponse{ErrorCode: uint8(codeInvalidConfig)}
	}
	if p.state == inOperation {
		return &nfapi.ConfigResponse{ErrorCode: uint8(codeInvalidState)}
	}
	c, problems := cell.FromTLVs(profile, tlvs)
	if err := problems.Err(); err != nil {
		s.warn("CONFIG.request refused", "phy", id, "err", err)
		return problems.Response()
	}
	if err := p.configure(profile, &c, s.vnfOf(&c)); err != nil {
		s.warn("CONFIG.request refused", "phy", id, "err", err)
		return &nfapi.ConfigResponse{ErrorCode: uint8(codeInvalidConfig)}
	}
	s.admit(p)
	s.log.Info("phy configured", "phy", id, "mu", c.Numerology, "pci", c.PCI, "prbs", c.Downlink.GridSize, "tdd", c.TDD, "vnf", p.vnf)
	return problems.Response()
}

// vnfOf is where the VNF's P7 of a cell is: not valid if only its first message will
// tell. A VNF that listens on all its addresses is where its P5 is.
func (s *session) vnfOf(c *cell.Config) netip.AddrPort {
	switch {
	case c.P7.Port() == 0:
		return netip.AddrPort{}
	case !c.P7.Addr().IsValid() || c.P7.Addr().IsUnspecified():
		return netip.AddrPortFrom(s.remote.Addr().Unmap(), c.P7.Port())
	}
	return c.P7
}

func (s *session) start(id uint16) (errorCode, func()) {
	p := s.find(id)
	if s.state != inOperation || p == nil || p.state != configured {
		return codeInvalidState, nil
	}
	run, err := p.start()
	if err != nil {
		s.log.Error("phy does not start", "phy", id, "err", err)
		return codeInvalidState, nil
	}
	s.started = true
	s.log.Info("phy runs", "phy", id, "slot_ahead", p.ahead(p.cell.Numerology))
	return codeOK, run
}

// stop is STOP.request: STOP.response is OpenAirInterface's.
func (s *session) stop(profile nfapi.Profile, id uint16) []outgoing {
	code := codeOK
	p := s.find(id)
	if s.state != inOperation || p == nil || p.state != inOperation {
		code = codeInvalidState
	} else {
		p.halt()
	}
	var out []outgoing
	switch {
	case profile != nfapi.Aerial:
		out = append(out, outgoing{id, &nfapi.StopResponse{ErrorCode: uint8(code)}})
	case code != codeOK:
		out = append(out, outgoing{id, &nfapi.ErrorIndication{Message: uint8(nfapi.MsgStopRequest), ErrorCode: uint8(code)}})
	}
	if code == codeOK {
		out = append(out, outgoing{id, &nfapi.StopIndication{}})
		s.log.Info("phy stopped", "phy", id)
	}
	return out
}

// end is the end of the connection: everything stops.
func (s *session) end() {
	for _, p := range s.phys {
		if p.state == inOperation {
			p.halt()
		}
		p.state = idle
	}
	s.state, s.phys = idle, nil
	s.assigned(nil)
}
