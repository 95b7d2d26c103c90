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

	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/vector"
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

func openBed(t *testing.T, tap, ring bool) *bed {
	t.Helper()
	b := &bed{now: 1e9, uplinks: map[netip.Addr]*uplink{}}
	failed := make(chan error)
	go func() { // a thread that ends with the goroutine
		runtime.LockOSThread()
		failed <- b.open(tap, ring)
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

func (b *bed) open(tap, ring bool) error {
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
	err := b.openDriver(tap, ring)
	// What left a device is not to go on from there.
	for _, path := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		_ = os.WriteFile("/proc/sys/net/"+path, []byte("0"), 0)
	}
	return err
}

// waitUp returns when a device sends: until then, some time after it was set up, the kernel
// throws away what is to leave.
func waitUp(name string) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
	}
	return fmt.Errorf("%s is not up", name)
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
	if err := waitUp(name); err != nil {
		return err
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

// openDriver makes the driver, whose loops the test runs, step by step.
func (b *bed) openDriver(tap, ring bool) error {
	n6 := conformance.DataNetworks
	n6.Networks, n6.Policies = slices.Clone(n6.Networks), slices.Clone(n6.Policies)
	d, err := New(Config{
		TAP: tap, Ring: ring, Endpoints: conformance.Endpoints, N6: n6, MaxSessions: conformance.MaxSessions, Workers: 1, Paused: true, MTU: 9000,
		Advertise: &conformance.Advertise, secret: conformance.Secret, choose: func(int) int { return 0 }, now: func() uint64 { return b.now },
		most: conformance.MTU, ringOctets: 1 << 18,
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
