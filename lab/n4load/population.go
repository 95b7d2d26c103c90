package n4load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Operations of a [Load], in the order of [LoadReport.Operations].
const (
	OpEstablish = iota
	OpModify
	OpDelete
	Operations
)

// OperationNames are the words of the command line.
var OperationNames = [Operations]string{"establish", "modify", "delete"}

// Population is sessions that are held at a UP function by the clients of
// groups. A session belongs to the same client for good; it is in one place at
// a time: free, held, or in a request.
type Population struct {
	groups []*Group
	parts  []*part // one for each group
	window int     // of Fill and Drain, for each group
}

// NewPopulation returns a population of n sessions, none of which is
// established, spread over the clients of the groups. Fill and Drain keep
// window requests in flight in each group.
func NewPopulation(t *Template, n, window int, groups ...*Group) *Population {
	return NewPopulationOf(t, t.Sessions(0, n), window, groups...)
}

// NewPopulationOf is [NewPopulation] of given sessions, which may be established
// already and are kept up to date. While a method of the population runs they must
// be left alone.
func NewPopulationOf(t *Template, sessions []Session, window int, groups ...*Group) *Population {
	p, n := &Population{groups: groups, window: window}, len(sessions)
	for i, g := range groups {
		first, end := n*i/len(groups), n*(i+1)/len(groups)
		p.parts = append(p.parts, newPart(t, g, sessions[first:end:end], uint64(i)))
	}
	return p
}

// Held is how many sessions are established.
func (p *Population) Held() int {
	n := 0
	for _, part := range p.parts {
		n += len(part.held)
	}
	return n
}

// Sessions returns the sessions that are held, as they are now.
func (p *Population) Sessions() []Session {
	list := make([]Session, 0, p.Held())
	for _, part := range p.parts {
		for _, i := range part.held {
			list = append(list, part.sessions[i])
		}
	}
	return list
}

// Len is how many sessions there are, established or not.
func (p *Population) Len() int {
	n := 0
	for _, part := range p.parts {
		n += len(part.sessions)
	}
	return n
}

// Fill establishes sessions until n are held, in a closed loop. It ends at the
// first failure. Errors are those of [Client.Establish].
func (p *Population) Fill(ctx context.Context, n int, progress func(Progress)) (*Report, error) {
	return p.bulk(ctx, OpEstablish, progress, func(i int, part *part) int {
		return n*(i+1)/len(p.parts) - n*i/len(p.parts) - len(part.held)
	})
}

// Drain deletes all sessions that are held, in a closed loop. It ends at the
// first failure. Errors are those of [Client.Delete].
func (p *Population) Drain(ctx context.Context, progress func(Progress)) (*Report, error) {
	return p.bulk(ctx, OpDelete, progress, func(_ int, part *part) int { return len(part.held) })
}

// bulk makes each part's group work off a number of requests of one operation.
func (p *Population) bulk(ctx context.Context, op int, progress func(Progress), count func(int, *part) int) (*Report, error) {
	calls := make([]*call, len(p.parts))
	intended := 0
	for i, part := range p.parts {
		part.limit = max(0, count(i, part))
		intended += part.limit
		c := newCall(part, Operations, 1)
		c.strict = true
		c.start = func(time.Duration) {
			shares := make([]float64, Operations)
			shares[op] = 1
			c.pace = newClosed(p.window, never, shares)
		}
		calls[i] = c
	}
	err := p.run(ctx, calls, progress)
	report := newReport()
	for _, c := range calls {
		report.Add(c.reports[op])
	}
	report.Intended = intended
	return report, err
}

// run has the groups make the calls at the same time. The first error ends all.
func (p *Population) run(ctx context.Context, calls []*call, progress func(Progress)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make(chan error, len(calls))
	for i, c := range calls {
		go func() { errs <- p.groups[i].do(ctx, c) }()
	}
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	var first error
	for left := len(calls); left > 0; {
		select {
		case err := <-errs:
			left--
			if err != nil && first == nil {
				first = err
				cancel(err)
			}
		case <-ticker.C:
			if progress != nil {
				progress(sum(calls))
			}
		}
	}
	return first
}

