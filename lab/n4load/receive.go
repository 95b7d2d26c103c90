package n4load

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"

	"plumbline/pfcp"
)

// receive reads datagrams until the socket is closed.
func (c *Client) receive() {
	defer close(c.done)
	in := make([]ipv4.Message, batchSize)
	memory := make([]byte, batchSize*maxDatagram) // the kernel gives pages as they are used
	for i := range in {
		in[i].Buffers = [][]byte{memory[i*maxDatagram : (i+1)*maxDatagram]}
	}
	for {
		n, err := c.batches.ReadBatch(in, 0)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error that something sent earlier caused
		}
		c.takeBatch(in[:n], time.Now())
		select {
		case c.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// takeBatch works on what came in at once.
func (c *Client) takeBatch(batch []ipv4.Message, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range batch {
		from := batch[i].Addr.(*net.UDPAddr).AddrPort()
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if from.Addr() != c.config.Remote.Addr() {
			continue // a stranger
		}
		for rest := batch[i].Buffers[0][:batch[i].N]; len(rest) > 0; {
			var h pfcp.Header
			var body []byte
			var err error
			if h, body, rest, err = pfcp.Parse(rest); err != nil {
				break
			}
			c.take(from, h, body, now)
		}
	}
}

// take works on one message from the UP function's address.
func (c *Client) take(from netip.AddrPort, h pfcp.Header, body []byte, now time.Time) {
	switch {
	case h.Type == pfcp.MsgHeartbeatRequest:
		c.answerHeartbeat(from, h)
	case !h.Type.IsRequest() && from == c.config.Remote:
		c.takeResponse(h, body, now)
	}
}

// answerHeartbeat sends a Heartbeat Response to where the request came from.
func (c *Client) answerHeartbeat(to netip.AddrPort, h pfcp.Header) {
	var err error
	c.reply, err = pfcp.Append(c.reply[:0], pfcp.Header{Sequence: h.Sequence}, &pfcp.HeartbeatResponse{RecoveryTimeStamp: c.started})
	if err != nil {
		return
	}
	if _, err := c.conn.WriteToUDPAddrPort(c.reply, to); err == nil {
		c.heartbeats++
	}
}

// takeResponse finds the request that h answers and hands the response to the
// job. A response that nothing waits for is a duplicate, or late.
func (c *Client) takeResponse(h pfcp.Header, body []byte, now time.Time) {
	if c.job == nil {
		return
	}
	p := c.window.find(h.Sequence)
	if p == nil || h.Type != c.job.answer() {
		c.report.Unexpected++
		return
	}
	c.window.free(p)
	c.report.record(now.Sub(p.first))
	cause, err := c.job.response(p.index, h, body)
	if err == nil && !cause.Accepted() {
		err = ErrRefused
	}
	if err == nil {
		c.report.Accepted++
		return
	}
	if cause != 0 && !cause.Accepted() {
		c.report.Refused[cause]++
	}
	if c.failure == nil {
		c.failure = c.job.explain(p.index, cause, err)
	}
}
