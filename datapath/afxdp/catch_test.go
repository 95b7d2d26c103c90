package afxdp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// onWire returns the frames as which one comes over a link of the bed's MTU: a GTP-U
// message that is longer comes in fragments.
func (b *bed) onWire(port conformance.Port, frame []byte) [][]byte {
	const most = inet.LenEthernet + conformance.MTU
	if len(frame) <= most || port != conformance.N3 || frame[inet.LenEthernet] != 0x45 {
		return [][]byte{frame}
	}
	const first = 1200 // octets behind the IP header, a multiple of 8
	header := frame[:inet.LenEthernet+inet.LenIPv4]
	one := slices.Concat(header, frame[len(header):len(header)+first])
	two := slices.Concat(header, frame[len(header)+first:])
	for i, piece := range [][]byte{one, two} {
		ip := piece[inet.LenEthernet:]
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[4:], uint16(b.caught)+1)
		binary.BigEndian.PutUint16(ip[6:], [...]uint16{0x2000, first / 8}[i])
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], sum(ip[:inet.LenIPv4]))
	}
	return [][]byte{one, two}
}

// caughtFrame is one that was caught, on a device.
type caughtFrame struct {
	octets []byte
	device string
}

// outcome is what became of a frame that left.
func (f caughtFrame) outcome() conformance.Outcome {
	if f.device == "lan" {
		return conformance.Outcome{Packet: f.octets}
	}
	return conformance.Outcome{Packet: f.octets[inet.LenEthernet:], Ethernet: f.octets[:inet.LenEthernet]}
}

// isCut reports whether it is a fragment of an outer packet.
func (f caughtFrame) isCut() bool {
	return fromEndpoint(f.octets) && f.octets[inet.LenEthernet+6]&0x20 != 0
}

func (b *bed) add(frames []caughtFrame) {
	for _, f := range frames {
		b.sent = append(b.sent, f.outcome().Packet)
	}
}

// Sent implements [conformance.Datapath].
func (b *bed) Sent(t testing.TB) [][]byte {
	t.Helper()
	b.add(b.settleWire(t))
	sent := b.sent
	b.sent = nil
	return sent
}

// settleWire returns what has come when all that the UPF's devices have sent is
// there.
func (b *bed) settleWire(t testing.TB) []caughtFrame {
	t.Helper()
	var all []caughtFrame
	patience := time.Now().Add(500 * time.Millisecond)
	for missing := uint64(1); missing > 0; {
		sent := b.transmitted(t) - b.before
		all = append(all, b.catch(t)...)
		missing = sent - min(sent, b.caught)
		if missing > 0 && time.Now().After(patience) {
			b.before += missing
			b.skip(t, unseen)
		}
	}
	return all
}

// transmitted returns how many frames the UPF's devices have sent.
func (b *bed) transmitted(t testing.TB) (n uint64) {
	t.Helper()
	links, err := b.kernel.LinkList()
	check(t, err)
	for _, l := range links {
		if _, ours := b.devices[l.Attrs().Name]; ours {
			n += l.Attrs().Statistics.TxPackets
		}
	}
	return n
}

// catch returns what has come, but for what the kernels say to each other.
func (b *bed) catch(t testing.TB) (all []caughtFrame) {
	t.Helper()
	buf, control := make([]byte, 1<<16), make([]byte, 64)
	for {
		n, c, _, from, err := unix.Recvmsg(b.catcher, buf[inet.LenTag:], control, 0)
		if errors.Is(err, unix.EAGAIN) {
			return all
		}
		check(t, err)
		frame := withTag(t, buf[:inet.LenTag+n], control[:c])
		ll := from.(*unix.SockaddrLinklayer)
		name := b.nameOf(ll.Ifindex)
		if ll.Pkttype == unix.PACKET_OUTGOING || name == "" {
			continue
		}
		b.caught++
		b.answer(t, frame, ll.Ifindex)
		if name == "lan" || !isNoise(frame) {
			b.checkEthernet(t, name, frame)
			all = append(all, caughtFrame{bytes.Clone(frame), name})
		}
	}
}

