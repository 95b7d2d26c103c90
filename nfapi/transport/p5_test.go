package transport

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// pair is both ends of a P5 connection.
func pair(t *testing.T, c P5Config) (pnf, vnf *P5) {
	t.Helper()
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	l, err := ListenP5(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c.Address = l.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if pnf, err = DialP5(ctx, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pnf.Close() })
	if vnf, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vnf.Close() })
	return pnf, vnf
}

// vectors are the P5 messages of OpenAirInterface.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("../testdata/oai/oai-2025-09_p5.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Name, Hex string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	list := map[string][]byte{}
	for _, v := range file.Vectors {
		b, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		list[v.Name] = b
	}
	return list
}

// conversation sends every vector from one end to the other.
func conversation(t *testing.T, from, to *P5) {
	t.Helper()
	list := vectors(t)
	for name, b := range list {
		h, body, err := nfapi.OAI2025.ParseP5(b)
		if err != nil {
			t.Fatal(err)
		}
		m := nfapi.NewMessage(h.MessageID)
		if err := m.DecodeBody(nfapi.OAI2025, body); err != nil {
			t.Fatal(err)
		}
		if err := from.Send(h.PhyID, m); err != nil {
			t.Fatal(err)
		}
		got, again, err := to.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, got); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
		if !bytes.Equal(bodyOf(t, nfapi.OAI2025, again), body) {
			t.Errorf("%s: got another body", name)
		}
	}
	if len(list) < 10 {
		t.Errorf("%d vectors", len(list))
	}
}

// TestTCP: messages of OpenAirInterface go both ways.
func TestTCP(t *testing.T) {
	pnf, vnf := pair(t, P5Config{Network: "tcp"})
	conversation(t, vnf, pnf)
	conversation(t, pnf, vnf)
	if pnf.LocalAddr() != vnf.RemoteAddr() || vnf.LocalAddr() != pnf.RemoteAddr() || !pnf.LocalAddr().IsValid() {
		t.Errorf("got %v to %v and %v to %v", pnf.LocalAddr(), pnf.RemoteAddr(), vnf.LocalAddr(), vnf.RemoteAddr())
	}
	if err := vnf.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := pnf.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if _, _, err := vnf.Receive(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}

// stream is the octets of a P5 connection, as a peer may send them.
func stream(t *testing.T, c P5Config, octets ...string) *P5 {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close() })
	go func() {
		for _, part := range octets {
			b, _ := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
			if _, err := there.Write(b); err != nil {
				return
			}
		}
		there.Close()
	}()
	return newP5(c, newTCP(here))
}

