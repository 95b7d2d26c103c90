package pfcpsim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// n3 is where the UP function of the tests terminates GTP-U.
var n3 = netip.MustParseAddr("10.3.0.1")

// bed is a UP function over the model, and a CP function that is simulated.
type bed struct {
	*Peer
	traffic *modelTraffic
	trace   []Message
}

// addresses gives each bed addresses of its own: port 8805 is the CP
// function's, and tests run side by side.
var addresses = struct {
	mu   sync.Mutex
	next int
}{}

func address(host byte) netip.Addr {
	addresses.mu.Lock()
	defer addresses.mu.Unlock()
	addresses.next++
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(64 + pid>>8&0x3f), byte(pid), byte(addresses.next*4) + host})
}

func newBed(t *testing.T) *bed {
	t.Helper()
	return newBedOver(t, func(upf *stages.UPF) datapath.Driver { return upf })
}

// newBedOver returns a bed whose UP function has the driver that is made of the model.
func newBedOver(t *testing.T, driver func(*stages.UPF) datapath.Driver) *bed {
	t.Helper()
	b := &bed{traffic: &modelTraffic{}}
	start := time.Now()
	b.traffic.upf = stages.New(stages.Config{
		Endpoints: []datapath.Endpoint{{Name: "n3", Address: n3}}, MaxSessions: 100,
		Now: func() uint64 { return uint64(time.Since(start)) }, Send: b.traffic.left,
	})
	over := driver(b.traffic.upf)
	can := over.Capabilities()
	compiler := rules.Compiler{Bus: bus.InProcess{Driver: over}}
	m, err := session.NewManager(session.Config{
		MaxSessions: 100, Endpoints: []session.Endpoint{{Name: "n3", IPv4: n3.As4()}},
		Pools: []session.Pool{{Name: "pool4", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.99.0.0/24")}}},
	}, compiler)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(testLog{t}, nil))
	e, err := n4.Listen(n4.Config{
		Listen: netip.AddrPortFrom(address(1), 0), Events: compiler, Log: log, Sockets: 1,
		Capabilities: n4.Capabilities{Capabilities: can, UEAddresses: true},
	}, m)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- e.Serve() }()
	t.Cleanup(func() {
		e.Close()
		if err := <-served; !errors.Is(err, n4.ErrClosed) {
			t.Error(err)
		}
	})
	b.Peer, err = Open(Config{
		UPF: e.Addr(), Local: netip.AddrPortFrom(address(2), 0), Traffic: b.traffic,
		T1: 2 * time.Second, Trace: func(m Message) { b.trace = append(b.trace, m) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// run does a scenario, and shows what went over the wire if it fails.
func (b *bed) run(t *testing.T, s *Scenario) {
	t.Helper()
	skipped := 0
	err := b.Run(t.Context(), s, func(r Result) {
		if r.Skipped != "" {
			skipped++
		}
	})
	if err != nil {
		for _, m := range b.trace[max(0, len(b.trace)-4):] {
			t.Log(m)
		}
		t.Error(err)
	}
	if skipped > 0 {
		t.Errorf("%d steps left out", skipped)
	}
}

// testLog writes a log to a test's.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Logf("upf: %s", b)
	}
	return len(b), nil
}

// TestDialects runs each built-in scenario against a UP function of ours, with
// packets through the model of a datapath.
func TestDialects(t *testing.T) {
	for _, name := range Dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Dialect(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name || s.About == "" {
				t.Errorf("name %q, about %q", s.Name, s.About)
			}
			newBed(t).run(t, s)
		})
	}
}

// TestFindsFaults: a scenario fails where the UP function does something else
// than is expected, or what is not there is named.
func TestFindsFaults(t *testing.T) {
	establish := `establish: {Create PDR: {PDR ID: 1, Precedence: 1, PDI: {Source Interface: Access, F-TEID: choose}, FAR ID: 1}, Create FAR: {FAR ID: 1, Apply Action: DROP}}`
	for name, tc := range map[string]struct {
		steps string
		want  error
	}{
		"cause":           {"[{associate: {}, expect: {Cause: Request rejected}}]", ErrExpected},
		"IE absent":       {"[{associate: {}, expect: {Created PDR: present}}]", ErrExpected},
		"IE present":      {"[{associate: {}, expect: {Cause: absent}}]", ErrExpected},
		"flag":            {"[{associate: {}, expect: {UP Function Features: has TSN}}]", ErrExpected},
		"refused":         {"[{" + establish + "}]", ErrExpected},
		"field":           {"[{associate: {}}, {" + establish + ", expect: {Created PDR: {F-TEID: {teid: 0}}}}]", ErrExpected},
		"number":          {"[{associate: {}}, {" + establish + ", expect: {Created PDR: {PDR ID: 2}}}]", ErrExpected},
		"report":          {"[{report: {}, within: 20ms}]", ErrExpected},
		"response to all": {"[{heartbeat: {}, expect: none, within: 1ms}]", ErrExpected},
		"packet":          {"[{downlink: {from: 192.0.2.1, to: 10.1.1.1}, expect: n6}]", ErrExpected},
		"packets sent":    {"[{sent: [{peer: 10.1.1.1, teid: 1}]}]", ErrExpected},
		"no variable":     {"[{associate: {CP Function Features: '${nothing}'}}]", ErrName},
		"no IE":           {"[{associate: {Some IE: 1}}]", ErrName},
		"no value":        {"[{associate: {CP Function Features: SOME}}]", ErrValue},
		"no session":      {"[{modify: {}}]", ErrName},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte("steps: " + tc.steps))
			if err != nil {
				t.Fatal(err)
			}
			if err := newBed(t).Run(t.Context(), s, nil); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestNoResponse: a UP function that is not there is asked N1 times.
func TestNoResponse(t *testing.T) {
	sent := 0
	p, err := Open(Config{
		UPF: netip.AddrPortFrom(address(1), 8805), Local: netip.AddrPortFrom(address(2), 0), T1: 10 * time.Millisecond, N1: 4,
		Trace: func(Message) { sent++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	step, err := ParseStep("heartbeat")
	if err != nil {
		t.Fatal(err)
	}
	r := p.Do(t.Context(), step)
	var refused interface{ Timeout() bool }
	if !errors.Is(r.Err, ErrNoResponse) && !errors.As(r.Err, &refused) {
		t.Errorf("got %v, want %v", r.Err, ErrNoResponse)
	}
	if errors.Is(r.Err, ErrNoResponse) && sent != 4 {
		t.Errorf("sent %d times, want 4", sent)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := p.Do(ctx, step); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("got %v, want %v", r.Err, context.Canceled)
	}
}

func ExampleText() {
	nodes := ParseNodes([]byte{0, 60, 0, 5, 0, 10, 4, 0, 2, 0, 96, 0, 4, 0, 0, 0, 1})
	fmt.Print(Text(nodes))
	// Output:
	// Node ID: 10.4.0.2
	// Recovery Time Stamp: 1
}
