package vnet

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ringLink is a link, its one queue's Reader with a ring of 32 slots, and a socket of the
// host.
type ringLink struct {
	*link
	in   *Reader
	conn *net.UDPConn
}

// ringOctets of packet fit into a slot.
const ringOctets = 700

func openRing(t *testing.T, tap bool) *ringLink {
	t.Helper()
	l := &ringLink{link: openLink(t, tap)}
	l.Queues[1].file.Close() // the kernel gives all to the other
	l.Queues = l.Queues[:1]
	l.in = l.reader()
	err := l.do(func() (err error) {
		if err := l.in.Share(ringOctets, 1); err != nil {
			return err
		}
		l.conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(here.Addr(), 4000)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = l.conn.Close(), l.Close()
		if err := l.in.Free(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestSlots: a block is whole pages of any machine, which the kernel asks for, and a slot no
// longer than on any other.
func TestSlots(t *testing.T) {
	for _, page := range []int{4096, 16384, 65536} {
		for _, octets := range []int{1, 256, 257, 1700, 9300} {
			slot, block := slots(octets, page)
			if slot < octets || slot >= octets+slotAlign || slot*block%page != 0 {
				t.Errorf("%d octets, pages of %d: %d slots of %d octets", octets, page, block, slot)
			}
		}
	}
}

func (l *ringLink) send(t *testing.T, payload []byte) {
	t.Helper()
	if _, err := l.conn.WriteToUDPAddrPort(payload, netip.AddrPortFrom(there, 5000)); err != nil {
		t.Fatal(err)
	}
}

// next returns the payloads of what has come to port 5000.
func (l *ringLink) next(t *testing.T) (all [][]byte) {
	t.Helper()
	n, err := l.in.Next()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		buf, start, end := l.in.Packet(i)
		if start < l.in.at {
			t.Errorf("%d octets of headroom, want %d", start, l.in.at)
		}
		p := buf[start+l.link.link() : end]
		shape, ok := look(p, true)
		if !ok || !shape.udp || p[22] != 5000>>8 || p[23] != 5000&0xff {
			continue // the kernel's own
		}
		if !shape.whole(p) {
			t.Errorf("wrong checksum: %x", p[:shape.headers])
		}
		all = append(all, bytes.Clone(p[shape.headers:]))
	}
	return all
}

// TestRing: packets that fit into a slot, and those that do not, come in their order, also
// where the ring begins anew.
func TestRing(t *testing.T) {
	for _, tap := range []bool{false, true} {
		l := openRing(t, tap)
		for i := range 100 {
			var want, got [][]byte
			for k := range 10 {
				payload := bytes.Repeat([]byte{byte(i), byte(k)}, 10+600*(k%2))
				l.send(t, payload)
				want = append(want, payload)
			}
			for len(got) < len(want) {
				got = append(got, l.next(t)...)
			}
			if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) || len(got) != len(want) {
				t.Fatalf("TAP %t, run %d came otherwise", tap, i)
			}
		}
		if l.in.Full+l.in.Senseless != 0 {
			t.Errorf("TAP %t: %d found no room, %d senseless", tap, l.in.Full, l.in.Senseless)
		}
	}
}

// TestRingFull: what finds no room is counted, and the rest comes.
func TestRingFull(t *testing.T) {
	l := openRing(t, false)
	const sent, last = 100, 0xff
	for i := range sent {
		l.send(t, []byte{byte(i)})
	}
	got := len(l.next(t))
	for done := false; !done; {
		l.send(t, []byte{last})
		for _, p := range l.next(t) {
			if done = p[0] == last; !done {
				got++
			}
		}
	}
	if got == 0 || uint64(got)+l.in.Full < sent {
		t.Errorf("%d came and %d found no room, of %d", got, l.in.Full, sent)
	}
}

// TestRingGone: a reader learns that its device was taken away.
func TestRingGone(t *testing.T) {
	l := openRing(t, false)
	if err := l.do(func() error {
		dev, err := netlink.LinkByName(l.Name)
		if err != nil {
			return err
		}
		return netlink.LinkDel(dev)
	}); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		_, err := l.in.Next()
		if errors.Is(err, unix.EBADFD) {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("got %v, want %v", err, unix.EBADFD)
		}
	}
}

// TestRingCloses: a reader learns that its device is closed, asleep or with packets before
// it, and that it has not gone by itself.
func TestRingCloses(t *testing.T) {
	for _, waiting := range []int{0, 5} {
		l := openRing(t, false)
		ended := make(chan error)
		go func() {
			var err error
			for err == nil {
				_, err = l.in.Next()
			}
			ended <- err
		}()
		for range waiting {
			l.send(t, []byte("one"))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, os.ErrClosed) {
			t.Errorf("%d packets: got %v, want %v", waiting, err, os.ErrClosed)
		}
	}
}
