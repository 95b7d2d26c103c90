package transport

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

// opened is a P7 that is closed with the test.
func opened(t testing.TB, c P7Config) *P7 {
	t.Helper()
	if !c.Local.IsValid() {
		c.Local = loopback
	}
	p, err := ListenP7(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// message is what came, as a copy.
type message struct {
	id       nfapi.MessageID
	phy      uint16
	sequence uint8
	stamp    uint32
	profile  nfapi.Profile
	body     []byte
	from     netip.AddrPort
}

// received has p receive into a channel.
func received(t testing.TB, p *P7) <-chan message {
	t.Helper()
	list, done := make(chan message, 1000), make(chan error, 1)
	go func() {
		done <- p.Receive(func(d *Datagram) {
			list <- message{d.Header.MessageID, d.Header.PhyID, d.Header.Sequence(), d.Header.Timestamp, d.Profile, bytes.Clone(d.Body), d.From}
		})
	}()
	t.Cleanup(func() {
		p.Close()
		if err := <-done; err != nil {
			t.Errorf("receive: %v", err)
		}
	})
	return list
}

func next(t testing.TB, list <-chan message) message {
	t.Helper()
	select {
	case m := <-list:
		return m
	case <-time.After(patience):
		t.Fatal("no message came")
	}
	return message{}
}

// block is an RX_DATA.indication with a transport block of n octets.
func block(n int) *nfapi.RXDataIndication {
	m := &nfapi.RXDataIndication{SFN: 7, Slot: 3, PDUs: []nfapi.RXDataPDU{{PDULength: uint32(n), Payload: make([]byte, n)}}}
	for i := range n {
		m.PDUs[0].Payload[i] = byte(i * i)
	}
	return m
}

func bodyOf(t testing.TB, p nfapi.Profile, m nfapi.Message) []byte {
	t.Helper()
	b := make([]byte, nfapi.MaxMessage)
	n, err := m.EncodeBody(p, b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// TestP7: messages of all lengths arrive whole, in order and numbered for each PHY, in
// every profile.
func TestP7(t *testing.T) {
	for _, tc := range []struct {
		profile nfapi.Profile
		segment int
		none    bool
		sizes   []int
	}{
		{nfapi.OAI2025, 0, false, []int{10, 64000, 65000, 150_000, 900_000}},
		{nfapi.OAI2025, 1400, false, []int{10, 1300, 1400, 150_000}},
		{nfapi.OAI2025, 0, true, []int{10, 150_000}},
		{nfapi.OAI2024, 0, false, []int{10, 1400, 60_000}},
		{nfapi.Aerial, 0, false, []int{10, 60_000}},
	} {
		t.Run(fmt.Sprintf("%v of %d octets", tc.profile, tc.segment), func(t *testing.T) {
			a := opened(t, P7Config{Profile: tc.profile, SegmentSize: tc.segment, NoChecksum: tc.none})
			b := opened(t, P7Config{Profile: tc.profile, Timeout: time.Minute})
			list := received(t, b)
			for i, size := range tc.sizes {
				for phy := range uint16(2) {
					m := block(size)
					if err := a.Send(b.LocalAddr(), phy, m, uint32(size)); err != nil {
						t.Fatal(err)
					}
					if err := a.Flush(); err != nil {
						t.Fatal(err)
					}
					got := next(t, list)
					want := message{nfapi.MsgRXDataIndication, phy, uint8(i), uint32(size), tc.profile, bodyOf(t, tc.profile, m), a.LocalAddr()}
					if tc.profile == nfapi.Aerial { // its header has neither
						want.sequence, want.stamp = 0, 0
					}
					if !bytes.Equal(got.body, want.body) {
						t.Fatalf("%d octets: got %d octets of body, want %d", size, len(got.body), len(want.body))
					}
					got.body, want.body = nil, nil
					if fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("got %v, want %v", got, want)
					}
				}
			}
			if s := b.Stats(); s.Messages != uint64(2*len(tc.sizes)) || s.WrongChecksum+s.Malformed+s.Incomplete+s.Repeated+s.Overflow != 0 {
				t.Errorf("got %+v", s)
			}
			if s := a.Stats(); s.Sent != uint64(2*len(tc.sizes)) || s.NotSent != 0 || s.SentDatagrams != b.Stats().Datagrams || s.SentOctets != b.Stats().Octets {
				t.Errorf("got %+v of the sender, %+v of the receiver", s, b.Stats())
			}
		})
	}
}

// TestBatch: a batch that is longer than it may be is sent on the way, in order.
func TestBatch(t *testing.T) {
	a, b := opened(t, P7Config{SegmentSize: 1400}), opened(t, P7Config{Timeout: time.Minute})
	list := received(t, b)
	for i := range 300 {
		m := nfapi.Message(&nfapi.SlotIndication{SFN: uint16(i)})
		if i%10 == 0 {
			m = block(20_000)
		}
		if err := a.Send(b.LocalAddr(), 1, m, 0); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 { // the receiver's buffer is not without bounds
			if err := a.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if m := next(t, list); m.sequence != uint8(i) {
			t.Fatalf("got message %d, want %d", m.sequence, i)
		}
	}
}

// TestSendErrors: what cannot be encoded or is too long is not sent, takes no sequence
// number, and does not touch what is in the batch.
func TestSendErrors(t *testing.T) {
	a, b := opened(t, P7Config{}), opened(t, P7Config{})
	list := received(t, b)
	wrong := block(10)
	wrong.PDUs[0].PDULength = 11
	long := block(nfapi.MaxMessage)
	for range 2 {
		if err := a.Send(b.LocalAddr(), 1, &nfapi.SlotIndication{}, 0); err != nil {
			t.Fatal(err)
		}
		if err := a.Send(b.LocalAddr(), 1, wrong, 0); !errors.Is(err, nfapi.ErrValue) {
			t.Errorf("got %v, want %v", err, nfapi.ErrValue)
		}
		if err := a.Send(b.LocalAddr(), 1, long, 0); !errors.Is(err, nfapi.ErrTooLong) {
			t.Errorf("got %v, want %v", err, nfapi.ErrTooLong)
		}
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range uint8(2) {
		if m := next(t, list); m.sequence != i || m.id != nfapi.MsgSlotIndication {
			t.Errorf("got %+v", m)
		}
	}
	aerial := opened(t, P7Config{Profile: nfapi.Aerial})
	if err := aerial.Send(b.LocalAddr(), 1, block(70_000), 0); !errors.Is(err, nfapi.ErrTooLong) {
		t.Errorf("got %v, want %v", err, nfapi.ErrTooLong)
	}
	// Port 0 is nobody's.
	if err := a.Send(netip.MustParseAddrPort("127.0.0.1:0"), 1, &nfapi.SlotIndication{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(b.LocalAddr(), 1, &nfapi.SlotIndication{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err == nil {
		t.Error("no error for a datagram to port 0")
	}
	if m := next(t, list); m.sequence != 2 {
		t.Errorf("got %+v behind a datagram that could not be sent", m)
	}
	if s := a.Stats(); s.NotSent != 1 {
		t.Errorf("got %d datagrams not sent, want 1", s.NotSent)
	}
}

// TestAdmit: only those who are admitted are heard.
func TestAdmit(t *testing.T) {
	a, stranger, b := opened(t, P7Config{}), opened(t, P7Config{}), opened(t, P7Config{})
	list := received(t, b)
	for _, tc := range []struct {
		name  string
		admit []netip.AddrPort
		want  []*P7
	}{
		{"everybody", nil, []*P7{stranger, a}},
		{"one", []netip.AddrPort{a.LocalAddr()}, []*P7{a}},
		{"a port", []netip.AddrPort{netip.AddrPortFrom(a.LocalAddr().Addr(), 1), a.LocalAddr()}, []*P7{a}},
		{"any port", []netip.AddrPort{netip.AddrPortFrom(a.LocalAddr().Addr(), 0)}, []*P7{stranger, a}},
	} {
		b.Admit(tc.admit...)
		for _, p := range []*P7{stranger, a} {
			if err := errors.Join(p.Send(b.LocalAddr(), 1, &nfapi.SlotIndication{}, 0), p.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range tc.want {
			if m := next(t, list); m.from != p.LocalAddr() {
				t.Errorf("%s: got a message of %v, want %v", tc.name, m.from, p.LocalAddr())
			}
		}
	}
	if s := b.Stats(); s.Strangers != 2 {
		t.Errorf("got %d datagrams of strangers, want 2", s.Strangers)
	}
	b.Admit(Nobody)
	if err := errors.Join(a.Send(b.LocalAddr(), 1, &nfapi.SlotIndication{}, 0), a.Flush()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); b.Stats().Strangers != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("somebody is heard where nobody is admitted")
		}
	}
}

// TestClose: Close ends Receive, also from within, and frees the port.
func TestClose(t *testing.T) {
	for _, within := range []bool{false, true} {
		p := opened(t, P7Config{})
		done := make(chan error)
		go func() {
			done <- p.Receive(func(*Datagram) {
				if within {
					p.Close()
				}
			})
		}()
		if within {
			q := opened(t, P7Config{})
			if err := errors.Join(q.Send(p.LocalAddr(), 1, &nfapi.SlotIndication{}, 0), q.Flush()); err != nil {
				t.Fatal(err)
			}
		} else {
			p.Close()
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("receive goes on")
		}
		if err := p.Send(loopback, 1, &nfapi.SlotIndication{}, 0); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
		if err := p.Receive(func(*Datagram) {}); err != nil {
			t.Error(err)
		}
		opened(t, P7Config{Local: p.LocalAddr()})
	}
}

// TestConcurrent: several goroutines send, each for its own PHY, over one socket.
func TestConcurrent(t *testing.T) {
	a, b := opened(t, P7Config{SegmentSize: 1400}), opened(t, P7Config{Timeout: time.Minute})
	list := received(t, b)
	const phys, each = 4, 50
	var group sync.WaitGroup
	for phy := range uint16(phys) {
		group.Go(func() {
			for i := range each {
				if err := errors.Join(a.Send(b.LocalAddr(), phy, block(100*i), 0), a.Flush()); err != nil {
					t.Error(err)
				}
				a.Stats()
			}
		})
	}
	got := map[uint16][]uint8{}
	for range phys * each {
		m := next(t, list)
		got[m.phy] = append(got[m.phy], m.sequence)
	}
	group.Wait()
	for phy, list := range got {
		if len(list) != each || !slices.IsSorted(list) {
			t.Errorf("phy %d: got %v", phy, list)
		}
	}
}

// TestAllocations: once all has been there, nothing is allocated for a slot, with
// segments or without.
func TestAllocations(t *testing.T) {
	a, b := opened(t, P7Config{}), opened(t, P7Config{Timeout: time.Minute})
	arrived := make(chan struct{}, 10)
	go b.Receive(func(*Datagram) { arrived <- struct{}{} })
	messages := []nfapi.Message{&nfapi.SlotIndication{}, block(1500), block(150_000)}
	slot := func() {
		for _, m := range messages {
			if err := a.Send(b.LocalAddr(), 1, m, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Flush(); err != nil {
			t.Fatal(err)
		}
		for range messages {
			<-arrived
		}
	}
	if n := testing.AllocsPerRun(100, slot); n >= 1 {
		t.Errorf("got %v allocations for a slot, want 0", n)
	}
}

// BenchmarkP7 is a message from one socket to another and its answer: what P7 adds to
// a slot.
func BenchmarkP7(b *testing.B) {
	for _, n := range []int{10, 1500, 16_000, 150_000} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			x, y := opened(b, P7Config{}), opened(b, P7Config{})
			done := make(chan struct{})
			m := block(n)
			echo, answer := block(n), &nfapi.SlotIndication{}
			go y.Receive(func(d *Datagram) {
				if err := errors.Join(echo.DecodeBody(d.Profile, d.Body), y.Send(x.LocalAddr(), 1, answer, 0), y.Flush()); err != nil {
					b.Error(err)
				}
			})
			go x.Receive(func(*Datagram) { done <- struct{}{} })
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if err := errors.Join(x.Send(y.LocalAddr(), 1, m, 0), x.Flush()); err != nil {
					b.Fatal(err)
				}
				<-done
			}
		})
	}
}
