package conformance

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// packet is a row: one frame in, and all that must come of it.
type packet struct {
	name   string
	port   Port
	in     []byte
	want   []byte // the whole frame out; nil: none
	reason datapath.Reason
	seid   uint64 // whose counters move; 0: nobody's
	pdr    uint32
	octets uint64   // counted as forwarded; with a drop reason one packet is counted as dropped
	slow   bool     // leaves through the kernel, which makes the Ethernet header
	either bool     // leaves the one way or the other
	split  bool     // holds only where N3 and N6 are separate devices
	frame  bool     // leaves as a frame on an Ethernet data network, whole as it is in want
	also   []packet // what else counts it: seid, pdr, octets, urrs and downlink

	urrs     []uint32 // that count it, if it is forwarded
	downlink bool     // by URRs: came from N3, but not from Source Interface ACCESS
	events   []*api.Event
	sent     [][]byte // IP packets that leave of their own accord
}

func (p packet) run(t *testing.T, d Datapath, fast bool) {
	t.Helper()
	want := usage(t, d)
	got := d.Frame(t, p.port, bytes.Clone(p.in))
	p.compare(t, got, fast)
	p.count(want)
	for _, other := range p.also {
		other.count(want)
	}
	if diff := cmp.Diff(want, usage(t, d)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	expectEvents(t, d, p.events)
	expectSent(t, d, p.sent)
}

// count adds what the packet must have added.
func (p packet) count(all map[uint64]sessionUsage) {
	if p.seid == 0 || p.reason == datapath.PassBuffer {
		return
	}
	rule := all[p.seid].Rules[p.pdr]
	if p.reason != datapath.ReasonNone {
		rule.Dropped++
		all[p.seid].Rules[p.pdr] = rule
		return
	}
	rule.Packets, rule.Octets = rule.Packets+1, rule.Octets+p.octets
	all[p.seid].Rules[p.pdr] = rule
	for _, id := range p.urrs {
		v := all[p.seid].URRs[id]
		if p.downlink || p.port != N3 {
			v.DownlinkPackets, v.DownlinkOctets = v.DownlinkPackets+1, v.DownlinkOctets+p.octets
		} else {
			v.UplinkPackets, v.UplinkOctets = v.UplinkPackets+1, v.UplinkOctets+p.octets
		}
		all[p.seid].URRs[id] = v
	}
}

func (p packet) compare(t *testing.T, got Outcome, fast bool) {
	t.Helper()
	if got.Reason != p.reason || len(got.Several) > 0 {
		t.Errorf("reason %v, want %v", got.Reason, p.reason)
	}
	if p.want == nil {
		if got.Packet != nil {
			t.Errorf("sent %x, want nothing", got.Packet)
		}
		return
	}

	if p.frame {
		if whole := append(bytes.Clone(got.Ethernet), got.Packet...); !bytes.Equal(whole, p.want) {
			t.Errorf("frame\n got %s\nwant %s", hex.Dump(whole), hex.Dump(p.want))
		}
		if fast && (got.Ethernet == nil) != p.slow {
			t.Errorf("took the slow path: %v, want %v", got.Ethernet == nil, p.slow)
		}
		return
	}
	if !bytes.Equal(got.Packet, p.want[inet.LenEthernet:]) {
		t.Errorf("packet\n got %s\nwant %s", hex.Dump(got.Packet), hex.Dump(p.want[inet.LenEthernet:]))
	}
	if p.either && got.Ethernet == nil {
		return
	}
	if fast && !p.slow && !bytes.Equal(got.Ethernet, p.want[:inet.LenEthernet]) {
		t.Errorf("Ethernet header %x, want %x", got.Ethernet, p.want[:inet.LenEthernet])
	}
	if fast && p.slow && got.Ethernet != nil {
		t.Errorf("took the fast path, want the slow one")
	}
}

// eventWait is how long an event may take: it comes in microseconds, but a
// machine may be busy.
const eventWait = 10 * time.Second

// expectEvents states the events that have been raised, in their order.
func expectEvents(t *testing.T, d Datapath, want []*api.Event) {
	t.Helper()
	wait, cancel := context.WithTimeout(context.Background(), eventWait)
	defer cancel()
	var got []*api.Event
	for range want {
		e, err := d.Next(wait)
		if err != nil {
			t.Errorf("event %d of %d: %v", len(got)+1, len(want), err)
			break
		}
		got = append(got, e)
	}
	cancel()
	for { // what is there although it should not be
		e, err := d.Next(wait)
		if err != nil {
			break
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// expectSent states what has left of its own accord.
func expectSent(t *testing.T, d Datapath, want [][]byte) {
	t.Helper()
	got := d.Sent(t)
	for i := range max(len(got), len(want)) {
		var g, w []byte
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if !bytes.Equal(g, w) {
			t.Errorf("packet %d that left of its own accord\n got %s\nwant %s", i+1, hex.Dump(g), hex.Dump(w))
		}
	}
}

type counters struct{ Packets, Octets, Dropped uint64 }

type volume struct{ UplinkOctets, DownlinkOctets, UplinkPackets, DownlinkPackets uint64 }

// sessionUsage is what was counted, by PDR ID and URR ID.
type sessionUsage struct {
	Rules map[uint32]counters
	URRs  map[uint32]volume
}

// usage returns what was counted for all sessions, by SEID.
func usage(t *testing.T, d Datapath) map[uint64]sessionUsage {
	t.Helper()
	all := map[uint64]sessionUsage{}
	for seid := uint64(1); seid <= MaxSessions; seid++ {
		us, err := d.Usage(seid)
		if errors.Is(err, datapath.ErrNoSession) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s := sessionUsage{map[uint32]counters{}, map[uint32]volume{}}
		for _, u := range us.GetRules() {
			s.Rules[u.GetPdrId()] = counters{u.GetPackets(), u.GetOctets(), u.GetDroppedPackets()}
		}
		for _, u := range us.GetUrrs() {
			s.URRs[u.GetUrrId()] = volume{u.GetUplinkOctets(), u.GetDownlinkOctets(), u.GetUplinkPackets(), u.GetDownlinkPackets()}
		}
		all[seid] = s
	}
	return all
}
