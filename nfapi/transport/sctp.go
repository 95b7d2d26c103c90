package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Times of SCTP in this process.
const (
	handshakeTimeout = 10 * time.Second
	heartbeat        = 2 * time.Second // after so long a silence, and every so often
	deadAfter        = 10 * time.Second
	shutdownTimeout  = time.Second
	rtoMaxMs         = 2000 // of retransmission; the peer's machine is near
)

// association carries P5 in an SCTP association of this process.
type association struct {
	path     *path
	local    netip.Addr
	sctp     *sctp.Association
	out      *sctp.Stream
	messages chan []byte
	closing  chan struct{}
	once     sync.Once
	over     func() // when it is closed
}

// maxStreams is how many of its streams a peer is listened to. OpenAirInterface uses one.
const maxStreams = 4

func sctpConfig(p *path) sctp.Config {
	return sctp.Config{
		NetConn: p, MaxReceiveBufferSize: 2 * nfapi.MaxMessage, MaxMessageSize: nfapi.MaxMessage, RTOMax: rtoMaxMs,
		LoggerFactory: &logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled},
	}
}

// associate shakes hands over a path.
func associate(ctx context.Context, p *path, handshake func(sctp.Config) (*sctp.Association, error)) (*association, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	made, err := handshake(sctpConfig(p))
	if !stop() && err == nil {
		err = context.Cause(ctx)
		_ = made.Close()
	}
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("sctp: no handshake: %w", cmp.Or(context.Cause(ctx), err))
	}
	p.endpoint.settle(p)
	local := p.wire.local()
	if local.IsUnspecified() {
		if at, err := route(ctx, p.remote.addr); err == nil {
			local = at
		}
	}
	a := &association{path: p, local: local, sctp: made, messages: make(chan []byte), closing: make(chan struct{}), over: func() {}}
	if a.out, err = made.OpenStream(0, payloadProtocol); err != nil {
		return nil, errors.Join(fmt.Errorf("sctp: %w", err), made.Close())
	}
	go a.streams()
	go a.watch()
	return a, nil
}

// streams reads the peer's streams: the one opened here, and some that the peer opens.
func (a *association) streams() {
	var group sync.WaitGroup
	group.Go(func() { a.read(a.out) })
	for n := 1; ; n++ {
		s, err := a.sctp.AcceptStream()
		if err != nil {
			break
		}
		if n < maxStreams && s != a.out {
			group.Go(func() { a.read(s) })
		}
	}
	group.Wait()
	close(a.messages)
}

// read passes on the messages of a stream, one at a time: an idle reader makes the peer wait.
func (a *association) read(s *sctp.Stream) {
	b := make([]byte, nfapi.MaxMessage)
	for {
		n, _, err := s.ReadSCTP(b)
		if err != nil {
			return
		}
		select {
		case a.messages <- append([]byte(nil), b[:n]...):
		case <-a.closing:
			return
		}
	}
}

// watch asks a peer that is silent whether it is there, and gives it up if it is not.
func (a *association) watch() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-a.closing:
			return
		case <-a.path.gone:
			return
		case <-tick.C:
		}
		switch silent := a.path.silent(); {
		case silent > deadAfter:
			_ = a.path.Close()
		case silent > heartbeat:
			a.sctp.ActiveHeartbeat()
		}
	}
}

// next returns the next message. [io.EOF]: the peer has ended the association.
func (a *association) next(nfapi.Profile) ([]byte, error) {
	b, ok := <-a.messages
	if ok {
		return b, nil
	}
	select {
	case <-a.closing:
		return nil, fmt.Errorf("sctp: %w", net.ErrClosed)
	default:
		return nil, io.EOF
	}
}

func (a *association) write(b []byte, timeout time.Duration) error {
	if err := a.out.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := a.out.WriteSCTP(b, payloadProtocol)
	return err
}

