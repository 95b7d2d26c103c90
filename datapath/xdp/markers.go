package xdp

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// maxMarkers is how many End Markers wait at most. More go out at once, which may
// be before the last packets of their tunnels.
const maxMarkers = 1 << 16

// markersAtOnce are sent before a change of rules gets its turn.
const markersAtOnce = 64

// markers sends End Markers behind the last packets of their tunnels: a packet
// that had the old rule when it was changed is still on its way on another CPU,
// in a batch that goes to the device when that CPU's turn ends.
//
// Source: TS 23.501 V18.8.0, 5.8.2.9; TS 29.281 V18.1.0, 7.3.2.
type markers struct {
	send  func(stages.Datagram)
	rules sync.Locker // held while they are sent: those to an own F-TEID ask rules

	mu      sync.Mutex
	waiting []stages.Datagram
	wake    chan struct{} // nil: nobody waits, they are sent at once
}

// add sends End Markers, soon. The driver's lock is held.
func (m *markers) add(list []stages.Datagram) {
	m.mu.Lock()
	wait := m.wake != nil && len(m.waiting)+len(list) <= maxMarkers
	if wait {
		m.waiting = append(m.waiting, list...)
	}
	m.mu.Unlock()
	if !wait {
		for _, d := range list {
			m.send(d)
		}
		return
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// start lets them wait from now on. They are sent by [markers.run].
func (m *markers) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = make(chan struct{}, 1)
}

// run sends them until closed, and then what is left.
func (m *markers) run(closed <-chan struct{}) {
	for {
		done := false
		select {
		case <-closed:
			done = true
		case <-m.wake:
		}
		m.mu.Lock()
		list := m.waiting
		m.waiting = nil
		m.mu.Unlock()
		if len(list) > 0 {
			waitForPackets()
		}
		for some := range slices.Chunk(list, markersAtOnce) {
			m.rules.Lock()
			for _, d := range some {
				m.send(d)
			}
			m.rules.Unlock()
		}
		if done {
			return
		}
	}
}

// waitForPackets returns when all packets that were under way in programs have
// gone to their devices: a program and what it sends run in one RCU section, and
// membarrier(2) waits for the end of all. Where the kernel has none, as with full
// dynamic ticks, longer than any batch takes.
func waitForPackets() {
	const global = 1 // MEMBARRIER_CMD_GLOBAL, Linux 4.3
	if _, _, err := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); err != 0 {
		time.Sleep(grace)
	}
}