func (b *bed) nameOf(index int) string {
	for name, e := range b.devices {
		if e.other == index {
			return name
		}
	}
	return ""
}

// isNoise: ARP, Neighbour Discovery and group membership of the kernel, and what it
// says of fragments whose others never came.
func isNoise(frame []byte) bool {
	return slices.Equal(frame[12:14], []byte{8, 6}) || frame[0] == 0x33 && frame[1] == 0x33 ||
		fromEndpoint(frame) && frame[23] == unix.IPPROTO_ICMP
}

// fromEndpoint reports whether a frame has an IPv4 packet from where GTP-U is
// terminated.
func fromEndpoint(frame []byte) bool {
	if frame[12] != 8 || frame[13] != 0 || len(frame) < inet.LenEthernet+inet.LenIPv4 {
		return false
	}
	from := netip.AddrFrom4([4]byte(frame[inet.LenEthernet+12:]))
	return from == conformance.N3Address || from == conformance.N9Address
}

// station is who answers ARP requests.
var station = [6]byte{2, 0, 0, 0, 0, 0xaa}

// checkEthernet: a frame comes from the device and goes to the neighbour that its
// packet is for, or to a gateway.
func (b *bed) checkEthernet(t testing.TB, device string, frame []byte) {
	t.Helper()
	links := bedLinks(b.stick)
	l := links[slices.IndexFunc(links, func(l bedLink) bool { return l.name == device })]
	if device == "lan" {
		return // who sends what there is in the rows
	}
	to := rawip.Destination(frame[inet.LenEthernet:])
	want := [][6]byte{l.neighs[to], station, l.neighs[conformance.Steered]}
	if l.neighs[to] == ([6]byte{}) && !conformance.OnlinkPrefix.Contains(to) && !conformance.Onlink6.Contains(to) {
		want = append(want[:1], l.neighs[conformance.Gateway], l.neighs[conformance.Steered])
	}
	proto := [2]byte{0x08, 0x00}
	if to.Is6() {
		proto = [2]byte{0x86, 0xdd}
	}
	if got := [6]byte(frame); got == ([6]byte{}) || !slices.Contains(want, got) || [6]byte(frame[6:]) != l.mac || [2]byte(frame[12:]) != proto {
		t.Errorf("frame to %v on %s has header %x; want one of %x from %x", to, device, frame[:inet.LenEthernet], want, l.mac)
	}
}

// withTag returns the frame behind room for a tag, with the tag that the kernel has
// taken off.
func withTag(t testing.TB, b, control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	check(t, err)
	for _, m := range messages {
		if m.Header.Type != unix.PACKET_AUXDATA || binary.NativeEndian.Uint32(m.Data)&unix.TP_STATUS_VLAN_VALID == 0 {
			continue
		}
		copy(b, b[inet.LenTag:inet.LenTag+12])
		binary.BigEndian.PutUint16(b[12:], binary.NativeEndian.Uint16(m.Data[18:]))
		binary.BigEndian.PutUint16(b[14:], binary.NativeEndian.Uint16(m.Data[16:]))
		return b
	}
	return b[inet.LenTag:]
}

// answer answers an ARP request of the UPF's kernel.
func (b *bed) answer(t testing.TB, frame []byte, index int) {
	if len(frame) < 42 || !slices.Equal(frame[12:14], []byte{8, 6}) || frame[21] != 1 {
		return
	}
	b.asked++
	reply := slices.Concat(frame[6:12], station[:], frame[12:20], []byte{0, 2}, station[:], frame[38:42], frame[22:32])
	check(t, unix.Sendto(b.catcher, reply, 0, &unix.SockaddrLinklayer{Ifindex: index}))
}

// await waits until done.
func (b *bed) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Microsecond)
	}
}
