package stages

import (
	"sync"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// Errored collects Error Indications, so that a driver looks once for all of them
// which sessions they are about: that takes a look at every session, so it is
// done seldom, for as many as there are. It is for several goroutines.
type Errored struct {
	Some chan struct{} // has an element when there are some

	mu      sync.Mutex
	tunnels map[gtpu.Tunnel]bool
}

// maxErrored is how many tunnels wait at most. A peer repeats its Error
// Indication as long as packets come.
const maxErrored = 4096

// NewErrored returns one that has none.
func NewErrored() *Errored {
	return &Errored{tunnels: map[gtpu.Tunnel]bool{}, Some: make(chan struct{}, 1)}
}

// Add keeps an Error Indication if it comes from the peer that it is about: to
// anybody else it would give the power to end tunnels.
//
// Source: TS 29.281 V18.1.0, 7.3.1.
func (e *Errored) Add(m Datagram) {
	t, err := gtpu.ParseErrorIndication(m.Payload)
	if err != nil || t.Peer != m.From.Addr() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.tunnels) < maxErrored {
		e.tunnels[t] = true
	}
	select {
	case e.Some <- struct{}{}:
	default:
	}
}

// Take returns the tunnels of which there are some.
func (e *Errored) Take() map[gtpu.Tunnel]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.tunnels
	e.tunnels = map[gtpu.Tunnel]bool{}
	return taken
}
