package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// vnfCases are all cases for a VNF.
func vnfCases() []vnfCase {
	var all []vnfCase
	all = append(all, procedureCases()...)
	all = append(all, refusalCases()...)
	all = append(all, silenceCases()...)
	all = append(all, tickCases()...)
	all = append(all, lostTickCases()...)
	all = append(all, clockCases()...)
	all = append(all, indicationCases()...)
	return append(all, vnfBrokenCases()...)
}

// procedureCases are about P5 when all goes well. Source: SCF 222.10.02, 2.1 and SCF 225,
// 2.1, as OpenAirInterface develop 2025-09 has them.
func procedureCases() []vnfCase {
	return []vnfCase{
		{Case{"procedure/order", "PNF_PARAM, PNF_CONFIG, PNF_START, PARAM, CONFIG, START come in this order, each when the one before was answered"}, false, func(b *vnfBench) {
			m := b.dial()
			for i, id := range order {
				if i > 0 {
					m = b.next(id)
				}
				b.check(m.id == id, id.String(), m.String())
				b.quiet(50*time.Millisecond, "nothing until it is answered", func(m *incoming) bool { return m.id != id })
				b.answer(&m)
			}
			b.run(0)
			b.requests(1)
		}},
		{Case{"procedure/config", "CONFIG.request has all mandatory TLVs, a TDD table of exactly one frame, and where the VNF has P7"}, false, func(b *vnfBench) {
			b.follow(b.dial(), nfapi.MsgConfigRequest) // it is looked at there
			b.require(!b.cell.TDD.IsZero(), "a TDD table", "none")
		}},
		{Case{"procedure/phy-config-index", "PNF_CONFIG.request names PHYs that PNF_PARAM.response has"}, false, func(b *vnfBench) { b.phyList() }},
		{Case{"procedure/reconnect", "a PNF that connects again is led through the procedure again, as often as it comes"}, false, func(b *vnfBench) {
			for range 3 {
				b.serves()
			}
		}},
		{Case{"procedure/gone-halfway", "a PNF that goes away within the procedure is led through it when it comes again"}, false, func(b *vnfBench) {
			for _, id := range order[:len(order)-1] {
				b.follow(b.dial(), id)
				b.did("the end of the connection behind the answer to %v", id)
			}
			b.serves()
		}},
		{Case{"procedure/stop-indication", "a PHY that has stopped by itself is begun with anew, on this connection or a new one"}, false, func(b *vnfBench) {
			b.begin(0)
			b.requests(1)
			b.air.stop()
			b.did("%v", b.reply(b.phy, &nfapi.StopIndication{}))
			b.acts("PARAM, CONFIG, START or the end of the connection", of(nfapi.MsgParamRequest, nfapi.MsgConfigRequest, nfapi.MsgStartRequest, nfapi.MsgPNFStopRequest, nfapi.MsgStopRequest))
			b.serves()
		}},
		{Case{"procedure/slots-stop", "a PHY whose SLOT.indications stop is not waited for for ever"}, false, func(b *vnfBench) {
			b.begin(0)
			b.requests(1)
			b.air.stop()
			b.did("no SLOT.indication any more")
			b.acts("a request, or the end of the connection", func(*incoming) bool { return true })
			b.serves()
		}},
	}
}

// phyList looks at PNF_CONFIG.request.
func (b *vnfBench) phyList() {
	m := b.dial()
	b.answer(&m)
	m = b.next(nfapi.MsgPNFConfigRequest)
	r, ok := m.m.(*nfapi.PNFConfigRequest)
	b.check(ok, "PNF_CONFIG.request", m.String())
	var list nfapi.PNFPHYRF
	i := slices.IndexFunc(r.TLVs, func(t nfapi.TLV) bool { return t.Tag == nfapi.TagPNFPHYRFConfig })
	b.check(i >= 0, "TLV 1003", fmt.Sprintf("%d other TLVs", len(r.TLVs)))
	if err := b.link.Profile().DecodeTLV(&r.TLVs[i], &list); err != nil {
		b.fatal("TLV 1003 that can be decoded", err)
	}
	some := 0
	for _, p := range list.PHYs {
		if p == (nfapi.PHYRFConfig{}) {
			continue
		}
		some++
		b.check(p.PHYConfigIndex >= 1 && p.PHYConfigIndex <= 8, "a phy_config_index from 1 to 8", fmt.Sprint(p.PHYConfigIndex))
	}
	b.require(some > 0, "a PHY", "none")
}

// acts waits until the VNF does something about a fault: a message, or the end of the
// connection.
func (b *vnfBench) acts(what string, wanted func(*incoming) bool) {
	_, err := b.link.wait(b.trial, b.config.Patience, wanted)
	b.require(err == nil || b.link.lost() != nil, what, "nothing within "+b.config.Patience.String())
}

