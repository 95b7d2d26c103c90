package phy

// maxUnits is how many PRBs a carrier has at most, rounded up.
const maxUnits = 320

// occupancy is which units (PRBs, CCEs) of a slot are in use, and which of them more
// than once.
type occupancy struct {
	once, more [maxUnits / 64]uint64
}

// add takes n units from start on. False: there are no such units.
func (o *occupancy) add(start, n, of int) bool {
	if !within(start, n, of) {
		return false
	}
	for u := start; u < start+n; {
		word, mask := unitMask(u, start+n)
		o.more[word] |= o.once[word] & mask
		o.once[word] |= mask
		u = (word + 1) * 64
	}
	return true
}

// clear reports whether n units from start on are in use by one at most.
func (o *occupancy) clear(start, n, of int) bool {
	if !within(start, n, of) {
		return false
	}
	for u := start; u < start+n; {
		word, mask := unitMask(u, start+n)
		if o.more[word]&mask != 0 {
			return false
		}
		u = (word + 1) * 64
	}
	return true
}

func within(start, n, of int) bool {
	return start >= 0 && n > 0 && start+n <= min(of, maxUnits)
}

// unitMask is the bits of units from u to end that are in the same word.
func unitMask(u, end int) (word int, mask uint64) {
	word = u / 64
	mask = ^uint64(0) << (u % 64)
	if left := end - word*64; left < 64 {
		mask &= 1<<left - 1
	}
	return word, mask
}