// sum is how far calls are together.
func sum(calls []*call) Progress {
	var s Progress
	for _, c := range calls {
		if p := c.progress.Load(); p != nil {
			s.Elapsed = max(s.Elapsed, p.Elapsed)
			s.InFlight += p.InFlight
			s.Accepted += p.Accepted
			s.Failed += p.Failed
		}
	}
	return s
}

// part is the sessions of one group, and the source of its calls. While a call
// is made it belongs to the group's thread.
type part struct {
	group    *Group
	sessions []Session
	jobs     [][Operations]job // by client
	clients  map[*Client]int
	random   *rand.Rand

	known []standing // of each session: what the UP function has said last
	free  queue      // not established; the first one was deleted first
	held  []int      // established
	limit int        // how many more establishments or deletions in a bulk call; -1: any number
}

func newPart(t *Template, g *Group, sessions []Session, seed uint64) *part {
	p := &part{group: g, sessions: sessions, clients: map[*Client]int{}, random: rand.New(rand.NewPCG(seed, 0)), limit: -1}
	for i, c := range g.clients {
		p.clients[c] = i
		p.jobs = append(p.jobs, [Operations]job{
			newEstablishing(c, t, sessions), newModifying(t, sessions), &deleting{sessions: sessions},
		})
		c.owns(sessions)
	}
	p.free.ring = make([]int, len(sessions))
	p.known = make([]standing, len(sessions))
	p.held = make([]int, 0, len(sessions))
	for i := range sessions {
		p.put(i)
	}
	return p
}

// client is whose session i is.
func (p *part) client(i int) *Client { return p.group.clients[i%len(p.group.clients)] }

func (p *part) job(c *Client, op int) job { return p.jobs[p.clients[c]][op] }

// pick takes the session that has been free for the longest time, or one that
// is held at random.
func (p *part) pick(op int) (*Client, int, bool) {
	if p.limit == 0 {
		return nil, 0, false
	}
	var i int
	if op == OpEstablish {
		if p.free.size == 0 {
			return nil, 0, false
		}
		i = p.free.pop()
	} else {
		if len(p.held) == 0 {
			return nil, 0, false
		}
		at, last := p.random.IntN(len(p.held)), len(p.held)-1
		i = p.held[at]
		p.held[at] = p.held[last]
		p.held = p.held[:last]
	}
	if op == OpModify {
		p.sessions[i].DLTEID ^= movedTEID
	}
	if p.limit > 0 {
		p.limit--
	}
	return p.client(i), i, true
}

// movedTEID is the bit of the downlink TEID that a modification changes.
const movedTEID = 1 << 31

// done puts a session where it belongs, as far as is known: one whose
// establishment got no answer may be at the UP function nevertheless.
func (p *part) done(op, i int, cause pfcp.Cause) {
	s := &p.sessions[i]
	if op != OpEstablish && cause == pfcp.CauseSessionContextNotFound {
		s.RemoteSEID = 0
	}
	if op == OpDelete && cause == 0 {
		s.RemoteSEID = 0
	}
	p.known[i] = p.known[i].after(op, cause)
	p.put(i)
}

// back undoes pick.
func (p *part) back(op, i int) {
	if op == OpModify {
		p.sessions[i].DLTEID ^= movedTEID
	}
	if p.limit >= 0 {
		p.limit++
	}
	p.put(i)
}

// put puts a session with the free or the held ones.
func (p *part) put(i int) {
	if p.sessions[i].RemoteSEID == 0 {
		p.free.push(i)
		return
	}
	p.held = append(p.held, i)
}

// queue is a ring of session numbers, as large as there are sessions.
type queue struct {
	ring        []int
	first, size int
}

func (q *queue) push(i int) {
	q.ring[(q.first+q.size)%len(q.ring)] = i
	q.size++
}

func (q *queue) pop() int {
	i := q.ring[q.first]
	q.first = (q.first + 1) % len(q.ring)
	q.size--
	return i
}

// String says what the population is, for logs.
func (p *Population) String() string {
	return fmt.Sprintf("%d of %d sessions held", p.Held(), p.Len())
}
