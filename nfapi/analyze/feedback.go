package analyze

import "github.com/plumbline-upf/plumbline/nfapi"

// HARQ feedback does not identify its PDSCHs, and a codebook of type 1 also has bits for slots
// without PDSCH: meaningless NACKs. The bits of a UE in a slot are therefore matched with its
// PDSCHs with feedback due there: those at least k1 slots before that had no earlier feedback slot.
//
// k1 is in the DCIs, at a position that only RRC configures. Each value is tried, and the one that
// contradicts the least feedback is used: with a wrong one there are more ACKs than PDSCHs, or more
// PDSCHs than bits.
//
// Source: TS 38.213 V18, 9.1.2 and 9.1.3 (codebooks), 9.2.3 (k1).

// MaxK1 is the most slots from a PDSCH to its feedback. Source: TS 38.331 V18, 6.3.2,
// dl-DataToUL-ACK.
const MaxK1 = 15

// verdicts are the HARQ bits of a UCI.
type verdicts struct{ acks, nacks, dtx int }

func (v *verdicts) all() int { return v.acks + v.nacks + v.dtx }

// verdictsOf are the bits of PUCCH format 2 to 4, or of a PUSCH.
func verdictsOf(h *nfapi.HARQBits) (v verdicts) {
	for i := range int(h.BitLen) {
		switch {
		case h.CRC == 1 || i/8 >= len(h.Payload):
			v.dtx++
		case h.Payload[i/8]>>(i%8)&1 != 0:
			v.acks++
		default:
			v.nacks++
		}
	}
	return v
}

// verdictsOfValues are those of PUCCH format 0 or 1.
func verdictsOfValues(values []byte) (v verdicts) {
	const ack, nack = 0, 1
	for _, value := range values {
		switch value {
		case ack:
			v.acks++
		case nack:
			v.nacks++
		default:
			v.dtx++
		}
	}
	return v
}

// outcome is what the feedback of a UE, or of all, says for one k1.
type outcome struct {
	good, bad, uncertain uint64
	without              uint64 // bits that no PDSCH has
}

type outcomes [MaxK1 + 1]outcome

// add holds bits against as many PDSCHs as are due. An ACK is for a PDSCH that there was,
// so what has no PDSCH are the others.
func (o *outcome) add(v *verdicts, due int) {
	good := min(v.acks, due)
	bad := min(v.nacks, due-good)
	uncertain := min(v.dtx, due-good-bad)
	o.good, o.bad, o.uncertain = o.good+uint64(good), o.bad+uint64(bad), o.uncertain+uint64(uncertain)
	o.without += uint64(v.all() - good - bad - uncertain)
}

// contradiction is how many bits or PDSCHs are too many.
func (v *verdicts) contradiction(due int) int {
	if v.dtx > 0 {
		return 0
	}
	return max(0, v.acks-due) + max(0, due-v.all())
}

// feedback takes the HARQ bits of a UE in slot s.
func (c *cell) feedback(s *entry, rnti uint16, v verdicts) {
	u := c.ue(rnti)
	if u == nil || v.all() == 0 {
		return
	}
	bits, gap := c.before(s.slot, rnti)
	for k1 := 1; k1 <= MaxK1; k1++ {
		due := 0
		for d := k1; d <= min(MaxK1, k1+gap-1); d++ {
			due += bits[d]
		}
		u.outcomes[k1].add(&v, due)
		c.outcomes[k1].add(&v, due)
		if s.slot-MaxK1 >= c.first { // else PDSCHs may have come before the capture began
			c.contradictions[k1] += v.contradiction(due)
		}
	}
}

// before is how many bits of feedback a UE's PDSCHs ask for in each of the slots before slot
// n, by distance, and how many slots before n its last feedback was expected.
func (c *cell) before(n int64, rnti uint16) (bits [MaxK1 + 1]int, gap int) {
	gap = MaxK1 + 1
	for d := int64(1); d <= MaxK1; d++ {
		s := &c.ring[(n-d)%ringSlots]
		if !s.used || s.slot != n-d {
			continue
		}
		for i := range s.pdsch {
			if s.pdsch[i].rnti == rnti {
				bits[d] += int(s.pdsch[i].bits)
			}
		}
		expects := func(b *block) bool { return b.bits > 0 }
		if gap > MaxK1 && (find(s.pucch, rnti, expects) != nil || find(s.pusch, rnti, expects) != nil) {
			gap = int(d)
		}
	}
	return bits, gap
}

// finishFeedback takes the outcomes of the k1 that was given, or fits best; of several
// that do, the least.
func (c *cell) finishFeedback(given int) {
	if c.outcomes == (outcomes{}) {
		return
	}
	k1 := given
	if k1 == 0 {
		k1 = 1
		for i := 2; i <= MaxK1; i++ {
			if c.contradictions[i] < c.contradictions[k1] {
				k1 = i
			}
		}
	}
	c.result.K1 = k1
	c.result.BitsWithoutPDSCH = c.result.Downlink.answered(&c.outcomes[k1])
	for _, u := range c.ues {
		u.BitsWithoutPDSCH = u.Downlink.answered(&u.outcomes[k1])
	}
}

// answered sets what feedback says of blocks, and returns the bits that are of none.
func (b *Blocks) answered(o *outcome) (without uint64) {
	b.Good, b.Bad, b.Uncertain = o.good, o.bad, o.uncertain
	return o.without
}
