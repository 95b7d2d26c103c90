package session

// places hands out dense numbers from 0 up: first those that were never used,
// then the one that has been free for longest, so that a number comes again as
// late as can be. It remembers which session holds each.
//
// A number can also be occupied out of turn (by what the CP function chose). Its
// memory grows, in chunks, with the numbers that have been used.
//
// It is not safe for use by several goroutines.
type places struct {
	size   uint32 // how many numbers there are
	fresh  uint32 // those from here on were never in the queue
	first  uint32 // of the queue, plus 1; 0: empty
	last   uint32 // of the queue, plus 1
	taken  uint32 // how many are held
	chunks []*[chunkPlaces]place
}

const chunkPlaces = 1024

// place is one number. 16 octets.
type place struct {
	next   uint32 // in the queue, plus 1
	holder uint32 // slot of the session that holds it, plus 1; 0: free
	tag    uint32 // for the caller
	queued bool
	of     uint16 // for the caller
}

func newPlaces(size uint32) places {
	return places{size: size, chunks: make([]*[chunkPlaces]place, (uint64(size)+chunkPlaces-1)/chunkPlaces)}
}

// at returns place i, which is below size.
func (p *places) at(i uint32) *place {
	c := &p.chunks[i/chunkPlaces]
	if *c == nil {
		*c = new([chunkPlaces]place)
	}
	return &(*c)[i%chunkPlaces]
}

// peek returns place i, or nil if it was never used or does not exist.
func (p *places) peek(i uint32) *place {
	if i >= p.size || p.chunks[i/chunkPlaces] == nil {
		return nil
	}
	return &p.chunks[i/chunkPlaces][i%chunkPlaces]
}

// take gives a free number to holder. It reports false if there is none.
func (p *places) take(holder uint32) (uint32, bool) {
	for p.fresh < p.size {
		i := p.fresh
		p.fresh++
		if pl := p.at(i); pl.holder == 0 {
			pl.holder = holder
			p.taken++
			return i, true
		}
	}
	for p.first != 0 {
		i := p.first - 1
		pl := p.at(i)
		p.first, pl.next, pl.queued = pl.next, 0, false
		if p.first == 0 {
			p.last = 0
		}
		if pl.holder == 0 {
			pl.holder = holder
			p.taken++
			return i, true
		}
	}
	return 0, false
}

// occupy gives number i, which is below size, to holder, unless it is held.
func (p *places) occupy(i, holder uint32) bool {
	pl := p.at(i)
	if pl.holder != 0 {
		return false
	}
	pl.holder = holder
	p.taken++
	return true
}

// free gives number i back, which is held.
func (p *places) free(i uint32) {
	pl := p.at(i)
	pl.holder = 0
	p.taken--
	if i >= p.fresh || pl.queued { // its turn will come
		return
	}
	pl.queued = true
	if p.last != 0 {
		p.at(p.last - 1).next = i + 1
	} else {
		p.first = i + 1
	}
	p.last = i + 1
}
