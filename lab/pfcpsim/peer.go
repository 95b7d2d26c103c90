package pfcpsim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Config says where a simulated CP function is, and what it may do.
type Config struct {
	UPF   netip.AddrPort
	Local netip.AddrPort // its own; zero address: the one from which the UPF is reached, or 127.0.0.2; port 0: 8805

	T1 time.Duration // until a request is sent again; 0: 1 s
	N1 int           // how often it is sent in all; 0: 3

	Vars    map[string]string // come before those of a scenario
	Traffic Traffic           // nil: steps with packets are left out
	Trace   func(Message)     // is given every message; may be nil
}

// Peer is a simulated CP function. It is used by one goroutine.
type Peer struct {
	cfg      Config
	conn     *net.UDPConn
	local    netip.Addr
	recovery pfcp.TimeStamp
	sequence uint32
	seids    uint64
	vars     map[string]string
	sessions map[string]*seids
	waiting  []request // of the UP function, not answered yet
	answers  map[uint32][]byte
}

// seids is what the CP function knows of a session.
type seids struct{ cp, up uint64 }

// request is one of the UP function's.
type request struct {
	message Message
	from    netip.AddrPort
}

// ErrNoResponse is what a UP function that does not answer is reported with.
var ErrNoResponse = errors.New("no response")

// Open makes a CP function.
func Open(cfg Config) (*Peer, error) {
	if cfg.T1 == 0 {
		cfg.T1 = time.Second
	}
	if cfg.N1 == 0 {
		cfg.N1 = 3
	}
	if !cfg.Local.Addr().IsValid() {
		addr, err := towards(cfg.UPF)
		if err != nil {
			return nil, err
		}
		cfg.Local = netip.AddrPortFrom(addr, cfg.Local.Port())
	}
	if cfg.Local.Port() == 0 {
		cfg.Local = netip.AddrPortFrom(cfg.Local.Addr(), pfcp.Port)
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(cfg.Local))
	if err != nil {
		return nil, err
	}
	p := &Peer{
		cfg: cfg, conn: conn, local: cfg.Local.Addr(), recovery: pfcp.NewTimeStamp(time.Now()),
		sequence: rand.Uint32N(1 << 16), seids: rand.Uint64() >> 16 << 16,
		vars: map[string]string{}, sessions: map[string]*seids{}, answers: map[uint32][]byte{},
	}
	p.vars["node"], p.vars["upf"] = p.local.String(), cfg.UPF.Addr().String()
	return p, nil
}

// Close gives the socket back. What the CP function has set up stays.
func (p *Peer) Close() error { return p.conn.Close() }

// towards returns the address from which upf is reached.
func towards(upf netip.AddrPort) (netip.Addr, error) {
	if upf.Addr().Is4() && upf.Addr().IsLoopback() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 2}), nil
	}
	conn, err := net.Dial("udp", upf.String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// exchange sends a request until its response comes.
func (p *Peer) exchange(ctx context.Context, h pfcp.Header, datagram []byte, within time.Duration) (Message, error) {
	tries := p.cfg.N1
	if within > 0 {
		tries = max(1, int(within/p.cfg.T1))
	}
	for range tries {
		if err := p.send(datagram, p.cfg.UPF); err != nil {
			return Message{}, err
		}
		response, err := p.await(ctx, min(p.cfg.T1, max(within, p.cfg.T1)), func(m Message) bool {
			return m.Header.Type == h.Type+1 && m.Header.Sequence == h.Sequence
		})
		if !errors.Is(err, ErrNoResponse) {
			return response, err
		}
	}
	return Message{}, fmt.Errorf("%s, sent %d times: %w", h.Type, tries, ErrNoResponse)
}

func (p *Peer) send(datagram []byte, to netip.AddrPort) error {
	if m, err := NewMessage(datagram, true); err == nil && p.cfg.Trace != nil {
		p.cfg.Trace(m)
	}
	_, err := p.conn.WriteToUDPAddrPort(datagram, to)
	return err
}

// await reads messages until one is wanted. Requests of the UP function that come
// meanwhile are kept; its heartbeats, and what it sends again, are answered.
func (p *Peer) await(ctx context.Context, within time.Duration, want func(Message) bool) (Message, error) {
	deadline := time.Now().Add(within)
	buf := make([]byte, 1<<16)
	for {
		if err := ctx.Err(); err != nil {
			return Message{}, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return Message{}, ErrNoResponse
		}
		if err := p.conn.SetReadDeadline(time.Now().Add(min(left, 100*time.Millisecond))); err != nil {
			return Message{}, err
		}
		n, from, err := p.conn.ReadFromUDPAddrPort(buf)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			continue
		case err != nil:
			return Message{}, err
		}
		m, err := NewMessage(buf[:n], false)
		if err != nil {
			return Message{}, fmt.Errorf("from %s: %w", from, err)
		}
		if p.cfg.Trace != nil {
			p.cfg.Trace(m)
		}
		if want != nil && want(m) {
			return m, nil
		}
		if m.Header.Type.IsRequest() {
			if err := p.requested(request{m, from}); err != nil {
				return Message{}, err
			}
		}
	}
}

// requested takes a request of the UP function.
func (p *Peer) requested(r request) error {
	if answer, ok := p.answers[r.message.Header.Sequence]; ok {
		return p.send(answer, r.from)
	}
	if r.message.Header.Type == pfcp.MsgHeartbeatRequest {
		return p.reply(r, &pfcp.HeartbeatResponse{RecoveryTimeStamp: p.recovery})
	}
	for _, known := range p.waiting {
		if known.message.Header.Sequence == r.message.Header.Sequence {
			return nil // sent again, as we have not answered yet
		}
	}
	p.waiting = append(p.waiting, r)
	return nil
}

func (p *Peer) reply(r request, m pfcp.Message) error {
	return p.answer(r, m.AppendBody(nil))
}

// answer sends the response to a request of the UP function.
func (p *Peer) answer(r request, body []byte) error {
	h := r.message.Header
	var seid uint64
	for _, s := range p.sessions {
		if s.cp == h.SEID {
			seid = s.up
		}
	}
	b, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: h.Sequence}, raw{h.Type + 1, body})
	if err != nil {
		return err
	}
	if len(p.answers) > 1000 {
		clear(p.answers)
	}
	p.answers[h.Sequence] = b
	return p.send(b, r.from)
}

// raw is a body as it stands.
type raw struct {
	kind pfcp.MessageType
	body []byte
}

func (r raw) MessageType() pfcp.MessageType { return r.kind }
func (r raw) Decode([]byte) error           { return ErrForm }
func (r raw) AppendBody(b []byte) []byte    { return append(b, r.body...) }
