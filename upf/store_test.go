package upf

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// heartbeat is the Recovery Time Stamp that the UPF answers with.
func heartbeat(t *testing.T, s *Service) pfcp.TimeStamp {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.endpoint.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var r pfcp.HeartbeatResponse
	askN4(t, conn, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}, &r)
	return r.RecoveryTimeStamp
}

// askN4 sends a request and decodes the response to it.
func askN4(t *testing.T, conn net.Conn, m, r pfcp.Message) {
	t.Helper()
	b, err := pfcp.Append(nil, pfcp.Header{Sequence: 1}, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	b = make([]byte, 65536)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _, err := pfcp.Parse(b[:n])
	if err != nil || r.Decode(body) != nil {
		t.Fatalf("%x: %v", b[:n], err)
	}
}

// TestStoreDamaged: one flipped bit of the journal costs the record that it is in. The
// Recovery Time Stamp is newer if that may have been a session, once, and is the same
// if nothing is damaged.
func TestStoreDamaged(t *testing.T) {
	const sessions = 50
	c := loopbackConfig(t)
	c.Store.Path = t.TempDir()
	run := func(f func(s *Service, log *logBuffer)) pfcp.TimeStamp {
		t.Helper()
		var stamp pfcp.TimeStamp
		t.Run("start", func(t *testing.T) {
			s, _, log := startUPF(t, c)
			stamp = heartbeat(t, s)
			f(s, log)
		})
		return stamp
	}
	first := run(func(s *Service, _ *logBuffer) {
		var r pfcp.AssociationSetupResponse
		conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(s.endpoint.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		askN4(t, conn, &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("10.4.0.2")}, RecoveryTimeStamp: 5}, &r)
		for i := range uint8(sessions) {
			establish(t, s, i+1)
		}
	})
	same := run(func(s *Service, _ *logBuffer) {
		if n := s.sessions.Len(); n != sessions {
			t.Errorf("%d sessions, want %d", n, sessions)
		}
	})
	if same != first {
		t.Errorf("nothing is lost: %v, before %v", same.Time(), first.Time())
	}
	flipSession(t, c.Store.Path, 1000+20)
	newer := run(func(s *Service, log *logBuffer) {
		if n := s.sessions.Len(); n != sessions-1 {
			t.Errorf("%d sessions, want %d", n, sessions-1)
		}
		if lost := s.store.Lost(); lost.Records != 1 || !strings.Contains(log.String(), "journal damaged, passed over") {
			t.Errorf("%+v, log:\n%s", lost, log)
		}
	})
	if int32(newer-first) <= 0 {
		t.Errorf("a session is lost: %v, before %v", newer.Time(), first.Time())
	}
	again := run(func(s *Service, log *logBuffer) {
		if lost := s.store.Lost(); lost.Records != 0 || s.sessions.Len() != sessions-1 {
			t.Errorf("%+v, %d sessions, log:\n%s", lost, s.sessions.Len(), log)
		}
	})
	if again != newer {
		t.Errorf("told again: %v, before %v", again.Time(), newer.Time())
	}
}

// flipSession flips a bit in the first record with that SEID of a CP function.
func flipSession(t *testing.T, dir string, seid uint64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		i := bytes.Index(b, binary.LittleEndian.AppendUint64(nil, seid))
		if i < 0 {
			continue
		}
		b[i+20] ^= 4
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no such session in the journal")
}