// TestStream: the generation is found by the first header; messages come whole however
// they are cut; what cannot be a stream ends it.
func TestStream(t *testing.T) {
	for _, tc := range []struct {
		name    string
		profile nfapi.Profile
		in      []string
		want    string // messages and profile, and what ends it
	}{
		{"2025", nfapi.OAI2025, []string{"0000 0100 00000000 0000", "0000 0103 00000001 0000 00"}, "PNF_PARAM.request PNF_CONFIG.response oai-2025 EOF"},
		{"octet by octet", nfapi.OAI2024, []string{"00", "00", "01", "00", "00", "00", "00", "00", "00", "00"}, "PNF_PARAM.request oai-2025 EOF"},
		{"together", nfapi.OAI2024, []string{"0000 0103 00000001 0000 00 0000 0100 00000000 0000"}, "PNF_CONFIG.response PNF_PARAM.request oai-2025 EOF"},
		{"2024 without body", nfapi.OAI2025, []string{"0000 0100 0000 0000"}, "PNF_PARAM.request oai-2024 EOF"},
		{"2024 with body", nfapi.OAI2025, []string{"0000 0103 0001 0000 00 0000 0100 0000 0000"}, "PNF_CONFIG.response PNF_PARAM.request oai-2024 EOF"},
		{"aerial", nfapi.Aerial, []string{"01 00 0500 00000000"}, "STOP.request aerial EOF"},
		{"body that is wrong", nfapi.OAI2025, []string{"0000 0103 00000000 0000", "0000 0100 00000000 0000"},
			"PNF_CONFIG.response: truncated PNF_PARAM.request oai-2025 EOF"},
		{"unknown", nfapi.OAI2025, []string{"0001 0301 00000003 0000 010203"}, "vendor message 0x0301 oai-2025 EOF"},
		{"end within a message", nfapi.OAI2025, []string{"0000 0103 00000001 0000"}, "oai-2025 not a stream"},
		{"end within a header", nfapi.OAI2025, []string{"0000 01"}, "oai-2025 not a stream"},
		{"too long", nfapi.OAI2025, []string{"0000 0100 00000000 0000", "0000 0103 00100001 0000 00"}, "PNF_PARAM.request oai-2025 not a stream"},
		{"2025 to aerial", nfapi.Aerial, []string{"0000 0100 00000000 0000"}, "aerial not a stream"},
		{"2024 to aerial", nfapi.Aerial, []string{"0000 0100 0000 0000"}, "aerial not a stream"},
		{"all ones", nfapi.Aerial, []string{"ffffffffffffffffffffffff"}, "aerial not a stream"},
		{"nothing", nfapi.OAI2025, nil, "oai-2025 EOF"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := stream(t, P5Config{Profile: tc.profile}, tc.in...)
			var got []string
			for {
				h, m, err := p.Receive()
				var wrong *nfapi.Error
				if errors.As(err, &wrong) {
					got = append(got, h.MessageID.String()+": truncated")
					continue
				}
				if err != nil {
					end := err.Error()
					if errors.Is(err, ErrFraming) {
						end = "not a stream"
					}
					got = append(got, p.Profile().String(), end)
					break
				}
				if m.MessageID() != h.MessageID {
					t.Errorf("got %v under the header of %v", m.MessageID(), h.MessageID)
				}
				got = append(got, h.MessageID.String())
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestAllow: who is not allowed is closed at once, and told of; others are taken.
func TestAllow(t *testing.T) {
	l, err := ListenP5(P5Config{Address: "127.0.0.1:0", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, local := range []string{"127.0.0.1:0", "127.0.0.2:0"} {
		p, err := DialP5(t.Context(), P5Config{Address: l.Addr().String(), Local: local})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if local == "127.0.0.1:0" {
			if _, _, err := p.Receive(); err == nil {
				t.Error("who is not allowed has a connection")
			}
		}
	}
	if _, err := l.Accept(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "127.0.0.1:") {
		t.Errorf("got %v, want %v with its address", err, ErrRefused)
	}
	p, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := p.RemoteAddr().Addr().String(); got != "127.0.0.2" {
		t.Errorf("got %s", got)
	}
}

// TestAllowSCTP: of who is not allowed there is no association, and its INIT is told of.
func TestAllowSCTP(t *testing.T) {
	port := udpPort(t)
	l, err := ListenP5(P5Config{
		Network: "sctp-udp", Address: "127.0.0.1:50001", EncapsulationPort: port, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	dialled := make(chan error, 1)
	go func() {
		p, err := DialP5(ctx, P5Config{Network: "sctp-udp", Address: "127.0.0.1:50001", Local: "127.0.0.1:40001", EncapsulationPort: port})
		if err == nil {
			p.Close()
		}
		dialled <- err
	}()
	if _, err := l.Accept(); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "127.0.0.1:40001") {
		t.Errorf("got %v, want %v with its address", err, ErrRefused)
	}
	cancel()
	if err := <-dialled; err == nil {
		t.Error("who is not allowed has a connection")
	}
}

// TestListenerClose: Close ends Accept.
func TestListenerClose(t *testing.T) {
	l, err := ListenP5(P5Config{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	l.Close()
	select {
	case err := <-done:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
	case <-time.After(patience):
		t.Fatal("accept goes on")
	}
	if _, err := DialP5(t.Context(), P5Config{Address: "127.0.0.1:1", Network: "carrier pigeon"}); err == nil {
		t.Error("no error for a network that does not exist")
	}
}

// TestSendFails: after a message that could be sent in part only, the connection is over
// for who receives, too: what followed would not be taken for what it is.
func TestSendFails(t *testing.T) {
	pnf, vnf := pair(t, P5Config{Network: "tcp", WriteTimeout: 20 * time.Millisecond})
	b := make([]byte, 1<<20)
	for range 100 { // the VNF reads nothing
		if err := pnf.SendOctets(b); err != nil {
			done := make(chan error, 1)
			go func() {
				_, _, err := pnf.Receive()
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("got %v, want %v", err, net.ErrClosed)
				}
			case <-time.After(patience):
				t.Error("receive goes on")
			}
			return
		}
	}
	t.Fatalf("%d octets are sent to %v, which does not read", 100*len(b), vnf.LocalAddr())
}

// TestDialTimeout: a VNF whose machine does not answer is given up.
func TestDialTimeout(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
	for range 10 { // the queue of who waits is soon full; the kernel drops what comes then
		begin := time.Now()
		p, err := DialP5(t.Context(), P5Config{Network: "tcp", Address: address.String(), DialTimeout: 100 * time.Millisecond})
		if err == nil {
			defer p.Close()
			continue
		}
		if !strings.Contains(err.Error(), "no answer within 100ms") || time.Since(begin) > patience {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		return
	}
	t.Fatal("ten connections that nobody takes")
}

// TestUserTimeout: a peer whose machine is gone while something is under way to it is
// given up as soon as one that is idle.
func TestUserTimeout(t *testing.T) {
	pnf, vnf := pair(t, P5Config{Network: "tcp"})
	for _, p := range []*P5{pnf, vnf} {
		raw, err := p.carrier.(*tcp).Conn.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var ms int
		if err := errors.Join(raw.Control(func(fd uintptr) { ms, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }), err); err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(ms) * time.Millisecond; got != unacknowledged {
			t.Errorf("got %v, want %v", got, unacknowledged)
		}
	}
}

// FuzzStream: whatever octets come, Receive returns messages or ends, and reserves no
// more than what came.
func FuzzStream(f *testing.F) {
	for _, b := range vectors(f) {
		f.Add(b, uint8(0))
		f.Add(append(b, b...), uint8(1))
	}
	f.Add([]byte{0, 0, 1, 0, 0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, profile uint8) {
		p := newP5(P5Config{Profile: nfapi.Profiles()[int(profile)%3]}, newTCP(&fixed{in: bytes.NewReader(b)}))
		taken := 0
		for {
			h, m, err := p.Receive()
			var wrong *nfapi.Error
			if err != nil && !errors.As(err, &wrong) {
				break
			}
			taken += p.Profile().HeaderLen(nfapi.P5) + int(h.Length)
			if taken > len(b) {
				t.Fatalf("messages of %d octets out of %d", taken, len(b))
			}
			if err == nil && m == nil {
				t.Fatal("neither message nor error")
			}
		}
	})
}

// fixed is a connection whose peer has sent all that it ever will.
type fixed struct {
	net.Conn
	in io.Reader
}

func (f *fixed) Read(b []byte) (int, error)      { return f.in.Read(b) }
func (f *fixed) SetReadDeadline(time.Time) error { return nil }
