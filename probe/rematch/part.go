package rematch

// part are the packets of one slice and one length: an exit can only belong to an entry
// of its own part. Events come in order of time.
type part struct {
	window  uint64
	entries []event // those of the last window; the first one has the number base
	base    uint64

	open   uint64 // the packets of all entries before this one have left for certain
	left   uint64 // exits since then; which entries they took is not known
	oldest uint64 // next entry for oldest-first

	bounds cursors
}

// end is the number that the next entry gets.
func (p *part) end() uint64 { return p.base + uint64(len(p.entries)) }

// first is the number of the first entry whose packet may still be in the UPF.
func (p *part) first() uint64 { return max(p.base, p.open) }

// at returns the entry with a number from base to below end.
func (p *part) at(number uint64) event { return p.entries[number-p.base] }

// enter takes an entry. It returns false if one had to be forgotten for want of room.
func (p *part) enter(e event) bool {
	p.expire(e.ns)
	if p.first() == p.end() {
		p.settle()
	}
	roomy := len(p.entries) < maxWaiting
	if !roomy {
		p.base, p.entries = p.base+1, p.entries[1:]
	}
	p.entries = append(p.entries, e)
	return roomy
}

// settle says that no packet that entered so far is still in the UPF.
func (p *part) settle() { p.open, p.left = p.end(), 0 }

// clear forgets all entries.
func (p *part) clear() {
	p.base, p.entries = p.end(), nil
	p.settle()
}

// expire forgets entries that are older than the window.
func (p *part) expire(now uint64) {
	for len(p.entries) > 0 && p.entries[0].ns+p.window < now {
		p.base, p.entries = p.base+1, p.entries[1:]
	}
}

// candidates returns how many entries the packet that leaves now could have been, and
// that entry if it can be one only.
//
// It trusts that each exit has its entry in the file, not older than the window, and
// nothing else. So an entry is no candidate any more once its packet has left for
// certain: the only candidate of an exit has left, and if as many packets left as
// entered since all had left before, all of those have.
func (p *part) candidates() (int, event) {
	first := p.first()
	n := p.end() - first
	if n == 0 {
		return 0, event{}
	}
	only := p.at(first)
	p.left++
	if n == 1 || p.left == p.end()-p.open {
		p.settle()
	}
	return int(n), only
}

// takeOldest pairs the packet that leaves now with the oldest entry that is not taken.
func (p *part) takeOldest() (event, bool) {
	p.oldest = max(p.oldest, p.first())
	if p.oldest == p.end() {
		return event{}, false
	}
	p.oldest++
	return p.at(p.oldest - 1), true
}
