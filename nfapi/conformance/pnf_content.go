package conformance

import (
	"encoding/binary"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// contentCases are about what a request holds.
func contentCases() []pnfCase {
	all := []pnfCase{
		p7Case("request/duplicate", "a request that comes twice is carried out once", func(b *pnfBench) {
			b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				return append(b.one(n, handle), b.one(n, handle)...)
			})
		}),
		p7Case("request/unknown-pdu", "a PDU of unknown type is stepped over by its size; the one behind it is carried out", func(b *pnfBench) {
			b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				m := b.pusch(n, handle)
				m.PDUs = append([]nfapi.ULTTIPDU{{Type: 77, Extra: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}, m.PDUs...)
				return [][]byte{b.message(m)}
			})
		}),
		p7Case("request/unknown-message", "messages of unknown id, and of a vendor, are stepped over", func(b *pnfBench) {
			b.did("messages 0x3ff, 0x1234, 0x8e, SLOT.indication")
			for _, id := range []nfapi.MessageID{0x3ff, 0x1234, 0x8e, nfapi.MsgSlotIndication} {
				b.put(b.message(&nfapi.Opaque{ID: id, Body: make([]byte, 60)}))
			}
			b.alive()
		}),
		p7Case("request/unknown-phy", "a request of another phy_id is not carried out", func(b *pnfBench) {
			if b.profile() == nfapi.Aerial {
				b.skip("the profile's header has no phy_id of 16 bits")
			}
			b.refused(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				all, err := b.p7.datagrams(55, b.pusch(n, handle), whole, checksumRight, 0)
				if err != nil {
					b.fatal("UL_TTI.request", err)
				}
				return all
			})
			b.alive()
		}),
		p7Case("request/noise", "random datagrams do not stop a PHY", func(b *pnfBench) {
			chance := b.random()
			for range b.config.Fuzz {
				d := make([]byte, chance.IntN(200))
				for i := range d {
					d[i] = byte(chance.Uint32())
				}
				b.put(d)
			}
			b.did("%d random datagrams of seed %d", b.config.Fuzz, b.config.Seed)
			b.alive()
		}),
		p7Case("request/fuzz", "requests with random bodies do not stop a PHY", func(b *pnfBench) { b.fuzzRequests() }),
	}
	all = append(all, pairCases()...)
	for _, w := range boundCases {
		all = append(all, p7Case("bounds/"+w.name, w.says+": it is not carried out, and the PHY goes on", func(b *pnfBench) { b.bound(&w) }))
	}
	return append(all, p7Case("report/undecodable", "a request that cannot be decoded is reported: ERROR.indication with error code 4, of UL_DCI 7, of TX_DATA 8", func(b *pnfBench) { b.undecodable() }))
}

// pairCases are about DL_TTI.request with its TX_DATA.request.
func pairCases() []pnfCase {
	return []pnfCase{
		p7Case("pair/whole", "DL_TTI with a PDSCH and its TX_DATA, in either order, are no error", func(b *pnfBench) {
			b.paired(func(n slot.Number) []nfapi.Message { return []nfapi.Message{b.pdsch(n), b.block(n, 1000)} })
			b.paired(func(n slot.Number) []nfapi.Message { return []nfapi.Message{b.block(n, 1000), b.pdsch(n)} })
		}),
		p7Case("pair/no-pdsch", "DL_TTI without a PDSCH needs no TX_DATA", func(b *pnfBench) {
			b.paired(func(n slot.Number) []nfapi.Message {
				sfn, s := b.cell.Numerology.Split(n)
				return []nfapi.Message{&nfapi.DLTTIRequest{SFN: sfn, Slot: s}}
			})
		}),
		p7Case("pair/half-dl-tti", "DL_TTI with a PDSCH whose TX_DATA does not come is dropped and reported: error code 8; the PHY goes on", func(b *pnfBench) {
			b.half(nfapi.MsgDLTTIRequest, func(n slot.Number) nfapi.Message { return b.pdsch(n) })
		}),
		p7Case("pair/half-tx-data", "TX_DATA whose DL_TTI does not come is dropped and reported: error code 8; the PHY goes on", func(b *pnfBench) {
			b.half(nfapi.MsgTXDataRequest, func(n slot.Number) nfapi.Message { return b.block(n, 1000) })
		}),
	}
}

// pdsch is a DL_TTI.request with one PDSCH, for no UE.
func (b *pnfBench) pdsch(n slot.Number) *nfapi.DLTTIRequest {
	sfn, s := b.cell.Numerology.Split(n)
	m := &nfapi.DLTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.DLTTIPDU{{Type: 1}}}
	m.PDUs[0].PDSCH = nfapi.PDSCHPDU{
		RNTI: 0x7c01, BWPSize: b.cell.Downlink.GridSize, SubcarrierSpacing: uint8(b.cell.Numerology), NrOfCodewords: 1,
		QAMModOrder: [2]uint8{2}, TBSize: [2]uint32{1000}, NrOfLayers: 1, DLDMRSSymbPos: 4, NumDMRSCDMGrpsNoData: 2, DMRSPorts: 1,
		ResourceAlloc: 1, RBSize: 20, StartSymbolIndex: 1, NrOfSymbols: 13,
	}
	return m
}

