package n4

import (
	"bytes"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// bundle puts messages into one datagram.
func bundle(messages ...[]byte) []byte {
	var b []byte
	for i, m := range messages {
		m = bytes.Clone(m)
		if i < len(messages)-1 {
			m[0] |= 0x04 // FO
		}
		b = append(b, m...)
	}
	return b
}

// TestBundle: each message of a peer's bundle is answered in a datagram of its
// own, in order; of a stranger's the first alone, and of no more than so many.
func TestBundle(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c, stranger := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
	heartbeat := mustAppend(t, 50, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1})
	if got := stranger.answersTo([][]byte{bundle(heartbeat, heartbeat, heartbeat)}); got != 1 {
		t.Errorf("a stranger's bundle has %d answers, want 1", got)
	}
	c.associate("127.0.0.2", recoveryTime)
	c.send(bundle(
		mustAppend(t, 51, usual("127.0.0.2", "10.45.0.2")), heartbeat,
		mustAppend(t, 52, usual("127.0.0.2", "10.45.0.3")),
	))
	for _, seq := range []uint32{51, 52} {
		if seq == 52 {
			var r pfcp.HeartbeatResponse
			c.seq = 50
			c.decode(c.receive(5*time.Second), &r)
		}
		var r pfcp.SessionEstablishmentResponse
		c.seq = seq
		if c.decode(c.receive(5*time.Second), &r); r.Cause != pfcp.CauseRequestAccepted {
			t.Errorf("establishment %d: %v", seq, r.Cause)
		}
	}
	many := make([][]byte, 2*maxBundled)
	for i := range many {
		many[i] = mustAppend(t, 60+uint32(i), &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1})
	}
	if got := c.answersTo([][]byte{bundle(many...)}); got != maxBundled {
		t.Errorf("a bundle of %d has %d answers, want %d", len(many), got, maxBundled)
	}
	if n, d := b.sessions.Len(), b.Counters().Dropped[DropBundled].Load(); n != 2 || d != 2 {
		t.Errorf("%d sessions, %d bundles cut; want 2 and 2", n, d)
	}
}
