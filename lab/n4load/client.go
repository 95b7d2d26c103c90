package n4load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// Client is one CP function with one socket.
type Client struct {
	group    *Group
	config   Config
	socket   *socket
	receiver *mmsg.Receiver
	sender   *mmsg.Sender
	in       [][]byte // receiver's memory

	sequence uint32
	window   window
	sending  []dispatch // what is in sender
	reply    []byte

	heartbeats, reports atomic.Uint64
	recovery            atomic.Uint32 // Recovery Time Stamp of the last Association Setup Response

	mu  sync.Mutex
	own [][]Session // those that have been established, or may be
}

// dispatch is a first transmission that is on its way out.
type dispatch struct {
	intended time.Duration
	report   *Report
}

func newClient(g *Group, c Config) (*Client, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s, err := listen(c.Local)
	if err != nil {
		return nil, err
	}
	client := &Client{
		group: g, config: c, socket: s, window: newWindow(c.Window),
		sender: mmsg.NewSender(s, batchSize),
		// Not 0: a UP function may still have an earlier client's sequence
		// numbers in its response cache.
		sequence: rand.Uint32() & maxSequence,
	}
	memory := make([]byte, batchSize*maxDatagram) // the kernel gives pages as they are used
	for i := range batchSize {
		client.in = append(client.in, memory[i*maxDatagram:(i+1)*maxDatagram])
	}
	client.receiver = mmsg.NewReceiver(s, client.in)
	return client, nil
}

// LocalAddr returns the socket's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.socket.local }

// Close closes the client's group.
func (c *Client) Close() error { return c.group.Close() }

var errInFlight = errors.New("n4load: too many requests in flight")

// request puts a request into the sender. Errors: errInFlight, and those of
// encoding it.
func (c *Client) request(op, index int, intended time.Duration, r *Report) error {
	sequence, ok := c.window.room(c.sequence)
	if !ok { // what has been answered meanwhile makes room
		c.flush()
		c.receive()
		if sequence, ok = c.window.room(c.sequence); !ok {
			return errInFlight
		}
	}
	seid, m := c.group.call.source.job(c, op).request(index)
	p := c.window.take(sequence)
	c.group.call.inFlight++
	octets, err := pfcp.Append(p.octets, pfcp.Header{SEID: seid, Sequence: sequence}, m)
	if err != nil {
		c.group.call.inFlight--
		c.window.free(p, unused)
		return fmt.Errorf("n4load: %w", err)
	}
	p.octets, p.op, p.index, p.intended, p.report = octets, uint8(op), index, intended, r
	p.answer = byte(m.MessageType()) + 1
	c.sequence = (sequence + 1) & maxSequence
	c.sender.AddTo(c.config.Remote, p.octets)
	c.sending = append(c.sending, dispatch{intended, r})
	c.window.timeouts.push(timeout{at: c.group.now() + c.config.T1, sequence: sequence, sent: 1})
	return nil
}

// repeat puts those requests into the sender that have waited for T1, and gives
// up those that were sent N1 times. It returns when the next one is due.
func (c *Client) repeat(now time.Duration) time.Duration {
	for {
		t := c.window.timeouts.head()
		if t == nil {
			return never
		}
		p := c.window.find(t.sequence)
		if p != nil && p.state == waiting && p.sent == t.sent {
			switch {
			case t.at > now:
				return t.at
			case int(p.sent) >= c.config.N1:
				c.group.call.give(c, p)
			case c.sender.Room() == 0:
				return now
			default:
				p.sent++
				p.report.Repeated++
				c.sender.AddTo(c.config.Remote, p.octets)
				c.window.timeouts.push(timeout{at: now + c.config.T1, sequence: p.sequence, sent: p.sent})
			}
		}
		c.window.timeouts.pop() // or it has been answered
	}
}

// flush sends what is in the sender. What the socket does not take is repeated
// by T1, as if it had been lost on the way.
func (c *Client) flush() {
	if c.sender.Room() == batchSize {
		return
	}
	now := c.group.now()
	for {
		_, err := c.sender.Flush()
		if err == nil {
			break
		}
		c.sender.Skip()
		if call := c.group.call; call != nil {
			call.reports[0].SendErrors++
		}
	}
	c.sender.Reset()
	for _, d := range c.sending {
		d.report.Sent++
		record(d.report.SendDelay, now-d.intended)
	}
	c.sending = c.sending[:0]
}

// receive works on what has come in: a few batches at most, as there may be
// something to send.
func (c *Client) receive() {
	const most = 4
	for range most {
		n, err := c.receiver.Next()
		if errors.Is(err, syscall.EAGAIN) {
			return
		}
		now := c.group.now()
		for i := range n {
			c.datagram(c.receiver.Source(i), c.in[i][:c.receiver.Size(i)], now)
		}
		if n < batchSize && err == nil {
			return
		}
	}
}

// datagram works on what the UP function's address sent.
func (c *Client) datagram(from netip.AddrPort, b []byte, now time.Duration) {
	if from.Addr() != c.config.Remote.Addr() {
		return // a stranger
	}
	for len(b) > 0 {
		h, body, rest, err := pfcp.Parse(b)
		switch {
		case err != nil:
			return
		case h.Type.IsRequest():
			c.answer(from, h, body, now)
		case from == c.config.Remote:
			c.response(h, body, now)
		}
		b = rest
	}
}

// response finds the request that h answers.
func (c *Client) response(h pfcp.Header, body []byte, now time.Duration) {
	call := c.group.call
	if call == nil {
		return
	}
	p := c.window.find(h.Sequence)
	if p == nil || byte(h.Type) != p.answer {
		call.reports[0].Unexpected++
		return
	}
	r := p.report
	if r == nil { // of an earlier call
		r = call.reports[0]
	}
	switch p.state {
	case waiting:
		call.take(c, p, h, body, now)
	case answered:
		r.Duplicates++
	default:
		r.Late++
	}
}

// owns adds sessions of which the UP function may report. Those of before that had
// their SEIDs are forgotten.
func (c *Client) owns(sessions []Session) {
	if len(sessions) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first, last := sessions[0].LocalSEID, sessions[len(sessions)-1].LocalSEID
	c.own = slices.DeleteFunc(c.own, func(old []Session) bool {
		return old[0].LocalSEID >= first && old[len(old)-1].LocalSEID <= last
	})
	c.own = append(c.own, sessions)
}

// remote returns the UP function's SEID of a session of ours, 0 if there is
// none.
func (c *Client) remote(local uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sessions := range c.own { // their SEIDs count up
		if local < sessions[0].LocalSEID {
			continue
		}
		if i := local - sessions[0].LocalSEID; i < uint64(len(sessions)) && sessions[i].RemoteSEID != 0 {
			return sessions[i].RemoteSEID
		}
	}
	return 0
}
