package gnb

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// maxMissed is how many Echo Requests in a row may go unanswered before the
// path counts as down (N3-REQUESTS). Source: TS 29.281 V18.1.0, 11.
const maxMissed = 3

// paths looks after the GTP-U paths to the UPFs: it answers their Echo
// Requests, sends its own and remembers how long the answers took.
//
// Source: TS 29.281 V18.1.0, 7.2. (It asks for at most one Echo Request in 60 s
// on each path; a shorter interval is the user's choice.)
type paths struct {
	conn *net.UDPConn
	log  *slog.Logger
	sent atomic.Uint64 // Echo Responses

	mu    sync.Mutex
	byUPF map[netip.Addr]*upfPath // paths never go
}

// upfPath is what is known of the path to one UPF.
type upfPath struct {
	sequence uint16
	sentAt   time.Time // zero: no request is outstanding
	missed   int       // requests in a row
	sent     uint64    // Echo Requests
	answered uint64
	rtt      time.Duration // of the last answer
}

func newPaths(conn *net.UDPConn, ues []UE, log *slog.Logger) *paths {
	p := &paths{conn: conn, log: log, byUPF: make(map[netip.Addr]*upfPath)}
	for _, u := range ues {
		p.byUPF[u.UPF] = &upfPath{}
	}
	return p
}

// add is called when tunnels lead to a UPF.
func (p *paths) add(upf netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byUPF[upf] == nil {
		p.byUPF[upf] = &upfPath{}
	}
}

// all returns the paths there are now.
func (p *paths) all() map[netip.Addr]*upfPath {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.byUPF)
}

// run sends Echo Requests until ctx ends.
func (p *paths) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		for upf, path := range p.all() {
			p.request(upf, path)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *paths) request(upf netip.Addr, path *upfPath) {
	p.mu.Lock()
	if !path.sentAt.IsZero() {
		if path.missed++; path.missed == maxMissed {
			p.log.Warn("UPF does not answer Echo Requests", "upf", upf, "requests", maxMissed)
		}
	}
	path.sequence++
	path.sent++
	path.sentAt = time.Now()
	b := gtpu.AppendEchoRequest(nil, path.sequence)
	p.mu.Unlock()

	if _, err := p.conn.WriteToUDPAddrPort(b, netip.AddrPortFrom(upf, gtpu.Port)); err != nil {
		p.log.Debug("Echo Request not sent", "upf", upf, "err", err)
	}
}

// answered handles an Echo Response. An unsolicited one changes nothing.
func (p *paths) answered(h gtpu.Header, from netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path, ok := p.byUPF[from]
	if !ok || path.sentAt.IsZero() {
		return
	}
	if sequence, ok := h.Sequence(); !ok || sequence != path.sequence {
		return
	}
	if path.missed >= maxMissed {
		p.log.Info("UPF answers Echo Requests again", "upf", from)
	}
	path.rtt = time.Since(path.sentAt)
	path.sentAt = time.Time{}
	path.missed = 0
	path.answered++
}

// answer answers an Echo Request, to the port that it came from.
func (p *paths) answer(h gtpu.Header, to netip.AddrPort) {
	sequence, _ := h.Sequence()
	b := gtpu.AppendEchoResponse(nil, sequence)
	if _, err := p.conn.WriteToUDPAddrPort(b, to); err == nil {
		p.sent.Add(1)
	}
}
