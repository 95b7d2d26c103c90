package xdp

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestPaths: a peer that does not answer is asked N3 times, then told of, once,
// and told of again when it answers. A stranger's answer does not count.
func TestPaths(t *testing.T) {
	b := openTables(t, 64)
	b.paths.Interval = time.Minute     // the rounds are ours
	for _, slot := range b.hops.slot { // leave one peer
		if key := b.hops.keyOf(slot); !key.isN6() && key.addr != conformance.GNBAddress {
			b.hops.release(slot)
		}
	}
	now := time.Unix(1000, 0)
	round := func(after time.Duration, requests int) {
		t.Helper()
		now = now.Add(after)
		b.paths.Round(b.hops.peers(), now)
		if sent := b.Sent(t); len(sent) != requests {
			t.Errorf("at %v: %d messages sent, want %d", now, len(sent), requests)
		}
	}
	answer := func(from netip.Addr, seq uint16) {
		b.paths.Answered(stages.Datagram{From: netip.AddrPortFrom(from, gtpu.Port), Payload: gtpu.AppendEchoResponse(nil, seq)})
	}
	round(0, 1)
	answer(conformance.GNBAddress, 1)
	round(time.Second, 0)
	round(50*time.Second, 0)
	round(10*time.Second, 1) // the interval is over: number 2
	answer(conformance.GNBAddress2, 2)
	answer(conformance.GNBAddress, 1)
	round(stages.EchoT3, 1)
	round(stages.EchoT3, 1)
	round(stages.EchoT3, 0) // given up
	expectPath(t, b, api.EventKind_PATH_DOWN)
	round(time.Minute, 1) // number 3
	answer(conformance.GNBAddress, 3)
	round(time.Second, 0)
	expectPath(t, b, api.EventKind_PATH_UP)
}

func expectPath(t *testing.T, b *bed, want api.EventKind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	e, err := b.Next(ctx)
	if err != nil || e.GetKind() != want || e.GetTunnel().GetIpv4() != 0x0a030002 {
		t.Errorf("got %v, %v; want %v", e, err, want)
	}
}
