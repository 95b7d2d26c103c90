package tun

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/vector"
	"plumbline/gtpu"
)

// bed is a driver in a namespace of its own, with real sockets and devices. A frame from
// N3 comes over a veth and through the kernel's stack to a socket; a packet from a data
// network is given to its device as the kernel would. What leaves is seen by a packet
// socket, of N3 as it leaves the stack and of data networks as it comes out of the device.
//
// The kernel decides what is outside of a tunnel: what is no GTP-U message for us, and
// fragments, are not given to it, and what the model says of them is taken. Of what leaves
// it makes the UDP header and the IPv6 Flow Label, which are looked at here and replaced
// by what the model has.
type bed struct {
	*Driver
	now       uint64
	inject    int // packet socket
	capture   int // packet socket that sees all devices
	n3p       int // index of the far end of n3
	uplinks   map[netip.Addr]*uplink
	downlinks []*downlink
	first     [][]byte // the packet that came, and what else left because of it
	sent      [][]byte // what left of its own accord
	errs      []string
}

func openBed(t *testing.T, tap bool) *bed {
	t.Helper()
	b := &bed{now: 1e9, uplinks: map[netip.Addr]*uplink{}}
	failed := make(chan error)
	go func() { // a thread that ends with the goroutine
		runtime.LockOSThread()
		failed <- b.open(tap)
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		_, _ = unix.Close(b.inject), unix.Close(b.capture)
	})
	return b
}

func (b *bed) open(tap bool) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	for path, value := range map[string]string{
		"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1", "ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
		"ipv6/conf/default/addr_gen_mode": "1", "ipv6/conf/default/accept_dad": "0",
	} {
		if err := os.WriteFile("/proc/sys/net/"+path, []byte(value), 0); err != nil {
			return err
		}
	}
	for device, addresses := range map[string][]string{
		"n3": {"10.3.0.1/24", "2001:db8:3::1/64"}, "n9": {"10.9.0.1/24"}, "n6": {"10.6.0.1/24", "2001:db8:6::1/64"}, "corp": nil, "nat": nil, "lan": nil,
	} {
		if err := addLink(device, addresses); err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
	}
	if err := b.openSockets(); err != nil {
		return err
	}
	err := b.openDriver(tap)
	// What left a device is not to go on from there.
	for _, path := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		_ = os.WriteFile("/proc/sys/net/"+path, []byte("0"), 0)
	}
	return err
}

// addLink makes a device without neighbours to resolve, with a far end.
func addLink(name string, addresses []string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = name, 9000, conformance.N3MAC[:] // for what arrives
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: name + "p", PeerMTU: 9000}
	if err := netlink.LinkAdd(pair); err != nil {
		return err
	}
	far, err := netlink.LinkByName(name + "p")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetARPOff(pair); err != nil {
		return err
	}
	if err := feature(name, "tx-udp-segmentation", false); err != nil { // each datagram is to be seen
		return err
	}
	for _, link := range []netlink.Link{pair, far} {
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
	}
	for _, a := range addresses {
		address, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		address.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrAdd(pair, address); err != nil {
			return err
		}
	}
	if name != "n3" {
		return nil
	}
	for _, all := range []string{"0.0.0.0/0", "::/0"} {
		_, prefix, _ := net.ParseCIDR(all)
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: pair.Attrs().Index, Dst: prefix}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) openSockets() error {
	far, err := netlink.LinkByName("n3p")
	if err != nil {
		return err
	}
	b.n3p = far.Attrs().Index
	if b.inject, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
	if b.capture, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, all); err != nil {
		return err
	}
	return unix.SetsockoptInt(b.capture, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1)
}

// tagged is a frame of which the kernel has the outermost tag beside it, with the tag: struct
// tpacket_auxdata of linux/if_packet.h.
func tagged(frame, control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 || len(messages[0].Data) < 20 {
		return frame
	}
	aux := messages[0].Data
	if binary.NativeEndian.Uint32(aux)&unix.TP_STATUS_VLAN_VALID == 0 {
		return frame
	}
	tag := binary.BigEndian.AppendUint16(nil, binary.NativeEndian.Uint16(aux[18:]))
	return slices.Insert(frame, 12, binary.BigEndian.AppendUint16(tag, binary.NativeEndian.Uint16(aux[16:]))...)
}

