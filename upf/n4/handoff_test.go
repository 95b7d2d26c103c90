package n4

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

var quietLog = slog.New(slog.DiscardHandler)

// TestHandlers: with handlers, a session's requests are done in order, one that
// is being worked on is not begun again, heartbeats do not wait for it, and what
// waits is bounded.
func TestHandlers(t *testing.T) {
	b := newBed(t, Config{Handlers: 4, Sockets: 1, QueueOctets: 4096})
	c := b.client(t, "127.0.0.2")
	c.associate("127.0.0.2", recoveryTime)
	seid := c.establish(usual("127.0.0.2", "10.45.0.2")).UPFSEID.Value.SEID
	hold := make(chan struct{})
	b.driver.mu.Lock()
	b.driver.hold = hold
	b.driver.mu.Unlock()

	update := func(seq uint32, action pfcp.ApplyAction) []byte {
		m, err := pfcp.Append(nil, pfcp.Header{SEID: seid, Sequence: seq}, &pfcp.SessionModificationRequest{
			UpdateFARs: []pfcp.UpdateFAR{{FARID: 1, ApplyAction: pfcp.Some(action)}}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for seq := range uint32(5) {
		c.send(update(100+seq, pfcp.ApplyDROP))
		c.send(update(100+seq, pfcp.ApplyDROP))
	}
	c.send(update(105, pfcp.ApplyFORW))
	c.heartbeat()
	if n := b.Counters().Dropped[DropInProgress].Load(); n != 5 {
		t.Errorf("%d repetitions dropped, want 5", n)
	}
	for i := range 50 { // more than may wait
		c.send(mustAppend(t, 200+uint32(i), usual("127.0.0.2", fmt.Sprint("10.46.0.", i))))
	}
	c.heartbeat()
	dropped := b.Counters().Dropped[DropQueue].Load()
	if dropped == 0 || dropped == 50 || b.handlers.octets.Load() > 4096 {
		t.Errorf("%d of 50 dropped, %d octets wait; want some, and no more than 4096", dropped, b.handlers.octets.Load())
	}
	close(hold)
	answered, last := 0, uint32(99)
	for range 6 + 50 - int(dropped) {
		h, _, _, err := pfcp.Parse(c.receive(5 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if answered++; h.Type == pfcp.MsgSessionModificationResponse {
			if h.Sequence != last+1 {
				t.Errorf("response %d after %d", h.Sequence, last)
			}
			last = h.Sequence
		}
	}
	if got := b.driver.held()[seid].Rules[0].Forward.Action; last != 105 || got != 1 {
		t.Errorf("last response %d, action %v; want 105 and FORW", last, got)
	}
	c.seq = 105
	var r pfcp.SessionModificationResponse
	c.decode(c.ask(update(105, pfcp.ApplyFORW)), &r) // from the cache
	if n := b.Counters().Duplicates.Load(); n != 1 {
		t.Errorf("%d duplicates, want 1", n)
	}
	eventually(t, "an empty queue", func() bool { return b.handlers.octets.Load() == 0 })
	if n := b.cache.inProgress(); n != 0 {
		t.Errorf("%d requests are noted as being worked on, want none", n)
	}
}

// TestRate: who sends more requests than it may is not answered, and others are.
func TestRate(t *testing.T) {
	b := newBed(t, Config{RequestsPerSecond: 20, Sockets: 1})
	c, other := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	c.associate("127.0.0.2", recoveryTime)
	time.Sleep(200 * time.Millisecond) // strangers have a limit too
	other.associate("127.0.0.3", recoveryTime)
	for i := range 100 {
		c.send(mustAppend(t, 200+uint32(i), &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}))
	}
	other.heartbeat()
	if n := b.Counters().Dropped[DropRate].Load(); n < 50 || n > 98 {
		t.Errorf("%d of 100 dropped, want most and not all", n)
	}
	// In the long run it is the rate.
	var k bucket
	at, taken := time.Unix(1000, 0), 0
	for range 10_000 {
		at = at.Add(time.Millisecond)
		if k.take(at, 100) {
			taken++
		}
	}
	if taken < 1000 || taken > 1012 {
		t.Errorf("%d requests in 10 s at 100/s", taken)
	}
}

// TestSessionLimit: an association has no more sessions than it may.
func TestSessionLimit(t *testing.T) {
	b := newBed(t, Config{MaxSessionsPerAssociation: 2})
	c := b.client(t, "127.0.0.2")
	c.associate("127.0.0.2", recoveryTime)
	c.establish(usual("127.0.0.2", "10.45.0.1"))
	seid := c.establish(usual("127.0.0.2", "10.45.0.2")).UPFSEID.Value.SEID
	var r pfcp.SessionEstablishmentResponse
	if c.do(0, usual("127.0.0.2", "10.45.0.3"), &r); r.Cause != pfcp.CauseNoResourcesAvailable {
		t.Errorf("a third session: %v, want %v", r.Cause, pfcp.CauseNoResourcesAvailable)
	}
	c.do(seid, &pfcp.SessionDeletionRequest{}, &pfcp.SessionDeletionResponse{})
	c.establish(usual("127.0.0.2", "10.45.0.3"))
}

// TestAlternativeAddress: another SMF of a set with one association speaks from
// its Alternative SMF IP Address, and from no other.
func TestAlternativeAddress(t *testing.T) {
	b := newBed(t, Config{Peers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	c, d, thief := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3"), b.client(t, "127.0.0.4")
	var setup pfcp.AssociationSetupResponse
	c.do(0, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.2")},
		Alternatives: []pfcp.CPAddress{{IPv4: netip.MustParseAddr("127.0.0.3")}}}, &setup)
	seid := c.establish(usual("127.0.0.2", "10.45.0.1")).UPFSEID.Value.SEID
	var r pfcp.SessionModificationResponse
	if thief.do(seid, &pfcp.SessionModificationRequest{}, &r); r.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
		t.Errorf("from elsewhere: %v", r.Cause)
	}
	change := &pfcp.SessionModificationRequest{CPFSEID: pfcp.Some(pfcp.FSEID{SEID: 77, IPv4: netip.MustParseAddr("127.0.0.3")})}
	if h := d.do(seid, change, &r); r.Cause != pfcp.CauseRequestAccepted || h.SEID != 77 {
		t.Errorf("from the alternative address: %v, SEID %d; want accepted, 77", r.Cause, h.SEID)
	}
	d.establish(usual("127.0.0.2", "10.45.0.2"))
	a := b.peers.list()[0]
	if _, to, ok := b.standIn(a.owner); ok {
		t.Errorf("%v stands in for an SMF that is there", to)
	}
	a.pathDown.Store(true)
	if by, to, ok := b.standIn(a.owner); !ok || by != a || to.Addr() != netip.MustParseAddr("127.0.0.3") {
		t.Errorf("%v stands in, want the alternative address", to)
	}
	var u pfcp.AssociationUpdateResponse
	c.do(0, &pfcp.AssociationUpdateRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.2")},
		Alternatives: []pfcp.CPAddress{{IPv4: netip.MustParseAddr("127.0.0.4")}}}, &u)
	if d.do(seid, &pfcp.SessionModificationRequest{}, &r); r.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
		t.Errorf("from an address that is not the alternative one any more: %v", r.Cause)
	}
}

// inProgress is how many requests are being worked on elsewhere.
func (c *responseCache) inProgress() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += len(s.working)
		s.mu.Unlock()
	}
	return n
}
