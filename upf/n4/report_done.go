package n4

import (
	"container/heap"
	"time"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// outcome is what became of a Session Report Request.
type outcome uint8

const (
	reportDone    outcome = iota // answered
	reportMore                   // answered, and there is more to tell
	reportRefused                // answered, and to be sent at once without what was refused
	reportNone                   // not sent: there is nothing to tell any more, or nobody
	reportOther                  // not answered in this form: another one is tried at once
	reportLost                   // not answered
	reportDown                   // not answered, and the path to the CP function is down
)

// answered reports whether the CP function has heard the report.
func (o outcome) answered() bool { return o <= reportRefused }

// done takes the outcome of a report. What was lost waits again: that report rests,
// and all others go on, unless the path is down. Then the queue is held; it reports
// true if that is new. What does not last is gone in the end.
func (r *reports) done(q *reportQueue, job *reportJob, o outcome, now time.Time) (held, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.land(job.flight)
	p := q.pending[job.reportKey]
	p.inFlight = false
	if o.answered() || o == reportNone {
		r.settle(q, p, job, o)
		return false, false
	}
	if o == reportLost && !job.lasts() && p.rests >= maxEventTries-1 && !p.more {
		delete(q.pending, job.reportKey)
		r.forget(q)
		return false, true
	}
	p.restore(&job.reportEvents)
	p.tries++
	p.old = true
	switch o {
	case reportOther:
		q.again[p.key.kind] = append(q.again[p.key.kind], p.key)
	default:
		p.rests++
		p.failed = now
		p.due = now.Add(r.backoff(p.rests))
		heap.Push(&q.delayed, p)
	}
	return o == reportDown && q.hold(), false
}

// settle takes that nothing of a report is in doubt: it is done with, or waits like one
// that was never sent.
func (r *reports) settle(q *reportQueue, p *pendingReport, job *reportJob, o outcome) {
	if o.answered() {
		q.window = min(q.window+1, maxReportsInFlight)
	}
	p.tries, p.rests, p.old = 0, 0, false
	if o == reportRefused {
		p.restore(&job.reportEvents)
	}
	if o != reportMore && o != reportRefused && !p.more {
		delete(q.pending, p.key)
		r.forget(q)
		return
	}
	q.order[p.key.kind] = append(q.order[p.key.kind], p.key)
}

// restore puts back what was not heard, before what came since.
func (p *pendingReport) restore(events *reportEvents) {
	since := p.reportEvents
	p.reportEvents = *events
	for i := range since.downlink {
		p.note(&since.downlink[i])
	}
	for _, t := range since.tunnels {
		p.note(&session.Event{Kind: session.ErrorIndication, Tunnel: t})
	}
}

// land counts a request as one that waits for no answer any more.
func (q *reportQueue) land(f *flight) {
	f.done = true
	if f.late {
		q.late--
	} else {
		q.inFlight--
	}
	if f.again {
		q.retried[f.kind]--
	}
}

// hold lets nothing be sent. It reports false if that was so already.
func (q *reportQueue) hold() bool {
	news := !q.held
	q.held, q.window = true, 1
	return news
}

// hold holds the queue, and reports true if that is new.
func (r *reports) hold(q *reportQueue) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(q.pending) > 0 && q.hold()
}

// release lets a held queue go on. What had rested goes at once: that the path was
// down explains why it was not answered.
func (r *reports) release(q *reportQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.held = false
	for _, p := range q.pending {
		p.old = true
	}
	for _, p := range q.delayed {
		p.index = -1
		q.again[p.key.kind] = append(q.again[p.key.kind], p.key)
	}
	q.delayed = nil
	for kind, list := range q.again {
		for _, key := range list {
			q.pending[key].tries, q.pending[key].rests = 0, 0
		}
		q.order[kind] = append(q.order[kind], list...)
		q.again[kind] = nil
	}
}

// forget takes an empty queue out. It needs no further look.
func (r *reports) forget(q *reportQueue) {
	if len(q.pending) > 0 {
		return
	}
	if r.queues[q.owner] == q {
		delete(r.queues, q.owner)
	}
	if !q.wakeAt.IsZero() {
		q.wakeUp(time.Unix(0, 1))
	}
}

// discard forgets all that waits in a queue, and says how many reports it was.
func (r *reports) discard(q *reportQueue) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, p := range q.pending {
		if !p.inFlight {
			delete(q.pending, key)
			n++
		}
	}
	q.order, q.again = [reportKinds][]reportKey{}, [reportKinds][]reportKey{}
	q.delayed, q.held = nil, false
	r.forget(q)
	return n
}

// waiting is how many sessions have something to tell, and how many of their reports
// rest because they were not answered.
func (r *reports) waiting() (sessions, resting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		for key := range q.pending {
			if q.first(key) {
				sessions++
			}
		}
		resting += len(q.delayed)
	}
	return sessions, resting
}

// first reports whether a session has no report of a more urgent kind.
func (q *reportQueue) first(key reportKey) bool {
	for kind := range key.kind {
		if q.pending[reportKey{key.seid, kind}] != nil {
			return false
		}
	}
	return true
}

// reportHeap is a heap of reports by the time at which they are due.
type reportHeap []*pendingReport

func (h reportHeap) Len() int           { return len(h) }
func (h reportHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h reportHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is of heap.Interface.
func (h *reportHeap) Push(x any) {
	p := x.(*pendingReport)
	p.index = len(*h)
	*h = append(*h, p)
}

// Pop is of heap.Interface.
func (h *reportHeap) Pop() any {
	old := *h
	p := old[len(old)-1]
	p.index = -1
	*h = old[:len(old)-1]
	return p
}
