package conformance

import (
	"encoding/binary"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// broken is a case in which something comes that is no message, or none that a PNF gets.
func broken(name, says string, run func(b *pnfBench)) pnfCase {
	return pnfCase{Case{"broken/" + name, says + "; the PNF serves its VNF afterwards, on this connection or a new one"}, phyConfigured, func(b *pnfBench) {
		run(b)
		b.recovers()
	}}
}

// brokenCases are the last, because the connection may be closed.
func brokenCases() []pnfCase {
	return append([]pnfCase{
		broken("unknown-message", "a message of unknown id is stepped over", func(b *pnfBench) {
			b.did("message 0x7abc, message 0x3ff of a vendor")
			b.sendAll(&nfapi.Opaque{ID: 0x7abc, Body: make([]byte, 100)}, &nfapi.Opaque{ID: 0x3ff, Body: []byte{1}})
			b.same()
		}),
		broken("unexpected-message", "messages that a PNF sends itself change nothing", func(b *pnfBench) {
			b.did("PARAM.response, CONFIG.response, STOP.indication, ERROR.indication")
			b.sendAll(&nfapi.ParamResponse{}, &nfapi.ConfigResponse{}, &nfapi.StopIndication{}, &nfapi.ErrorIndication{ErrorCode: 1})
			b.same()
		}),
		broken("longer-body", "octets behind the last field are no reason to stop", func(b *pnfBench) {
			b.did("PARAM.request with 40 octets of body")
			b.sendAll(&nfapi.Opaque{ID: nfapi.MsgParamRequest, Body: make([]byte, 40)})
		}),
		broken("fuzz", "random bodies of all messages of P5 do not stop a PNF", func(b *pnfBench) { b.fuzzBodies() }),
	}, framingCases()...)
}

// framingCases are about where messages begin and end.
func framingCases() []pnfCase {
	return []pnfCase{
		broken("split", "a message that comes in pieces is put together: TCP keeps no boundaries", func(b *pnfBench) { b.split() }),
		broken("joined", "messages that come together are taken apart: TCP keeps no boundaries", func(b *pnfBench) {
			b.needsStream()
			raw := b.rawRequest(nfapi.MsgConfigRequest)
			b.did("three CONFIG.requests in one write")
			b.octets(slices.Concat(raw, raw, raw))
			for range 3 {
				got, err := b.answer(phyID, nfapi.MsgConfigRequest)
				b.judge(nfapi.MsgConfigRequest, got, err, codeOK)
			}
		}),
		broken("truncated", "a connection that ends within a message", func(b *pnfBench) {
			raw := b.rawRequest(nfapi.MsgConfigRequest)
			b.did("half a CONFIG.request and the end of the connection")
			b.octets(raw[:len(raw)/2])
			b.link.Close()
		}),
		broken("oversized", "a message that says that it has more octets than there may be", func(b *pnfBench) {
			raw := b.rawRequest(nfapi.MsgConfigRequest)
			binary.BigEndian.PutUint32(raw[4:], 0xfffffff0)
			b.did("CONFIG.request with a length of 0xfffffff0")
			b.octets(raw)
		}),
		broken("long", "a message of 900,000 octets", func(b *pnfBench) {
			if b.profile() == nfapi.OAI2024 {
				b.skip("the length has 16 bits")
			}
			raw := make([]byte, 900_000)
			copy(raw, b.rawRequest(nfapi.MsgParamRequest))
			h := b.profile().HeaderLen(nfapi.P5)
			binary.BigEndian.PutUint32(raw[4:], uint32(len(raw)-h))
			if b.profile() == nfapi.Aerial {
				binary.LittleEndian.PutUint32(raw[4:], uint32(len(raw)-h))
			}
			b.did("PARAM.request of 900,000 octets")
			_ = b.link.SendOctets(raw) // the PNF may have closed it meanwhile
		}),
		broken("noise", "random octets in the place of a message", func(b *pnfBench) {
			chance := b.random()
			raw := make([]byte, 300)
			for i := range raw {
				raw[i] = byte(chance.Uint32())
			}
			b.did("300 random octets of seed %d", b.config.Seed)
			b.octets(raw)
		}),
	}
}

// needsStream leaves a case out that is about TCP.
func (b *pnfBench) needsStream() {
	if !b.link.Stream() {
		b.skip("P5 is carried by SCTP, which keeps the boundaries of messages")
	}
}

func (b *pnfBench) rawRequest(id nfapi.MessageID) []byte {
	raw, err := octets(b.profile(), phyID, b.request(id))
	if err != nil {
		b.fatal(id.String(), err)
	}
	return raw
}

func (b *pnfBench) octets(raw []byte) {
	if err := b.link.SendOctets(raw); err != nil {
		b.fatal("octets that can be sent", err)
	}
}

func (b *pnfBench) sendAll(all ...nfapi.Message) {
	for _, m := range all {
		if err := b.link.Send(phyID, m); err != nil {
			b.fatal(m.MessageID().String()+" that can be sent", err)
		}
	}
}

// split sends a message in three writes.
func (b *pnfBench) split() {
	b.needsStream()
	raw := b.rawRequest(nfapi.MsgConfigRequest)
	b.did("CONFIG.request in three writes: 3 octets, 200, the rest")
	b.link.drain()
	for _, part := range [][]byte{raw[:3], raw[3:203], raw[203:]} {
		b.octets(part)
		b.pause()
	}
	got, err := b.answer(phyID, nfapi.MsgConfigRequest)
	b.judge(nfapi.MsgConfigRequest, got, err, codeOK)
}

// fuzzBodies sends random bodies, most of them too short.
func (b *pnfBench) fuzzBodies() {
	chance := b.random()
	ids := []nfapi.MessageID{
		nfapi.MsgPNFParamRequest, nfapi.MsgPNFConfigRequest, nfapi.MsgPNFStartRequest, nfapi.MsgParamRequest, nfapi.MsgConfigRequest,
		nfapi.MsgParamResponse, nfapi.MsgConfigResponse, nfapi.MsgErrorIndication, nfapi.MsgPNFReadyIndication,
	}
	for range b.config.Fuzz {
		body := make([]byte, chance.IntN(80))
		for i := range body {
			body[i] = byte(chance.Uint32() >> chance.IntN(24))
		}
		m := &nfapi.Opaque{ID: ids[chance.IntN(len(ids))], Body: body}
		if b.link.lost() != nil || b.link.Send(uint16(chance.IntN(3)), m) != nil {
			return // it was closed: only the recovery counts
		}
	}
	b.did("%d messages with random bodies", b.config.Fuzz)
	b.state = absent // START or STOP may have been among them
}

// recovers has the PNF run a PHY after something that was broken. If it waits for the
// rest of a message, the connection is no use any more.
func (b *pnfBench) recovers() {
	if b.link.lost() == nil && b.state != absent {
		b.link.drain()
		if b.link.Send(phyID, b.request(nfapi.MsgConfigRequest)) != nil {
			b.renew()
		} else if got, err := b.answer(phyID, nfapi.MsgConfigRequest); err != nil || code(got) != codeOK {
			b.renew()
		}
	}
	if b.link == nil || b.link.lost() != nil || b.state == absent {
		b.did("a new connection")
		b.connect()
	}
	b.bring(phyRunning)
	b.require(true, "slots on this connection or a new one", "slots")
}
