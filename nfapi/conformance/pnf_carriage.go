package conformance

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// carriageCases are about datagrams. Source: SCF 225, 2.3 (P7 header, segmentation,
// checksum), as OpenAirInterface develop 2025-09 has it.
func carriageCases() []pnfCase {
	segmented := func(name, says string, size int, order func(all [][]byte) [][]byte) pnfCase {
		return p7Case("segments/"+name, says, func(b *pnfBench) {
			b.needsP7Header()
			b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte { return order(b.cut(n, handle, size)) })
		})
	}
	return []pnfCase{
		p7Case("checksum/right", "a datagram with the right checksum is taken", func(b *pnfBench) {
			b.needsP7Header()
			b.alive()
		}),
		p7Case("checksum/absent", "a datagram without checksum, 0, is taken", func(b *pnfBench) {
			b.needsP7Header()
			b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte { return b.sealed(b.pusch(n, handle), checksumAbsent) })
		}),
		p7Case("checksum/wrong", "a datagram with a wrong checksum is dropped; the next one that is right is taken", func(b *pnfBench) {
			b.needsP7Header()
			b.refused(b.usual(), func(n slot.Number, handle uint32) [][]byte { return b.sealed(b.pusch(n, handle), checksumWrong) })
			b.alive()
		}),
		segmented("1400/in-order", "a message in segments of 1400 octets is put together", 1400, func(all [][]byte) [][]byte { return all }),
		segmented("1400/reversed", "segments of 1400 octets may come last to first", 1400, reversed),
		segmented("200/shuffled", "many segments may come in any order", 200, shuffled),
		segmented("200/twice", "segments that come twice are ignored the second time", 200, func(all [][]byte) [][]byte {
			return slices.Concat(all[:1], all, all[len(all)-1:])
		}),
		p7Case("segments/missing", "a message of which a segment is missing is not carried out; the next one is", func(b *pnfBench) {
			b.needsP7Header()
			b.refused(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				all := b.cut(n, handle, 200)
				return slices.Delete(all, 1, 2)
			})
			b.alive()
		}),
		p7Case("segments/wrong-checksum", "a message of which a segment has a wrong checksum is not carried out; the next one is", func(b *pnfBench) {
			b.needsP7Header()
			b.refused(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				all := b.cut(n, handle, 200)
				all[1][len(all[1])-1] ^= 1
				return all
			})
			b.alive()
		}),
		p7Case("segments/65000", "TX_DATA above 65000 octets comes in two or more datagrams that IP cuts as well, in any order", func(b *pnfBench) { b.long() }),
	}
}

// needsP7Header leaves out what a FAPI header has not.
func (b *pnfBench) needsP7Header() {
	if b.profile() == nfapi.Aerial {
		b.skip("the profile's header has neither checksum nor segments")
	}
}

func (b *pnfBench) sealed(m nfapi.Message, sum checksum) [][]byte {
	all, err := b.p7.datagrams(phyID, m, whole, sum, 0)
	if err != nil {
		b.fatal(m.MessageID().String(), err)
	}
	return all
}

// cut makes an UL_TTI.request of 15 PUSCHs in segments.
func (b *pnfBench) cut(n slot.Number, handle uint32, size int) [][]byte {
	const puschs = 15
	m := b.pusch(n, handle)
	for i := range uint32(puschs - 1) {
		m.PDUs = append(m.PDUs, b.pusch(n, 0x80000000|handle<<4|i).PDUs...)
	}
	m.NULSCH = puschs
	all, err := b.p7.datagrams(phyID, m, size, checksumRight, 0)
	if err != nil {
		b.fatal("UL_TTI.request", err)
	}
	if len(all) < 2 {
		b.fatal("a message of several segments", fmt.Errorf("it has %d", len(all)))
	}
	return all
}

func reversed(all [][]byte) [][]byte {
	slices.Reverse(all)
	return all
}

// shuffled has them neither in order nor reversed: every third, from the last on.
func shuffled(all [][]byte) [][]byte {
	var out [][]byte
	for from := range 3 {
		for i := len(all) - 1 - from; i >= 0; i -= 3 {
			out = append(out, all[i])
		}
	}
	return out
}

// long sends a pair with a transport block of 150,000 octets: if TX_DATA were not reassembled, the
// PNF would report half a pair.
func (b *pnfBench) long() {
	b.needsP7Header()
	if b.profile() == nfapi.OAI2024 {
		b.skip("the profile's lengths have 16 bits")
	}
	control := b.served(b.usual(), func(n slot.Number, handle uint32) [][]byte {
		return append(b.messages(b.pdsch(n)), b.one(n, handle)...)
	})
	sfn, s := b.cell.Numerology.Split(control.slot)
	if _, err := b.link.wait(b.trial, b.config.Timeout, func(m *incoming) bool {
		e, ok := m.m.(*nfapi.ErrorIndication)
		return ok && e.SFN == sfn && e.Slot == s
	}); err != nil {
		b.skip("this PNF does not report half a pair, so whether TX_DATA was put together cannot be seen")
	}
	for _, order := range []func([][]byte) [][]byte{func(all [][]byte) [][]byte { return all }, reversed} {
		complaint := "UL_TTI.request was not carried out"
		good := false
		for i := 0; i < shots && !good; i++ {
			b.link.drain()
			s := b.shoot(b.usual(), func(n slot.Number, handle uint32) [][]byte {
				all, err := b.p7.datagrams(phyID, b.block(n, 150_000), nfapi.SegmentSize2025, checksumRight, 0)
				if err != nil {
					b.fatal("TX_DATA.request", err)
				}
				return slices.Concat(order(all), b.messages(b.pdsch(n)), b.one(n, handle))
			})
			carried := b.carriedOut(s)
			b.pause()
			sfn, at := b.cell.Numerology.Split(s.slot)
			e, bad := b.link.take(func(m *incoming) bool {
				e, ok := m.m.(*nfapi.ErrorIndication)
				return ok && e.SFN == sfn && e.Slot == at
			})
			if bad {
				complaint = e.String()
			}
			good = carried && !bad
		}
		b.did("DL_TTI with a PDSCH, and TX_DATA of 150,000 octets in 3 segments")
		if good {
			complaint = "none"
		}
		b.require(good, "no ERROR.indication", complaint)
	}
}
