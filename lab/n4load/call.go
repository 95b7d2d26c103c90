package n4load

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// A job is requests of one kind from one client.
type job interface {
	// request returns the message of request index and the SEID of its header.
	// The message may be used again.
	request(index int) (seid uint64, m pfcp.Message)

	// response reads the response to request index and keeps what it says, if
	// the Cause is acceptance. The Cause is 0 if it could not be read.
	response(index int, h pfcp.Header, body []byte) (pfcp.Cause, error)

	// explain adds to err what the last response read said, and whose it was.
	explain(index int, cause pfcp.Cause, err error) error
}

// A source has the requests of a call.
type source interface {
	// pick takes a request of an operation. If there is none now, ok is false.
	pick(op int) (c *Client, index int, ok bool)

	// job is what makes the client's requests of an operation.
	job(c *Client, op int) job

	// back takes a request back that was not sent.
	back(op, index int)

	// done takes a request back that was sent: accepted, refused with a Cause, or neither,
	// when its response is missing or cannot be read.
	done(op, index int, cause pfcp.Cause)
}

// call is requests that are to be sent, and what came of them.
type call struct {
	source  source
	pace    pacer
	strict  bool          // the first failure ends it
	from    time.Duration // requests intended before count for the warm-up
	until   time.Duration // when what is measured ends; never: with the last response
	parts   int           // of equal duration, of what is measured
	reports []*Report     // by operation, for each part
	warm    []*Report     // by operation

	// start makes the pacer, by the clock of the thread that begins now.
	start func(now time.Duration)

	abort    atomic.Bool
	ended    chan struct{}
	progress atomic.Pointer[Progress]
	told     time.Duration // when progress was

	// Of the thread, and after ended of the caller:
	began     time.Duration
	inFlight  int
	exhausted bool // the source had nothing, and no response has come since
	failure   error
}

// Progress says how far a call is.
type Progress struct {
	Elapsed  time.Duration
	InFlight int
	Accepted int // warm-up included
	Failed   int // refused or lost
}

// progressEvery is how often Progress is brought up to date.
const progressEvery = 100 * time.Millisecond

func newCall(s source, operations, parts int) *call {
	c := &call{source: s, until: never, parts: parts}
	for range operations {
		c.warm = append(c.warm, newReport())
	}
	for range operations * parts {
		c.reports = append(c.reports, newReport())
	}
	return c
}

// report is what a request of an operation counts for.
func (c *call) report(op int, intended time.Duration) *Report {
	if intended < c.from {
		return c.warm[op]
	}
	part := 0
	if c.parts > 1 {
		part = min(int(int64(intended-c.from)*int64(c.parts)/int64(c.until-c.from)), c.parts-1)
	}
	return c.reports[part*len(c.warm)+op]
}

// begin takes a call, if there is one.
func (g *Group) begin() {
	select {
	case g.call = <-g.calls:
	default:
		return
	}
	g.call.began = g.now()
	g.call.start(g.call.began)
}

// advance sends what is due, and repeats what has waited for T1. It returns
// when there is more to do, and ends the call if that is over.
func (g *Group) advance(now time.Duration) (due time.Duration) {
	c := g.call
	due = never
	if c.failure == nil && !c.abort.Load() {
		due = g.issue(now)
	}
	held := c.inFlight
	for _, client := range g.clients {
		due = min(due, client.repeat(now)) // of what has just been sent, too
	}
	if c.inFlight < held {
		due = now // a closed loop has room now; if it was the last one, nothing else would wake it
	}
	stopped := c.failure != nil
	for _, client := range g.clients {
		client.flush()
	}
	if now-c.told >= progressEvery {
		c.tell(now)
	}
	if c.abort.Load() || c.inFlight == 0 && (stopped || c.exhausted || c.pace.over(now)) {
		g.end(now)
		return 0 // there may be another call
	}
	return due
}

