package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// P5Config is how P5 is carried.
type P5Config struct {
	// Network is one of [Networks]; "": auto.
	Network string
	// Profile is the peer's layout, until its headers say another generation.
	Profile nfapi.Profile
	// Address is the VNF's: host:port. OpenAirInterface's port is 50001.
	Address string
	// Local is where a PNF connects from: host:port, or "".
	Local string
	// Allow has a VNF take connections from these only; none: from everybody.
	Allow []netip.Prefix
	// EncapsulationPort is the UDP port of network sctp-udp: a VNF listens there, a PNF
	// sends there. 0: 9899.
	EncapsulationPort uint16
	// WriteTimeout is how long a message may take to be sent; 0: 5 s.
	WriteTimeout time.Duration
	// DialTimeout is the time limit for an answer of the VNF's machine; 0: 10 s. The network stack
	// alone may take minutes to time out, and does not notice in that time that the machine is back.
	DialTimeout time.Duration
}

// carrier is a connection that carries whole P5 messages.
type carrier interface {
	// next returns the next message, header included, in memory of its own. profile
	// says how it is framed.
	next(profile nfapi.Profile) ([]byte, error)
	// write sends a message.
	write(b []byte, timeout time.Duration) error
	Close() error
	addresses() (local, remote netip.AddrPort)
}

// P5 is a connection between a PNF and its VNF. Send and Close may be called by several
// goroutines, Receive by one at a time.
type P5 struct {
	config  P5Config
	carrier carrier
	heard   atomic.Bool  // the peer's generation is known
	profile atomic.Int32 // nfapi.Profile

	mu     sync.Mutex // of sending
	buffer []byte
}

func newP5(c P5Config, carried carrier) *P5 {
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 5 * time.Second
	}
	p := &P5{config: c, carrier: carried}
	p.profile.Store(int32(c.Profile))
	return p
}

// DialP5 connects a PNF to its VNF.
//
// Errors: those of the network; [ErrUnsupported].
func DialP5(ctx context.Context, c P5Config) (*P5, error) {
	timeout := cmp.Or(c.DialTimeout, 10*time.Second)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	carried, err := dial(ctx, c)
	// The dialler has a timer of its own, which may be the first.
	over := errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	if over && err != nil {
		err = fmt.Errorf("no answer within %v: %w", timeout, err)
	}
	if err != nil {
		return nil, fmt.Errorf("transport: p5 to %s: %w", c.Address, err)
	}
	return newP5(c, carried), nil
}

// Profile is the peer's: the configured one until its first message is here.
func (p *P5) Profile() nfapi.Profile { return nfapi.Profile(p.profile.Load()) }

// LocalAddr is our address and port.
func (p *P5) LocalAddr() netip.AddrPort {
	local, _ := p.carrier.addresses()
	return local
}

// RemoteAddr is the peer's address and port.
func (p *P5) RemoteAddr() netip.AddrPort {
	_, remote := p.carrier.addresses()
	return remote
}

// Close ends the connection; Receive returns an error that is [net.ErrClosed].
func (p *P5) Close() error { return p.carrier.Close() }

// Send sends a message, in one write. phy is 0 for messages about the PNF.
//
// Errors: those of encoding, after which the connection is still usable; those of the connection,
// after which it is not.
func (p *P5) Send(phy uint16, m nfapi.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	profile := p.Profile()
	h := nfapi.Header{Generation: profile.Generation(), PhyID: phy, Messages: 1}
	if p.buffer == nil {
		p.buffer = make([]byte, 4096)
	}
	for {
		n, err := profile.EncodeP5(&h, m, p.buffer)
		if errors.Is(err, nfapi.ErrRoom) && len(p.buffer) < nfapi.MaxMessage {
			p.buffer = make([]byte, 2*len(p.buffer))
			continue
		}
		if err != nil {
			return err
		}
		return p.write(p.buffer[:n])
	}
}

// write sends octets; mu is held. After part of a message nothing can follow, so an error
// closes the connection: Receive ends as well.
func (p *P5) write(b []byte) error {
	err := p.carrier.write(b, p.config.WriteTimeout)
	if err != nil {
		_ = p.carrier.Close() // what is wrong with it is known
	}
	return err
}

// SendOctets sends octets as they are: for tests of what a peer does with what is no
// message.
func (p *P5) SendOctets(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.write(b)
}

// Stream reports whether P5 is carried as a stream of octets, TCP, and not as messages.
func (p *P5) Stream() bool {
	_, stream := p.carrier.(*tcp)
	return stream
}

