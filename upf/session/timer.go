package session

import "sync"

// timers say when which session has to be looked at. There is a bucket for each
// second in which one has, and a session counts in the earliest one that anybody
// has asked for: whoever looks then asks again. A session without anything that
// depends on time costs nothing here.
//
// Nothing here outlives the process: the records know the times.
type timers struct {
	mu      sync.Mutex
	buckets map[int64][]uint64 // SEIDs by Unix second
	at      map[uint64]int64   // the second in whose bucket a SEID counts
	stale   int                // how many places in buckets do not count
	done    int64              // the second up to which buckets were taken out
}

// newTimers returns timers that begin at now, in Unix nanoseconds.
func newTimers(now int64) *timers {
	return &timers{buckets: make(map[int64][]uint64), at: make(map[uint64]int64), done: now/second - 1}
}

// set asks for a look at ns, in Unix nanoseconds, or at most a second later;
// 0: for none. One that is asked for already, and earlier, stays.
func (t *timers) set(seid uint64, ns int64) {
	if ns == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sec := max((ns-1)/second+1, t.done+1)
	was, ok := t.at[seid]
	if ok && was <= sec {
		return
	}
	if ok {
		t.waste()
	}
	t.at[seid] = sec
	t.buckets[sec] = append(t.buckets[sec], seid)
}

// forget takes a session out.
func (t *timers) forget(seid uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.at[seid]; ok {
		delete(t.at, seid)
		t.waste()
	}
}

// waste counts a place that counts no more. When there are more of them than
// others the buckets are made anew, so that memory follows the sessions.
func (t *timers) waste() {
	if t.stale++; t.stale <= len(t.at)+1024 {
		return
	}
	t.stale = 0
	t.buckets = make(map[int64][]uint64, len(t.buckets))
	for seid, sec := range t.at {
		t.buckets[sec] = append(t.buckets[sec], seid)
	}
}

// due takes out the sessions whose time has come by now, in Unix nanoseconds,
// and appends them to list. If the clock has been put back it waits.
func (t *timers) due(list []uint64, now int64) []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	to := now / second
	if to-t.done > int64(len(t.buckets)) { // after a long time it is shorter to look at all
		for sec := range t.buckets {
			if sec <= to {
				list = t.take(list, sec)
			}
		}
	} else {
		for sec := t.done + 1; sec <= to; sec++ {
			list = t.take(list, sec)
		}
	}
	t.done = max(t.done, to)
	return list
}

// take takes out a bucket.
func (t *timers) take(list []uint64, sec int64) []uint64 {
	for _, seid := range t.buckets[sec] {
		if t.at[seid] != sec {
			t.stale--
			continue
		}
		delete(t.at, seid)
		list = append(list, seid)
	}
	delete(t.buckets, sec)
	return list
}
