package n4load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Group is CP functions that one thread serves. Its methods, and those of its
// clients, may be called from several goroutines; calls wait for each other.
type Group struct {
	options Options
	clients []*Client
	base    time.Time // of the group's clock
	started pfcp.TimeStamp
	polled  []unix.PollFd // the sockets, and last what wakes the thread

	running sync.Mutex // held by a call
	calls   chan *call // to the thread
	closing atomic.Bool
	done    chan struct{} // the thread has ended

	call *call // the thread's; nil between the calls
}

// Dial makes a group of one client without pacing, and returns the client.
func Dial(c Config) (*Client, error) {
	g, err := DialGroup(Options{}, c)
	if err != nil {
		return nil, err
	}
	return g.clients[0], nil
}

// DialGroup opens a socket for each configuration, in the network namespace of
// the calling thread, and starts the thread that answers heartbeats. It sends
// nothing.
func DialGroup(o Options, configs ...Config) (*Group, error) {
	if len(configs) == 0 || len(configs) > MaxClients {
		return nil, fmt.Errorf("n4load: %d CP functions: want 1 to %d", len(configs), MaxClients)
	}
	now := time.Now()
	g := &Group{
		options: o, base: now, started: pfcp.NewTimeStamp(now),
		calls: make(chan *call, 1), done: make(chan struct{}),
	}
	if err := g.open(configs); err != nil {
		return nil, errors.Join(err, g.closeSockets())
	}
	go g.serve()
	return g, nil
}

func (g *Group) open(configs []Config) error {
	for _, config := range configs {
		c, err := newClient(g, config)
		if err != nil {
			return err
		}
		g.clients = append(g.clients, c)
		g.polled = append(g.polled, unix.PollFd{Fd: int32(c.socket.fd), Events: unix.POLLIN})
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("n4load: %w", os.NewSyscallError("eventfd", err))
	}
	g.polled = append(g.polled, unix.PollFd{Fd: int32(wake), Events: unix.POLLIN})
	return nil
}

// Clients returns the group's clients.
func (g *Group) Clients() []*Client { return g.clients }

// Close closes the sockets. A call that is under way returns [ErrClosed]. The UP
// function keeps associations and sessions.
func (g *Group) Close() error {
	if g.closing.Swap(true) {
		<-g.done
		return nil
	}
	g.wake()
	<-g.done
	g.running.Lock() // nobody uses the descriptors any more
	defer g.running.Unlock()
	return g.closeSockets()
}

func (g *Group) closeSockets() error {
	var errs []error
	for _, c := range g.clients {
		errs = append(errs, c.socket.close())
	}
	if len(g.polled) > len(g.clients) {
		errs = append(errs, unix.Close(int(g.polled[len(g.clients)].Fd)))
	}
	return errors.Join(errs...)
}

// wake makes the thread look at what has changed.
func (g *Group) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(int(g.polled[len(g.clients)].Fd), one[:]) // full: it is awake
}

// now is the group's clock.
func (g *Group) now() time.Duration { return time.Since(g.base) }

// do has the thread make a call and waits for its end.
func (g *Group) do(ctx context.Context, c *call) error {
	g.running.Lock()
	defer g.running.Unlock()
	if g.closing.Load() {
		return ErrClosed
	}
	c.ended = make(chan struct{})
	g.calls <- c
	g.wake()
	select {
	case <-c.ended:
	case <-g.done:
		return ErrClosed
	case <-ctx.Done():
		c.abort.Store(true)
		g.wake()
		select {
		case <-c.ended:
		case <-g.done:
		}
		if c.failure == nil {
			return fmt.Errorf("n4load: %w", context.Cause(ctx))
		}
	}
	return c.failure
}

// serve is the thread.
func (g *Group) serve() {
	defer close(g.done)
	runtime.LockOSThread() // and never unlocked: it ends with the goroutine
	g.tune()
	for !g.closing.Load() {
		for _, c := range g.clients {
			c.receive()
		}
		due := never
		if g.call == nil {
			g.begin()
		}
		if g.call != nil {
			due = g.advance(g.now())
		}
		g.wait(due)
	}
}

// tune makes the thread wake when it should. Both are of no more than
// accuracy, so it goes on without.
func (g *Group) tune() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // nanoseconds; the default is 50 us
	if len(g.options.CPUs) > 0 {
		var set unix.CPUSet
		for _, cpu := range g.options.CPUs {
			set.Set(cpu)
		}
		_ = unix.SchedSetaffinity(0, &set)
	}
}

// wait sleeps until something is received, the thread is woken, or a little
// before due. If that is now, it returns at once: the loop polls.
func (g *Group) wait(due time.Duration) {
	var limit *unix.Timespec
	if due != never {
		d := due - g.now() - g.options.Spin
		if d <= 0 {
			return
		}
		t := unix.NsecToTimespec(d.Nanoseconds())
		limit = &t
	}
	n, err := unix.Ppoll(g.polled, limit, nil)
	if err == nil && n > 0 && g.polled[len(g.clients)].Revents != 0 {
		var count [8]byte
		_, _ = unix.Read(int(g.polled[len(g.clients)].Fd), count[:])
	}
}