// Receive waits for the next message. Message and the octets that it refers to belong to
// the caller. A message of an unknown type is an [nfapi.Opaque].
//
// Errors: an [*nfapi.Error] is about the body of this message; its header is returned and the
// connection stays usable. All others end it: [ErrFraming], [io.EOF] when the peer has closed it,
// those of the network.
func (p *P5) Receive() (nfapi.Header, nfapi.Message, error) {
	ours := p.config.Profile
	if p.heard.Load() {
		ours = p.Profile()
	}
	b, err := p.carrier.next(ours)
	if err != nil {
		return nfapi.Header{}, nil, err
	}
	h, body, err := ours.ParseP5(b)
	if err == nil && !speakable(ours, h.Generation) {
		err = fmt.Errorf("header of generation %v, the profile is %v", h.Generation, ours)
	}
	if err != nil {
		return nfapi.Header{}, nil, fmt.Errorf("%w: %w", ErrFraming, err)
	}
	profile := profileOf(ours, h.Generation)
	p.profile.Store(int32(profile))
	p.heard.Store(true)
	m := nfapi.NewMessage(h.MessageID)
	if err := m.DecodeBody(profile, body); err != nil {
		return h, nil, err
	}
	return h, m, nil
}

// P5Listener takes connections of PNFs.
type P5Listener struct {
	config  P5Config
	sources []source
	arrived chan arrival
	done    chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

// source is where connections come from.
type source interface {
	accept() (carrier, error)
	Close() error
	addr() netip.AddrPort
}

type arrival struct {
	carrier carrier
	err     error
}

// ListenP5 waits for PNFs. With network auto it listens on TCP, and on SCTP if the
// kernel has it.
//
// Errors: those of the network; [ErrUnsupported].
func ListenP5(c P5Config) (*P5Listener, error) {
	sources, err := listen(c)
	if err != nil {
		return nil, fmt.Errorf("transport: p5 at %s: %w", c.Address, err)
	}
	l := &P5Listener{config: c, sources: sources, arrived: make(chan arrival), done: make(chan struct{})}
	for _, s := range sources {
		l.running.Add(1)
		go l.take(s)
	}
	return l, nil
}

// take hands on what a source has.
func (l *P5Listener) take(s source) {
	defer l.running.Done()
	for {
		c, err := s.accept()
		if err == nil {
			if _, remote := c.addresses(); !l.config.allows(remote.Addr()) {
				err = fmt.Errorf("%v: %w", remote, ErrRefused)
				c.Close()
			}
		}
		select {
		case l.arrived <- arrival{c, err}:
		case <-l.done:
			if err == nil {
				c.Close()
			}
			return
		}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil && !errors.Is(err, ErrRefused):
			l.pause()
		}
	}
}

// acceptPause is how long nothing is taken after an error, which may last: the process
// has no descriptors left.
const acceptPause = 100 * time.Millisecond

// pause waits, or until it is closed.
func (l *P5Listener) pause() {
	select {
	case <-time.After(acceptPause):
	case <-l.done:
	}
}

func (c *P5Config) allows(a netip.Addr) bool {
	return len(c.Allow) == 0 || slices.ContainsFunc(c.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Accept waits for the next PNF.
//
// Errors: [net.ErrClosed] after Close; others are of one connection, and Accept may be
// called again: [ErrRefused] is about a peer that is not permitted; its connection has been closed.
func (l *P5Listener) Accept() (*P5, error) {
	select {
	case a := <-l.arrived:
		if a.err != nil {
			return nil, fmt.Errorf("transport: p5: %w", a.err)
		}
		return newP5(l.config, a.carrier), nil
	case <-l.done:
		return nil, fmt.Errorf("transport: p5: %w", net.ErrClosed)
	}
}

// Addr is where it listens.
func (l *P5Listener) Addr() netip.AddrPort { return l.sources[0].addr() }

// Close ends Accept; connections that were taken stay.
func (l *P5Listener) Close() error {
	var errs []error
	l.once.Do(func() {
		close(l.done)
		for _, s := range l.sources {
			errs = append(errs, s.Close())
		}
		l.running.Wait()
	})
	return errors.Join(errs...)
}

// addrPort is the address of a connection.
func addrPort(a net.Addr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// grown reads n octets with read, reserving no more than what is here already.
func grown(n int, read func(b []byte) error) ([]byte, error) {
	const step = 4096
	var b bytes.Buffer
	for b.Len() < n {
		b.Grow(min(max(step, b.Len()), n-b.Len()))
		part := b.AvailableBuffer()[:min(b.Available(), n-b.Len())]
		if err := read(part); err != nil {
			return nil, err
		}
		b.Write(part)
	}
	return b.Bytes(), nil
}
