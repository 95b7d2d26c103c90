package conformance

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// harmless is a case in which something comes in each slot that is not to stop a VNF.
func harmless(name, says string, what func(b *vnfBench, n slot.Number) [][]byte) vnfCase {
	return vnfCase{Case{"indication/" + name, says + " does not stop a VNF"}, true, func(b *vnfBench) {
		b.did("%s, in each slot", says)
		b.orderly(b.watch(func(n slot.Number) [][]byte {
			return append(what(b, b.cell.Numerology.Add(n, -announced-1)), b.air.tick(n)...)
		}))
		b.requests(2)
	}}
}

// bodies are messages with a body behind SFN and slot.
func bodies(id nfapi.MessageID, rest ...byte) func(b *vnfBench, n slot.Number) [][]byte {
	return func(b *vnfBench, n slot.Number) [][]byte {
		sfn, s := b.cell.Numerology.Split(n)
		head := make([]byte, 4)
		if _, err := (&nfapi.SlotIndication{SFN: sfn, Slot: s}).EncodeBody(b.link.Profile(), head); err != nil {
			return nil
		}
		return b.air.messages(&nfapi.Opaque{ID: id, Body: append(head, rest...)})
	}
}

// indicationCases are about what a PNF tells.
func indicationCases() []vnfCase {
	all := []vnfCase{
		harmless("stranger", "CRC, UCI and RX_DATA of UEs that there are not", func(b *vnfBench, n slot.Number) [][]byte {
			sfn, s := b.cell.Numerology.Split(n)
			return b.air.messages(
				&nfapi.CRCIndication{SFN: sfn, Slot: s, CRCs: []nfapi.CRC{{RNTI: 0x7c01, Handle: 9}}},
				&nfapi.UCIIndication{SFN: sfn, Slot: s, UCIs: []nfapi.UCI{{Type: 1}}},
				&nfapi.RXDataIndication{SFN: sfn, Slot: s, PDUs: []nfapi.RXDataPDU{{RNTI: 0x7c01, PDULength: 50, Payload: make([]byte, 50)}}},
			)
		}),
		harmless("segments", "RX_DATA in segments of 1400 octets, in any order", func(b *vnfBench, n slot.Number) [][]byte {
			if n%16 != 0 {
				return nil
			}
			sfn, s := b.cell.Numerology.Split(n)
			m := &nfapi.RXDataIndication{SFN: sfn, Slot: s, PDUs: []nfapi.RXDataPDU{{RNTI: 0x7c01, PDULength: 9000, Payload: make([]byte, 9000)}}}
			all, err := b.p7.datagrams(b.phy, m, 1400, checksumRight, 0)
			if err != nil {
				return nil
			}
			return shuffled(all)
		}),
		harmless("timing-info", "TIMING_INFO that tells of much too late requests", func(b *vnfBench, n slot.Number) [][]byte {
			if n%32 != 0 {
				return nil
			}
			return b.air.messages(&nfapi.TimingInfo{LastSFN: 5000, LastSlot: 0xffffffff, DLTTILatestDelay: 1 << 30, ULTTIEarliestArrival: -1 << 31})
		}),
		harmless("unknown-message", "messages of unknown id", func(b *vnfBench, n slot.Number) [][]byte {
			return b.air.messages(&nfapi.Opaque{ID: 0x3ab, Body: make([]byte, 30)}, &nfapi.Opaque{ID: 0x8e}, &nfapi.Opaque{ID: 0x4321})
		}),
		harmless("noise", "datagrams of random octets", func(b *vnfBench, n slot.Number) [][]byte {
			d := make([]byte, 1+int(n)%60)
			for i := range d {
				d[i] = byte(int(n)*7919 + i*104729)
			}
			return [][]byte{d}
		}),
	}
	for _, c := range indicationBounds {
		all = append(all, harmless(c.name, c.says, bodies(c.id, c.rest...)))
	}
	return all
}

// indicationBounds are those by which OpenAirInterface's decoder leaves its arrays.
var indicationBounds = []struct {
	name, says string
	id         nfapi.MessageID
	rest       []byte
}{
	{"bounds-rx-data", "RX_DATA.indication with 65535 PDUs of which there are none", nfapi.MsgRXDataIndication, []byte{0xff, 0xff}},
	{"bounds-rx-data-length", "RX_DATA.indication whose payload is longer than the message", nfapi.MsgRXDataIndication, append([]byte{0, 1, 0, 0, 0, 1, 0x46, 1, 0, 0x7f, 0xff, 0xff, 0xff}, make([]byte, 9)...)},
	{"bounds-crc", "CRC.indication with 65535 CRCs of which there are none", nfapi.MsgCRCIndication, []byte{0xff, 0xff}},
	{"bounds-uci-harq", "UCI.indication with 200 HARQ bits, where two are possible", nfapi.MsgUCIIndication, append([]byte{0, 1, 0, 1, 0, 30, 2, 0, 0, 0, 1, 0x46, 1, 0, 1, 0, 0, 0, 0, 200, 0}, make([]byte, 200)...)},
	{"bounds-rach", "RACH.indication with 200 preambles, where 64 are possible", nfapi.MsgRACHIndication, append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 200}, make([]byte, 200)...)},
	{"bounds-srs", "SRS.indication whose report has 4 thousand million octets", nfapi.MsgSRSIndication, append([]byte{0, 0, 1}, 0, 0, 0, 1, 0x46, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff)},
}
