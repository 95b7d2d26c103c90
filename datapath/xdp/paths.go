package xdp

import (
	"context"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// newPaths asks the peers of the next hops in use.
func (d *Driver) newPaths() *stages.Paths[hopKey] {
	return &stages.Paths[hopKey]{
		Interval: d.cfg.EchoInterval, Peer: func(k hopKey) netip.Addr { return k.addr },
		Ask: func(k hopKey, seq uint16) { d.sendEcho(k, seq) },
		Tell: func(k hopKey, up bool) {
			kind := api.EventKind_PATH_DOWN
			if up {
				kind = api.EventKind_PATH_UP
			}
			d.events.Post(&api.Event{Kind: kind, Tunnel: peerTunnel(k.addr)})
		},
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
			d.paths.Round(d.hops.peers(), now)
		}
	}
}

func (d *Driver) sendEcho(key hopKey, seq uint16) {
	from := d.ports.gtpu[key.port].Address
	if key.addr.Is6() {
		from = d.ports.gtpu[key.port].Address6
	}
	d.slow.sendSignal(stages.EchoRequest(from, key.addr, seq))
}

func peerTunnel(a netip.Addr) *api.Tunnel {
	t := &api.Tunnel{}
	setPeer(t, a)
	return t
}
