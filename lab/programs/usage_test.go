package programs_test

import (
	"testing"
	"time"
)

// volume is what was carried one way: user packets, and their octets from the
// IP header on.
type volume struct{ packets, octets uint64 }

func (v volume) minus(w volume) volume { return volume{v.packets - w.packets, v.octets - w.octets} }

// usage is what was carried of one UE, by two accounts.
type usage struct {
	up, down       volume // the UPF's: the session's URR
	sent, received volume // the gNB's
}

func (b *bed) usage(t *testing.T, ue int) usage {
	t.Helper()
	s, err := b.upf.Session(t.Context(), b.sessions[ue].RemoteSEID)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rules.URRs) != 1 {
		t.Fatalf("session of UE %d: %d URRs, want 1", ue, len(s.Rules.URRs))
	}
	r, g := s.Rules.URRs[0], b.gnb.Stats().UEs[ue]
	return usage{
		up: volume{r.UplinkPackets, r.UplinkOctets}, down: volume{r.DownlinkPackets, r.DownlinkOctets},
		sent: volume{g.UplinkPackets, g.UplinkOctets}, received: volume{g.DownlinkPackets, g.DownlinkOctets},
	}
}

const (
	// stillTime is how long accounts that need not agree stand still at the end.
	stillTime = 300 * time.Millisecond
	// patience is how long those that must agree may: machines are slow.
	patience = 30 * time.Second
)

// during returns what f adds to the usage of a UE, once both accounts agree or
// have stood still for so long. It begins where the one before ended: a
// connection may send its last packets when the program has long returned.
func (b *bed) during(t *testing.T, ue int, still time.Duration, f func()) usage {
	t.Helper()
	before := b.seen[ue]
	f()
	for since := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		now := b.usage(t, ue)
		if now != b.seen[ue] {
			b.seen[ue], since = now, time.Now()
		}
		u := usage{now.up.minus(before.up), now.down.minus(before.down), now.sent.minus(before.sent), now.received.minus(before.received)}
		if u.up == u.sent && u.down == u.received || time.Since(since) > still {
			return u
		}
	}
}

// carried runs f, of whose packets none may be lost, and checks that the UPF
// measured all that the gNB sent and received, and at least some packets each
// way.
func (b *bed) carried(t *testing.T, ue int, atLeast usage, f func()) {
	t.Helper()
	u := b.during(t, ue, patience, f)
	if u.up != u.sent || u.down != u.received {
		t.Errorf("URR counted %+v up, %+v down; the gNB sent %+v and received %+v", u.up, u.down, u.sent, u.received)
	}
	if short(u.up, atLeast.up) || short(u.down, atLeast.down) {
		t.Errorf("URR counted %+v up, %+v down; want at least %+v and %+v", u.up, u.down, atLeast.up, atLeast.down)
	}
}

// streamed is carried for TCP, which may lose packets before the UPF and behind
// it: neither account may be of more than went in. f returns the octets that the
// receiving ends got.
func (b *bed) streamed(t *testing.T, ue int, f func() (up, down uint64)) {
	t.Helper()
	var up, down uint64
	u := b.during(t, ue, stillTime, func() { up, down = f() })
	if short(u.sent, u.up) || short(u.down, u.received) {
		t.Errorf("URR counted %+v up, %+v down; the gNB sent %+v and received %+v", u.up, u.down, u.sent, u.received)
	}
	if u.up.octets < up || u.received.octets < down {
		t.Errorf("URR counted %+v up, the gNB received %+v; programs got %d octets up, %d down", u.up, u.received, up, down)
	}
}

// short reports whether v is less than w.
func short(v, w volume) bool { return v.packets < w.packets || v.octets < w.octets }
