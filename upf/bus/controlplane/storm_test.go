package controlplane

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStorm: sessions are established, modified and removed by many goroutines
// while the agent, the control plane and Redis end and come back at any moment,
// Redis with and without its data, and stand still. Afterwards the driver has
// every accepted session exactly as it was accepted last, and no other; and no
// session went back to an earlier state than one that had been accepted, except
// by a change that was then refused.
func TestStorm(t *testing.T) {
	for _, tc := range []struct {
		name   string
		strike func(b *storm)
	}{
		{"agent", func(s *storm) { s.stopAgent(); s.startAgent() }},
		{"agent without tables", func(s *storm) { s.stopAgent(); s.driver = newMemory(); s.startAgent() }},
		{"control plane", func(s *storm) { s.restartUpper() }},
		{"redis", func(s *storm) { s.redis.Kill(); s.redis.Run() }},
		{"redis without data", func(s *storm) { s.redis.Kill(); s.redis.Forget(); s.redis.Run() }},
		{"redis stands still", func(s *storm) {
			s.redis.Pause()
			time.Sleep(time.Duration(rand.IntN(1200)) * time.Millisecond) // less and more than the timeout
			s.redis.Resume()
		}},
		{"redis without data and agent", func(s *storm) {
			s.redis.Kill()
			s.redis.Forget()
			s.stopAgent()
			s.startAgent()
			s.redis.Run()
		}},
		{"redis without data and control plane", func(s *storm) {
			s.redis.Kill()
			s.redis.Forget()
			s.redis.Run()
			s.restartUpper()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := &storm{bed: newBed(t)}
			s.begin()
			for range 3 {
				s.waitAccepted(100)
				tc.strike(s)
			}
			s.waitAccepted(100)
			s.end()
			s.waitUp()
			want := map[uint64]uint32{}
			for _, w := range s.workers {
				for seid, version := range w.accepted {
					want[seid] = version
				}
			}
			s.waitHolds(want)
			s.checkOrder()
			t.Logf("%d accepted, %d refused", s.accepted.Load(), s.refused.Load())
		})
	}
}

type storm struct {
	*bed
	workers           []*stormWorker
	accepted, refused atomic.Int64
	stop              chan struct{}
	done              sync.WaitGroup
	upperMu           sync.RWMutex // held for reading while a change is under way
}

// stormWorker has sessions of its own; nobody else changes them.
type stormWorker struct {
	mu       sync.Mutex
	accepted map[uint64]uint32
}

const (
	stormWorkers  = 8
	stormSessions = 10 // of each worker
)

func (s *storm) begin() {
	s.stop = make(chan struct{})
	for n := range stormWorkers {
		w := &stormWorker{accepted: map[uint64]uint32{}}
		s.workers = append(s.workers, w)
		s.done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for version := uint32(1); ; version++ {
				select {
				case <-s.stop:
					return
				default:
				}
				s.change(w, uint64(n*stormSessions+r.IntN(stormSessions)+1), version, r.IntN(4) == 0)
			}
		})
	}
}

func (s *storm) change(w *stormWorker, seid uint64, version uint32, remove bool) {
	s.upperMu.RLock()
	defer s.upperMu.RUnlock()
	if remove {
		version = removed
	}
	if err := s.apply(seid, version); err != nil {
		s.refused.Add(1)
		time.Sleep(time.Millisecond) // as a CP function does not repeat at once
		return
	}
	s.accepted.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if remove {
		delete(w.accepted, seid)
	} else {
		w.accepted[seid] = version
	}
}

func (s *storm) waitAccepted(n int64) {
	s.t.Helper()
	until := s.accepted.Load() + n
	s.wait("changes are accepted", func() bool { return s.accepted.Load() >= until })
}

func (s *storm) end() {
	close(s.stop)
	s.done.Wait()
}

// restartUpper ends the control plane in the middle of changes, none of which is
// accepted then, and starts it with what was.
func (s *storm) restartUpper() {
	s.upper.Close()
	s.upperMu.Lock()
	defer s.upperMu.Unlock()
	s.startUpper()
	for _, w := range s.workers {
		for seid, version := range w.accepted {
			if err := s.apply(seid, version); err != nil {
				s.t.Errorf("session %d: %v", seid, err)
			}
		}
	}
	s.settle()
}

// checkOrder: the versions of a session ascend in its effects. It may go back
// only to what it was before the change just before, which was then refused.
func (s *storm) checkOrder() {
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	for seid, effects := range s.driver.effects {
		for i := 2; i < len(effects); i++ {
			last, now := effects[i-1], effects[i]
			if last == removed || now == removed || now > last {
				continue
			}
			back := false
			for _, e := range effects[max(0, i-3) : i-1] {
				back = back || e == now
			}
			if !back {
				s.t.Errorf("session %d: version %d after %d: %v", seid, now, last, effects[max(0, i-6):i+1])
			}
		}
	}
}
