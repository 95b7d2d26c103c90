package n4load

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Idle has the UP function buffer downlink data of sessions and tell of it, as the release
// of the access network does: the downlink FAR gets BUFF and NOCP. So many requests are in
// flight. Errors are those of [Client.Establish].
//
// Source: TS 23.502, 4.2.6.
func (c *Client) Idle(ctx context.Context, sessions []Session, window int) (*Report, error) {
	return c.bulkOf(ctx, len(sessions), window, newActing(sessions, pfcp.ApplyBUFF|pfcp.ApplyNOCP))
}

// Activate has the UP function forward downlink data again, and with it what it has
// buffered. Window and errors are those of [Client.Idle].
func (c *Client) Activate(ctx context.Context, sessions []Session, window int) (*Report, error) {
	return c.bulkOf(ctx, len(sessions), window, newActing(sessions, pfcp.ApplyFORW))
}

// acting gives the downlink FARs of sessions an Apply Action.
type acting struct {
	sessions []Session
	m        pfcp.SessionModificationRequest
	got      pfcp.SessionModificationResponse
}

func newActing(sessions []Session, action pfcp.ApplyAction) *acting {
	return &acting{sessions: sessions, m: pfcp.SessionModificationRequest{
		UpdateFARs: []pfcp.UpdateFAR{{FARID: downlinkID, ApplyAction: pfcp.Some(action)}},
	}}
}

func (j *acting) request(i int) (uint64, pfcp.Message) { return j.sessions[i].RemoteSEID, &j.m }

func (j *acting) response(_ int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	err := j.got.Decode(body)
	return j.got.Cause, err
}

func (j *acting) explain(i int, cause pfcp.Cause, err error) error {
	what := fmt.Sprintf("give session %d another Apply Action", j.sessions[i].LocalSEID)
	return refusal{j.got.OffendingIE, j.got.FailedRuleID}.text(what, cause, err)
}

// Paging is a CP function whose sessions are idle: at a Downlink Data Report it has the UP
// function forward at once, as if the UE had answered without delay.
//
// Source: TS 23.502, 4.2.3.3 (network triggered service request).
type Paging struct {
	client   *Client
	requests *acting
	index    map[uint64]int // of sessions, by the CP function's SEID
	ahead    time.Duration  // of CLOCK_MONOTONIC before the group's clock
	call     *call
	ended    chan error

	reported []atomic.Int64 // ns of CLOCK_MONOTONIC; 0: not yet
	served   atomic.Int64   // requests that have ended, in whatever way
	active   []bool         // the request was accepted; of the thread until it has ended
	stopped  atomic.Bool

	// Of the group's thread:
	due     []paged // reported, and not requested yet
	message pfcp.SessionReportRequest
}

// paged is a session that data was reported for.
type paged struct {
	index int
	at    time.Duration // by the group's clock
}

// Page begins to answer Downlink Data Reports of sessions, until [Paging.End]. The group
// makes no other call meanwhile.
func (c *Client) Page(ctx context.Context, sessions []Session) (*Paging, error) {
	p := &Paging{
		client: c, requests: newActing(sessions, pfcp.ApplyFORW), index: make(map[uint64]int, len(sessions)),
		reported: make([]atomic.Int64, len(sessions)), active: make([]bool, len(sessions)), ended: make(chan error, 1),
	}
	for i := range sessions {
		p.index[sessions[i].LocalSEID] = i
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return nil, fmt.Errorf("n4load: %w", err)
	}
	p.ahead = time.Duration(t.Nano()) - c.group.now()
	begun := make(chan struct{})
	p.call = newCall(p, 1, 1)
	p.call.start = func(time.Duration) { p.call.pace = p; close(begun) }
	go func() { p.ended <- c.group.do(ctx, p.call) }()
	select {
	case <-begun:
		return p, nil
	case err := <-p.ended:
		return nil, err
	}
}

// Reported returns when the first Downlink Data Report of a session came, in nanoseconds
// of CLOCK_MONOTONIC; 0: not yet.
func (p *Paging) Reported(session int) int64 { return p.reported[session].Load() }

// Served is how many service requests have ended so far.
func (p *Paging) Served() int { return int(p.served.Load()) }

// End ends it, and returns what the service requests came to, their response times from
// the report on, and of which sessions they were accepted.
func (p *Paging) End() (*Report, []bool, error) {
	p.stopped.Store(true)
	p.client.group.wake()
	err := <-p.ended
	return p.call.reports[0], p.active, err
}

// reports takes a Session Report Request.
func (p *Paging) reports(seid uint64, body []byte, now time.Duration) {
	if p.message.Decode(body) != nil || p.message.ReportType&pfcp.ReportTypeDLDR == 0 {
		return
	}
	i, ours := p.index[seid]
	if !ours || p.reported[i].Load() != 0 {
		return // of a report that was sent again
	}
	p.reported[i].Store(int64(now + p.ahead))
	p.due = append(p.due, paged{i, now})
}

// next is of [pacer]: what was reported is due at once.
func (p *Paging) next(now time.Duration, _ int) (int, time.Duration, bool) {
	if len(p.due) == 0 {
		return 0, never, false // a report wakes the thread, and so does the end
	}
	return 0, p.due[0].at, true
}

func (p *Paging) over(time.Duration) bool { return p.stopped.Load() && len(p.due) == 0 }

// pick is of [source].
func (p *Paging) pick(int) (*Client, int, bool) {
	next := p.due[0]
	p.due = p.due[1:]
	return p.client, next.index, true
}

func (p *Paging) back(int, int) { p.served.Add(1) } // as many are in flight as can be: it counts as not sent

func (p *Paging) done(_, i int, cause pfcp.Cause) {
	p.active[i] = cause.Accepted()
	p.served.Add(1)
}

func (p *Paging) job(*Client, int) job { return p.requests }
