package transport

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits of SCTP in this process.
const (
	maxAssociations = 64  // of an endpoint
	maxPending      = 16  // of which that have not shaken hands yet
	packetQueue     = 256 // packets of an association that wait to be read
	sctpPacket      = 1 << 16
)

// endpoint is an SCTP port: the associations of one wire.
type endpoint struct {
	wire  wire
	port  uint16
	allow func(netip.Addr) bool
	begin func(*path) // an unknown peer has sent INIT; nil: none is accepted
	// refused is called for a sender of INIT that is not permitted; it must not block. Nil: not called.
	refused func(netip.AddrPort)

	mu     sync.Mutex
	paths  map[remote]*path
	order  []*path // of those that are pending, the oldest first
	closed bool
	quiet  bool // no new ones are taken, and the wire goes with the last
}

// remote is the other end of an association.
type remote struct {
	addr netip.Addr
	port uint16 // of SCTP
}

func newEndpoint(w wire, port uint16, allow func(netip.Addr) bool, begin func(*path)) *endpoint {
	return &endpoint{wire: w, port: port, allow: allow, begin: begin, paths: map[remote]*path{}}
}

// run reads packets until the wire is closed.
func (e *endpoint) run() {
	b := make([]byte, sctpPacket)
	for {
		n, from, err := e.wire.read(b)
		if errors.Is(err, net.ErrClosed) {
			e.shut()
			return
		}
		if err == nil {
			e.packet(b[:n], from)
		}
	}
}

// packet passes a packet to its association. A packet without association creates one if it is an
// INIT and the endpoint listens; otherwise its sender gets an answer.
func (e *endpoint) packet(b []byte, from netip.AddrPort) {
	if !goodPacket(b) || binary.BigEndian.Uint16(b[2:]) != e.port {
		return
	}
	r := remote{from.Addr(), binary.BigEndian.Uint16(b)}
	if !e.allow(from.Addr()) { // no answer: the sender is not verified
		if chunkOf(b) == chunkInit && e.refused != nil {
			e.refused(netip.AddrPortFrom(r.addr, r.port))
		}
		return
	}
	e.mu.Lock()
	p := e.paths[r]
	fresh := false
	if p == nil && chunkOf(b) == chunkInit && tagOf(b) == 0 && len(b) >= sctpWithTSN && e.begin != nil && e.makeRoom() {
		p, fresh = e.add(r, from), true
	}
	e.mu.Unlock()
	switch {
	case p == nil && chunkOf(b) != chunkAbort && chunkOf(b) != chunkInit:
		_ = e.wire.write(abort(b), from)
	case p != nil:
		p.take(b, from)
		if fresh {
			e.begin(p)
		}
	}
}

// makeRoom aborts the oldest pending handshake if the limit is reached; mu is held.
func (e *endpoint) makeRoom() bool {
	if e.closed || e.quiet {
		return false
	}
	if len(e.order) >= maxPending {
		e.drop(e.order[0])
	}
	return len(e.paths) < maxAssociations
}

// add makes a path; mu is held.
func (e *endpoint) add(r remote, at netip.AddrPort) *path {
	p := &path{endpoint: e, remote: r, at: at, in: make(chan []byte, packetQueue), gone: make(chan struct{}), heard: time.Now()}
	e.paths[r] = p
	e.order = append(e.order, p)
	return p
}

// settle says that a handshake is over.
func (e *endpoint) settle(p *path) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unlist(p)
	p.settled = true
}

func (e *endpoint) unlist(p *path) {
	for i, o := range e.order {
		if o == p {
			e.order = append(e.order[:i], e.order[i+1:]...)
			return
		}
	}
}

// drop ends a path; mu is held.
func (e *endpoint) drop(p *path) {
	e.unlist(p)
	if e.paths[p.remote] == p {
		delete(e.paths, p.remote)
	}
	p.once.Do(func() { close(p.gone) })
	e.lastOne()
}

// deaf takes no more associations; when the last one has ended, so has the wire.
func (e *endpoint) deaf() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.quiet = true
	e.lastOne()
}