// Close ends the association as RFC 9260, 9.2 has it, if the peer answers in time.
func (a *association) Close() error {
	a.once.Do(func() {
		close(a.closing)
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		for a.sctp.BufferedAmount() > 0 && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-a.path.gone:
				cancel()
			case <-time.After(time.Millisecond):
			}
		}
		_ = a.sctp.Shutdown(ctx) // it is over, whether the peer agrees or not
		_ = a.sctp.Close()
		a.over()
	})
	return nil
}

func (a *association) addresses() (local, remote netip.AddrPort) {
	return netip.AddrPortFrom(a.local, a.path.port), addrPort(a.path.RemoteAddr())
}

// dialSCTP begins an association from a port of its own.
func dialSCTP(ctx context.Context, c P5Config, open opener) (carrier, error) {
	to, err := resolve(ctx, c.Address)
	if err != nil {
		return nil, err
	}
	var local netip.AddrPort
	if c.Local != "" {
		if local, err = resolve(ctx, c.Local); err != nil {
			return nil, err
		}
	}
	if !local.Addr().IsValid() || local.Addr().IsUnspecified() {
		a, err := route(ctx, to.Addr())
		if err != nil {
			return nil, err
		}
		local = netip.AddrPortFrom(a, local.Port())
	}
	port := local.Port()
	if port == 0 {
		port = uint16(49152 + rand.IntN(1<<14)) // RFC 6335, 6: dynamic ports
	}
	w, err := open(local.Addr(), 0)
	if err != nil {
		return nil, err
	}
	e := newEndpoint(w, port, func(from netip.Addr) bool { return from == to.Addr() }, nil)
	e.mu.Lock()
	p := e.add(remote{to.Addr(), to.Port()}, netip.AddrPortFrom(to.Addr(), cmp.Or(c.EncapsulationPort, EncapsulationPort)))
	e.mu.Unlock()
	go e.run()
	a, err := associate(ctx, p, sctp.Client)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	a.over = func() { _ = w.Close() }
	return a, nil
}

// sctpSource takes associations.
type sctpSource struct {
	endpoint *endpoint
	arrived  chan *association
	refused  chan netip.AddrPort // who was
	done     chan struct{}
	once     sync.Once
}

// refusals is the capacity of the queue of refused peers to report; further ones are not reported.
const refusals = 64

func listenSCTP(c P5Config, open opener) (source, error) {
	local, err := resolve(context.Background(), c.Address)
	if err != nil {
		return nil, err
	}
	port := local.Port()
	if port == 0 {
		port = uint16(49152 + rand.IntN(1<<14))
	}
	w, err := open(local.Addr(), cmp.Or(c.EncapsulationPort, EncapsulationPort))
	if err != nil {
		return nil, err
	}
	s := &sctpSource{arrived: make(chan *association), refused: make(chan netip.AddrPort, refusals), done: make(chan struct{})}
	s.endpoint = newEndpoint(w, port, c.allows, func(p *path) { go s.take(p) })
	s.endpoint.refused = s.refuse
	go s.endpoint.run()
	return s, nil
}

// take completes the handshake with a sender of INIT.
func (s *sctpSource) take(p *path) {
	a, err := associate(context.Background(), p, sctp.Server)
	if err != nil {
		return // the peer did not complete the handshake
	}
	select {
	case s.arrived <- a:
	case <-s.done:
		_ = a.Close()
	}
}

// refuse makes accept report a peer that is not permitted.
func (s *sctpSource) refuse(from netip.AddrPort) {
	select {
	case s.refused <- from:
	default:
	}
}

func (s *sctpSource) accept() (carrier, error) {
	select {
	case a := <-s.arrived:
		return a, nil
	case from := <-s.refused:
		return nil, fmt.Errorf("%v: %w", from, ErrRefused)
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close takes no more associations. Those that there are share the wire, and end with
// it when the last of them does.
func (s *sctpSource) Close() error {
	s.once.Do(func() {
		close(s.done)
		s.endpoint.deaf()
	})
	return nil
}

func (s *sctpSource) addr() netip.AddrPort {
	return netip.AddrPortFrom(s.endpoint.wire.local(), s.endpoint.port)
}
