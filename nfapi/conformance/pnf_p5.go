package conformance

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// pnfCases are all cases for a PNF, in an order that needs few connections.
func pnfCases() []pnfCase {
	var all []pnfCase
	all = append(all, stateCases()...)
	all = append(all, configCases()...)
	all = append(all, tddCases()...)
	all = append(all, lifeCases()...)
	all = append(all, windowCases()...)
	all = append(all, contentCases()...)
	all = append(all, carriageCases()...)
	all = append(all, timeCases()...)
	all = append(all, brokenCases()...)
	return all
}

// What the table has.
const (
	no  = codeInvalidState
	yes = codeOK
)

// stateTable defines the states in which a request is allowed.
//
// Source: SCF 222.10.02, 2.1 and SCF 225, 2.1. OpenAirInterface develop 2025-09 allows STOP.request
// in exactly the wrong states, and START.request in PHY IDLE as well.
var stateTable = []struct {
	id nfapi.MessageID
	// of pnfIdle, pnfConfigured, phyIdle, phyConfigured, phyRunning
	codes [5]uint32
}{
	{nfapi.MsgPNFParamRequest, [5]uint32{yes, no, no, no, no}},
	{nfapi.MsgPNFConfigRequest, [5]uint32{yes, yes, no, no, no}},
	{nfapi.MsgPNFStartRequest, [5]uint32{no, yes, no, no, no}},
	{nfapi.MsgParamRequest, [5]uint32{no, no, yes, no, no}},
	{nfapi.MsgConfigRequest, [5]uint32{no, no, yes, yes, no}},
	{nfapi.MsgStartRequest, [5]uint32{no, no, no, yes, no}},
	{nfapi.MsgStopRequest, [5]uint32{no, no, no, no, yes}},
	{nfapi.MsgPNFStopRequest, [5]uint32{no, no, yes, yes, yes}},
}

// stateCases are the rows of the table, state by state: first what is refused, which
// leaves the PNF where it is.
func stateCases() []pnfCase {
	var all []pnfCase
	for in := pnfIdle; in <= phyRunning; in++ {
		for _, code := range []uint32{no, yes} {
			for _, row := range stateTable {
				if row.codes[in-pnfIdle] == code {
					all = append(all, stateCase(row.id, in, code))
				}
			}
		}
	}
	return all
}

func stateCase(id nfapi.MessageID, in state, want uint32) pnfCase {
	says := fmt.Sprintf("%v in state %v is answered with error code %s", id, in, codeText(want))
	if want == no {
		says += ", and changes nothing"
	}
	return pnfCase{Case{fmt.Sprintf("state/%s/%v", name(in), id), says}, in, func(b *pnfBench) {
		phy := uint16(phyID)
		if id >= nfapi.MsgPNFParamRequest {
			phy = 0
		}
		switch {
		case want == no:
			b.expect(phy, b.request(id), want)
			b.same()
		case id == nfapi.MsgStopRequest, id == nfapi.MsgPNFStopRequest && in == phyRunning:
			b.stopped(phy, id)
		case id == nfapi.MsgStartRequest:
			b.start()
		case id == nfapi.MsgConfigRequest:
			b.configure(b.config.Cell)
		default:
			b.pass(phy, id)
		}
		if want == yes {
			b.same()
		}
	}}
}

// name is a state in the name of a case.
func name(s state) string {
	return [...]string{"", "pnf-idle", "pnf-configured", "phy-idle", "phy-configured", "phy-running"}[s]
}

// stopped stops PHY or PNF: STOP.indication comes, and no further slots.
func (b *pnfBench) stopped(phy uint16, id nfapi.MessageID) {
	got := b.pass(phy, id)
	if got.id != nfapi.MsgStopIndication {
		_, err := b.link.wait(b.trial, b.config.Timeout, of(nfapi.MsgStopIndication))
		if err != nil {
			b.fatal("STOP.indication of the PHY", err)
		}
	}
	b.silent()
}

// silent has no slots come any more: what was under way may.
func (b *pnfBench) silent() {
	b.pause()
	had := b.seen.ticks()
	time.Sleep(20 * b.config.Cell.Numerology.Duration())
	b.check(b.seen.ticks() == had, "no SLOT.indication after STOP", fmt.Sprintf("%d", b.seen.ticks()-had))
	if b.state > phyConfigured {
		b.state = phyConfigured
	}
}

// pause lets what is under way arrive.
func (b *pnfBench) pause() { time.Sleep(20 * time.Millisecond) }

// lifeCases are about several messages.
func lifeCases() []pnfCase {
	return []pnfCase{
		{Case{"life/unknown-phy", "PARAM and CONFIG of a phy_id that PNF_CONFIG has not named are answered with error code 2, START and STOP with an error"}, phyConfigured, func(b *pnfBench) {
			const stranger = 77
			b.expect(stranger, b.request(nfapi.MsgParamRequest), codeInvalidConfig)
			b.expect(stranger, b.request(nfapi.MsgConfigRequest), codeInvalidConfig)
			b.expect(stranger, b.request(nfapi.MsgStartRequest), codeInvalidState, codeInvalidConfig)
			b.expect(stranger, b.request(nfapi.MsgStopRequest), codeInvalidState, codeInvalidConfig)
			b.same()
		}},
		{Case{"life/unknown-phy-config-index", "PNF_CONFIG.request for a PHY that the PNF has not is answered with error code 2"}, pnfConfigured, func(b *pnfBench) {
			right := b.index
			b.index.PHYConfigIndex = 0xfff0
			wrong := b.request(nfapi.MsgPNFConfigRequest)
			b.index = right
			b.expect(0, wrong, codeInvalidConfig)
			b.same()
		}},
		{Case{"life/start-stop", "a PHY is stopped and started again any number of times; SLOT.indications come while it runs only"}, phyRunning, func(b *pnfBench) {
			for range 10 {
				b.stopped(phyID, nfapi.MsgStopRequest)
				b.start()
			}
		}},
		{Case{"life/configure-again", "a PHY that was stopped is configured and started again"}, phyRunning, func(b *pnfBench) {
			b.stopped(phyID, nfapi.MsgStopRequest)
			b.configure(b.config.Cell)
			b.start()
		}},
		{Case{"life/pnf-stop", "PNF_STOP stops the PHYs, and the PNF is configured and started again"}, phyRunning, func(b *pnfBench) {
			b.stopped(0, nfapi.MsgPNFStopRequest)
			b.state = pnfConfigured
			b.bring(phyIdle)
			b.bring(phyRunning)
		}},
		{Case{"life/reconnect", "when the connection is lost everything stops; the PNF connects again, and is IDLE"}, phyRunning, func(b *pnfBench) {
			b.did("the end of the connection")
			b.link.Close()
			b.silent()
			b.connect()
			b.bring(phyRunning)
		}},
	}
}
