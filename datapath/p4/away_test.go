package p4

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// fresh has the bed use a target that has just started.
func (b *bed) fresh() *client {
	b.Helper()
	b.lane.Close()
	old, was := b.local, b.connection.now.Load()
	b.check(was.close())
	old.server.Close()
	b.local = newLocal(b.host.clock, b.log)
	b.local.changed, b.local.seen = old.changed, old.seen
	b.lane = &lane{l: b.local}
	return b.dial()
}

// TestOffloadFails: whichever write is lost, everything is there again when there is a target
// again, the same one or another.
func TestOffloadFails(t *testing.T) {
	lost := errors.New("lost")
	for _, same := range []bool{true, false} {
		t.Run(fmt.Sprintf("same %v", same), func(t *testing.T) {
			for n := 0; ; n++ {
				b := newBed(t)
				b.set(filteredSession(1, 50, 60))
				b.set(plainSession(2))
				b.settle()
				b.send(0, uplink(2, 300)) // what another target does not know any more has to be counted before
				sum := b.usage(2)
				b.send(0, uplink(2, 100))
				if same {
					sum += 100
				}
				b.recorder.writes = nil
				failed := false
				b.recorder.fail = func(i int) error {
					if failed = failed || i == n; failed {
						return lost
					}
					return nil
				}
				err := b.apply(&api.Change{Seid: 1, Session: filteredSession(1, 70, 80)})
				if err == nil {
					b.set(limited(plainSession(3), 1e9))
					all, was, _ := b.offload.next()
					err = b.offload.install(b.ctx, all, was)
				}
				b.recorder.fail = nil
				if err == nil {
					if n < 4 {
						t.Errorf("%d writes are all", n)
					}
					return
				}
				if !errors.Is(err, lost) {
					t.Fatalf("write %d: %v, want %v", n, err, lost)
				}
				b.offload.lose(err)
				if n := strings.Count(b.logged.String(), "target is away"); n != 1 {
					t.Errorf("it is logged %d times, want once: %s", n, b.logged)
				}
				b.logged.Reset()
				if err := b.offload.failure(); !errors.Is(err, lost) {
					t.Errorf("failure is %v, want %v", err, lost)
				}
				c := b.connection.now.Load()
				if c.kept = same; !same {
					c = b.fresh()
				}
				b.check(b.begin(c))
				b.check(b.offload.failure())
				b.settle()
				b.wantAgain(n > 0)
				if got := b.usage(2); got != sum+100 {
					t.Errorf("write %d: usage is %d, want %d", n, got, sum+100)
				}
				for seid := range uint64(3) {
					_ = b.apply(&api.Change{Seid: 1 + seid})
				}
				b.settle()
				b.wantEmpty()
				b.wantQuiet()
				if t.Failed() {
					t.Fatalf("write %d is lost", n)
				}
			}
		})
	}
}

// wantAgain states that sessions are in the target, the changed ones or those before.
func (b *bed) wantAgain(changed bool) {
	b.Helper()
	id := pdr{1, 2}
	if changed {
		id = pdr{1, 3}
		b.wantTarget(1, downlink(3, 75, 200), pdr{3, 2})
	}
	b.wantTarget(1, downlink(1, 75, 200), id)
	before := b.usage(2)
	if f := b.send(0, uplink(2, 100)); f.cpu || f.dropped || b.usage(2) != before+100 {
		b.Errorf("session 2 is not in the target: %+v", f)
	}
}

// TestOffloadReset waits for those who work at a session.
func TestOffloadReset(t *testing.T) {
	b := newBed(t)
	b.set(plainSession(1))
	b.settle()
	s, was := b.offload.hold(1)
	held, done := make(chan bool), make(chan error)
	b.offload.release(s, was)
	go func() {
		done <- b.offload.reset(b.ctx, false, func() error {
			err := b.empty(b.connection.now.Load())
			s, was = b.offload.hold(1) // somebody begins meanwhile
			close(held)
			return err
		})
	}()
	<-held
	select {
	case <-done:
		t.Fatal("reset has not waited")
	case <-time.After(20 * time.Millisecond):
	}
	if len(s.slots) != 2 {
		t.Errorf("%d places, want 2: the session is taken from who works at it", len(s.slots))
	}
	b.offload.release(s, was)
	b.check(<-done)
	b.settle()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	b.set(&api.Session{Seid: 1})
	b.settle()
	b.wantEmpty()
	b.wantQuiet()
}

// TestOffloadRace has everybody work at once.
func TestOffloadRace(t *testing.T) {
	b := newBed(t)
	b.recorder = nil
	b.offload.target = b.connection
	var all, run sync.WaitGroup
	run.Go(func() { b.offload.run(b.ctx) })
	const sessions, rounds = 8, 30
	for n := range uint64(sessions) {
		all.Go(func() {
			for i := range rounds {
				s := plainSession(1 + n)
				switch i % 4 {
				case 1:
					s = limited(filteredSession(1+n, uint32(i), 100), 1e9)
				case 2:
					if n == 0 {
						s.Rules[1].Detect.FramedRoutes = []*api.Prefix{drawnPrefix("10.45.0.0/24")}
					}
				case 3:
					s = &api.Session{Seid: 1 + n}
				}
				for b.apply(&api.Change{Seid: 1 + n, Session: orNone(s)}) != nil {
					time.Sleep(time.Millisecond) // the target is being emptied
				}
				b.offload.collect(b.ctx, 1+n)
				if i%8 == 0 {
					b.offload.flush()
				}
			}
		})
	}
	all.Go(func() {
		for range rounds {
			_ = b.offload.lookAtLimits(b.ctx)
			_ = b.offload.collectAll(b.ctx)
			b.offload.retry()
			h, _ := lookAt(uplink(1, 100))
			b.offload.front(h, time.Now())
		}
	})
	all.Go(func() {
		for range 20 * rounds {
			b.send(0, uplink(1, 100))
			b.send(1, downlink(2, 55, 100))
		}
	})
	all.Go(func() {
		for range 5 {
			time.Sleep(50 * time.Millisecond)
			if err := b.begin(b.connection.now.Load()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	for n := range uint64(sessions) {
		_ = b.apply(&api.Change{Seid: 1 + n})
	}
	b.offload.flush()
	b.offload.close()
	run.Wait()
	b.wantEmpty()
	b.wantQuiet()
}
