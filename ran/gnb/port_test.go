package gnb_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// inbox is a Port that keeps what it has room for.
type inbox struct{ packets chan []byte }

func (p *inbox) Deliver(packet []byte) bool {
	select {
	case p.packets <- bytes.Clone(packet):
		return true
	default:
		return false
	}
}

// portBed is a gNB whose UE is a Port, and the socket of its UPF.
type portBed struct {
	gnb *gnb.GNB
	in  *inbox
	upf *net.UDPConn
	to  netip.AddrPort // the gNB
}

const uplinkTEID, downlinkTEID, portQFI = 0x11, 0x21, 9

func newPortBed(t *testing.T, room int) *portBed {
	t.Helper()
	top := newBed(t, topology.Config{Name: "plt-gnb-port"})
	b := &portBed{in: &inbox{make(chan []byte, room)}, to: netip.AddrPortFrom(top.N3.Peer.Address.Addr(), gtpu.Port)}
	at := netip.AddrPortFrom(top.N3.UPF.Address.Addr(), gtpu.Port)
	err := top.UPF.Do(func() (err error) {
		b.upf, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.upf.Close() })
	if err := b.upf.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b.gnb = labtest.RunGNB(t, gnb.Config{
		N3: gnb.N3{Address: b.to.Addr(), UPF: at.Addr(), Namespace: top.GNB.Name},
		UEs: []gnb.UE{{
			Name: "ue0", Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1")}, QFI: portQFI,
			UplinkTEID: uplinkTEID, DownlinkTEID: downlinkTEID, Port: b.in,
		}},
	})
	return b
}

// userPacket is an IPv4 header and octets that tell it from others.
func userPacket(size int, mark byte) []byte {
	b := bytes.Repeat([]byte{mark}, size)
	b[0] = 0x45
	return b
}

func (b *portBed) receive(t *testing.T) []byte {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := b.upf.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// TestPortUplink: packets wait for Flush, are then G-PDUs in their order, and what is no
// packet for this UE's MTU is counted.
func TestPortUplink(t *testing.T) {
	b := newPortBed(t, 1)
	up := b.gnb.Uplink(0)
	up.Send([]byte("no IP packet at all"))
	up.Send(userPacket(b.gnb.MTU()+1, 0))
	const many = 150 // more than one batch, and no more than a socket has room for
	for i := range many {
		up.Send(userPacket(20+i, byte(i)))
	}
	up.Flush()
	up.Flush() // of nothing
	for i := range many {
		packet := userPacket(20+i, byte(i))
		want := append(gtpu.AppendGPDU(nil, uplinkTEID, gtpu.PDUTypeUplink, portQFI, len(packet)), packet...)
		if got := b.receive(t); !bytes.Equal(got, want) {
			t.Fatalf("G-PDU %d: %x, want %x", i, got, want)
		}
	}
	if s := b.gnb.Stats().UEs[0]; s.UplinkPackets != many || s.UplinkErrors != 2 {
		t.Errorf("%d packets and %d errors, want %d and 2", s.UplinkPackets, s.UplinkErrors, many)
	}
}

// TestPortDownlink: user packets come to the port, and those that it has no room for are
// counted.
func TestPortDownlink(t *testing.T) {
	b := newPortBed(t, 2)
	const sent, room = 5, 2
	for i := range sent {
		packet := userPacket(100, byte(i))
		g := append(gtpu.AppendGPDU(nil, downlinkTEID, gtpu.PDUTypeDownlink, portQFI, len(packet)), packet...)
		if _, err := b.upf.WriteToUDPAddrPort(g, b.to); err != nil {
			t.Fatal(err)
		}
	}
	for i := range room {
		if got, want := <-b.in.packets, userPacket(100, byte(i)); !bytes.Equal(got, want) {
			t.Errorf("packet %d: %x, want %x", i, got, want)
		}
		if i == 0 {
			await(t, func() bool { return b.gnb.Stats().UEs[0].DownlinkPackets == sent })
		}
	}
	// One or two of them were taken out before the last ones came.
	if s := b.gnb.Stats().UEs[0]; s.DownlinkErrors < sent-room-1 || s.DownlinkErrors > sent-room {
		t.Errorf("%d packets without room, want %d or %d", s.DownlinkErrors, sent-room-1, sent-room)
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen within 20 s")
		}
	}
}

// TestPortClosed: who sends after the end loses packets, and nothing else.
func TestPortClosed(t *testing.T) {
	top := newBed(t, topology.Config{Name: "plt-gnb-shut"})
	g, err := gnb.New(gnb.Config{
		N3: gnb.N3{Address: top.N3.Peer.Address.Addr(), UPF: top.N3.UPF.Address.Addr(), Namespace: top.GNB.Name},
		UEs: []gnb.UE{{
			Name: "ue0", Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1")},
			UplinkTEID: uplinkTEID, DownlinkTEID: downlinkTEID, Port: &inbox{},
		}},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Run(ctx); err != nil {
		t.Error(err)
	}
	up := g.Uplink(0)
	up.Send(userPacket(100, 1))
	up.Flush()
	if s := g.Stats().UEs[0]; s.UplinkPackets != 0 {
		t.Errorf("%d packets went out of a gNB that is closed", s.UplinkPackets)
	}
}

func TestPortAllocates(t *testing.T) {
	b := newPortBed(t, 1)
	up, packet := b.gnb.Uplink(0), userPacket(1400, 1)
	n := testing.AllocsPerRun(100, func() {
		for range 10 {
			up.Send(packet)
		}
		up.Flush()
	})
	if n != 0 {
		t.Errorf("%v allocations for a burst, want 0", n)
	}
}
