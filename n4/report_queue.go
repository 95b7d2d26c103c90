package n4

import (
	"slices"
	"sync"
	"time"

	"plumbline/session"
)

const (
	// maxReportsInFlight is how many Session Report Requests may wait for the
	// answers of one CP function. After a failure it is one, and one more
	// with each answer: who comes back is not flooded.
	maxReportsInFlight = 64
	// maxEventsWaiting is how many packet detections, and how many tunnels in
	// error, wait for a session's next report. A session has few rules; more are
	// news of the same, or come again with the next packet.
	maxEventsWaiting = 16
)

// reports are the queues of what CP functions are to be told about sessions, one
// for each owner of sessions. A session stands in its queue once, however much
// there is to tell. Its usage waits in the session itself, so that the memory
// here is bounded by the number of sessions.
type reports struct {
	mu     sync.Mutex
	queues map[uint32]*reportQueue
}

// reportQueue is what one CP function is to be told.
type reportQueue struct {
	owner    uint32
	pending  map[uint64]*pendingReport // by SEID, also those in flight
	order    []uint64                  // those that are not in flight, first come first
	inFlight int
	window   int  // how many may be
	held     bool // the CP function does not answer: nothing is sent for a while

	next    time.Time // of requests that are sent at their rate
	resting bool      // that is ahead: who noticed goes on when it is not
}

// pendingReport is what a session has to tell, besides its usage.
type pendingReport struct {
	inFlight, again bool // a request is under way; there is more since
	inactive        bool
	downlink        []session.Event // DownlinkData, DownlinkBuffered, DownlinkDiscarded
	tunnels         []session.Tunnel
}

// add puts a notice in its queue.
func (r *reports) add(n session.Notice) *reportQueue {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[n.Owner]
	if q == nil {
		q = &reportQueue{owner: n.Owner, pending: make(map[uint64]*pendingReport), window: maxReportsInFlight}
		if r.queues == nil {
			r.queues = make(map[uint32]*reportQueue)
		}
		r.queues[n.Owner] = q
	}
	p := q.pending[n.SEID]
	switch {
	case p == nil:
		p = new(pendingReport)
		q.pending[n.SEID] = p
		q.order = append(q.order, n.SEID)
	case p.inFlight:
		p.again = true
	}
	p.note(&n.Event)
	return q
}

// note adds an event to what is to be told.
func (p *pendingReport) note(e *session.Event) {
	switch e.Kind {
	case session.UserPlaneInactivity:
		p.inactive = true
	case session.DownlinkData, session.DownlinkBuffered, session.DownlinkDiscarded:
		same := func(d session.Event) bool { return d.RuleID == e.RuleID && d.Kind == e.Kind }
		if len(p.downlink) < maxEventsWaiting && !slices.ContainsFunc(p.downlink, same) {
			p.downlink = append(p.downlink, *e)
		}
	case session.ErrorIndication:
		if len(p.tunnels) < maxEventsWaiting && !slices.Contains(p.tunnels, e.Tunnel) {
			p.tunnels = append(p.tunnels, e.Tunnel)
		}
	}
}

// take takes out the next session of a queue that may be reported now, with what
// is to be told besides its usage. It reports false if there is none. If that is
// because the CP function has been sent perSecond requests a second (0: any number),
// the caller goes on after wait, with [reports.rested].
func (r *reports) take(q *reportQueue, now time.Time, perSecond int) (seid uint64, what pendingReport, wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.held || q.resting || q.inFlight >= q.window || len(q.order) == 0 {
		return 0, what, 0, false
	}
	if wait = q.pace(now, perSecond); wait > 0 {
		q.resting = true
		return 0, what, wait, false
	}
	seid = q.order[0]
	q.order = q.order[1:]
	p := q.pending[seid]
	what = *p
	*p = pendingReport{inFlight: true}
	q.inFlight++
	return seid, what, 0, true
}

// reportBurst is how far the requests to a CP function may be ahead of their rate.
const reportBurst = 100 * time.Millisecond

// pace takes one request of the rate, or returns how long to wait for it.
func (q *reportQueue) pace(now time.Time, perSecond int) time.Duration {
	if perSecond == 0 {
		return 0
	}
	if ahead := q.next.Sub(now); ahead > reportBurst {
		return ahead - reportBurst
	}
	if q.next.Before(now) {
		q.next = now
	}
	q.next = q.next.Add(time.Second / time.Duration(perSecond))
	return 0
}

// rested lets a queue go on that was ahead of its rate.
func (r *reports) rested(q *reportQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.resting = false
}

// outcome is what became of a Session Report Request.
type outcome uint8

const (
	reportDone outcome = iota // answered, or nobody is there any more to tell
	reportMore                // answered, and there is more to tell
	reportLost                // not answered
)

// done takes the outcome of a report. After one that was lost all of it waits
// again, and the queue is held; it reports true if that is new.
func (r *reports) done(q *reportQueue, seid uint64, what *pendingReport, o outcome) (held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.inFlight--
	p := q.pending[seid]
	p.inFlight = false
	switch o {
	case reportLost:
		for i := range what.downlink {
			p.note(&what.downlink[i])
		}
		for _, t := range what.tunnels {
			p.note(&session.Event{Kind: session.ErrorIndication, Tunnel: t})
		}
		p.inactive = p.inactive || what.inactive
		held = !q.held
		q.held, q.window = true, 1
	default:
		q.window = min(q.window+1, maxReportsInFlight)
		if o == reportDone && !p.again {
			delete(q.pending, seid)
			r.forget(q)
			return false
		}
	}
	p.again = false
	q.order = append(q.order, seid)
	return held
}

// forget takes an empty queue out.
func (r *reports) forget(q *reportQueue) {
	if len(q.pending) == 0 && r.queues[q.owner] == q {
		delete(r.queues, q.owner)
	}
}

// release lets a held queue go on.
func (r *reports) release(q *reportQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.held = false
}

// discard forgets all that waits in a queue, and says for how many sessions.
func (r *reports) discard(q *reportQueue) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(q.order)
	for _, seid := range q.order {
		delete(q.pending, seid)
	}
	q.order, q.held = nil, false
	r.forget(q)
	return n
}

// waiting is how many sessions have something to tell.
func (r *reports) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.queues {
		n += len(q.pending)
	}
	return n
}
