package transport

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/internal/udp"
)

// Limits of P7.
const (
	longestHeader  = 18
	maxDatagram    = 65507 // octets that a UDP datagram over IPv4 holds
	receiveBatch   = 32    // datagrams that are received at once
	sendBatch      = 64
	maxTargets     = 256 // peers and PHYs whose sequence numbers are kept
	defaultSenders = 16
)

// P7Config is how P7 is carried.
type P7Config struct {
	// Profile is the peer's layout, until its headers say another generation.
	Profile nfapi.Profile
	// Local is where to listen; port 0: any.
	Local netip.AddrPort
	// SegmentSize is how long a datagram may be, header included. 0: the profile's.
	SegmentSize int
	// NoChecksum leaves the checksum 0, which peers take as "none".
	NoChecksum bool
	// Senders is how many peers are listened to at the same time as long as none are
	// admitted; the longest silent one gives way. 0: 16.
	Senders int
	// Timeout is the time after which a message with missing segments is discarded. 0: 5 ms, which
	// is less than the time of 256 messages, after which the numbers wrap around: 8 ms with slots of
	// 125 us and four messages in each.
	Timeout time.Duration
}

// Datagram is a received message: unsegmented, or reassembled. It is valid until the function that
// it was passed to returns.
type Datagram struct {
	Header  nfapi.Header  // of the last segment
	Profile nfapi.Profile // the peer's: decode Body with it
	Body    []byte
	From    netip.AddrPort
	At      time.Time // when it was read from the socket
	// Waited is how long it, or its last segment, had been in the socket until then: by the
	// kernel's time stamp, 0 if that says nothing.
	Waited time.Duration
}

// P7 is an endpoint of P7. Send, Flush, Admit, Stats and Close may be called by several
// goroutines.
type P7 struct {
	config P7Config
	socket *udp.Socket
	local  netip.AddrPort
	stats  counters

	mu        clock.Mutex // of sender, which slot threads wait for
	sender    *mmsg.Sender
	room      []byte // of the batch: messages, one behind the other
	used      int
	targets   []target
	last      int   // the target of last time
	oldest    int   // the target that gives way next
	failed    error // of datagrams that could not be sent, for Flush
	admitted  []netip.AddrPort
	closed    bool
	receiving bool

	receiver receiver
}

// target is where messages go, and how they are numbered.
type target struct {
	to         netip.AddrPort
	phy        uint16
	sequence   uint8
	generation nfapi.Generation
}

// SegmentSize is how long a datagram may be, in octets, where size is configured; 0: that
// of the profile.
//
// Errors: no header fits into it, or it into no datagram.
func SegmentSize(p nfapi.Profile, size int) (int, error) {
	if size == 0 {
		return p.SegmentSize(), nil
	}
	if least := p.HeaderLen(nfapi.P7) + 1; size < least || size > maxDatagram {
		return 0, fmt.Errorf("segment size of %d octets is not within %d to %d", size, least, maxDatagram)
	}
	return size, nil
}

// ListenP7 opens an endpoint.
//
// Errors: those of the socket; a segment size that cannot be.
func ListenP7(c P7Config) (*P7, error) {
	var err error
	if c.SegmentSize, err = SegmentSize(c.Profile, c.SegmentSize); err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	if c.Senders <= 0 {
		c.Senders = defaultSenders
	}
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Millisecond
	}
	s, err := udp.Open(c.Local)
	if err != nil {
		return nil, fmt.Errorf("transport: p7 at %s: %w", c.Local, err)
	}
	p := &P7{config: c, socket: s, sender: mmsg.NewSender(s, sendBatch)}
	if p.local, err = s.Local(); err != nil {
		return nil, errors.Join(fmt.Errorf("transport: p7 at %s: %w", c.Local, err), s.Close())
	}
	if c.SegmentSize <= nfapi.SegmentSize2024 {
		p.sender.SegmentOctets = c.SegmentSize
	}
	// A message and its segments fit, independent of the batch's content.
	p.room = make([]byte, 4*nfapi.MaxMessage)
	if err := p.receiver.init(p); err != nil {
		return nil, errors.Join(fmt.Errorf("transport: p7 at %s: %w", p.local, err), s.Close())
	}
	return p, nil
}

// LocalAddr is where it listens.
func (p *P7) LocalAddr() netip.AddrPort { return p.local }

// Nobody matches no peer: Admit(Nobody) drops every datagram. See [P7.Admit].
var Nobody = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)

// Admit accepts only datagrams of these peers from now on; port 0 matches all ports of an address.
// None: all peers again, up to the configured number. The generation of a peer's headers is
// detected again.
func (p *P7) Admit(peers ...netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.admitted = slices.Clone(peers)
	p.receiver.changed.Store(true)
}

