package p4

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// patience is for what takes as long as it takes.
const patience = 20 * time.Second

// wait waits until something is so.
func (b *bed) wait(what string, is func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("%s: not within %v: %s", what, patience, b.logged)
		}
	}
}

// slow is a target of which one write takes too long, when there are none left before it.
type slow struct {
	target
	left atomic.Int32
}

func (s *slow) write(ctx context.Context, updates []*p4rt.Update) (map[int]error, error) {
	if len(updates) > 0 && s.left.Add(-1) == 0 {
		return nil, context.DeadlineExceeded
	}
	return s.target.write(ctx, updates)
}

// TestFollow: a target outside of the process that goes, or does not do what it is told, is given
// everything again when it is back.
func TestFollow(t *testing.T) {
	b := newBed(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.check(err)
	go func(l net.Listener) { _ = b.local.server.Serve(l) }(l)
	b.remote = &remote{log: b.log, target: &Target{Address: l.Addr().String(), DeviceID: localDevice, ElectionID: 2}}
	c, err := b.remote.connect(b.ctx, b.pipeline)
	b.check(err)
	b.check(b.connection.now.Swap(c).close())
	b.check(b.begin(c))
	slow := &slow{target: b.connection}
	b.offload.target = slow
	var run sync.WaitGroup
	run.Go(func() { b.offload.run(b.ctx) })
	run.Go(b.follow)
	t.Cleanup(func() {
		b.offload.close()
		b.stop()
		run.Wait()
	})
	there := func() bool { return b.offload.failure() == nil }
	b.set(plainSession(1))
	b.offload.flush()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})

	slow.left.Store(1) // the connection stays
	b.set(plainSession(2))
	b.wait("the write is lost", func() bool { return !there() })
	b.wait("connected again", there)
	b.offload.flush()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	b.wantTarget(0, uplink(2, 100), pdr{2, 1})
	if got := b.usage(1); got != 200 {
		t.Errorf("usage is %d, want 200", got)
	}
	if other := b.connection.now.Load(); other == c {
		t.Error("it is the connection of before")
	}

	b.local.server.Close()
	b.wait("the target is away", func() bool { return !there() })
	if err := b.apply(&api.Change{Seid: 3, Session: plainSession(3)}); err == nil || !strings.Contains(err.Error(), "the target is away") {
		t.Errorf("a change while it is away: %v", err)
	}
	if _, err := b.connection.write(b.ctx, []*p4rt.Update{{}}); err == nil {
		t.Error("something is written")
	}
	old := b.local
	b.local = newLocal(b.host.clock, b.log)
	b.local.changed, b.local.seen = old.changed, old.seen
	l, err = net.Listen("tcp", b.remote.target.Address)
	b.check(err)
	go func() { _ = b.local.server.Serve(l) }()
	b.wait("another one is there", there)
	b.offload.flush()
	b.lane.Close()
	b.lane = &lane{l: b.local}
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	b.set(&api.Session{Seid: 1})
	b.set(&api.Session{Seid: 2})
	b.offload.flush()
	b.wantEmpty()
}
