package tun

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Frame implements [conformance.Datapath].
func (b *bed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	b.first = nil
	b.TendNow()
	var got conformance.Outcome
	if port == conformance.N3 {
		got.Reason = b.fromN3(t, frame)
	} else {
		got.Reason = b.fromNetwork(t, port, frame)
	}
	b.TendNow()
	rest := b.first
	if got.Reason == datapath.ReasonNone && len(rest) > 0 {
		got.Packet, rest = rest[0], rest[1:]
	}
	b.sent = append(b.sent, rest...)
	for _, e := range b.errs {
		t.Error(e)
	}
	b.errs = nil
	return got
}

// sentinel follows a frame, so that it is known when that has come, or will not.
const sentinel = "sentinel"

// fromN3 lets a frame arrive at the veth, if it is for a socket of ours.
func (b *bed) fromN3(t testing.TB, frame []byte) datapath.Reason {
	t.Helper()
	p := &vector.Packet{Buf: frame, Start: min(inet.LenEthernet, len(frame)), End: len(frame)}
	version := map[uint16]byte{inet.EtherIPv4: 4, inet.EtherIPv6: 6}
	if len(frame) <= inet.LenEthernet || p.Octets()[0]>>4 != version[binary.BigEndian.Uint16(frame[12:])] {
		return datapath.PassHost
	}
	if reason := b.TakeOuter(p); reason != datapath.ReasonNone {
		b.worker(0).Refuse(reason)
		return reason
	}
	u := b.uplinks[p.To]
	to := &unix.SockaddrLinklayer{Ifindex: b.n3p, Halen: 6}
	frame = append(append([]byte(nil), conformance.N3MAC[:]...), frame[6:]...)
	for _, f := range [][]byte{frame, datagramTo(p.To)} {
		check(t, unix.Sendto(b.inject, f, 0, to))
	}
	for reason := datapath.PassHost; ; {
		n, err := u.in.Next()
		check(t, err)
		last := n > 0 && string(u.memory.slots[n-1][vector.Headroom:][:u.in.Size(n-1)]) == sentinel
		if last {
			n--
		}
		if n > 0 {
			u.treat(n)
			reason = u.packets[0].Reason
		}
		if last {
			return reason
		}
	}
}

// datagramTo is a frame with the sentinel.
func datagramTo(to netip.Addr) []byte {
	from := conformance.GNBAddress
	f := append(append([]byte(nil), conformance.N3MAC[:]...), conformance.GNBMAC[:]...)
	if to.Is6() {
		from = conformance.GNBAddress6
	}
	packet := datagram(from, to, []byte(sentinel))
	udp := 20
	f = append(f, 8, 0)
	if to.Is6() {
		f[12], f[13] = 0x86, 0xdd
		udp = 40
	}
	binary.BigEndian.PutUint16(packet[udp+2:], gtpu.Port)
	packet[udp+6], packet[udp+7] = 0, 0
	return append(f, packet...)
}

// fromNetwork gives a packet to a device as the kernel does.
func (b *bed) fromNetwork(t testing.TB, port conformance.Port, frame []byte) datapath.Reason {
	t.Helper()
	if len(frame) < inet.LenEthernet {
		return datapath.PassHost
	}
	if len(frame) == inet.LenEthernet && port != conformance.N6LAN { // no packet at all
		b.worker(0).Refuse(datapath.DropIPShort)
		return datapath.DropIPShort
	}
	network := int(port - conformance.N6)
	dev, down := b.traffic.devices[network], b.downlinks[network]
	other := map[uint16]byte{inet.EtherIPv4: 6, inet.EtherIPv6: 4}[binary.BigEndian.Uint16(frame[12:])]
	if !dev.frames && (other == 0 || frame[inet.LenEthernet]>>4 == other) {
		return datapath.PassHost
	}
	octets := bytes.Clone(frame)
	switch {
	case !dev.TAP:
		octets = octets[inet.LenEthernet:]
	case !dev.frames:
		copy(octets, dev.peer[:])
	}
	to := &unix.SockaddrLinklayer{Ifindex: dev.index(), Protocol: binary.NativeEndian.Uint16(frame[12:14])}
	check(t, unix.Sendto(b.inject, octets, 0, to))
	for {
		n, err := down.in.Next()
		check(t, err)
		for i := range n {
			if buf, start, end := down.in.Packet(i); bytes.Equal(buf[start:end], octets) {
				down.treat(n) // the others are the kernel's own
				return down.packets[i].Reason
			}
		}
	}
}

// Pass implements [conformance.Shared]: each session comes to its turn in so many.
func (b *bed) Pass(d time.Duration) {
	b.now += uint64(d)
	for range 16 {
		b.TendNow()
	}
}

// Remains implements [conformance.Shared].
func (b *bed) Remains() (all []string) {
	left := func(what string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	o := b.Buffered()
	left("buffered packets, and sessions that have some", o.Packets+o.Sessions)
	for _, u := range b.TableUse() {
		left("of "+u.Name, u.Used)
	}
	left("sessions with routes", len(b.routes.sessions))
	left("routes", len(b.routes.refs))
	return all
}

var _ conformance.Shared = (*bed)(nil)

// Sent implements [conformance.Datapath].
func (b *bed) Sent(testing.TB) [][]byte {
	sent := b.sent
	b.sent = nil
	return sent
}

func TestConformance(t *testing.T) {
	for _, tap := range []bool{false, true} {
		for _, ring := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/ring %v", (&Config{TAP: tap}).name(), ring), func(t *testing.T) {
				conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath { return openBed(t, tap, ring) })
			})
		}
	}
}
