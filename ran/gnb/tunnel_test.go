package gnb_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// logged is a log that may be read meanwhile.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// indication is an Error Indication of a UPF about an uplink TEID.
func indication(teid uint32, upf netip.Addr) []byte {
	b := []byte{0x32, gtpu.ErrorIndication, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16}
	b = binary.BigEndian.AppendUint32(b, teid)
	return append(append(b, 133, 0, 4), upf.AsSlice()...)
}

// TestSetUplink: what a UE sends next goes to the F-TEID that it was given last, and Error
// Indications about that one are reported, while those about the one before are of no UE.
func TestSetUplink(t *testing.T) {
	first, second, own := netip.MustParseAddr("127.29.28.11"), netip.MustParseAddr("127.29.28.12"), netip.MustParseAddr("127.0.0.1")
	upfs := map[netip.Addr]*net.UDPConn{}
	for _, a := range []netip.Addr{first, second} {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, gtpu.Port)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		upfs[a] = conn
	}
	log := &logged{}
	g, err := gnb.New(gnb.Config{N3: gnb.N3{Address: own, UPF: first}, UEs: []gnb.UE{{
		Name: "ue0", Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1")}, UplinkTEID: 1, DownlinkTEID: 1, Port: &inbox{make(chan []byte, 1)},
	}}}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()

	told, unknown := 0, uint64(0)
	for i, to := range []struct {
		teid uint32
		upf  netip.Addr
	}{{1, first}, {7, first}, {7, second}} {
		if i > 0 {
			if err := g.SetUplink(0, 99, second); err != nil { // nothing is sent there
				t.Fatal(err)
			}
			if err := g.SetUplink(0, to.teid, to.upf); err != nil {
				t.Fatal(err)
			}
		}
		packet := userPacket(40, byte(i))
		g.Uplink(0).Send(packet)
		g.Uplink(0).Flush()
		got := make([]byte, 1500)
		n, err := upfs[to.upf].Read(got)
		if want := append(gtpu.AppendGPDU(nil, to.teid, gtpu.PDUTypeUplink, 0, len(packet)), packet...); err != nil || !bytes.Equal(got[:n], want) {
			t.Errorf("move %d: %x, %v; want %x", i, got[:n], err, want)
		}
		for range 2 { // the second one is not in the log again
			send(t, upfs[to.upf], indication(to.teid, to.upf), netip.AddrPortFrom(own, gtpu.Port))
		}
		send(t, upfs[to.upf], indication(99, second), netip.AddrPortFrom(own, gtpu.Port))
		told, unknown = told+1, unknown+1
		waitFor(t, func() bool { return g.Stats().N3.UnknownTEID == unknown })
		s := g.Stats()
		if lines := strings.Count(log.String(), "UPF has no session for a UE"); lines != told || s.UEs[0].ErrorIndications != uint64(2*told) {
			t.Errorf("move %d: %d lines about %d Error Indications, want %d about %d", i, lines, s.UEs[0].ErrorIndications, told, 2*told)
		}
	}
	if paths := g.Stats().Paths; len(paths) != 2 {
		t.Errorf("paths: %+v, want 2", paths)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := g.SetUplink(0, 1, first); err == nil {
		t.Error("a UE was moved of a gNB that is closed")
	}
}

func send(t *testing.T, from *net.UDPConn, b []byte, to netip.AddrPort) {
	t.Helper()
	if _, err := from.WriteToUDPAddrPort(b, to); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}
