package xdp_test

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
)

// stormed are the idle UEs of the storm: 10.66.0.0 and so on, SEIDs from 2.
type stormed struct {
	*network
	sessions int
	told     atomic.Int64 // DOWNLINK_DATA
}

func stormUE(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 66 + byte(i>>16), byte(i >> 8), byte(i)})
}

// applyAll gives all idle UEs a FAR.
func (s *stormed) applyAll(t testing.TB, f *api.Forward) {
	t.Helper()
	for i := range s.sessions {
		r := s.downSession(f)
		r.Seid = uint64(i) + 2
		r.Rules[0].Detect.UeAddress.Ipv4 = number(stormUE(i))
		check(t, s.upf.Apply(context.Background(), &api.Change{Seid: r.Seid, Session: r}))
	}
}

// listenTo counts the events until ctx ends.
func (s *stormed) listenTo(ctx context.Context) {
	for {
		e, err := s.upf.Next(ctx)
		if err != nil {
			return
		}
		if e.GetKind() == api.EventKind_DOWNLINK_DATA {
			s.told.Add(1)
		}
	}
}

// flood sends one packet to each UE in turn, as fast as it can, until stop.
func (s *stormed) flood(conn *net.UDPConn, stop *atomic.Bool) (sent int) {
	payload := make([]byte, 72)
	for i := 0; !stop.Load(); i++ {
		to := netip.AddrPortFrom(stormUE(i%s.sessions), uePort)
		if _, err := conn.WriteToUDPAddrPort(payload, to); err == nil {
			sent++
		}
	}
	return sent
}

// TestStormOnNetwork floods idle UEs, each again and again, while one UE has
// traffic: what reaches the programs for that one leaves, in order and by the fast
// way, and each idle session raises one event. Then all are released at once.
func TestStormOnNetwork(t *testing.T) {
	n := layNetwork(t, "xdp-storm")
	s := &stormed{network: n, sessions: 5000}
	check(t, n.UPF.Do(func() (err error) {
		n.upf, err = xdp.New(xdp.Config{
			Endpoints: []datapath.Endpoint{{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()}},
			N6:        n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr()),
			Mode:      xdp.Native, MaxSessions: 1 << 14,
		})
		return err
	}))
	t.Cleanup(func() { check(t, n.upf.Close()) })
	peer := n.N3.Peer.Address.Addr()
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(peer, 2152))
	n.apply(t, toGNB(dlTEID, peer))
	n.downlinkAny(t)
	s.applyAll(t, &api.Forward{Action: api.Action_BUFF, Notify: true})
	ctx, cancel := context.WithCancel(context.Background())
	listened := make(chan struct{})
	go func() { defer close(listened); s.listenTo(ctx) }()

	before, err := n.upf.Usage(1)
	check(t, err)
	storm := listen(t, n.DN, netip.AddrPortFrom(n.N6.Peer.Address.Addr(), dnPort+1))
	var stop atomic.Bool
	flooded := make(chan int, 1)
	go func() { flooded <- s.flood(storm, &stop) }()
	seq := n.run(t, 5000, func() { time.Sleep(2 * time.Second) })
	stop.Store(true)
	sent := <-flooded
	after, err := n.upf.Usage(1)
	check(t, err)
	passes, drops := s.settle(t, uint64(sent))
	forwarded := after.GetRules()[0].GetPackets() - before.GetRules()[0].GetPackets()
	t.Logf("storm: %d packets sent, %d buffered, %d sessions told of, dropped %v; beside it %d of %d came",
		sent, passes["buffer"], s.told.Load(), positive(drops), seq.got, seq.sent)
	if seq.got != forwarded || seq.reordered != 0 || seq.sent-seq.got > seq.sent/100 {
		t.Errorf("beside the storm %d of %d packets came, %d of them behind later ones, %d forwarded", seq.got, seq.sent, seq.reordered, forwarded)
	}
	if told := s.told.Load(); told == 0 || told > int64(s.sessions) {
		t.Errorf("%d events, want at most one for each of %d sessions", told, s.sessions)
	}
	s.releaseAll(t, peer, passes["buffer"])
	cancel()
	<-listened
}

// settle waits until all that was sent is in the buffer or dropped, but for what
// devices on the way have lost, and returns what became of it.
func (s *stormed) settle(t *testing.T, sent uint64) (passes, drops map[string]uint64) {
	t.Helper()
	for range 300 {
		var err error
		passes, err = s.upf.Passes()
		check(t, err)
		drops, err = s.upf.Drops()
		check(t, err)
		got := passes["buffer"]
		for _, n := range drops {
			got += n
		}
		if got >= sent {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return passes, drops
}

// releaseAll lets all UEs have what waits for them, and says how fast.
func (s *stormed) releaseAll(t *testing.T, peer netip.Addr, buffered uint64) {
	t.Helper()
	start := time.Now()
	s.applyAll(t, toGNB(dlTEID, peer))
	took := time.Since(start)
	var left uint64
	for i := range s.sessions {
		u, err := s.upf.Usage(uint64(i) + 2)
		check(t, err)
		left += u.GetRules()[0].GetPackets()
	}
	drops, err := s.upf.Drops()
	check(t, err)
	t.Logf("%d packets of %d sessions released in %v: %.0f packets/s", left, s.sessions, took, float64(left)/took.Seconds())
	if left != buffered {
		t.Errorf("%d of %d buffered packets left; dropped %v", left, buffered, positive(drops))
	}
}
