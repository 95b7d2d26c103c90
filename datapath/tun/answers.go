package tun

import (
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// answers knows of GTP-U peers whether the neighbours by which they are reached answer.
// The kernel throws away what is sent to one that does not, and it is counted.
type answers struct {
	d       *Driver
	watcher *nexthop.PeerWatcher
	waiting *nexthop.Waiting

	mu    sync.Mutex
	known map[nexthop.Peer]bool
	lost  uint64 // packets
}

func openAnswers(d *Driver) (*answers, error) {
	a := &answers{d: d, known: map[nexthop.Peer]bool{}}
	a.waiting = nexthop.NewWaiting(a.threw)
	var err error
	a.watcher, err = nexthop.WatchPeers(nil, d.log, a.waiting.Tell)
	return a, err
}

func (a *answers) threw(packets uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost += packets
}

// learn follows a peer that packets are going to be sent to, [maxPeers] of them at most.
func (a *answers) learn(f *api.Forward, addr netip.Addr) {
	p := nexthop.Peer{Local: datapath.Local(a.d.cfg.Endpoints, datapath.DirectionOf(f), addr), Addr: addr}
	a.mu.Lock()
	fresh := p.Local.IsValid() && !a.known[p] && len(a.known) < maxPeers
	if fresh {
		a.known[p] = true
	}
	a.mu.Unlock()
	if fresh {
		a.watcher.Want(p)
	}
}

func (a *answers) close() { a.watcher.Close() }

// Drops implements [datapath.Driver].
func (d *Driver) Drops() (map[string]uint64, error) {
	all, err := d.Engine.Drops()
	if err != nil {
		return nil, err
	}
	all[datapath.DropN6Route.String()] += d.fence.refused()
	d.answers.mu.Lock()
	defer d.answers.mu.Unlock()
	all[datapath.DropNextHop.String()] += d.answers.lost
	return all, nil
}