// lastOne closes the wire if it is unused; mu is held.
func (e *endpoint) lastOne() {
	if e.quiet && len(e.paths) == 0 {
		_ = e.wire.Close()
	}
}

// shut ends all paths.
func (e *endpoint) shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, p := range e.paths {
		e.drop(p)
	}
}

// path is the path of the packets of one association. For Pion it is a connection with the ports
// that it expects.
type path struct {
	*endpoint
	remote remote
	in     chan []byte
	gone   chan struct{}
	once   sync.Once

	// Under mu of the endpoint.
	at      netip.AddrPort // where the peer's last packet came from
	ours    uint32         // our verification tag: what the peer has to send
	theirs  uint32         // the peer's
	acked   uint32         // the peer's last acknowledged TSN
	settled bool           // hands are shaken
	heard   time.Time      // when the peer's last packet came
}

// pionPort is what Pion takes both ports for.
const pionPort = 5000

// take passes a packet on for reading. A packet with a wrong verification tag does not belong to
// this association, nor does an INIT after the handshake. Source: RFC 9260, 8.5.
func (p *path) take(b []byte, from netip.AddrPort) {
	p.mu.Lock()
	tag, chunk := tagOf(b), chunkOf(b)
	good := tag == p.ours && tag != 0
	switch {
	case (chunk == chunkInit || chunk == chunkInitAck) && len(b) < sctpWithTSN:
		good = false
	case chunk == chunkInit:
		good = tag == 0 && !p.settled
	case (chunk == chunkAbort || chunk == chunkShutdownComplete) && flagsOf(b)&flagTReflects != 0:
		good = tag == p.theirs && tag != 0
	}
	if good {
		p.at, p.heard = from, time.Now()
		if chunk == chunkInit || chunk == chunkInitAck {
			p.acked = initTSN(b) - 1
		}
	}
	p.mu.Unlock()
	if !good {
		return
	}
	c := plain(append([]byte(nil), b...))
	setPorts(c, pionPort, pionPort)
	select {
	case p.in <- c:
	default: // as if the network had lost it
	}
}

// Read returns the next packet.
func (p *path) Read(b []byte) (int, error) {
	select {
	case c := <-p.in:
		return copy(b, c), nil
	case <-p.gone:
		return 0, net.ErrClosed
	}
}

// Write sends a packet of Pion's.
func (p *path) Write(b []byte) (int, error) {
	if len(b) < sctpLeast {
		return 0, io.ErrShortWrite
	}
	p.mu.Lock()
	if c := chunkOf(b); (c == chunkInit || c == chunkInitAck) && len(b) >= sctpWithTag {
		p.ours = initTag(b)
	}
	if tag := tagOf(b); tag != 0 {
		p.theirs = tag
	}
	p.acked = acknowledged(b, p.acked)
	to, acked := p.at, p.acked
	p.mu.Unlock()
	select {
	case <-p.gone:
		return 0, net.ErrClosed
	default:
	}
	c := append([]byte(nil), b...)
	if chunkOf(c) == chunkShutdown && len(c) >= sctpWithTag {
		binary.BigEndian.PutUint32(c[offSCTPChunk+4:], acked)
	}
	setPorts(c, p.port, p.remote.port)
	if err := p.wire.write(c, to); errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return len(b), nil // what was not sent is lost, and SCTP sends it again
}

// Close ends the path.
func (p *path) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(p)
	return nil
}

// silent is how long the peer has not been heard.
func (p *path) silent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.heard)
}

// LocalAddr and RemoteAddr are those of SCTP.
func (p *path) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.wire.local(), p.port))
}

func (p *path) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.remote.addr, p.remote.port))
}

// Pion has no use for deadlines but when it aborts, which we do not have it do.

func (p *path) SetDeadline(time.Time) error      { return nil }
func (p *path) SetReadDeadline(time.Time) error  { return nil }
func (p *path) SetWriteDeadline(time.Time) error { return nil }
