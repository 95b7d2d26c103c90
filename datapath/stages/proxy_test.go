package stages

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// frameOf reads hex with spaces.
func frameOf(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// proxying is a change of a session's FARs.
func proxying(up, down *api.Rule) {
	for _, r := range []*api.Rule{up, down} {
		r.Forward.ProxyArp, r.Forward.ProxyNd = true, true
	}
}

// Frames of ARP: who has 192.168.0.2 is asked by UE 1 and by a host of the data network,
// and UE 2 shows that he has it.
const (
	arpOf2     = "ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 c0a80002 000000000000 c0a80009"
	arpFrom1   = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c0a80001 000000000000 c0a80002"
	arpFrom9   = "ffffffffffff 020000000009 0806 0001 0800 06 04 0001 020000000009 c0a80009 000000000000 c0a80002"
	answerTo1  = "020000000001 020000000002 0806 0001 0800 06 04 0002 020000000002 c0a80002 020000000001 c0a80001"
	answerTo9  = "020000000009 020000000002 0806 0001 0800 06 04 0002 020000000002 c0a80002 020000000009 c0a80009"
	arpStolen  = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c0a80002 000000000000 c0a80009"
	arpForged  = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000002 c0a80007 000000000000 c0a80009"
	arpForSeen = "ffffffffffff 020000000009 0806 0001 0800 06 04 0001 020000000009 c0a80009 000000000000 c0a80007"
)

// TestProxyARP: a request is answered from what was heard, both ways, whoever else
// claims the address, and not flooded; what nobody has shown is flooded.
func TestProxyARP(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1, proxying))
	l.install(t, etherSession(2, proxying))
	if got := l.up(1, frameOf(t, arpFrom1)); got.Reason != datapath.ReasonNone || len(l.sent) != 1 {
		t.Fatalf("nobody has shown: got %v, %d copies", got.Reason, len(l.sent))
	}
	l.up(2, frameOf(t, arpOf2))
	for _, forged := range []string{arpStolen, arpForged} {
		l.up(1, frameOf(t, forged))
	}
	l.sent = nil
	if got := l.up(1, frameOf(t, arpFrom1)); got.Reason != datapath.DropProxied || len(l.sent) != 1 {
		t.Fatalf("uplink: got %v, sent %x", got.Reason, l.sent)
	}
	if got, want := carried(t, Frame{Packet: l.sent[0], Tunnel: true}, 0x101), frameOf(t, answerTo1); !bytes.Equal(got, want) {
		t.Errorf("uplink:\n got %x\nwant %x", got, want)
	}
	l.sent = nil
	outs := l.FromEthernet(2, frameOf(t, arpFrom9))
	if len(outs) != 1 || outs[0].Reason != datapath.DropProxied || len(l.sent) != 1 || !bytes.Equal(l.sent[0], frameOf(t, answerTo9)) {
		t.Errorf("downlink: got %+v, sent %x", outs, l.sent)
	}
	if outs := l.FromEthernet(2, frameOf(t, arpForSeen)); len(outs) != 2 {
		t.Errorf("a sender's address that is not the frame's was believed: %+v", outs)
	}
	if err := l.Apply(t.Context(), &api.Change{Seid: 2}); err != nil {
		t.Fatal(err)
	}
	if outs := l.FromEthernet(2, frameOf(t, arpFrom9)); len(outs) != 1 || outs[0].Reason != datapath.ReasonNone {
		t.Errorf("after the session: got %+v", outs)
	}
	l.now += uint64(stationAge)
	if n := len(l.stages.Bridge.proxies.owned); n > 2 {
		t.Errorf("bindings of %d owners", n)
	}
}

// solicitation is a Neighbour Solicitation in a frame to a group, with the source's
// address as option if it has one.
func solicitation(from byte, source, target string) []byte {
	src, dst := netip.MustParseAddr(source), netip.MustParseAddr("ff02::1:ff00:2")
	body := append([]byte{ndNeighbourSolicitation, 0, 0, 0, 0, 0, 0, 0}, netip.MustParseAddr(target).AsSlice()...)
	if !src.IsUnspecified() {
		body = append(body, optionSource, 1, 2, 0, 0, 0, 0, from)
	}
	f := ether(0, from, inet.EtherIPv6, string(packet6(inet.ProtoICMPv6, 0, src, dst, ndHopLimit, body, 2)))
	copy(f, []byte{0x33, 0x33, 0xff, 0, 0, 2})
	return f
}

