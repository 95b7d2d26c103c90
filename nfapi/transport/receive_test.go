package transport

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

var peerOne, peerTwo = netip.MustParseAddrPort("192.0.2.1:50010"), netip.MustParseAddrPort("192.0.2.2:50010")

// cut makes the datagrams of an RX_DATA.indication of size octets.
func cut(t testing.TB, size, segment int, phy uint16, sequence uint8) [][]byte {
	t.Helper()
	p := nfapi.OAI2025
	b := make([]byte, size+1000)
	h := nfapi.Header{PhyID: phy}
	n, err := p.EncodeP7(&h, block(size), b)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	if err := p.Segments(&h, b[:n], segment, sequence, make([]byte, 4*len(b)), func(d []byte) error {
		p.Seal(h.Generation, d, 1)
		list = append(list, bytes.Clone(d))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// feed gives datagrams to a receiver without a socket, at a time of its own.
type feed struct {
	*receiver
	at  time.Time
	got []message
}

func newFeed(t testing.TB, c P7Config) *feed {
	return &feed{receiver: &opened(t, c).receiver, at: time.Unix(0, 0)}
}

func (f *feed) give(from netip.AddrPort, b []byte) {
	f.one(from, b, f.at, 0, func(d *Datagram) {
		f.got = append(f.got, message{id: d.Header.MessageID, phy: d.Header.PhyID, sequence: d.Header.Sequence(), body: bytes.Clone(d.Body), from: d.From})
	})
}

// TestInterleaved: segments of several messages, PHYs and senders in any order, some of
// them twice, make each message once.
func TestInterleaved(t *testing.T) {
	f := newFeed(t, P7Config{})
	want := bodyOf(t, nfapi.OAI2025, block(5000))
	type piece struct {
		from  netip.AddrPort
		octet []byte
	}
	var all []piece
	for _, from := range []netip.AddrPort{peerOne, peerTwo} {
		for phy := range uint16(2) {
			for sequence := range uint8(3) {
				for _, d := range cut(t, 5000, 1000, phy, 254+sequence) { // it comes round
					all = append(all, piece{from, d}, piece{from, d})
				}
			}
		}
	}
	for range 50 {
		f.at, f.got = f.at.Add(time.Second), nil
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all {
			f.give(p.from, p.octet)
		}
		if len(f.got) != 12 {
			t.Fatalf("got %d messages, want 12", len(f.got))
		}
		for _, m := range f.got {
			if !bytes.Equal(m.body, want) {
				t.Fatalf("got a body of %d octets, want %d", len(m.body), len(want))
			}
		}
	}
	if s := f.Stats(); s.Incomplete != 0 || s.Contradictory != 0 || s.Repeated != 50*uint64(len(all))/2 {
		t.Errorf("got %+v", s)
	}
}

// TestTimeout: what lies too long is not put together with a later message of the same
// number.
func TestTimeout(t *testing.T) {
	f := newFeed(t, P7Config{Timeout: 10 * time.Millisecond})
	list := cut(t, 1500, 1000, 1, 7)
	f.give(peerOne, list[0])
	f.at = f.at.Add(11 * time.Millisecond)
	f.give(peerOne, list[1])
	f.at = f.at.Add(9 * time.Millisecond)
	f.give(peerOne, list[0])
	if s := f.Stats(); len(f.got) != 1 || s.Incomplete != 1 {
		t.Errorf("got %d messages, %+v", len(f.got), s)
	}
	f.give(peerOne, list[0]) // on its way twice
	f.at = f.at.Add(11 * time.Millisecond)
	f.give(peerOne, list[0]) // its number has come round
	f.give(peerOne, list[1])
	if s := f.Stats(); len(f.got) != 2 || s.Repeated != 1 {
		t.Errorf("got %d messages, %+v", len(f.got), s)
	}
}

// TestNumbersComeRound: at slots of 125 us, four messages in each and the last of them in
// segments, numbers come round after 8 ms: no message is taken for an earlier one, whole
// or not.
func TestNumbersComeRound(t *testing.T) {
	f := newFeed(t, P7Config{})
	for i := range 256 {
		f.at = f.at.Add(125 * time.Microsecond)
		list := cut(t, 1500, 1000, 1, uint8(4*i+3))
		if i == 3 {
			list = list[:1] // the other one is lost
		}
		for _, d := range list {
			f.give(peerOne, d)
		}
	}
	if s := f.Stats(); len(f.got) != 255 || s.Incomplete != 1 || s.Repeated != 0 {
		t.Errorf("got %d messages, want 255: %+v", len(f.got), s)
	}
}

// TestBounds: however many senders begin however many messages, no more are kept than
// may be, and who is heard among them is.
func TestBounds(t *testing.T) {
	f := newFeed(t, P7Config{Senders: 4})
	first := cut(t, 1500, 1000, 1, 7)[0]
	for i := range 1000 {
		f.at = f.at.Add(time.Microsecond)
		f.give(netip.AddrPortFrom(netip.MustParseAddr("198.51.100.1"), uint16(i)), first)
	}
	if s := f.Stats(); len(f.partials) != maxPartial || len(f.senders) != 4 || len(f.spoken) > maxTargets || s.Incomplete != 1000-maxPartial || s.Replaced != 996 {
		t.Errorf("got %d messages begun, %d senders, %+v", len(f.partials), len(f.senders), s)
	}
	for _, d := range cut(t, 1500, 1000, 1, 8) {
		f.give(peerOne, d)
	}
	if len(f.got) != 1 {
		t.Errorf("got %d messages, want 1", len(f.got))
	}
}

// TestDamaged: what has a wrong checksum or no header is dropped and counted; the rest
// of the message makes none.
func TestDamaged(t *testing.T) {
	f := newFeed(t, P7Config{})
	list := cut(t, 1500, 1000, 1, 7)
	wrong := bytes.Clone(list[0])
	wrong[500] ^= 1
	f.give(peerOne, wrong)
	f.give(peerOne, list[1])
	f.give(peerOne, list[0][:100])
	f.give(peerOne, nil)
	f.give(peerOne, []byte{1, 0, 0, 0x82, 0, 0, 0, 0}) // FAPI
	if s := f.Stats(); len(f.got) != 0 || s.WrongChecksum != 1 || s.Malformed != 3 {
		t.Errorf("got %d messages, %+v", len(f.got), s)
	}
	f.give(peerOne, list[0])
	if len(f.got) != 1 {
		t.Errorf("got %d messages, want 1", len(f.got))
	}
}

// FuzzReceive: whatever datagrams come, each is a message, a segment, or counted as
// what is wrong with it; memory stays within its bounds, and afterwards a good message
// arrives.
func FuzzReceive(f *testing.F) {
	for _, d := range cut(f, 1500, 1000, 1, 7) {
		f.Add(d, uint16(1))
	}
	f.Add([]byte("0001008200000016000700000000"), uint16(2))
	good := cut(f, 2500, 1000, 1, 9)
	shared := newFeed(f, P7Config{NoChecksum: true, Senders: 3})
	f.Fuzz(func(t *testing.T, b []byte, port uint16) {
		before := shared.Stats()
		shared.got = nil
		if len(b) >= 18 { // an absent checksum is as good as a right one
			clear(b[10:14])
		}
		shared.give(netip.AddrPortFrom(peerTwo.Addr(), port), b)
		s := shared.Stats()
		if len(shared.got)+int(s.Malformed-before.Malformed+s.WrongChecksum-before.WrongChecksum+s.Segments-before.Segments) < 1 {
			t.Errorf("%x: got %+v, before %+v", b, s, before)
		}
		if len(shared.partials) > maxPartial || len(shared.senders) > 3 {
			t.Errorf("%d messages begun, %d senders", len(shared.partials), len(shared.senders))
		}
		shared.at, shared.got = shared.at.Add(time.Second), nil
		for _, d := range good {
			shared.give(peerOne, d)
		}
		if len(shared.got) != 1 {
			t.Fatalf("%x: a good message made %d", b, len(shared.got))
		}
	})
}
