package n4load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/net/ipv4"

	"plumbline/pfcp"
)

// A job is a bulk call: a series of requests of one kind.
type job interface {
	// request returns the message of request index and the SEID of its header.
	// It is called once for each, in order; the message may be used again.
	request(index int) (seid uint64, m pfcp.Message)

	// answer is the type of the responses.
	answer() pfcp.MessageType

	// response reads the response to request index and keeps what it says, if
	// the Cause is acceptance. The Cause is 0 if it could not be read.
	response(index int, h pfcp.Header, body []byte) (pfcp.Cause, error)

	// explain adds to err what the last response read said, and whose it was.
	explain(index int, cause pfcp.Cause, err error) error
}

// ticks is how often in T1 the requests in flight are looked at.
const ticks = 8

// run sends n requests and waits for their responses. After a failure it sends
// no more requests, but waits for the responses to those in flight.
func (c *Client) run(ctx context.Context, n int, j job) (*Report, error) {
	c.running.Lock()
	defer c.running.Unlock()
	report := newReport(n)
	start := time.Now()
	c.begin(j, report)
	defer c.end()
	ticker := time.NewTicker(max(c.config.T1/ticks, time.Millisecond))
	defer ticker.Stop()
	for next, tick := 0, false; ; {
		var over bool
		var err error
		if next, over, err = c.advance(next, n, tick); over {
			report.Duration = time.Since(start)
			return report, err
		}
		if err := c.send(); err != nil {
			return report, err
		}
		tick = false
		if len(c.out) >= batchSize {
			continue // there may be room for more
		}
		select {
		case <-c.wake:
		case <-ticker.C:
			tick = true
		case <-ctx.Done():
			return report, fmt.Errorf("n4load: %w", context.Cause(ctx))
		case <-c.done:
			return report, ErrClosed
		}
	}
}

func (c *Client) begin(j job, report *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.job, c.report, c.failure = j, report, nil
}

func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.job, c.report = nil, nil
	c.window.clear()
}

// advance puts what can be sent now into c.out: at a tick the requests that
// have waited for T1, then new ones. It reports whether the call is over.
func (c *Client) advance(next, n int, tick bool) (_ int, over bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = c.out[:0]
	now := time.Now()
	if tick {
		c.repeat(now)
	}
	for c.failure == nil && next < n && len(c.out) < batchSize && c.window.room(c.sequence) {
		p := c.window.take(c.sequence, next, now)
		seid, m := c.job.request(next)
		p.octets, err = pfcp.Append(p.octets, pfcp.Header{SEID: seid, Sequence: c.sequence}, m)
		if err != nil {
			return next, true, err
		}
		c.out = append(c.out, c.message(p))
		c.sequence = (c.sequence + 1) & maxSequence
		c.report.Sent++
		next++
	}
	return next, c.window.inFlight == 0 && (next == n || c.failure != nil), c.failure
}

// repeat puts those requests into c.out that have waited for T1, and gives up
// those that have been sent N1 times.
func (c *Client) repeat(now time.Time) {
	for i := range c.window.slots {
		p := &c.window.slots[i]
		if !p.busy || now.Sub(p.last) < c.config.T1 {
			continue
		}
		if p.sent >= c.config.N1 {
			c.window.free(p)
			c.report.Lost++
			if c.failure == nil {
				c.failure = c.job.explain(p.index, 0, fmt.Errorf("sent %d times: %w", p.sent, ErrNoResponse))
			}
			continue
		}
		p.sent++
		p.last = now
		c.report.Repeated++
		c.out = append(c.out, c.message(p))
	}
}

func (c *Client) message(p *pending) ipv4.Message {
	p.buffers[0] = p.octets
	return ipv4.Message{Buffers: p.buffers[:], Addr: c.remote}
}

// send writes c.out to the socket. What the socket does not take is repeated
// by T1, as if it had been lost on the way.
func (c *Client) send() error {
	for rest := c.out; len(rest) > 0; {
		n, err := c.batches.WriteBatch(rest, 0)
		if errors.Is(err, net.ErrClosed) {
			return ErrClosed
		}
		if err != nil {
			rest = rest[1:] // an ICMP error, or no room
			continue
		}
		rest = rest[n:]
	}
	return nil
}