// TestProxyND: a solicitation is answered for who had looked whether his address is
// free, but not to himself.
func TestProxyND(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1, proxying))
	l.install(t, etherSession(2, proxying))
	if got := l.up(2, solicitation(2, "::", "fd00::2")); got.Reason != datapath.ReasonNone {
		t.Fatalf("detection of duplicates: got %v", got.Reason)
	}
	l.sent = nil
	if got := l.up(1, solicitation(1, "fd00::1", "fd00::2")); got.Reason != datapath.DropProxied || len(l.sent) != 1 {
		t.Fatalf("got %v, sent %x", got.Reason, l.sent)
	}
	got := carried(t, Frame{Packet: l.sent[0], Tunnel: true}, 0x101)
	body := append([]byte{ndNeighbourAdvertisement, 0, 0, 0, ndSolicited, 0, 0, 0}, netip.MustParseAddr("fd00::2").AsSlice()...)
	body = append(body, optionTarget, 1, 2, 0, 0, 0, 0, 2)
	want := ether(1, 2, inet.EtherIPv6, string(packet6(inet.ProtoICMPv6, tosControl, netip.MustParseAddr("fd00::2"), netip.MustParseAddr("fd00::1"), 255, body, 2)))
	if !bytes.Equal(got, want) {
		t.Errorf("\n got %x\nwant %x", got, want)
	}
	if got := l.up(2, solicitation(2, "fd00::2", "fd00::2")); got.Reason != datapath.ReasonNone {
		t.Errorf("one's own address: got %v", got.Reason)
	}
}

// TestProxyNotAsked: without Proxying nothing is answered, and nothing kept.
func TestProxyNotAsked(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1))
	l.install(t, etherSession(2))
	l.up(2, frameOf(t, arpOf2))
	if got := l.up(1, frameOf(t, arpFrom1)); got.Reason != datapath.ReasonNone || len(l.stages.Bridge.proxies.bindings) != 0 {
		t.Errorf("got %v, %d bindings", got.Reason, len(l.stages.Bridge.proxies.bindings))
	}
}

// TestFlood: what is flooded is bounded.
func TestFlood(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1))
	for range copiesPerSecond + 1 {
		l.FromEthernet(2, ether(0xff, 9, 0x88b5, ""))
	}
	if outs := l.FromEthernet(2, ether(0xff, 9, 0x88b5, "")); outs[len(outs)-1].Reason != datapath.DropFlood {
		t.Errorf("got %+v", outs)
	}
}

// TestFloodShare: one UE that floods takes nothing from another, nor from the data
// network, nor do they from it.
func TestFloodShare(t *testing.T) {
	l := newLAN()
	for seid := range uint32(8) {
		l.install(t, etherSession(seid+1))
	}
	flood := func(seid uint32) bool {
		for range copiesPerSecond / 6 {
			l.up(seid, ether(0xff, byte(seid), 0x88b5, ""))
		}
		was := l.drops[datapath.DropFlood]
		l.up(seid, ether(0xff, byte(seid), 0x88b5, ""))
		return l.drops[datapath.DropFlood] > was
	}
	if !flood(1) {
		t.Error("what a UE floods is not bounded")
	}
	for i := range 10 {
		l.sent = nil
		if l.up(2, ether(0xff, 2, 0x88b5, "")); len(l.sent) != 7 {
			t.Errorf("frame %d of another UE: %d copies, want 7", i, len(l.sent))
		}
	}
	for i := range 10 {
		if outs := l.FromEthernet(2, ether(0xff, 9, 0x88b5, "")); len(outs) != 8 {
			t.Errorf("frame %d of the data network: %d copies, want 8", i, len(outs))
		}
	}
	l.now += 10_000_000_000
	l.sent = nil
	for range 20 { // each second, as the second of two
		flood(1)
		l.up(2, ether(0xff, 2, 0x88b5, ""))
		l.now += 1_000_000_000
	}
	if got, least, most := len(l.sent), 19*copiesPerSecond/4, 22*copiesPerSecond/4+20*7; got < least || got > most {
		t.Errorf("half of what is of UEs, for 20 seconds: %d copies, want %d to %d", got, least, most)
	}
}

// FuzzProxy: whatever octets ask a question, the answer is a frame that asks none,
// shows what was said, and is taken for right by who reads it.
func FuzzProxy(f *testing.F) {
	for _, s := range []string{arpFrom1, answerTo1} {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(solicitation(1, "fd00::1", "fd00::2"))
	f.Add(solicitation(2, "::", "fd00::2"))
	m := mac{2, 0, 0, 0, 0, 7}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, reason := parseEthernet(b)
		if reason != datapath.ReasonNone {
			return
		}
		q := frame.question()
		if !q.asked.IsValid() {
			return
		}
		answer, reason := parseEthernet(q.answer(&frame, m))
		if reason != datapath.ReasonNone {
			t.Fatalf("%x: answer: %v", b, reason)
		}
		if a := answer.question(); a.asked.IsValid() || a.has.IsValid() && (a.has != q.asked || a.hasMAC != m) {
			t.Errorf("%x: the answer says %+v", b, a)
		}
	})
}