// refusalCases are about answers with an error code.
func refusalCases() []vnfCase {
	refused := func(id nfapi.MessageID, what string, next nfapi.MessageID, m func(b *vnfBench) nfapi.Message) vnfCase {
		return vnfCase{Case{"refused/" + what, fmt.Sprintf("when %v is refused, %v does not follow as if it were not; a new connection is served", id, next)}, false, func(b *vnfBench) {
			if i := slices.Index(order, id); i > 0 {
				b.follow(b.dial(), order[i-1])
				got := b.next(id)
				b.check(got.id == id, id.String(), got.String())
				b.phy = got.phy
			} else {
				b.dial()
			}
			answer := m(b)
			b.reply(b.phyOf(id), answer)
			b.did("%v, error code %s", answer.MessageID(), codeText(codeOf(answer)))
			b.quiet(300*time.Millisecond, "no "+next.String(), of(next))
			b.serves()
		}}
	}
	return []vnfCase{
		refused(nfapi.MsgPNFParamRequest, "pnf-param", nfapi.MsgPNFConfigRequest, func(*vnfBench) nfapi.Message { return &nfapi.PNFParamResponse{ErrorCode: codeInvalidConfig} }),
		refused(nfapi.MsgPNFConfigRequest, "pnf-config", nfapi.MsgPNFStartRequest, func(*vnfBench) nfapi.Message { return &nfapi.PNFConfigResponse{ErrorCode: codeInvalidConfig} }),
		refused(nfapi.MsgPNFStartRequest, "pnf-start", nfapi.MsgParamRequest, func(*vnfBench) nfapi.Message { return &nfapi.PNFStartResponse{ErrorCode: codeInvalidState} }),
		refused(nfapi.MsgParamRequest, "param", nfapi.MsgConfigRequest, func(*vnfBench) nfapi.Message { return &nfapi.ParamResponse{ErrorCode: codeInvalidConfig} }),
		refused(nfapi.MsgConfigRequest, "config", nfapi.MsgStartRequest, func(*vnfBench) nfapi.Message {
			return &nfapi.ConfigResponse{ErrorCode: codeInvalidConfig, NumInvalid: 1, NumMissing: 1, TLVs: []nfapi.TLV{{Tag: nfapi.TagDLFrequency}, {Tag: nfapi.TagSlotConfig}}}
		}),
		{Case{"refused/start", "when START.request is refused, no slot is asked for; a new connection is served"}, false, func(b *vnfBench) {
			b.follow(b.dial(), nfapi.MsgConfigRequest)
			m := b.next(nfapi.MsgStartRequest)
			b.check(m.id == nfapi.MsgStartRequest, "START.request", m.String())
			var answer nfapi.Message = &nfapi.StartResponse{ErrorCode: codeInvalidState}
			if b.link.Profile() == nfapi.OAI2024 {
				answer = &nfapi.StartResponse2024{ErrorCode: codeInvalidState}
			}
			b.did("%v, error code 1, and SLOT.indications", b.reply(m.phy, answer))
			b.run(0)
			b.awaitFor(200*time.Millisecond, func() bool { return b.air.requests() > 0 })
			b.check(b.air.requests() == 0, "no requests of P7", fmt.Sprint(b.air.requests()))
			b.serves()
		}},
		{Case{"refused/error-indication", "ERROR.indications, of any code, do not stop a PHY that runs"}, true, func(b *vnfBench) {
			for code := range uint8(12) {
				b.reply(b.phy, &nfapi.ErrorIndication{SFN: 5, Slot: 1, Message: uint8(nfapi.MsgDLTTIRequest), ErrorCode: code})
			}
			b.did("ERROR.indications with codes 0 to 11")
			b.requests(2)
		}},
	}
}

// phyOf is the phy_id of the answer to a request.
func (b *vnfBench) phyOf(id nfapi.MessageID) uint16 {
	if id >= nfapi.MsgPNFParamRequest {
		return 0
	}
	return b.phy
}

func codeOf(m nfapi.Message) uint32 {
	code, _ := nfapi.CodeOf(m)
	return code
}

// silenceCases are about answers that do not come.
func silenceCases() []vnfCase {
	var all []vnfCase
	for i, id := range order {
		all = append(all, vnfCase{Case{"silence/" + id.String(), fmt.Sprintf("when %v is not answered the VNF does something: it asks again, begins anew, or ends the connection; a new connection is served", id)}, false, func(b *vnfBench) {
			if i > 0 {
				b.follow(b.dial(), order[i-1])
				got := b.next(id)
				b.check(got.id == id, id.String(), got.String())
			} else {
				b.dial()
			}
			b.did("no answer to %v", id)
			b.acts("a request, or the end of the connection", func(*incoming) bool { return true })
			b.serves()
		}})
	}
	return all
}
