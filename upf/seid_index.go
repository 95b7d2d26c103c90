package upf

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// indexAge is how long a list of SEIDs serves the pages after the first.
const indexAge = 10 * time.Second

// seidIndex gives the sessions an order, by SEID, so that they can be listed
// page by page. To go through a million sessions for each page would be too
// much, so the order is kept for a while. The sessions shown are always those
// of the moment.
type seidIndex struct {
	mu    sync.Mutex
	made  time.Time
	seids []uint64 // ascending; replaced, never changed
}

// from yields the sessions from SEID start on, in order. From 0 on it has all
// that there are; from another one on, none that came after the first page.
func (x *seidIndex) from(m *session.Manager, start uint64) iter.Seq[*session.Session] {
	seids := x.list(m, start == 0)
	first, _ := slices.BinarySearch(seids, start)
	return func(yield func(*session.Session) bool) {
		for _, seid := range seids[first:] {
			if s := m.Get(seid); s != nil && !yield(s) {
				return
			}
		}
	}
}

// list returns the SEIDs in order, as they are now if fresh is set.
func (x *seidIndex) list(m *session.Manager, fresh bool) []uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if fresh || time.Since(x.made) > indexAge {
		seids := make([]uint64, 0, m.Len())
		for s := range m.All() {
			seids = append(seids, s.SEID)
		}
		slices.Sort(seids)
		x.seids, x.made = seids, time.Now()
	}
	return x.seids
}
