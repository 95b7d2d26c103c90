package xdp

import "iter"

// sessionTable finds sessions by SEID. A session stands at the place that the low
// bits of its SEID name, where the control plane has a dense number, so that
// finding it costs one access to memory. One whose place is taken stands in
// others. Nil is a table without sessions.
type sessionTable struct {
	chunks [1 << placeBits / chunkPlaces]*[chunkPlaces]sessionPlace
	held   int // sessions
	others map[uint64]*session
}

type sessionPlace struct {
	seid    uint64 // 0: free
	session *session
}

const (
	placeBits   = 24
	chunkPlaces = 1024
)

func newSessionTable() *sessionTable { return &sessionTable{others: map[uint64]*session{}} }

// place returns where a SEID belongs, or nil if nothing near it was ever put.
func (t *sessionTable) place(seid uint64) *sessionPlace {
	i := seid & (1<<placeBits - 1)
	c := t.chunks[i/chunkPlaces]
	if c == nil {
		return nil
	}
	return &c[i%chunkPlaces]
}

// get returns the session of that SEID, or nil.
func (t *sessionTable) get(seid uint64) *session {
	if t == nil {
		return nil
	}
	if p := t.place(seid); p != nil && p.seid == seid {
		return p.session
	}
	return t.others[seid]
}

// put makes s the session of that SEID, which is not 0.
func (t *sessionTable) put(seid uint64, s *session) {
	if t.get(seid) == nil {
		t.held++
	}
	p := t.place(seid)
	if p == nil {
		t.chunks[seid&(1<<placeBits-1)/chunkPlaces] = new([chunkPlaces]sessionPlace)
		p = t.place(seid)
	}
	if _, there := t.others[seid]; there || p.seid != 0 && p.seid != seid {
		t.others[seid] = s
		return
	}
	p.seid, p.session = seid, s
}

// remove forgets the session of that SEID.
func (t *sessionTable) remove(seid uint64) {
	if t.get(seid) != nil {
		t.held--
	}
	if p := t.place(seid); p != nil && p.seid == seid {
		*p = sessionPlace{}
		return
	}
	delete(t.others, seid)
}

// all yields all sessions. The table may change meanwhile, also by the caller.
func (t *sessionTable) all() iter.Seq2[uint64, *session] {
	return func(yield func(uint64, *session) bool) {
		if t == nil {
			return
		}
		for i := range t.chunks { // not a copy of the array
			c := t.chunks[i]
			if c == nil {
				continue
			}
			for i := range c {
				if p := c[i]; p.seid != 0 && !yield(p.seid, p.session) {
					return
				}
			}
		}
		for seid, s := range t.others {
			if !yield(seid, s) {
				return
			}
		}
	}
}
