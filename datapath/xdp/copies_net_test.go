package xdp_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

const copyTEID = 0x7007

// copied is a FAR that forwards to peer and sends copies there, too.
func copied(action api.Action, teid uint32, peer netip.Addr) *api.Forward {
	f := toGNB(teid, peer)
	f.Action = action
	f.Duplicates = []*api.Duplicate{{
		DestinationInterface: api.Interface_ACCESS,
		OuterHeaderCreation:  &api.OuterHeaderCreation{Teid: copyTEID, Ipv4: number(peer)},
	}}
	return f
}

// flowSeen is what came of the numbered packets, or of their copies.
type flowSeen struct{ got, reordered, highest uint64 }

func (f *flowSeen) take(number uint64) {
	f.got++
	if number <= f.highest {
		f.reordered++
	}
	f.highest = max(f.highest, number)
}

// seeBoth takes what comes until nothing has for a while after done.
func seeBoth(conn *net.UDPConn, done <-chan struct{}) (packets, copies flowSeen) {
	buf := make([]byte, 2048)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := conn.Read(buf)
		if err != nil {
			select {
			case <-done:
				return packets, copies
			default:
				continue
			}
		}
		number := binary.BigEndian.Uint64(buf[n-8:])
		switch teid := binary.BigEndian.Uint32(buf[4:]); {
		case number == 0: // from before the test
		case teid == copyTEID:
			copies.take(number)
		default:
			packets.take(number)
		}
	}
}

// TestCopiesInOrder: while a rule that asks for copies changes again and again,
// buffers and releases, its packets and the copies of them leave in order each,
// whatever way they take; each packet has its copy, or that one is counted.
func TestCopiesInOrder(t *testing.T) {
	n := layNetwork(t, "xdp-copies")
	peer := n.layN3(t, false)
	n.apply(t, copied(api.Action_FORW, dlTEID, peer))
	n.downlinkAny(t)
	before, err := n.upf.Passes()
	check(t, err)
	was, err := n.upf.Drops()
	check(t, err)
	wide(t, n.gnb)
	s := &sequence{done: make(chan struct{})}
	var packets, copies flowSeen
	received := make(chan struct{})
	go func() { defer close(received); packets, copies = seeBoth(n.gnb, s.done) }()
	go s.send(n.dn, netip.AddrPortFrom(n.ue, uePort), 10_000)
	changes := uint32(0)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); changes++ {
		check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.downSession(copied(api.Action_BUFF, 0, peer))}))
		time.Sleep(2 * time.Millisecond)
		n.apply(t, copied(api.Action_FORW, dlTEID+changes%2, peer))
		time.Sleep(20 * time.Millisecond)
	}
	s.stop.Store(true)
	<-received
	passes, err := n.upf.Passes()
	check(t, err)
	drops, err := n.upf.Drops()
	check(t, err)
	slow := passes["queued"] - before["queued"] + passes["buffer"] - before["buffer"]
	t.Logf("%d packets, %d of them the slow way, %d came, %d copies; dropped: %v", s.sent, slow, packets.got, copies.got, positive(drops))
	if packets.reordered != 0 || copies.reordered != 0 {
		t.Errorf("%d packets and %d copies came behind later ones", packets.reordered, copies.reordered)
	}
	if lost := drops["copy"] + drops["copy_full"] - was["copy"] - was["copy_full"]; copies.got+lost != packets.got {
		t.Errorf("%d copies of %d packets, %d counted as lost", copies.got, packets.got, lost)
	}
	if slow == 0 || slow > packets.got*9/10 || changes < 10 {
		t.Errorf("%d changes, %d of %d packets went the slow way: the test shows nothing", changes, slow, packets.got)
	}
}
