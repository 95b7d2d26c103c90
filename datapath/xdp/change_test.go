package xdp

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestChangeUnderTraffic changes a rule back and forth while packets run
// through it: every packet is treated by the one rule or by the other, whole,
// and none is lost.
func TestChangeUnderTraffic(t *testing.T) {
	b := openBed(t, conformance.MaxSessions)
	before, after := conformance.Sessions()[0], conformance.Sessions()[0]
	after.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x777, Ipv4: 0x0a030003}
	after.Rules[1].Forward.Dscp = new(uint32)
	after.Qers[0].Qfi = 33
	down := conformance.Frames(conformance.N6)[0]

	var outcomes [2]conformance.Outcome
	for i, s := range []*api.Session{after, before} {
		apply(t, b, s)
		outcomes[i] = b.Frame(t, conformance.N6, bytes.Clone(down))
		if outcomes[i].Reason != datapath.ReasonNone {
			t.Fatalf("session %d: %v", i, outcomes[i].Reason)
		}
	}

	stop := make(chan struct{})
	var changer sync.WaitGroup
	changer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				apply(t, b, after)
				apply(t, b, before)
			}
		}
	})
	seen := [2]int{}
	for range 20_000 {
		got := b.Frame(t, conformance.N6, bytes.Clone(down))
		switch {
		case bytes.Equal(got.Packet, outcomes[0].Packet):
			seen[0]++
		case bytes.Equal(got.Packet, outcomes[1].Packet):
			seen[1]++
		default:
			t.Fatalf("a mixture, or lost: %v\n got %x\nwant %x\n  or %x", got.Reason, got.Packet, outcomes[0].Packet, outcomes[1].Packet)
		}
		for _, o := range outcomes {
			if bytes.Equal(got.Packet, o.Packet) && got.Ethernet != nil && !bytes.Equal(got.Ethernet, o.Ethernet) {
				t.Fatalf("packet to one peer, MAC address of the other: %x", got.Ethernet)
			}
		}
	}
	close(stop)
	changer.Wait()
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("saw one rule %d times and the other %d times: the test shows nothing", seen[0], seen[1])
	}
	usage, err := b.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	if got := usage.GetRules()[1].GetPackets(); got != 20_002 {
		t.Errorf("counted %d packets, want 20002", got)
	}
}

func apply(t *testing.T, b *bed, s *api.Session) {
	if err := b.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Error(err)
	}
}
