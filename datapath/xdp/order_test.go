package xdp_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// downSession is a session whose only rule is downlink, with this FAR.
func (n *network) downSession(f *api.Forward) *api.Session {
	return &api.Session{Seid: 1, Rules: []*api.Rule{{
		PdrId:   2,
		Detect:  &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: &api.UEAddress{Ipv4: number(n.ue)}},
		Forward: f,
	}}}
}

// toGNB is a FAR that forwards to peer.
func toGNB(teid uint32, peer netip.Addr) *api.Forward {
	o := &api.OuterHeaderCreation{Teid: teid}
	if peer.Is4() {
		o.Ipv4 = number(peer)
	} else {
		o.Ipv6 = peer.AsSlice()
	}
	return &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS, OuterHeaderCreation: o}
}

func (n *network) apply(t testing.TB, f *api.Forward, markers ...*api.EndMarker) {
	t.Helper()
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.downSession(f), EndMarkers: markers}))
}

// startFor makes a UPF that may buffer all that a test sends.
func (n *network) startFor(t *testing.T, n3 datapath.Endpoint) {
	t.Helper()
	limits := stages.DefaultBufferLimits
	limits.Packets, limits.Octets = 1<<16, 32<<20
	check(t, n.UPF.Do(func() (err error) {
		n.upf, err = xdp.New(xdp.Config{
			Endpoints: []datapath.Endpoint{n3}, N6: n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr()),
			Mode: xdp.Native, MaxSessions: 64, Buffer: limits,
		})
		return err
	}))
	t.Cleanup(func() { check(t, n.upf.Close()) })
}

// wide gives a socket room for what a test sends while it does not read, or is kept
// waiting.
func wide(t *testing.T, conn *net.UDPConn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	check(t, err)
	var opt error
	check(t, raw.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	}))
	check(t, opt)
}

// sequence sends numbered packets to the UE, and looks at what comes.
type sequence struct {
	sent      uint64
	stop      atomic.Bool
	done      chan struct{}
	got       uint64
	reordered uint64
	highest   uint64
	teids     map[uint32]uint64 // packets of each
	markers   []arrival
}

// arrival is an End Marker: how many packets had come before.
type arrival struct {
	teid   uint32
	behind uint64
}

// send sends so many packets a second until stop, in bursts of a millisecond;
// 0: as fast as the socket takes them.
func (s *sequence) send(conn *net.UDPConn, to netip.AddrPort, rate uint64) {
	defer close(s.done)
	start := time.Now()
	var payload [8]byte
	for !s.stop.Load() {
		if rate != 0 && s.sent >= rate*uint64(time.Since(start))/1e9 {
			time.Sleep(200 * time.Microsecond)
			continue
		}
		binary.BigEndian.PutUint64(payload[:], s.sent+1)
		if _, err := conn.WriteToUDPAddrPort(payload[:], to); err == nil {
			s.sent++
		}
	}
}

// receive takes what comes until nothing has for a while.
func (s *sequence) receive(conn *net.UDPConn) {
	buf := make([]byte, 2048)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := conn.Read(buf)
		if err != nil {
			select {
			case <-s.done:
				return
			default:
				continue
			}
		}
		s.take(buf[:n])
	}
}

func (s *sequence) take(message []byte) {
	teid := binary.BigEndian.Uint32(message[4:])
	if message[1] == gtpu.EndMarker {
		s.markers = append(s.markers, arrival{teid, s.teids[teid]})
		return
	}
	number := binary.BigEndian.Uint64(message[len(message)-8:])
	s.got++
	s.teids[teid]++
	if number < s.highest {
		s.reordered++
	}
	s.highest = max(s.highest, number)
}

// run sends at a rate while change is called, and returns what came.
func (n *network) run(t *testing.T, rate uint64, change func()) *sequence {
	t.Helper()
	wide(t, n.gnb)
	s := &sequence{done: make(chan struct{}), teids: map[uint32]uint64{}}
	received := make(chan struct{})
	go func() { defer close(received); s.receive(n.gnb) }()
	go s.send(n.dn, netip.AddrPortFrom(n.ue, uePort), rate)
	change()
	s.stop.Store(true)
	<-received
	return s
}