// Close ends Receive and frees the port. It does not wait for Receive to return; the
// port is free when it has.
func (p *P7) Close() error {
	if !p.socket.Stop() { // before mu: held while waiting for room in the socket
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.receiving {
		return nil
	}
	return p.socket.Close()
}

// Send puts a message for a peer into the batch, in segments if it is long; Flush sends
// it. The sequence number is counted for each peer and PHY. A batch that is full is sent
// meanwhile. m may be used again when Send returns.
//
// Errors: those of encoding, which leave the batch as it was and take no sequence
// number, and [net.ErrClosed].
func (p *P7) Send(to netip.AddrPort, phy uint16, m nfapi.Message, timestamp uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	t := p.target(to, phy)
	profile := profileOf(p.config.Profile, t.generation)
	h := nfapi.Header{Generation: t.generation, PhyID: phy, Messages: 1}
	n, err := profile.EncodeP7(&h, m, p.room[p.used:])
	if errors.Is(err, nfapi.ErrRoom) && p.used > 0 {
		p.flush()
		n, err = profile.EncodeP7(&h, m, p.room)
	}
	if err != nil {
		return err
	}
	if n > nfapi.MaxMessage {
		return fmt.Errorf("transport: %v of %d octets, there may be %d: %w", h.MessageID, n, nfapi.MaxMessage, nfapi.ErrTooLong)
	}
	room, err := p.cut(t, &h, n)
	if err != nil {
		return err
	}
	err = profile.Segments(&h, p.room[p.used:p.used+n], p.config.SegmentSize, t.sequence, p.room[p.used+n:p.used+n+room], func(d []byte) error {
		p.add(t.to, profile, &h, d, timestamp)
		return nil
	})
	if err != nil {
		return err
	}
	p.used += n + room
	t.sequence++
	p.stats.sent.Add(1)
	return nil
}

// cut says how much room the segments need of the message of n octets at used, and makes
// it.
func (p *P7) cut(t *target, h *nfapi.Header, n int) (room int, err error) {
	size := p.config.SegmentSize
	if t.generation == nfapi.GenFAPI && n > maxDatagram {
		return 0, fmt.Errorf("transport: %v of %d octets, a datagram holds %d: %w", h.MessageID, n, maxDatagram, nfapi.ErrTooLong)
	}
	if n <= size || t.generation == nfapi.GenFAPI {
		return 0, nil
	}
	if room = min(n/max(size-longestHeader, 1)+1, nfapi.MaxSegments) * size; p.used+n+room > len(p.room) {
		start := p.used
		p.flush()
		copy(p.room, p.room[start:start+n])
	}
	return room, nil
}

// add puts a datagram, which has all but checksum and time stamp, into the batch.
func (p *P7) add(to netip.AddrPort, profile nfapi.Profile, h *nfapi.Header, d []byte, timestamp uint32) {
	if p.sender.Room() == 0 {
		p.send()
	}
	if p.config.NoChecksum {
		profile.Stamp(h.Generation, d, timestamp)
	} else {
		profile.Seal(h.Generation, d, timestamp)
	}
	p.sender.AddTo(to, d)
	p.stats.sentOctets.Add(uint64(len(d)))
}

// target finds where a message goes; what is new begins with sequence number 0.
func (p *P7) target(to netip.AddrPort, phy uint16) *target {
	if p.last < len(p.targets) && p.targets[p.last].to == to && p.targets[p.last].phy == phy {
		return &p.targets[p.last]
	}
	generation := p.config.Profile.Generation()
	for i := range p.targets {
		t := &p.targets[i]
		if t.to != to {
			continue
		}
		if generation = t.generation; t.phy == phy {
			p.last = i
			return t
		}
	}
	if g, ok := p.receiver.generationOf(to); ok {
		generation = g
	}
	if len(p.targets) < maxTargets {
		p.last = len(p.targets)
		p.targets = append(p.targets, target{})
	} else {
		p.last = p.oldest
		p.oldest = (p.oldest + 1) % maxTargets
	}
	p.targets[p.last] = target{to: to, phy: phy, generation: generation}
	return &p.targets[p.last]
}

// Expect says in which profile's headers a peer is spoken to until it is heard itself,
// if another than the configured one: by P5 it may be known.
func (p *P7) Expect(peer netip.AddrPort, profile nfapi.Profile) { p.speaks(peer, profile.Generation()) }

// speaks takes note of the generation of a peer's headers.
func (p *P7) speaks(peer netip.AddrPort, g nfapi.Generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.receiver.heard(peer, g)
	for i := range p.targets {
		if p.targets[i].to == peer {
			p.targets[i].generation = g
		}
	}
}

// Flush sends the batch.
//
// Errors: of the datagrams that could not be sent since the last Flush, the first
// one's; all others were sent.
func (p *P7) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.flush()
	err := p.failed
	p.failed = nil
	return err
}

// flush sends the batch and makes its room free.
func (p *P7) flush() {
	p.send()
	p.used = 0
}

// send sends the batch, without moving its octets.
func (p *P7) send() {
	for {
		sent, err := p.sender.Flush()
		p.stats.sentDatagrams.Add(uint64(sent))
		if err == nil {
			break
		}
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if p.failed == nil {
			p.failed = fmt.Errorf("transport: p7: %w", err)
		}
		p.stats.notSent.Add(uint64(p.sender.Skip()))
	}
	p.sender.Reset()
}