// end ends the call. What is still in flight has been given up.
func (g *Group) end(now time.Duration) {
	c := g.call
	for _, client := range g.clients {
		client.window.clear()
	}
	for _, r := range c.reports {
		r.Duration = max(min(now, c.until)-max(c.began, c.from), 0) / time.Duration(c.parts)
	}
	g.call = nil
	close(c.ended)
}

// issue sends requests until none is due, or a client has as many as go out at
// once.
func (g *Group) issue(now time.Duration) (due time.Duration) {
	c := g.call
	for fails := 0; ; {
		op, intended, ok := c.pace.next(now, c.inFlight)
		if !ok {
			return intended
		}
		report := c.report(op, intended)
		report.Intended++
		client, index, ok := g.pick(op)
		if !ok {
			closed, isClosed := c.pace.(*closed)
			if !isClosed {
				report.Unsent++
				continue
			}
			report.Intended-- // a closed loop intends what it can
			if fails++; fails < len(closed.shares) {
				continue
			}
			c.exhausted = true
			return never
		}
		c.exhausted = false
		err := client.request(op, index, intended, report)
		if _, isClosed := c.pace.(*closed); isClosed && errors.Is(err, errInFlight) {
			report.Intended-- // a closed loop intends what it can: answers come first
			c.source.back(op, index)
			return now + time.Millisecond // or when an answer comes
		}
		if err != nil {
			report.Unsent++
			c.source.back(op, index)
			if c.strict {
				c.failure = err
				return never
			}
		}
		if client.sender.Room() == 0 {
			return 0
		}
	}
}

// pick takes a request from the source, if need be after a look at what has
// been answered meanwhile.
func (g *Group) pick(op int) (*Client, int, bool) {
	client, index, ok := g.call.source.pick(op)
	if ok || g.call.inFlight == 0 {
		return client, index, ok
	}
	for _, client := range g.clients {
		client.flush()
		client.receive()
	}
	return g.call.source.pick(op)
}

// finish ends a request, with the Cause of its response or 0.
func (c *call) finish(p *pending, w *window, s state, cause pfcp.Cause) {
	w.free(p, s)
	c.inFlight--
	c.exhausted = false
	c.source.done(int(p.op), p.index, cause)
}

// fail keeps the first failure, if failures matter.
func (c *call) fail(j job, index int, cause pfcp.Cause, err error) {
	if c.strict && c.failure == nil {
		c.failure = j.explain(index, cause, err)
	}
}

// give ends a request that was sent N1 times.
func (c *call) give(client *Client, p *pending) {
	p.report.Lost++
	err := fmt.Errorf("sent %d times: %w", p.sent, ErrNoResponse)
	c.fail(c.source.job(client, int(p.op)), p.index, 0, err)
	c.finish(p, &client.window, lost, 0)
}

// take reads the response to a request in flight.
func (c *call) take(client *Client, p *pending, h pfcp.Header, body []byte, now time.Duration) {
	record(p.report.Latency, now-p.intended)
	j := c.source.job(client, int(p.op))
	cause, err := j.response(p.index, h, body)
	if err == nil && !cause.Accepted() {
		err = ErrRefused
	}
	switch {
	case err == nil:
		p.report.Accepted++
	case cause != 0 && !cause.Accepted():
		p.report.Refused[cause]++
	default:
		p.report.Malformed++
		cause = 0
	}
	if err != nil {
		c.fail(j, p.index, cause, err)
	}
	c.finish(p, &client.window, answered, cause)
}

// tell brings the progress up to date.
func (c *call) tell(now time.Duration) {
	c.told = now
	p := &Progress{Elapsed: now - c.began, InFlight: c.inFlight}
	for _, list := range [2][]*Report{c.reports, c.warm} {
		for _, r := range list {
			p.Accepted += r.Accepted
			p.Failed += r.RefusedTotal() + r.Lost + r.Malformed
		}
	}
	c.progress.Store(p)
}
