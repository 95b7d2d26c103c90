package n4

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestSteering: datagrams of one client go to the socket that their message says.
func TestSteering(t *testing.T) {
	const n = 3
	sockets, err := listen(netip.MustParseAddrPort("127.0.0.1:0"), n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeAll(sockets) }()
	conn, err := net.DialUDP("udp", nil, sockets[0].LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	message := func(h pfcp.Header, m pfcp.Message) []byte {
		b, err := pfcp.Append(nil, h, m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	establishment := usual("127.0.0.1", "10.45.0.2")
	for _, tc := range []struct {
		name     string
		datagram []byte
		want     int
	}{
		{"heartbeat", message(pfcp.Header{Sequence: 1}, &pfcp.HeartbeatRequest{}), 0},
		{"setup", message(pfcp.Header{Sequence: 2}, setupRequest("127.0.0.1")), 0},
		{"establishment 3", message(pfcp.Header{Sequence: 3}, establishment), 0},
		{"establishment 4", message(pfcp.Header{Sequence: 4}, establishment), 1},
		{"establishment 5 of priority 9", message(pfcp.Header{Sequence: 5, MP: true, Priority: 9}, establishment), 2},
		{"modification", message(pfcp.Header{Sequence: 1, SEID: 0x0700_0000_0000_0001}, &pfcp.SessionModificationRequest{}), 1},
		{"deletion", message(pfcp.Header{Sequence: 1, SEID: 0xffff_ffff_0000_0002}, &pfcp.SessionDeletionRequest{}), 2},
		{"report response", message(pfcp.Header{Sequence: 1, SEID: 4}, &pfcp.SessionReportResponse{Cause: 1}), 1},
		{"one octet", []byte{0x21}, 0},
		{"session message that ends early", []byte{0x21, 52, 0, 0, 0}, 0},
	} {
		if _, err := conn.Write(tc.datagram); err != nil {
			t.Fatal(err)
		}
		for i, s := range sockets {
			wait := 5 * time.Second
			if i != tc.want {
				wait = 0
			}
			if err := s.SetReadDeadline(time.Now().Add(wait)); err != nil {
				t.Fatal(err)
			}
			if size, _, err := s.ReadFromUDPAddrPort(make([]byte, 4096)); (err == nil) != (i == tc.want) {
				t.Errorf("%s: socket %d: %d octets, %v; want it at socket %d", tc.name, i, size, err, tc.want)
			}
		}
	}
}

// BenchmarkBacklog is how fast one client's establishments are answered that
// wait in the sockets: the client costs nothing while it is measured. The
// datapath takes none of the time.
func BenchmarkBacklog(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("sockets=%d", n), func(b *testing.B) { benchmarkBacklog(b, n) })
	}
}

func benchmarkBacklog(b *testing.B, sockets int) {
	var spent time.Duration
	answered := uint64(0)
	for b.Loop() {
		e, err := Listen(Config{Listen: netip.MustParseAddrPort("127.0.0.1:0"), Log: quietLog, Sockets: sockets}, idleManager(b))
		if err != nil {
			b.Fatal(err)
		}
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(e.Addr()))
		if err != nil {
			b.Fatal(err)
		}
		w := newWorker(e, nil)
		w.handle(conn.LocalAddr().(*net.UDPAddr).AddrPort(), mustAppend(b, 1, setupRequest("127.0.0.1")), time.Now())
		next := establishments(b)
		backlog := uint64(0)
		for ; e.backlog() < overloadAt-5; backlog++ { // beyond, some are refused
			if _, err := conn.Write(next(int(backlog))); err != nil {
				b.Fatal(err)
			}
		}
		accepted := &e.Counters().Causes[pfcp.CauseRequestAccepted]
		before := accepted.Load()
		done := make(chan error, 1)
		start := time.Now()
		go func() { done <- e.Serve() }()
		for accepted.Load() < before+backlog && time.Since(start) < 10*time.Second {
			time.Sleep(100 * time.Microsecond)
		}
		spent += time.Since(start)
		answered += accepted.Load() - before
		if n := accepted.Load() - before; n != backlog {
			var lost uint64
			for _, s := range e.sockets {
				lost += mmsg.Drops(s.raw)
			}
			b.Fatalf("%d of %d accepted, the sockets dropped %d", n, backlog, lost)
		}
		e.Close()
		<-done
		_ = conn.Close()
	}
	b.ReportMetric(float64(answered)/spent.Seconds(), "sessions/s")
	b.ReportMetric(0, "ns/op")
}