// TestReleaseUnderTraffic lets a session become idle and be released again and
// again while packets to its UE never stop: none is lost and none overtakes
// another, whatever way each of them takes.
func TestReleaseUnderTraffic(t *testing.T) {
	for _, tc := range []struct {
		name string
		ipv6 bool
	}{{"IPv4", false}, {"IPv6", true}} {
		t.Run(tc.name, func(t *testing.T) {
			n := layNetwork(t, "xdp-order")
			peer := n.layN3(t, tc.ipv6)
			n.apply(t, toGNB(dlTEID, peer))
			n.downlinkAny(t)
			releases := 0
			before, err := n.upf.Passes()
			check(t, err)
			s := n.run(t, 20_000, func() {
				for end := time.Now().Add(3 * time.Second); releases < 20 || time.Now().Before(end); releases++ {
					n.apply(t, &api.Forward{Action: api.Action_BUFF})
					time.Sleep(3 * time.Millisecond)
					n.apply(t, toGNB(dlTEID, peer))
					time.Sleep(5 * time.Millisecond)
				}
			})
			passes, err := n.upf.Passes()
			check(t, err)
			drops, err := n.upf.Drops()
			check(t, err)
			buffered := passes["buffer"] - before["buffer"]
			t.Logf("%d releases, %d packets sent, %d buffered, %d behind them in the ring", releases, s.sent, buffered, passes["queued"]-before["queued"])
			// What a limit is exceeded for is counted: on a machine that gives the slow
			// path no CPU for 100 ms.
			if lost := s.sent - s.got; lost != drops["slow_full"]+drops["buffer_full"] || s.reordered != 0 {
				t.Errorf("%d of %d packets came, %d of them behind later ones; dropped: %v", s.got, s.sent, s.reordered, positive(drops))
			}
			if buffered == 0 || buffered == s.sent {
				t.Errorf("%d releases, %d packets buffered: the test shows nothing", releases, buffered)
			}
		})
	}
}

// TestReleaseUnderFlood is the same with packets that come as fast as they can,
// which may be faster than the slow path is: some are dropped then, but the
// session gets back to the fast way, and its packets stay in order.
func TestReleaseUnderFlood(t *testing.T) {
	n := layNetwork(t, "xdp-flood")
	peer := n.layN3(t, false)
	n.apply(t, toGNB(dlTEID, peer))
	n.downlinkAny(t)
	fast := 0
	s := n.run(t, 0, func() {
		for range 20 {
			n.apply(t, &api.Forward{Action: api.Action_BUFF})
			time.Sleep(2 * time.Millisecond)
			n.apply(t, toGNB(dlTEID, peer))
			if n.untilFast(t) {
				fast++
			}
		}
	})
	drops, err := n.upf.Drops()
	check(t, err)
	t.Logf("%d of %d packets came; dropped: %v", s.got, s.sent, positive(drops))
	if s.reordered != 0 || fast != 20 || s.got == 0 {
		t.Errorf("%d of %d packets behind later ones; %d of 20 times back to the fast way", s.reordered, s.got, fast)
	}
}

// untilFast waits until packets take the fast way.
func (n *network) untilFast(t *testing.T) bool {
	t.Helper()
	slow := func() uint64 {
		p, err := n.upf.Passes()
		check(t, err)
		return p["queued"] + p["rules"] + p["changing"]
	}
	before := slow()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		now := slow()
		if now == before {
			return true
		}
		before = now
	}
	return false
}

// TestPathSwitchUnderTraffic switches the path again and again: the End Marker of
// each tunnel comes behind its last packet, and no packet is lost or overtakes.
func TestPathSwitchUnderTraffic(t *testing.T) {
	n := layNetwork(t, "xdp-switch")
	peer := n.layN3(t, false)
	const first = 0x100
	n.apply(t, toGNB(first, peer))
	n.downlinkAny(t)
	teid := uint32(first)
	s := n.run(t, 20_000, func() {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); teid++ {
			n.apply(t, toGNB(teid+1, peer), &api.EndMarker{Tunnel: toGNB(teid, peer).GetOuterHeaderCreation()})
			time.Sleep(4 * time.Millisecond)
		}
	})
	early := 0
	for _, m := range s.markers {
		if m.behind != s.teids[m.teid] {
			early++
		}
	}
	drops, err := n.upf.Drops()
	check(t, err)
	t.Logf("%d path switches, %d packets", teid-first, s.sent)
	if len(s.markers) != int(teid-first) || early != 0 {
		t.Errorf("%d path switches, %d End Markers, %d of them before the last packet", teid-first, len(s.markers), early)
	}
	if lost := s.sent - s.got; lost != drops["slow_full"] || s.reordered != 0 {
		t.Errorf("%d of %d packets came, %d of them behind later ones; dropped: %v", s.got, s.sent, s.reordered, positive(drops))
	}
}

// positive returns what there was of anything.
func positive(counts map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for k, n := range counts {
		if n > 0 {
			out[k] = n
		}
	}
	return out
}

// layN3 starts a UPF and the gNB, over IPv4 or IPv6, and returns where the gNB is.
func (n *network) layN3(t *testing.T, ipv6 bool) netip.Addr {
	t.Helper()
	peer := n.N3.Peer.Address.Addr()
	e := datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}
	if ipv6 {
		e.Address = netip.Addr{}
		e.Address6, peer = addAddress(t, n.N3.UPF, "fd03::1/64"), addAddress(t, n.N3.Peer, "fd03::2/64")
	}
	n.startFor(t, e)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(peer, gtpu.Port))
	return peer
}

// downlinkAny sends a packet and waits until one comes by the fast way: neighbours
// are known then.
func (n *network) downlinkAny(t testing.TB) {
	t.Helper()
	buf := make([]byte, 2048)
	for range 20 {
		_, err := n.dn.WriteToUDPAddrPort(make([]byte, 8), netip.AddrPortFrom(n.ue, uePort))
		check(t, err)
		_, err = n.gnb.Read(buf)
		check(t, err)
		time.Sleep(10 * time.Millisecond)
	}
}