// block is a TX_DATA.request of one transport block.
func (b *pnfBench) block(n slot.Number, size int) *nfapi.TXDataRequest {
	sfn, s := b.cell.Numerology.Split(n)
	return &nfapi.TXDataRequest{SFN: sfn, Slot: s, PDUs: []nfapi.TXDataPDU{{
		PDULength: uint32(size + 12), TLVs: []nfapi.TXDataTLV{{Length: uint32(size), Payload: make([]byte, size)}},
	}}}
}

// messages makes datagrams that are right.
func (b *pnfBench) messages(all ...nfapi.Message) [][]byte {
	var out [][]byte
	for _, m := range all {
		out = append(out, b.message(m))
	}
	return out
}

// paired sends messages that are no error: with a PUSCH, so that it is seen that the slot
// was carried out. Of a machine that was too slow they may be late: once is enough.
func (b *pnfBench) paired(load func(n slot.Number) []nfapi.Message) {
	complaint := ""
	for range shots {
		b.link.drain()
		s := b.shoot(b.usual(), func(n slot.Number, handle uint32) [][]byte {
			return append(b.messages(load(n)...), b.one(n, handle)...)
		})
		carried := b.carriedOut(s)
		b.pause() // ERROR.indication is on another connection
		sfn, at := b.cell.Numerology.Split(s.slot)
		e, bad := b.link.take(func(m *incoming) bool {
			e, ok := m.m.(*nfapi.ErrorIndication)
			return ok && e.SFN == sfn && e.Slot == at
		})
		if complaint = e.text(bad); carried && !bad {
			b.did("messages for %d.%d", sfn, at)
			b.require(true, "no ERROR.indication", complaint)
			return
		}
	}
	b.require(false, "no ERROR.indication", complaint)
}

// half sends one of a pair.
func (b *pnfBench) half(id nfapi.MessageID, load func(n slot.Number) nfapi.Message) {
	s := b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte {
		return append(b.messages(load(n)), b.one(n, handle)...)
	})
	b.did("%v alone", id)
	b.reported(s.slot, id, codeTXError)
	b.alive()
}

// boundCase is a request that says that it holds more than it does, or than there may be.
type boundCase struct {
	name, says string
	make       func(b *pnfBench, sfn, s uint16) *nfapi.Opaque
}

// body makes the body of a message from SFN and slot on.
func (b *pnfBench) body(id nfapi.MessageID, sfn, s uint16, rest ...byte) *nfapi.Opaque {
	var order binary.AppendByteOrder = binary.BigEndian
	if b.profile() == nfapi.Aerial {
		order = binary.LittleEndian
	}
	body := order.AppendUint16(nil, sfn)
	return &nfapi.Opaque{ID: id, Body: append(order.AppendUint16(body, s), rest...)}
}

// changed is a message with some octets of its body replaced.
func (b *pnfBench) changed(m nfapi.Message, from int, with ...byte) *nfapi.Opaque {
	buf := make([]byte, 1<<17)
	n, err := m.EncodeBody(b.profile(), buf)
	if err != nil {
		b.fatal(m.MessageID().String(), err)
	}
	copy(buf[from:n], with)
	return &nfapi.Opaque{ID: m.MessageID(), Body: buf[:n]}
}

