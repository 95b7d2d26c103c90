package transport

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// udpPort is a UDP port of loopback that nobody has.
func udpPort(t testing.TB) uint16 {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return addrPort(c.LocalAddr()).Port()
}

// sctpPair is both ends of a P5 connection over wires that open makes.
func sctpPair(t *testing.T, c P5Config, open opener) (pnf, vnf *P5, s *sctpSource) {
	t.Helper()
	listening, err := listenSCTP(c, open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listening.Close() })
	c.Address = listening.addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	carried, err := dialSCTP(ctx, c, open)
	if err != nil {
		t.Fatal(err)
	}
	pnf = newP5(c, carried)
	t.Cleanup(func() { pnf.Close() })
	if carried, err = listening.accept(); err != nil {
		t.Fatal(err)
	}
	vnf = newP5(c, carried)
	t.Cleanup(func() { vnf.Close() })
	return pnf, vnf, listening.(*sctpSource)
}

// TestSCTPInUDP: messages of OpenAirInterface go both ways; the end of the association
// is the end of both.
func TestSCTPInUDP(t *testing.T) {
	pnf, vnf := pair(t, P5Config{Network: "sctp-udp", Address: "127.0.0.1:50001", EncapsulationPort: udpPort(t)})
	conversation(t, vnf, pnf)
	conversation(t, pnf, vnf)
	if pnf.LocalAddr() != vnf.RemoteAddr() || vnf.LocalAddr() != pnf.RemoteAddr() || vnf.LocalAddr().Port() != 50001 {
		t.Errorf("got %v to %v and %v to %v", pnf.LocalAddr(), pnf.RemoteAddr(), vnf.LocalAddr(), vnf.RemoteAddr())
	}
	if err := vnf.Send(0, &nfapi.PNFStopRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := vnf.Close(); err != nil {
		t.Fatal(err)
	}
	if h, _, err := pnf.Receive(); err != nil || h.MessageID != nfapi.MsgPNFStopRequest {
		t.Errorf("got %v, %v: what was sent before the end is lost", h.MessageID, err)
	}
	if _, _, err := pnf.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if _, _, err := vnf.Receive(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
	if err := pnf.Send(0, &nfapi.PNFStopRequest{}); err == nil {
		t.Error("no error behind the end")
	}
}

// inNamespace runs f on a thread of a network namespace of its own, whose loopback is up.
// Sockets that it opens stay there.
func inNamespace(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() { // a thread that ends with the goroutine
		runtime.LockOSThread()
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return err
			}
			lo, err := netlink.LinkByName("lo")
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(lo); err != nil {
				return err
			}
			return f()
		}()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// recorder is a wire that writes down what it sends.
type recorder struct {
	wire
	mu   *sync.Mutex
	list *[][]byte
}

func (r recorder) write(b []byte, to netip.AddrPort) error {
	r.mu.Lock()
	*r.list = append(*r.list, append([]byte(nil), b...))
	r.mu.Unlock()
	return r.wire.write(b, to)
}

// TestSCTPOverIP: the same over IP protocol 132, for both families; and tshark finds
// nothing wrong with the packets.
func TestSCTPOverIP(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: no raw sockets")
	}
	var mu sync.Mutex
	var list [][]byte
	for _, address := range []string{"127.0.0.1:50001", "[::1]:50001"} {
		var pnf, vnf *P5
		inNamespace(t, func() error {
			pnf, vnf, _ = sctpPair(t, P5Config{Address: address}, func(local netip.Addr, port uint16) (wire, error) {
				w, err := rawWire(local, port)
				return recorder{w, &mu, &list}, err
			})
			return nil
		})
		conversation(t, vnf, pnf)
		conversation(t, pnf, vnf)
		if err := pnf.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := vnf.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want %v", err, io.EOF)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	secondOpinion(t, list)
}

// secondOpinion has tshark look at SCTP packets: checksums, ports, chunks, PPID.
func secondOpinion(t *testing.T, list [][]byte) {
	t.Helper()
	var frames [][]byte
	for _, b := range list {
		ip := &layers.IPv4{SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}, Protocol: layers.IPProtocolSCTP}
		frames = append(frames, tshark.Frame(t, ip, gopacket.Payload(b)))
	}
	out, _ := tshark.Run(t, tshark.Capture(t, frames), "-o", "sctp.checksum:CRC 32c", "-T", "fields", "-E", "separator=;",
		"-e", "sctp.checksum.status", "-e", "sctp.chunk_type", "-e", "sctp.data_payload_proto_id", "-e", "sctp.port", "-e", "_ws.malformed")
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), ";")
		if len(fields) != 5 || fields[0] != "1" || !strings.Contains(fields[3], "50001") || fields[4] != "" {
			t.Errorf("tshark: %q: want a good checksum and port 50001", line)
			continue
		}
		for chunk := range strings.SplitSeq(fields[1], ",") {
			seen[chunk]++
		}
		if ppid := fields[2]; ppid != "" && strings.Trim(ppid, "42,") != "" {
			t.Errorf("tshark: payload protocol %s, want 42", ppid)
		}
	}
	for _, chunk := range []string{"0", "1", "2", "3", "7", "8", "10", "11", "14"} { // DATA to SHUTDOWN COMPLETE
		if seen[chunk] == 0 {
			t.Errorf("tshark: no chunk of type %s in %v", chunk, seen)
		}
	}
}