// openDriver makes the driver, whose loops the test runs, step by step.
func (b *bed) openDriver(tap bool) error {
	n6 := conformance.DataNetworks
	n6.Networks, n6.Policies = slices.Clone(n6.Networks), slices.Clone(n6.Policies)
	d, err := New(Config{
		TAP: tap, Endpoints: conformance.Endpoints, N6: n6, MaxSessions: conformance.MaxSessions, Workers: 1, Paused: true, MTU: 9000,
		Advertise: &conformance.Advertise, secret: conformance.Secret, choose: func(int) int { return 0 }, now: func() uint64 { return b.now },
		most: conformance.MTU,
	})
	if err != nil {
		return err
	}
	b.Driver = d
	t, err := d.open()
	d.traffic = t
	if err != nil {
		return err
	}
	// The kernel is to say nothing on the Ethernet data network, and has perhaps.
	if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+t.devices[conformance.N6LAN-conformance.N6].Name+"/disable_ipv6", []byte("1"), 0); err != nil {
		return err
	}
	own := *d.own.Load()
	hooked := func(out []*vector.Packet) { b.sent = append(b.sent, b.send(out, own)...) }
	d.own.Store(&hooked)
	for _, l := range t.loops {
		switch l := l.(type) {
		case *uplink:
			l.send = b.sending(l.out)
			b.uplinks[l.to] = l
		case *downlink:
			l.send = b.sending(l.out)
			b.downlinks = append(b.downlinks, l)
		}
	}
	return b.skip(b.downlinks[conformance.N6LAN-conformance.N6])
}

// skip takes from a device what is there.
func (b *bed) skip(l *downlink) error {
	last := []byte("\x42\x00\x00\x00\x00\x01\x42\x00\x00\x00\x00\x02\x88\xb5" + sentinel)
	if err := unix.Sendto(b.inject, last, 0, &unix.SockaddrLinklayer{Ifindex: l.device.index()}); err != nil {
		return err
	}
	for {
		n, err := l.in.Next()
		if err != nil {
			return err
		}
		if buf, start, end := l.in.Packet(n - 1); bytes.Equal(buf[start:end], last) {
			return nil
		}
	}
}

// sending sends what leaves a vector, and takes it from where it has left.
func (b *bed) sending(o *output) func([]*vector.Packet) {
	return func(out []*vector.Packet) { b.first = append(b.first, b.send(out, o.send)...) }
}

// send has packets sent, and returns them as they have left, as the model has them.
func (b *bed) send(out []*vector.Packet, send func([]*vector.Packet)) [][]byte {
	b.captured()
	want := make([]*vector.Packet, len(out))
	for i, p := range out {
		q := *p
		want[i] = &q
	}
	send(out)
	left := b.captured()
	var all [][]byte
	for _, p := range want {
		// Packets of one address of ours, and those of one device, leave in their order.
		i := slices.IndexFunc(left, func(l departed) bool { return l.from == b.exit(p) })
		if i < 0 && p.Frame && len(p.Octets()) < lenEthernet+6 { // nobody sees a tag without payload: the kernel throws it away
			all = append(all, p.Octets())
			continue
		}
		if i < 0 {
			b.errs = append(b.errs, fmt.Sprintf("did not leave: %v", p.Octets()))
			continue
		}
		octets := left[i].octets
		left = slices.Delete(left, i, i+1)
		if p.Outer != nil {
			octets = b.modelled(octets, p)
		}
		all = append(all, octets)
	}
	if len(left) > 0 {
		b.errs = append(b.errs, fmt.Sprintf("left besides: %x", left))
	}
	return all
}

// departed is a packet that has left, and from where: an address of ours, or the name of a
// device.
type departed struct {
	from   string
	octets []byte
}

func (b *bed) exit(p *vector.Packet) string {
	if p.Outer != nil {
		return p.Outer.Local.String()
	}
	return b.traffic.ways[p.Way].Name
}