// boundCases are those by which OpenAirInterface's decoder leaves its arrays.
var boundCases = []boundCase{
	{"dl-tti-pdus", "DL_TTI.request with 255 PDUs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgDLTTIRequest, sfn, s, 255, 0)
	}},
	{"dl-tti-pdu-size", "DL_TTI.request with a PDU whose size goes beyond the message", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgDLTTIRequest, sfn, s, 1, 0, 0, 1, 0xff, 0xff, 1, 2, 3)
	}},
	{"dl-tti-pdu-size-0", "DL_TTI.request with PDUs of size 0", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgDLTTIRequest, sfn, s, append([]byte{40, 0}, make([]byte, 160)...)...)
	}},
	{"dl-tti-dcis", "DL_TTI.request with a PDCCH of 60 DCIs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		pdu := make([]byte, 28)
		pdu[3], pdu[27] = 28, 60
		pdu[26], pdu[2] = 0, 0
		return b.body(nfapi.MsgDLTTIRequest, sfn, s, append([]byte{1, 0}, pdu...)...)
	}},
	{"ul-tti-pdus", "UL_TTI.request with 255 PDUs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgULTTIRequest, sfn, s, 255, 0, 0, 0, 0)
	}},
	{"ul-tti-prgs", "UL_TTI.request with a PRACH of 60,000 PRGs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		pdu := []byte{0, 0, 0, 17, 0, 1, 1, 9, 0, 0, 0, 0, 0xea, 0x60, 0, 1, 1}
		return b.body(nfapi.MsgULTTIRequest, sfn, s, append([]byte{1, 1, 0, 0, 0}, pdu...)...)
	}},
	{"ul-tti-groups", "UL_TTI.request with 255 groups of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgULTTIRequest, sfn, s, 0, 0, 0, 0, 255)
	}},
	{"ul-dci-pdus", "UL_DCI.request with 200 PDUs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgULDCIRequest, sfn, s, 200)
	}},
	{"tx-data-pdus", "TX_DATA.request with 65535 PDUs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgTXDataRequest, sfn, s, 0xff, 0xff)
	}},
	{"tx-data-tlvs", "TX_DATA.request whose PDU has 4 thousand million TLVs of which there are none", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgTXDataRequest, sfn, s, 0, 1, 0, 0, 0, 16, 0, 0, 0xff, 0xff, 0xff, 0xff)
	}},
	{"tx-data-length", "TX_DATA.request whose payload is longer than the message", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return b.body(nfapi.MsgTXDataRequest, sfn, s, 0, 1, 0, 0, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xf0, 1, 2, 3, 4)
	}},
	{"empty", "DL_TTI.request without a body", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return &nfapi.Opaque{ID: nfapi.MsgDLTTIRequest}
	}},
	{"half-a-field", "UL_TTI.request that ends within its SFN", func(b *pnfBench, sfn, s uint16) *nfapi.Opaque {
		return &nfapi.Opaque{ID: nfapi.MsgULTTIRequest, Body: []byte{0}}
	}},
}

// bound sends a request that is beyond its bounds, some slots ahead, and a PUSCH for the
// slot behind it, which has to be carried out.
func (b *pnfBench) bound(c *boundCase) {
	b.did("%s", c.says)
	b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte {
		sfn, s := b.cell.Numerology.Split(b.cell.Numerology.Add(n, -1))
		return append(b.messages(c.make(b, sfn, s)), b.one(n, handle)...)
	})
	b.alive()
}

// undecodable has what cannot be decoded be reported.
func (b *pnfBench) undecodable() {
	for _, c := range []struct {
		code uint8
		rest []byte
		id   nfapi.MessageID
	}{
		{codeSlotError, []byte{255, 0}, nfapi.MsgDLTTIRequest},
		{codeSlotError, []byte{255, 0, 0, 0, 0}, nfapi.MsgULTTIRequest},
		{codeULDCIError, []byte{200}, nfapi.MsgULDCIRequest},
		{codeTXError, []byte{0xff, 0xff}, nfapi.MsgTXDataRequest},
	} {
		mu := b.cell.Numerology
		ok := false
		var got incoming
		var err error
		for i := 0; i < shots && !ok; i++ {
			s := b.shoot(b.usual(), func(n slot.Number, _ uint32) [][]byte {
				sfn, at := mu.Split(n)
				return b.messages(b.body(c.id, sfn, at, c.rest...))
			})
			sfn, at := mu.Split(s.slot)
			b.did("%v of %d.%d that cannot be decoded", c.id, sfn, at)
			got, err = b.link.wait(b.trial, b.config.Timeout, func(m *incoming) bool {
				e, ok := m.m.(*nfapi.ErrorIndication)
				return ok && e.SFN == sfn && e.Slot == at
			})
			if err != nil {
				break
			}
			ok = got.m.(*nfapi.ErrorIndication).ErrorCode == c.code
		}
		expected := "ERROR.indication with error code " + codeText(uint32(c.code))
		if err != nil {
			b.fatal(expected, err)
		}
		b.check(ok, expected, got.String())
	}
}

// fuzzRequests sends requests with random changes of octets, and then a valid request.
func (b *pnfBench) fuzzRequests() {
	chance := b.random()
	ids := []nfapi.MessageID{nfapi.MsgDLTTIRequest, nfapi.MsgULTTIRequest, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest, nfapi.MsgDLNodeSync}
	mu := b.cell.Numerology
	var n slot.Number
	for range b.config.Fuzz {
		now, _ := b.line.Slot(time.Now())
		n = mu.Add(now, 1+chance.IntN(8))
		sfn, at := mu.Split(n)
		body := make([]byte, chance.IntN(300))
		for i := range body {
			if chance.IntN(3) == 0 {
				body[i] = byte(chance.Uint32())
			}
		}
		m := b.body(ids[chance.IntN(len(ids))], sfn, at, body...)
		if m.ID == nfapi.MsgULTTIRequest { // or else a whole one, of which some octets are changed
			m = b.changed(b.pusch(n, 1), 4+chance.IntN(100), byte(chance.Uint32()), byte(chance.Uint32()))
		}
		b.put(b.message(m))
	}
	b.passed(n)
	b.did("%d requests of random octets of seed %d", b.config.Fuzz, b.config.Seed)
	b.alive()
}
