package gnb

import (
	"encoding/hex"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
)

func header(t testing.TB, s string) gtpu.Header {
	t.Helper()
	h, err := gtpu.Parse(octets(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEchoAnswered sends an Echo Request from a port of the peer's choice.
func TestEchoAnswered(t *testing.T) {
	d, _ := newDownlink(t)
	peer := listenLoopback(t)
	d.take(peer.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort(), octets(t, "3201 0004 00000000 abcd 0000"))
	if got, want := receive(t, peer, 1)[0], "3202000600000000abcd00000e00"; got != want {
		t.Errorf("answer: got %s, want %s", got, want)
	}
	if n := d.paths.sent.Load(); n != 1 {
		t.Errorf("got %d Echo Responses sent, want 1", n)
	}
}

func TestEchoResponse(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		from     netip.Addr
		want     uint64 // answers
	}{
		{"the answer", "3202 0006 00000000 0001 0000 0e00", loopback, 1},
		{"another sequence number", "3202 0006 00000000 0002 0000 0e00", loopback, 0},
		{"no sequence number", "3002 0002 00000000 0e00", loopback, 0},
		{"another peer", "3202 0006 00000000 0001 0000 0e00", netip.MustParseAddr("127.0.0.9"), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPaths(listenLoopback(t), []UE{testUE}, slog.New(slog.DiscardHandler))
			p.answered(header(t, tc.in), tc.from) // before it was asked for
			p.request(loopback, p.byUPF[loopback])
			for range 2 { // the second is a duplicate
				p.answered(header(t, tc.in), tc.from)
			}
			if s := p.stats()[0]; s.EchoRequests != 1 || s.EchoResponses != tc.want {
				t.Errorf("got %d requests, %d answers; want 1, %d", s.EchoRequests, s.EchoResponses, tc.want)
			}
		})
	}
}

// TestEchoMissed lets requests go unanswered and then answers one.
func TestEchoMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaths(listenLoopback(t), []UE{testUE}, slog.New(slog.DiscardHandler))
		path := p.byUPF[loopback]
		for range 1 + maxMissed {
			p.request(loopback, path)
		}
		if path.missed != maxMissed {
			t.Errorf("got %d missed, want %d", path.missed, maxMissed)
		}
		time.Sleep(3 * time.Millisecond)
		p.answered(header(t, "3202 0006 00000000 0004 0000 0e00"), loopback)
		if s := p.stats()[0]; path.missed != 0 || s.RTT != 3*time.Millisecond || s.EchoResponses != 1 {
			t.Errorf("got %d missed, %+v; want 0 and 1 answer after 3ms", path.missed, s)
		}
	})
}

// TestErrorIndicationSent sends packets with a TEID that nobody has.
func TestErrorIndicationSent(t *testing.T) {
	d, _ := newDownlink(t)
	const packets = 1000
	for range packets {
		d.take(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), 2152), octets(t, "30ff 0014 0000ff01"+user4))
	}
	if n := d.indic.sent.Load(); n < 1 || n >= packets/2 {
		t.Errorf("got %d Error Indications for %d packets, want about %d", n, packets, indicationsPerSecond)
	}
	got := hex.EncodeToString(appendErrorIndication(nil, 0xff01, loopback))
	if want := "321a0010000000000000000010" + "0000ff01" + "850004" + "7f000001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzErrorIndication reads IEs: what was understood is the same when it is
// written and read again.
func FuzzErrorIndication(f *testing.F) {
	f.Add(octets(f, "10 00000011 85 0004 7f000001"))
	f.Add(octets(f, "0e05 10 00000011 85 0004 7f000001 8d 0002 0868"))
	f.Add(octets(f, "10 00000011 85 0010 fd000000000000000000000000000001"))
	f.Add(octets(f, "10 000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		teid, peer, ok := parseErrorIndication(b)
		if !ok || !peer.Is4() {
			return
		}
		again := appendErrorIndication(nil, teid, peer)
		h, err := gtpu.Parse(again)
		if err != nil {
			t.Fatal(err)
		}
		teid2, peer2, ok := parseErrorIndication(again[len(h):])
		if !ok || teid2 != teid || peer2 != peer {
			t.Errorf("%x: got %d, %v, then %d, %v, %v", b, teid, peer, teid2, peer2, ok)
		}
	})
}
