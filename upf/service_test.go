package upf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// loopbackConfig is a UPF that needs neither devices nor root. Each test has an
// address of its own in 127/8, so that N4 is never in use by another.
func loopbackConfig(t *testing.T) *Config {
	t.Helper()
	n := uint32(os.Getpid())<<8 | uint32(nextHost())
	addr := netip.AddrFrom4([4]byte{127, byte(n>>16) | 1, byte(n >> 8), byte(n)})
	c := Default()
	c.N4.Address = addr
	c.N3.Address = addr
	c.Datapath = DatapathModel
	c.Metrics.Address = netip.AddrPortFrom(addr, 0)
	c.API.Socket = filepath.Join(t.TempDir(), "upf.sock")
	c.complete()
	return c
}

var hosts struct {
	sync.Mutex
	last byte
}

func nextHost() byte {
	hosts.Lock()
	defer hosts.Unlock()
	hosts.last++
	return hosts.last
}

// logBuffer is a log that several goroutines write to.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startUPF runs c until the end of the test.
func startUPF(t *testing.T, c *Config) (*Service, *Client, *logBuffer) {
	t.Helper()
	log := &logBuffer{}
	s, err := Start(t.Context(), c, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Commit: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, NewClient(c.API.Socket), log
}

// establish installs a session of UE address 10.45.0.n, one PDR and FAR each
// way and one QER, with TEID n of the CP function's choice.
func establish(t *testing.T, s *Service, n uint8) *session.Session {
	t.Helper()
	n3 := s.config.N3.Address.As4()
	ue := session.UEAddress{IPv4: session.IPv4{10, 45, 0, n}}
	req := &session.Establishment{
		CP: session.FSEID{SEID: 1000 + uint64(n), IPv4: session.IPv4{10, 4, 0, 2}},
		CreatePDRs: []session.PDR{
			{ID: 1, Precedence: 32, OuterHeaderRemoval: true, FARID: 1, QERIDs: []uint32{1},
				PDI: session.PDI{FTEID: session.FTEID{TEID: uint32(n), IPv4: n3}, UEAddress: ue, QFIs: 1 << 9}},
			{ID: 2, Precedence: 64, FARID: 2, QERIDs: []uint32{1},
				PDI: session.PDI{SourceInterface: session.Core, UEAddress: ue, NetworkInstance: "internet"}},
		},
		CreateFARs: []session.FAR{
			{ID: 1, ApplyAction: session.Forward, HasForwarding: true,
				Forwarding: session.ForwardingParameters{DestinationInterface: session.Core}},
			{ID: 2, ApplyAction: session.Forward, HasForwarding: true,
				Forwarding: session.ForwardingParameters{DSCP: session.Some(uint8(46)),
					OuterHeaderCreation: session.OuterHeaderCreation{TEID: 0x78, IPv4: session.IPv4{10, 3, 0, 2}}}},
		},
		CreateQERs: []session.QER{{ID: 1, QFI: 9, HasMBR: true, MBR: session.Rate{Uplink: 50_000_000, Downlink: 100_000_000}}},
	}
	var got session.Result
	if err := s.sessions.Establish(context.Background(), req, &got); err != nil {
		t.Fatal(err)
	}
	return got.Session
}

// TestStartErrors: what a UPF says when it cannot start, and that it leaves
// nothing behind.
func TestStartErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := netip.MustParseAddrPort(taken.Addr().String())
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   error
		line   string
	}{
		{"metrics port in use", func(c *Config) { c.Metrics.Address = port }, ErrInUse,
			fmt.Sprintf("metrics.address: %s: in use: another process listens there (see ss -lnp); stop it or choose another address", port)},
		{"no such address", func(c *Config) { c.N3.Address = netip.MustParseAddr("192.0.2.77") }, ErrNoAddress,
			"n3.address: 192.0.2.77: no such address on this machine: add it to a device (ip address add)"},
		{"metrics elsewhere", func(c *Config) {
			c.Metrics = Metrics{netip.MustParseAddrPort("192.0.2.77:9090"), true}
		}, ErrNoAddress,
			"metrics.address: 192.0.2.77: no such address on this machine: add it to a device (ip address add) or correct the configuration"},
		{"not valid", func(c *Config) { c.Sessions.Max = 0 }, nil, "sessions.max: 0: want 1 to 16777216"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := loopbackConfig(t)
			tc.change(c)
			s, err := Start(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				s.Close()
				t.Fatal("started")
			}
			if tc.want != nil && !errors.Is(err, tc.want) || err.Error() != tc.line {
				t.Errorf("got %q\nwant %q", err, tc.line)
			}
			if _, err := os.Lstat(c.API.Socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("socket left behind: %v", err)
			}
		})
	}
}

// TestStoreErrors: a store that cannot be opened is an error, of which all is taken down.
func TestStoreErrors(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	held := t.TempDir()
	first := loopbackConfig(t)
	first.Store.Path = held
	s, err := Start(t.Context(), first, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	journals, err := filepath.Glob(filepath.Join(held, "*.journal"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals of the first: %v, %v", journals, err)
	}
	linked, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(linked, filepath.Base(journals[0]))); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Store){
		"another process has it": func(c *Store) { c.Path = held },
		"journal is a link":      func(c *Store) { c.Path = linked },
		"read-only directory":    func(c *Store) { c.Path = "/sys/kernel" }, // for root, too
		"no such directory":      func(c *Store) { c.Path = "/proc/nope" },
		"no Redis there":         func(c *Store) { c.Redis.Address = nobody.Addr().String() },
	} {
		t.Run(name, func(t *testing.T) {
			c := loopbackConfig(t)
			change(&c.Store)
			s, err := Start(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				s.Close()
				t.Fatal("started")
			}
			if !strings.HasPrefix(err.Error(), "store.") {
				t.Errorf("got %q, want the key of the store", err)
			}
		})
	}
	if _, err := os.Lstat(target); err == nil {
		t.Errorf("%s, to which a journal's name was linked, was written", target)
	}
}

// TestWait: it ends with the context, or with PFCP.
func TestWait(t *testing.T) {
	s, _, _ := startUPF(t, loopbackConfig(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx); err != nil {
		t.Errorf("context done: got %v, want nil", err)
	}
	s.endpoint.Close()
	if err := s.Wait(t.Context()); !errors.Is(err, n4.ErrClosed) {
		t.Errorf("PFCP ended: got %v, want %v", err, n4.ErrClosed)
	}
}
