package n4

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestParallel lets several CP functions work while readers look at everything;
// run it with the race detector.
func TestParallel(t *testing.T) {
	for _, handlers := range []int{0, 4} {
		t.Run(fmt.Sprintf("handlers=%d", handlers), func(t *testing.T) { testParallel(t, Config{Sockets: 3, Handlers: handlers}) })
	}
}

func testParallel(t *testing.T, config Config) {
	b := newBed(t, config)
	done := make(chan struct{})
	var readers, clients sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for s := range b.sessions.All() {
					if s.PDR(1) == nil {
						t.Error("half a session seen")
					}
				}
				b.Associations()
				b.Counters().Latency[pfcp.MsgSessionEstablishmentRequest].Read()
				runtime.Gosched()
			}
		})
	}
	for i := range 6 {
		c := b.client(t, fmt.Sprint("127.0.0.", i+1))
		clients.Go(func() {
			node := fmt.Sprint("10.4.0.", i+1)
			for round := range 5 {
				c.associate(node, recoveryTime)
				for n := range 10 {
					ue := fmt.Sprintf("10.45.%d.%d", i, n)
					seid := c.establish(usual(node, ue)).UPFSEID.Value.SEID
					if n%2 == 0 {
						var r pfcp.SessionDeletionResponse
						if c.do(seid, &pfcp.SessionDeletionRequest{}, &r); r.Cause != pfcp.CauseRequestAccepted {
							t.Errorf("round %d: deletion: %v", round, r.Cause)
						}
					}
				}
			}
		})
	}
	clients.Wait()
	close(done)
	readers.Wait()
	if n := b.sessions.Len(); n != 30 || len(b.driver.held()) != 30 {
		t.Errorf("%d sessions here, %d in the datapath; want 30", n, len(b.driver.held()))
	}
}

// idleDriver is a datapath that costs nothing, so that a benchmark shows what
// everything above it costs.
type idleDriver struct{}

func (idleDriver) Capabilities() *api.Capabilities          { return &api.Capabilities{Name: "idle"} }
func (idleDriver) Apply(context.Context, *api.Change) error { return nil }
func (idleDriver) Usage(uint64) (*api.SessionUsage, error)  { return nil, datapath.ErrNoSession }
func (idleDriver) Drops() (map[string]uint64, error)        { return nil, nil }
func (idleDriver) Close() error                             { return nil }

func idleManager(b testing.TB) *session.Manager {
	b.Helper()
	m, err := session.NewManager(session.Config{MaxSessions: 1 << 20, Endpoints: []session.Endpoint{{IPv4: n3Addr}}},
		rules.Compiler{Bus: bus.InProcess{Driver: idleDriver{}}})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// establishments returns a function that gives the nth establishment.
func establishments(b testing.TB) func(n int) []byte {
	b.Helper()
	template, err := pfcp.Append(nil, pfcp.Header{}, usual("127.0.0.1", "10.250.251.252"))
	if err != nil {
		b.Fatal(err)
	}
	var at []int // where the UE address stands
	for i := range len(template) - 4 {
		if string(template[i:i+4]) == "\x0a\xfa\xfb\xfc" {
			at = append(at, i)
		}
	}
	if len(at) != 2 {
		b.Fatalf("UE address at %v, want 2 places", at)
	}
	return func(n int) []byte {
		n++
		for _, i := range at {
			template[i+1], template[i+2], template[i+3] = byte(n>>16), byte(n>>8), byte(n)
		}
		template[12], template[13], template[14] = byte(n>>16), byte(n>>8), byte(n)
		return template
	}
}

var benchSource = netip.MustParseAddrPort("127.0.0.1:9999")

// BenchmarkHandle is one establishment, from the datagram to the response,
// without socket and without datapath.
func BenchmarkHandle(b *testing.B) {
	c, err := Config{Listen: netip.MustParseAddrPort("127.0.0.1:8805"), Log: slog.New(slog.DiscardHandler)}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	e := newEndpoint(c, idleManager(b))
	w := newWorker(e, nil)
	w.handle(benchSource, mustAppend(b, 1, setupRequest("127.0.0.1")), time.Now())
	next := establishments(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%(1<<19) == 0 {
			b.StopTimer()
			if _, err := e.sessions.DeleteOwned(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		w.buf = w.buf[:0]
		w.handle(benchSource, next(n), time.Now())
	}
	if n := e.counters.Causes[pfcp.CauseRequestAccepted].Load(); int(n) < b.N {
		b.Fatalf("%d accepted of %d", n, b.N)
	}
}

func setupRequest(node string) *pfcp.AssociationSetupRequest {
	return &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, RecoveryTimeStamp: 1}
}

func mustAppend(b testing.TB, sequence uint32, m pfcp.Message) []byte {
	b.Helper()
	out, err := pfcp.Append(nil, pfcp.Header{Sequence: sequence}, m)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkLoopback establishes over a loopback socket, 64 requests under way
// at a time, without datapath. Client and endpoint share this process's CPUs.
func BenchmarkLoopback(b *testing.B) {
	e, err := Listen(Config{Listen: netip.MustParseAddrPort("127.0.0.1:0"), Log: slog.New(slog.DiscardHandler)}, idleManager(b))
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- e.Serve() }()
	defer func() {
		e.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			b.Error(err)
		}
	}()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(e.Addr()))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	buf := make([]byte, 2048)
	ask := func(datagram []byte) {
		if _, err := conn.Write(datagram); err != nil {
			b.Fatal(err)
		}
	}
	answer := func() {
		if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
	ask(mustAppend(b, 1, setupRequest("127.0.0.1")))
	answer()
	next, pending := establishments(b), 0
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		ask(next(n))
		if pending++; pending == 64 {
			answer()
			pending--
		}
	}
	for ; pending > 0; pending-- {
		answer()
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
	if n := e.Counters().Causes[pfcp.CauseRequestAccepted].Load(); int(n) < b.N {
		b.Fatalf("%d accepted of %d", n, b.N)
	}
}

func (idleDriver) Next(ctx context.Context) (*api.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (idleDriver) Settle(context.Context) error { return nil }
