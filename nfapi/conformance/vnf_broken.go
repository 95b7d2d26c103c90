package conformance

import (
	"encoding/binary"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// vnfBroken is a case in which something comes that is no message, or none that a VNF
// gets.
func vnfBroken(name, says string, run func(b *vnfBench)) vnfCase {
	return vnfCase{Case{"broken/" + name, says + "; a new connection is served"}, false, func(b *vnfBench) {
		run(b)
		b.serves()
	}}
}

// octets sends octets as they are.
func (b *vnfBench) octets(raw []byte) {
	if err := b.link.SendOctets(raw); err != nil {
		b.fatal("octets that can be sent", err)
	}
}

// vnfBrokenCases are all of them.
func vnfBrokenCases() []vnfCase {
	return append([]vnfCase{
		vnfBroken("unknown-message", "messages of unknown id are stepped over: the VNF goes on when it is answered", func(b *vnfBench) {
			m := b.dial()
			b.reply(0, &nfapi.Opaque{ID: 0x7abc, Body: make([]byte, 50)})
			b.reply(9, &nfapi.Opaque{ID: 0x3f0})
			b.did("messages 0x7abc and 0x3f0, and then the answers")
			b.follow(m, nfapi.MsgStartRequest)
		}),
		vnfBroken("unasked-answers", "answers to what was not asked change nothing: the VNF goes on when it is answered", func(b *vnfBench) {
			m := b.dial()
			for _, x := range []nfapi.Message{&nfapi.StartResponse{}, &nfapi.ConfigResponse{}, &nfapi.PNFStartResponse{}, &nfapi.StopIndication{}} {
				b.reply(1, x)
			}
			b.did("START.response, CONFIG.response, PNF_START.response, STOP.indication, and then the answers")
			b.quiet(100*time.Millisecond, "no further request until the first is answered", of(order[1:]...))
			b.follow(m, nfapi.MsgStartRequest)
		}),
	}, vnfFramingCases()...)
}

// vnfFramingCases are about where messages begin and end.
func vnfFramingCases() []vnfCase {
	return []vnfCase{
		vnfBroken("truncated", "a connection that ends within a message", func(b *vnfBench) {
			m := b.dial()
			raw, err := answered(b, &m)
			if err != nil {
				b.fatal("a response", err)
			}
			b.did("half of PNF_PARAM.response and the end of the connection")
			b.octets(raw[:len(raw)/2])
		}),
		vnfBroken("oversized", "a message that says that it has more octets than there may be", func(b *vnfBench) {
			m := b.dial()
			raw, err := answered(b, &m)
			if err != nil {
				b.fatal("a response", err)
			}
			binary.BigEndian.PutUint32(raw[4:], 0xfffffff0)
			b.did("PNF_PARAM.response with a length of 0xfffffff0")
			b.octets(raw)
		}),
		vnfBroken("noise", "random octets in the place of a message", func(b *vnfBench) {
			b.dial()
			chance := b.random()
			raw := make([]byte, 300)
			for i := range raw {
				raw[i] = byte(chance.Uint32())
			}
			b.did("300 random octets of seed %d", b.config.Seed)
			b.octets(raw)
		}),
		vnfBroken("fuzz", "random bodies of all messages of P5", func(b *vnfBench) {
			b.begin(0)
			chance := b.random()
			ids := []nfapi.MessageID{
				nfapi.MsgPNFParamResponse, nfapi.MsgPNFConfigResponse, nfapi.MsgPNFStartResponse, nfapi.MsgParamResponse, nfapi.MsgConfigResponse,
				nfapi.MsgStartResponse, nfapi.MsgErrorIndication, nfapi.MsgPNFParamRequest, nfapi.MsgConfigRequest, nfapi.MsgStopResponse,
			}
			for range b.config.Fuzz {
				body := make([]byte, chance.IntN(120))
				for i := range body {
					body[i] = byte(chance.Uint32() >> chance.IntN(24))
				}
				if b.link.lost() != nil || b.link.Send(uint16(chance.IntN(3)), &nfapi.Opaque{ID: ids[chance.IntN(len(ids))], Body: body}) != nil {
					break // it was closed: only the recovery counts
				}
			}
			b.did("%d messages with random bodies of seed %d", b.config.Fuzz, b.config.Seed)
		}),
	}
}

// answered is the right answer to a request.
func answered(b *vnfBench, m *incoming) ([]byte, error) {
	return octets(b.link.Profile(), m.phy, b.response(m))
}
