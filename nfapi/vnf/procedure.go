package vnf

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// actor carries out what a procedure decides.
type actor interface {
	// send sends a message of P5. What goes wrong ends the connection.
	send(phy uint16, m nfapi.Message)
	// cell makes the TLVs of CONFIG.request for the PHY of an index.
	cell(phy int) ([]nfapi.TLV, error)
	// params says what a PHY is able to do: PARAM.response.
	params(phy int, m *nfapi.ParamResponse)
	// started says that a PHY runs, stopped that it does not any longer.
	started(phy int)
	stopped(phy int)
	// wrong is a PHY's or PNF's failure, which is to be logged. phy is -1 for the PNF.
	wrong(phy int, err error)
}

// unit is a PNF, or one of its PHYs, in its stage.
type unit struct {
	index    int // of a PHY; -1: the PNF
	id       uint16
	requests map[stage]request
	stage    stage
	after    stage     // what comes after stopping
	until    time.Time // for the answer, or until the restart; zero: none
	left     int       // how often the request may be repeated
	revived  bool      // it was found running and has been stopped, once
	request  nfapi.Message
	reason   error // of stageFailed
}

// procedure is the VNF's side of P5 with one PNF: when messages are sent, and the effect of an
// answer or of its absence. It has no clock and no socket: time is a parameter, messages are passed
// to the actor.
//
// Source: SCF 222, 2.1 and SCF 225, as implemented by OpenAirInterface develop 2025-09.
type procedure struct {
	profile  func() nfapi.Profile // the PNF's, by its headers
	timeouts Timeouts
	actor    actor

	pnf     unit
	phys    []unit
	ability nfapi.PNFPHY // of PNF_PARAM.response
	ending  bool
	err     error // why the connection cannot be used any longer
	strays  uint64
}

func newProcedure(profile func() nfapi.Profile, t Timeouts, phys []PHY, a actor) *procedure {
	p := &procedure{profile: profile, timeouts: t, actor: a, pnf: unit{index: -1, requests: pnfRequests}}
	for i, y := range phys {
		p.phys = append(p.phys, unit{index: i, id: y.ID, requests: phyRequests})
	}
	return p
}

// connected begins.
func (p *procedure) connected(now time.Time) { p.enter(&p.pnf, stageParam, now) }

// over reports whether the connection is to be closed: everything has been stopped, or
// nothing can be done.
func (p *procedure) over() bool { return p.err != nil || p.pnf.stage == stageStopped }

// enter goes to a stage and sends its request.
func (p *procedure) enter(u *unit, s stage, now time.Time) {
	u.stage, u.until = s, time.Time{}
	r, asks := u.requests[s]
	if !asks {
		return
	}
	m, err := p.message(u, r.id)
	if err != nil {
		p.fail(u, err, now)
		return
	}
	u.request, u.left = m, 0
	if r.repeat {
		u.left = max(p.timeouts.Repeat, 0)
	}
	u.until = now.Add(p.timeouts.Answer)
	p.actor.send(u.id, m)
}

// message makes the request of a stage.
func (p *procedure) message(u *unit, id nfapi.MessageID) (nfapi.Message, error) {
	switch m := nfapi.NewMessage(id).(type) {
	case *nfapi.PNFConfigRequest:
		tlv, err := p.phyList()
		m.TLVs, m.NumTLVs = []nfapi.TLV{tlv}, 1
		return m, err
	case *nfapi.ConfigRequest:
		tlvs, err := p.actor.cell(u.index)
		m.TLVs, m.NumTLVs = tlvs, uint8(len(tlvs))
		return m, err
	default:
		return m, nil
	}
}

// phyList is the value of PNF_CONFIG.request: which PHY is to be which of those that the
// PNF has.
func (p *procedure) phyList() (nfapi.TLV, error) {
	var list nfapi.PNFPHYRF
	for i := range p.phys {
		c := nfapi.PHYRFConfig{PHYID: p.phys[i].id, PHYConfigIndex: uint16(i + 1)} // as OpenAirInterface counts, if the PNF does not say
		if all := p.ability.PHYs; len(all) > 0 {
			if i >= len(all) {
				return nfapi.TLV{}, fmt.Errorf("the pnf has %d phys, %d are configured", len(all), len(p.phys))
			}
			c.PHYConfigIndex = all[i].PHYConfigIndex
			if len(all[i].RFConfigs) > 0 {
				c.RFConfigIndex = all[i].RFConfigs[0]
			}
		}
		list.PHYs = append(list.PHYs, c)
	}
	return p.profile().EncodeTLV(nfapi.TagPNFPHYRFConfig, &list)
}

// received takes a message in.
func (p *procedure) received(phy uint16, m nfapi.Message, now time.Time) {
	u := p.unitOf(phy, m.MessageID())
	if u == nil {
		p.strays++
		return
	}
	if m.MessageID() == nfapi.MsgStopIndication && u.stage == stageRunning {
		p.actor.stopped(u.index)
		p.fail(u, errors.New("STOP.indication: the phy has stopped"), now)
		return
	}
	if !slices.Contains(u.requests[u.stage].answers, m.MessageID()) {
		p.strays++ // the answer to a request that was repeated, or to none
		return
	}
	code, isCode := nfapi.CodeOf(m)
	if isCode && code != codeOK {
		p.refused(u, m, code, now)
		return
	}
	p.answered(u, m, now)
}

