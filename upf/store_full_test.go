package upf

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// storeClient is a CP function that is associated.
type storeClient struct {
	net.Conn
	t    *testing.T
	addr netip.Addr
	ue   uint32
}

func newStoreClient(t *testing.T, s *Service) *storeClient {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.endpoint.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &storeClient{conn, t, netip.MustParseAddrPort(conn.LocalAddr().String()).Addr(), 0x0a2d0000}
	var r pfcp.AssociationSetupResponse
	askN4(t, c, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: c.addr}, RecoveryTimeStamp: 5}, &r)
	if r.Cause != pfcp.CauseRequestAccepted {
		t.Fatal(r.Cause)
	}
	return c
}

// establish sets up a session of the next UE address, and says how long that took.
func (c *storeClient) establish() (pfcp.Cause, time.Duration) {
	c.t.Helper()
	c.ue++
	start := time.Now()
	ue := netip.AddrFrom4([4]byte{byte(c.ue >> 24), byte(c.ue >> 16), byte(c.ue >> 8), byte(c.ue)})
	var r pfcp.SessionEstablishmentResponse
	askN4(c.t, c, &pfcp.SessionEstablishmentRequest{
		NodeID: pfcp.NodeID{Addr: c.addr}, CPFSEID: pfcp.FSEID{SEID: uint64(c.ue), IPv4: c.addr},
		CreatePDRs: []pfcp.CreatePDR{{PDRID: 1, Precedence: 1, FARID: pfcp.Some(uint32(1)),
			PDI: pfcp.PDI{SourceInterface: pfcp.InterfaceCore, UEIPAddresses: []pfcp.UEIPAddress{{IPv4: ue, Destination: true}}}}},
		CreateFARs: []pfcp.CreateFAR{{FARID: 1, ApplyAction: pfcp.ApplyDROP}},
	}, &r)
	return r.Cause, time.Since(start)
}

// bound is how long an answer may take while the store fails: a second, and what a busy
// machine needs.
const bound = 4 * time.Second

// refusedUntil checks that establishments are refused in time and heartbeats answered
// while the store fails, and accepted soon after it was mended.
func (c *storeClient) refusedUntil(s *Service, mend func()) {
	t := c.t
	t.Helper()
	for range 5 {
		cause, took := c.establish()
		if cause != pfcp.CauseSystemFailure || took > bound {
			t.Errorf("establishment: %v after %v, want %v", cause, took, pfcp.CauseSystemFailure)
		}
		start := time.Now()
		if heartbeat(t, s); time.Since(start) > bound {
			t.Errorf("heartbeat after %v", time.Since(start))
		}
	}
	mend()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if cause, _ := c.establish(); cause == pfcp.CauseRequestAccepted {
			return
		}
		if time.Now().After(end) {
			t.Fatal("still refused")
		}
	}
}

// TestStoreFull: a disk that is full has requests refused with Cause 77, not one session
// that was accepted is lost, and it goes on when there is room.
func TestStoreFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("plt-store", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no tmpfs, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	c := loopbackConfig(t)
	c.Store.Path = dir
	c.Sessions.Max = 100_000
	accepted := 0
	t.Run("full", func(t *testing.T) {
		s, _, _ := startUPF(t, c)
		smf := newStoreClient(t, s)
		for ; ; accepted++ {
			cause, took := smf.establish()
			if took > bound {
				t.Fatalf("%v after %v", cause, took)
			}
			if cause == pfcp.CauseSystemFailure {
				break
			}
			if cause != pfcp.CauseRequestAccepted {
				t.Fatal(cause)
			}
		}
		if n := s.sessions.Len(); n != accepted {
			t.Errorf("%d sessions, %d were accepted", n, accepted)
		}
		smf.refusedUntil(s, func() {
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=64m"); err != nil {
				t.Error(err)
			}
		})
		accepted++
	})
	t.Run("started again", func(t *testing.T) {
		s, _, _ := startUPF(t, c)
		if n := s.sessions.Len(); n != accepted || accepted < 1000 {
			t.Errorf("%d sessions, %d were accepted", n, accepted)
		}
	})
}

// TestStoreHangs: a Redis that does not answer has requests refused with Cause 77 within
// a bound, and it goes on when Redis does.
func TestStoreHangs(t *testing.T) {
	server := redistest.Start(t)
	c := loopbackConfig(t)
	c.Store.Redis.Address = server.Address
	s, _, _ := startUPF(t, c)
	smf := newStoreClient(t, s)
	if cause, _ := smf.establish(); cause != pfcp.CauseRequestAccepted {
		t.Fatal(cause)
	}
	server.Pause()
	smf.refusedUntil(s, server.Resume)
	if n := s.sessions.Len(); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

// TestStoreForgets: what a Redis has lost under a running UPF is there again after the
// process is gone.
func TestStoreForgets(t *testing.T) {
	server := redistest.Start(t)
	c := loopbackConfig(t)
	c.Store.Redis.Address = server.Address
	var stamp pfcp.TimeStamp
	t.Run("FLUSHALL", func(t *testing.T) {
		s, _, _ := startUPF(t, c)
		stamp = heartbeat(t, s)
		smf := newStoreClient(t, s)
		for range 33 {
			if cause, _ := smf.establish(); cause != pfcp.CauseRequestAccepted {
				t.Fatal(cause)
			}
		}
		if err := server.Client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if cause, _ := smf.establish(); cause != pfcp.CauseRequestAccepted {
			t.Fatal(cause)
		}
		if n := server.Client.HLen(t.Context(), "plumbline:store:s").Val(); n != 34 {
			t.Errorf("%d sessions in Redis, want 34", n)
		}
	})
	s, _, _ := startUPF(t, c)
	if n, a := s.sessions.Len(), len(s.endpoint.Associations()); n != 34 || a != 1 || heartbeat(t, s) != stamp {
		t.Errorf("%d sessions, %d associations, Recovery Time Stamp %v, before %v", n, a, heartbeat(t, s).Time(), stamp.Time())
	}
}
