package n4

import (
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestRepeatedInBatch: requests that were repeated while nobody read, which are read
// at once then, have one answer each; one that comes later has its own.
func TestRepeatedInBatch(t *testing.T) {
	var c *client
	heartbeat := mustAppend(t, 7, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1})
	b := newBedFrom(t, Config{Sockets: 1}, time.Minute, func(e *Endpoint) {
		c = (&bed{Endpoint: e}).client(t, "127.0.0.2")
		setup := mustAppend(t, 8, associationSetup("127.0.0.2"))
		for range 3 {
			c.send(heartbeat)
		}
		for range 3 {
			c.send(setup)
		}
	})
	for _, want := range []struct {
		seq     uint32
		message pfcp.Message
	}{
		{7, &pfcp.HeartbeatResponse{}}, {8, &pfcp.AssociationSetupResponse{}}, {9, &pfcp.HeartbeatResponse{}},
	} {
		if want.seq == 9 {
			c.send(mustAppend(t, 9, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}))
		}
		c.seq = want.seq
		c.decode(c.receive(5*time.Second), want.message)
	}
	for range 2 {
		c.seq = 7
		c.decode(c.ask(heartbeat), &pfcp.HeartbeatResponse{})
	}
	if n := b.Counters().Dropped[DropInProgress].Load(); n != 4 {
		t.Errorf("%d repetitions without an answer, want 4", n)
	}
}

func associationSetup(node string) *pfcp.AssociationSetupRequest {
	return &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, RecoveryTimeStamp: pfcp.NewTimeStamp(recoveryTime)}
}