// unitOf is whom a message is about.
func (p *procedure) unitOf(phy uint16, id nfapi.MessageID) *unit {
	if id >= nfapi.MsgPNFParamRequest && id <= nfapi.MsgPNFStopResponse {
		return &p.pnf
	}
	for i := range p.phys {
		if p.phys[i].id == phy {
			return &p.phys[i]
		}
	}
	return nil
}

// answered continues after a successful answer.
func (p *procedure) answered(u *unit, m nfapi.Message, now time.Time) {
	switch m := m.(type) {
	case *nfapi.PNFParamResponse:
		p.ability = nfapi.PNFPHY{}
		for i := range m.TLVs {
			if m.TLVs[i].Tag != nfapi.TagPNFPHY {
				continue
			}
			if err := p.profile().DecodeTLV(&m.TLVs[i], &p.ability); err != nil {
				p.fail(u, fmt.Errorf("PNF_PARAM.response: %w", err), now)
				return
			}
		}
	case *nfapi.ParamResponse:
		p.actor.params(u.index, m)
	}
	if u.stage == stageStopping {
		p.stoppedUnit(u, now)
		return
	}
	p.enter(u, u.stage+1, now)
	if u.stage != stageRunning {
		return
	}
	u.revived = false
	if u == &p.pnf {
		for i := range p.phys {
			p.enter(&p.phys[i], stageParam, now)
		}
		return
	}
	p.actor.started(u.index)
}

// refused continues after an answer with an error code. A PNF or PHY in an old state is reset once:
// a PNF may have been used by another VNF, or by this one before its restart.
func (p *procedure) refused(u *unit, m nfapi.Message, code uint32, now time.Time) {
	state := code == codeInvalidState
	switch {
	case u.stage == stageStopping:
		p.stoppedUnit(u, now) // it does not run: that is what was wanted
	case state && u.stage == stageParam && u != &p.pnf:
		p.enter(u, stageConfig, now) // it is configured already
	case state && u.stage <= stageConfig && !u.revived:
		u.revived, u.after = true, stageConfig
		p.enter(u, stageStopping, now)
	default:
		p.fail(u, refusal(m, code), now)
	}
}

// stoppedUnit continues after a PHY or PNF has stopped.
func (p *procedure) stoppedUnit(u *unit, now time.Time) {
	p.enter(u, u.after, now)
	if u.stage == stageStopped && u != &p.pnf {
		p.stopPNF(now)
	}
}

// fail ends a failed procedure: of a PHY for a while, of a PNF permanently.
func (p *procedure) fail(u *unit, err error, now time.Time) {
	p.actor.wrong(u.index, err)
	switch {
	case u == &p.pnf:
		p.err = err
	case p.ending:
		p.enter(u, stageStopped, now)
		p.stopPNF(now)
	default:
		u.stage, u.reason, u.until, u.revived = stageFailed, err, now.Add(p.timeouts.Retry), false
	}
}

// elapsed takes note of the time.
func (p *procedure) elapsed(now time.Time) {
	p.expire(&p.pnf, now)
	for i := range p.phys {
		p.expire(&p.phys[i], now)
	}
}

// expire does what is due for a unit.
func (p *procedure) expire(u *unit, now time.Time) {
	switch {
	case u.until.IsZero() || now.Before(u.until) || p.err != nil:
	case u.stage == stageFailed:
		p.enter(u, stageParam, now)
	case u.left > 0:
		u.left--
		u.until = now.Add(p.timeouts.Answer)
		p.actor.send(u.id, u.request)
	default:
		err := p.unanswered(fmt.Errorf("%v: no answer within %v", u.request.MessageID(), p.timeouts.Answer))
		if u.stage == stageStopping && p.ending {
			p.actor.wrong(u.index, err)
			p.stoppedUnit(u, now)
			return
		}
		p.fail(u, err, now)
	}
}

// unanswered adds to why the connection cannot be used what may be behind it, if the PNF
// has not said anything that is understood.
func (p *procedure) unanswered(err error) error {
	if p.pnf.stage != stageParam {
		return err
	}
	return fmt.Errorf("%w: is it a pnf of profile %v, as is configured here?", err, p.profile())
}

// due is when elapsed has something to do; zero: never.
func (p *procedure) due() time.Time {
	at := p.pnf.until
	for i := range p.phys {
		if t := p.phys[i].until; !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	return at
}

// stop stops everything in order: the PHYs, then the PNF.
func (p *procedure) stop(now time.Time) {
	if p.ending {
		return
	}
	p.ending = true
	for i := range p.phys {
		u := &p.phys[i]
		u.after = stageStopped
		switch u.stage {
		case stageRunning, stageStart:
			if u.stage == stageRunning {
				p.actor.stopped(u.index)
			}
			p.enter(u, stageStopping, now)
		case stageStopping:
		default:
			p.enter(u, stageStopped, now)
		}
	}
	p.stopPNF(now)
}

// stopPNF stops the PNF when everything is to be, and all its PHYs are.
func (p *procedure) stopPNF(now time.Time) {
	if !p.ending || slices.ContainsFunc(p.phys, func(u unit) bool { return u.stage != stageStopped }) {
		return
	}
	p.pnf.after = stageStopped
	switch p.pnf.stage {
	case stageRunning, stageStart:
		p.enter(&p.pnf, stageStopping, now)
	case stageStopping, stageStopped:
	default:
		p.enter(&p.pnf, stageStopped, now)
	}
}
