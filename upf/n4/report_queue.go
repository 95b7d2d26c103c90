package n4

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/upf/session"
)

const (
	// maxReportsInFlight is how many Session Report Requests to one CP function may
	// wait for answers that can be expected by now. After its path was down it is
	// one, and one more with each answer: who comes back is not flooded.
	maxReportsInFlight = 64
	// maxReportsLate is how many more may be without an answer for longer than the
	// patience of the queue. With half of it usage is no longer reported, and Downlink
	// Data and other events still are.
	maxReportsLate = 256
	// maxReportsAgain is how many of a kind in flight may be ones that were given up before.
	maxReportsAgain = 16
	// maxReportBackoff is the longest time between two tries of one report.
	maxReportBackoff = 5 * time.Minute
	// maxEventTries is how often a report is tried in all, each time N1 times, that does
	// not last. One that does is tried until it is answered.
	maxEventTries = 8
	// maxEventsWaiting is how many packet detections, and how many tunnels in
	// error, wait for a session's next report. A session has few rules; more are
	// news of the same, or come again with the next packet.
	maxEventsWaiting = 16
)

// reportKind is what a Session Report Request is about: one thing, so that none
// waits for the answer to another.
type reportKind uint8

// The kinds, the most urgent one first.
const (
	reportDownlink reportKind = iota
	reportError
	reportInactive
	reportUsage
	reportKinds
)

// reportKey is one report: a session has one of each kind at most.
type reportKey struct {
	seid uint64
	kind reportKind
}

// reports are the queues of what CP functions are to be told about sessions, one
// for each owner of sessions. A session stands in its queue once for each kind,
// however much there is to tell. Its usage waits in the session itself, so that
// the memory here is bounded by the number of sessions.
type reports struct {
	mu     sync.Mutex
	t1     time.Duration
	n1     int
	queues map[uint32]*reportQueue
}

// reportQueue is what one CP function is to be told.
type reportQueue struct {
	owner   uint32
	pending map[reportKey]*pendingReport // also those in flight
	order   [reportKinds][]reportKey     // those that wait for their first try, first come first
	again   [reportKinds][]reportKey     // those that were given up before, and are to be tried now
	delayed reportHeap                   // those that were given up, and rest

	inFlight int              // within the patience
	late     int              // beyond it
	retried  [reportKinds]int // of both, that were given up before
	flights  []*flight        // in flight within the patience, in the order in which they were sent
	window   int              // how many may be in flight
	held     bool             // the path to the CP function is down: nothing is sent

	next   time.Time // of requests that are sent at their rate
	wakeAt time.Time // when the queue is looked at again by itself; zero: never
	wake   chan struct{}
}

// flight is a request that waits for its answer.
type flight struct {
	kind              reportKind
	sent              time.Time
	late, again, done bool
}

// pendingReport is what a session has to tell of one kind.
type pendingReport struct {
	key            reportKey
	inFlight, more bool // a request is under way; there is more since
	old            bool // it was not answered, or the path was down since
	tries, rests   int  // how often it was given up, and how often it rested
	index          int  // in reportQueue.delayed; -1: it is not there
	due, failed    time.Time
	reportEvents
}

// reportEvents are what happened to a session, besides its usage.
type reportEvents struct {
	downlink []session.Event // DownlinkData, DownlinkBuffered, DownlinkDiscarded
	tunnels  []session.Tunnel
}

// reportJob is a report that is to be sent now.
type reportJob struct {
	reportKey
	reportEvents
	tries  int
	old    bool
	flight *flight
}

// lasts reports whether a report tells what is so still and is not told anew meanwhile:
// that packets wait, or that there are none. It is not given up before it is outdated.
// Other events are past, or come again with the next packet.
func (j *reportJob) lasts() bool {
	return j.kind == reportUsage || j.kind == reportInactive ||
		slices.ContainsFunc(j.downlink, func(e session.Event) bool { return e.Kind == session.DownlinkData })
}

// kindOf is the kind of report that tells of an event.
func kindOf(k session.EventKind) reportKind {
	switch k {
	case session.DownlinkData, session.DownlinkBuffered, session.DownlinkDiscarded:
		return reportDownlink
	case session.ErrorIndication:
		return reportError
	case session.UserPlaneInactivity:
		return reportInactive
	}
	return reportUsage
}

// patience is how long an answer can be expected, before its request no longer
// keeps others from being sent.
func (r *reports) patience() time.Duration { return r.t1 / 4 }

// backoff is how long a report rests that was given up tries times.
func (r *reports) backoff(tries int) time.Duration {
	d := r.t1 * time.Duration(r.n1)
	for ; tries > 1 && d < maxReportBackoff; tries-- {
		d *= 2
	}
	return min(d, max(maxReportBackoff, r.t1*time.Duration(r.n1)))
}

