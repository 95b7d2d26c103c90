package vnf

import "github.com/plumbline-upf/plumbline/nfapi/slot"

// ticks takes SLOT.indications in: which are new, which come again or out of order, how
// many were lost. A number far from the last is believed when the next ones follow it.
type ticks struct {
	mu    slot.Numerology
	begun bool
	last  slot.Number // the newest that was believed

	missing [missingSlots]bool // slots behind the newest that did not come, modulo its length

	strange   slot.Number // the last one far from last
	strangers int         // how many followed each other
}

// verdict is what a SLOT.indication is.
type verdict uint8

const (
	tickNext    verdict = iota // new; lost ones may be before it
	tickOld                    // a duplicate, or out of order
	tickStrange                // far off, and not believed yet
	tickJumped                 // the PNF's clock was set: from here on it is believed
)

// believed is how many SLOT.indications in a row have to agree on a time that is not the
// one of before.
const believed = 4

// nearMs is how far a SLOT.indication may be from the last one, in ms, to be believed at
// once.
const nearMs = 100

// missingSlots is how many slots it is remembered of whether they came: of the nearMs before
// the newest, and as many more. A cycle has a multiple of it.
const missingSlots = 2048

// near reports whether two slots are so close to each other.
func near(mu slot.Numerology, a, b slot.Number) bool {
	d := mu.Distance(a, b)
	return d <= nearMs<<mu && d >= -nearMs<<mu
}

// take takes slot n in; lost is how many are missing between it and the one before, -1 if one
// that was missing comes now.
func (t *ticks) take(n slot.Number) (v verdict, lost int) {
	if !t.begun {
		t.begun, t.last, t.strangers = true, n, 0
		return tickJumped, 0
	}
	d, near := t.mu.Distance(n, t.last), nearMs<<t.mu
	switch {
	case d > 0 && d <= near:
		for i := 1; i < d; i++ {
			t.missing[int(t.mu.Add(t.last, i))%missingSlots] = true
		}
		t.last, t.strangers = n, 0
		t.missing[int(n)%missingSlots] = false
		return tickNext, d - 1
	case d <= 0 && d > -near:
		if late := &t.missing[int(n)%missingSlots]; *late {
			*late = false
			return tickOld, -1
		}
		return tickOld, 0
	case t.strangers == 0 || t.mu.Distance(n, t.strange) != 1:
		t.strangers = 0
	}
	t.strange = n
	if t.strangers++; t.strangers < believed {
		return tickStrange, 0
	}
	t.last, t.strangers = n, 0
	t.missing = [missingSlots]bool{}
	return tickJumped, 0
}