// captured returns what has left: towards tunnels, IP packets; towards data networks,
// packets or, of the Ethernet one, frames.
func (b *bed) captured() (left []departed) {
	buf, control := make([]byte, 1<<16), make([]byte, 64)
	for {
		n, aux, _, from, err := unix.Recvmsg(b.capture, buf, control, 0)
		if err != nil {
			return left
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		if !ok {
			continue
		}
		octets := tagged(bytes.Clone(buf[:n]), control[:aux])
		if dev := b.deviceOf(ll.Ifindex); dev != nil && ll.Pkttype != unix.PACKET_OUTGOING {
			if dev.TAP && !dev.frames {
				octets = octets[lenEthernet:]
			}
			left = append(left, departed{dev.Name, octets})
		} else if dev == nil && ll.Pkttype == unix.PACKET_OUTGOING && isGTPU(octets) {
			left = append(left, departed{source(octets[lenEthernet:]).String(), octets[lenEthernet:]})
		}
	}
}

func source(ip []byte) netip.Addr {
	if ip[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(ip[8:24]))
	}
	return netip.AddrFrom4([4]byte(ip[12:16]))
}

func (b *bed) deviceOf(index int) *device {
	for _, dev := range b.traffic.devices {
		if dev.index() == index {
			return dev
		}
	}
	return nil
}

// isGTPU reports whether a frame has a datagram from the GTP-U port.
func isGTPU(frame []byte) bool {
	ip := frame[lenEthernet:]
	switch {
	case len(ip) >= 28 && ip[0] == 0x45:
		return ip[9] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(ip[20:]) == gtpu.Port
	case len(ip) >= 48 && ip[0]>>4 == 6:
		return ip[6] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(ip[40:]) == gtpu.Port
	}
	return false
}

// modelled makes of a packet that the kernel has made an outer header for what the model
// makes: UDP ports but for a flow's own source port, checksums, Identification and Flow Label are
// its own; addresses, lengths, DSCP, DF and TTL are compared.
func (b *bed) modelled(ip []byte, p *vector.Packet) []byte {
	q := *p
	q.Buf = append(make([]byte, vector.Headroom), p.Octets()...)
	q.Start, q.End = vector.Headroom, len(q.Buf)
	if !q.PutOuter() {
		b.errs = append(b.errs, fmt.Sprintf("no outer header for %+v", p))
		return ip
	}
	want, got := q.Octets(), bytes.Clone(ip)
	if want[0]>>4 == 4 {
		copy(got[4:6], want[4:6]) // Identification
		copy(got[10:12], want[10:12])
		copy(got[20:22], want[20:22])
		copy(got[26:28], want[26:28])
	} else {
		copy(got[1:4], append([]byte{got[1]&0xf0 | want[1]&0xf}, want[2:4]...)) // Flow Label
		copy(got[40:42], want[40:42])
		copy(got[46:48], want[46:48])
	}
	return got
}

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
	p := &vector.Packet{Buf: frame, Start: min(lenEthernet, len(frame)), End: len(frame)}
	version := map[uint16]byte{etherIPv4: 4, etherIPv6: 6}
	if len(frame) <= lenEthernet || p.Octets()[0]>>4 != version[binary.BigEndian.Uint16(frame[12:])] {
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
	if len(frame) < lenEthernet {
		return datapath.PassHost
	}
	if len(frame) == lenEthernet && port != conformance.N6LAN { // no packet at all
		b.worker(0).Refuse(datapath.DropIPShort)
		return datapath.DropIPShort
	}
	network := int(port - conformance.N6)
	dev, down := b.traffic.devices[network], b.downlinks[network]
	other := map[uint16]byte{etherIPv4: 6, etherIPv6: 4}[binary.BigEndian.Uint16(frame[12:])]
	if !dev.frames && (other == 0 || frame[lenEthernet]>>4 == other) {
		return datapath.PassHost
	}
	octets := bytes.Clone(frame)
	switch {
	case !dev.TAP:
		octets = octets[lenEthernet:]
	case !dev.frames:
		copy(octets, dev.peer[:])
	}
	to := &unix.SockaddrLinklayer{Ifindex: dev.index(), Protocol: binary.NativeEndian.Uint16(frame[12:14])}
	check(t, unix.Sendto(b.inject, octets, 0, to))
	for {
		n, err := down.in.Next()
		check(t, err)
		buf, start, end := down.in.Packet(n - 1)
		if !bytes.Equal(buf[start:end], octets) {
			continue // of the kernel itself
		}
		down.treat(n) // those before it are the kernel's own: for nobody
		return down.packets[n-1].Reason
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
		t.Run((&Config{TAP: tap}).name(), func(t *testing.T) {
			conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath { return openBed(t, tap) })
		})
	}
}