// add puts a notice in its queue.
func (r *reports) add(n session.Notice) *reportQueue {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[n.Owner]
	if q == nil {
		q = &reportQueue{
			owner: n.Owner, pending: make(map[reportKey]*pendingReport), window: maxReportsInFlight,
			wake: make(chan struct{}, 1),
		}
		if r.queues == nil {
			r.queues = make(map[uint32]*reportQueue)
		}
		r.queues[n.Owner] = q
	}
	key := reportKey{n.SEID, kindOf(n.Kind)}
	p := q.pending[key]
	switch {
	case p == nil:
		p = &pendingReport{key: key, index: -1}
		q.pending[key] = p
		q.order[key.kind] = append(q.order[key.kind], key)
	case p.inFlight:
		p.more = true
	case p.index >= 0 && key.kind == reportDownlink: // packets come still: page soon
		if due := p.failed.Add(r.backoff(1)); due.Before(p.due) {
			p.due = due
			heap.Fix(&q.delayed, p.index)
		}
	}
	p.note(&n.Event)
	return q
}

// note adds an event to what is to be told.
func (p *reportEvents) note(e *session.Event) {
	switch kindOf(e.Kind) {
	case reportDownlink:
		same := func(d session.Event) bool { return d.RuleID == e.RuleID && d.Kind == e.Kind }
		if len(p.downlink) < maxEventsWaiting && !slices.ContainsFunc(p.downlink, same) {
			p.downlink = append(p.downlink, *e)
		}
	case reportError:
		if len(p.tunnels) < maxEventsWaiting && !slices.Contains(p.tunnels, e.Tunnel) {
			p.tunnels = append(p.tunnels, e.Tunnel)
		}
	}
}

// take takes out the next report of a queue that may be sent now, at most perSecond
// a second (0: any number). It reports false if there is none; then the queue has to
// be looked at again at q.wakeAt, unless that is zero, and rouse is true if no timer
// is set for that.
func (r *reports) take(q *reportQueue, now time.Time, perSecond int) (job reportJob, rouse, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.held {
		return job, false, false
	}
	q.mature(now)
	q.age(now.Add(-r.patience()))
	list := q.choose()
	if list == nil {
		return job, q.wakeUp(q.nextLook(r.patience())), false
	}
	if wait := q.pace(now, perSecond); wait > 0 {
		return job, q.wakeUp(now.Add(wait)), false
	}
	key := (*list)[0]
	*list = (*list)[1:]
	p := q.pending[key]
	f := &flight{kind: key.kind, sent: now, again: p.tries > 0}
	job = reportJob{key, p.reportEvents, p.tries, p.old, f}
	p.inFlight, p.more, p.reportEvents = true, false, reportEvents{}
	q.flights = append(q.flights, f)
	q.inFlight++
	if f.again {
		q.retried[key.kind]++
	}
	return job, false, true
}

// choose returns the list whose first report is to be sent next, or nil.
func (q *reportQueue) choose() *[]reportKey {
	if q.inFlight >= q.window {
		return nil
	}
	for kind := range reportUsage {
		if len(q.order[kind]) > 0 {
			return &q.order[kind]
		}
	}
	for kind := range reportKinds {
		if kind == reportUsage && q.late >= maxReportsLate/2 {
			return nil
		}
		if len(q.again[kind]) > 0 && q.retried[kind] < maxReportsAgain {
			return &q.again[kind]
		}
	}
	if len(q.order[reportUsage]) > 0 {
		return &q.order[reportUsage]
	}
	return nil
}

// mature puts the delayed reports that are due among those that are sent.
func (q *reportQueue) mature(now time.Time) {
	for len(q.delayed) > 0 && !q.delayed[0].due.After(now) {
		p := heap.Pop(&q.delayed).(*pendingReport)
		q.again[p.key.kind] = append(q.again[p.key.kind], p.key)
	}
}

// age takes the requests that were sent before then out of the window.
func (q *reportQueue) age(then time.Time) {
	for len(q.flights) > 0 {
		f := q.flights[0]
		if !f.done {
			if f.sent.After(then) || q.late >= maxReportsLate {
				return
			}
			f.late = true
			q.inFlight--
			q.late++
		}
		q.flights = q.flights[1:]
	}
}

// nextLook is when there may be something to send although nothing happens until
// then; zero: never.
func (q *reportQueue) nextLook(patience time.Duration) (at time.Time) {
	if len(q.delayed) > 0 {
		at = q.delayed[0].due
	}
	if q.inFlight >= q.window && len(q.flights) > 0 && q.late < maxReportsLate {
		if late := q.flights[0].sent.Add(patience); at.IsZero() || late.Before(at) {
			at = late
		}
	}
	return at
}

// wakeUp has the queue looked at again at a time, and reports whether somebody has to
// begin to. Whoever does already learns of an earlier time.
func (q *reportQueue) wakeUp(at time.Time) (begin bool) {
	if at.IsZero() || !q.wakeAt.IsZero() && !at.Before(q.wakeAt) {
		return false
	}
	begin = q.wakeAt.IsZero()
	q.wakeAt = at
	if !begin {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return begin
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

// sleep returns how long to wait until the queue is to be looked at again. Once that
// time has come it returns 0, and who asked does so.
func (r *reports) sleep(q *reportQueue, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wait := q.wakeAt.Sub(now); wait > 0 {
		return wait
	}
	q.wakeAt = time.Time{}
	return 0
}