// lossy is a wire that loses, repeats and swaps packets.
type lossy struct {
	wire
	mu   *sync.Mutex
	r    *rand.Rand
	held *[]byte
}

func (l lossy) write(b []byte, to netip.AddrPort) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := l.r.IntN(20); {
	case n < 2:
		return nil
	case n < 4:
		_ = l.wire.write(b, to)
	case n < 6 && *l.held == nil:
		*l.held = append([]byte(nil), b...)
		return nil
	case *l.held != nil:
		_ = l.wire.write(b, to)
		b, *l.held = *l.held, nil
	}
	return l.wire.write(b, to)
}

// TestSCTPLoss: messages arrive once, in order, whatever the network does to packets.
func TestSCTPLoss(t *testing.T) {
	var mu sync.Mutex
	seed := uint64(0)
	pnf, vnf, _ := sctpPair(t, P5Config{Address: "127.0.0.1:50001", EncapsulationPort: udpPort(t)}, func(local netip.Addr, port uint16) (wire, error) {
		w, err := udpWire(local, port)
		seed++
		return lossy{w, &mu, rand.New(rand.NewPCG(seed, 7)), new([]byte)}, err
	})
	conversation(t, vnf, pnf)
	for i := range uint16(20) {
		if err := pnf.Send(i, &nfapi.StopIndication{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint16(20) {
		if h, _, err := vnf.Receive(); err != nil || h.PhyID != i {
			t.Fatalf("got message of phy %d, %v, want %d", h.PhyID, err, i)
		}
	}
}

// TestRestart: the peer of a VNF that has begun anew learns it with its next message,
// and can connect again.
func TestRestart(t *testing.T) {
	c := P5Config{Address: "127.0.0.1:50001", EncapsulationPort: udpPort(t)}
	pnf, _, s := sctpPair(t, c, udpWire)
	s.Close()
	s.endpoint.wire.Close() // as if it had been killed
	var again source
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		var err error
		if again, err = listenSCTP(c, udpWire); err == nil {
			break
		}
		if time.Since(begin) > patience {
			t.Fatal(err)
		}
	}
	defer again.Close()
	if err := pnf.Send(0, &nfapi.PNFReadyIndication{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := pnf.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	carried, err := dialSCTP(t.Context(), c, udpWire)
	if err != nil {
		t.Fatal(err)
	}
	carried.Close()
}

// TestHandshake: who does not answer is given up when the context is done.
func TestHandshake(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMemory()
	go func() {
		<-m.out // INIT
		cancel()
	}()
	_, err := dialSCTP(ctx, P5Config{Address: "127.0.0.1:50001"}, func(netip.Addr, uint16) (wire, error) { return m, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
