package xdp

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"plumbline/api"
	"plumbline/datapath/model"
	"plumbline/gtpu"
)

// How often an Echo Request is sent again, and after how long.
// Source: TS 29.281 V18.1.0, 12 (T3-RESPONSE, N3-REQUESTS), which leaves the values.
const (
	echoT3 = 5 * time.Second
	echoN3 = 3
)

// paths asks GTP-U peers in use whether they are there.
//
// Source: TS 29.281 V18.1.0, 7.2.1; TS 23.527 V18, 4.3.
type paths struct {
	mu    sync.Mutex
	peers map[hopKey]*path
	seq   uint16
}

// path is a peer that is asked.
type path struct {
	due  time.Time // when to send next
	seq  uint16    // of the request that waits for its response
	left int       // how often it is sent again; 0: none waits
	down bool
}

func newPaths() *paths { return &paths{peers: map[hopKey]*path{}} }

// answered notes an Echo Response: of a peer that was asked, with the number of
// the request, which a stranger does not know.
func (p *paths) answered(m model.Datagram) {
	h, err := gtpu.Parse(m.Payload)
	if err != nil {
		return
	}
	seq, ok := h.Sequence()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, peer := range p.peers {
		if ok && key.addr == m.From.Addr() && peer.left > 0 && peer.seq == seq {
			peer.left = 0
			peer.due = time.Time{}
		}
	}
}

// superviseRound is how often it is looked at who is due.
const superviseRound = time.Second

// supervise asks all peers until ctx is done.
func (d *Driver) supervise(ctx context.Context) {
	tick := time.NewTicker(superviseRound)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			d.paths.round(d, now)
		}
	}
}

// round sends what is due, and tells of peers that went and came back.
func (p *paths) round(d *Driver, now time.Time) {
	inUse := d.hops.peers()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.peers {
		if !inUse[key] {
			delete(p.peers, key)
		}
	}
	for key := range inUse {
		peer := p.peers[key]
		if peer == nil {
			peer = &path{}
			p.peers[key] = peer
		}
		p.step(d, key, peer, now)
	}
}

// step does what is due for one peer.
func (p *paths) step(d *Driver, key hopKey, peer *path, now time.Time) {
	waits := peer.left > 0
	if !waits && peer.seq != 0 && peer.due.IsZero() { // it has answered
		if peer.down {
			peer.down = false
			d.events.Post(&api.Event{Kind: api.EventKind_PATH_UP, Tunnel: peerTunnel(key.addr)})
		}
		peer.due = now.Add(d.cfg.EchoInterval)
	}
	if now.Before(peer.due) {
		return
	}
	switch {
	case !waits:
		p.seq = max(p.seq+1, 1)
		peer.seq, peer.left = p.seq, echoN3
	case peer.left == 1:
		peer.left = 0
		if !peer.down {
			peer.down = true
			d.events.Post(&api.Event{Kind: api.EventKind_PATH_DOWN, Tunnel: peerTunnel(key.addr)})
		}
		peer.due = now.Add(d.cfg.EchoInterval)
		return
	default:
		peer.left--
	}
	peer.due = now.Add(echoT3)
	d.sendEcho(key, peer.seq)
}

func (d *Driver) sendEcho(key hopKey, seq uint16) {
	from := d.ports.gtpu[key.port].Address
	if key.addr.Is6() {
		from = d.ports.gtpu[key.port].Address6
	}
	d.slow.sendSignal(model.Datagram{
		From: netip.AddrPortFrom(from, gtpu.Port), To: netip.AddrPortFrom(key.addr, gtpu.Port),
		Payload: gtpu.AppendEchoRequest(nil, seq),
	})
}

func peerTunnel(a netip.Addr) *api.Tunnel {
	t := &api.Tunnel{}
	setPeer(t, a)
	return t
}
