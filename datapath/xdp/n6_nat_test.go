package xdp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
)

// natNetwork is a UPF with a NAT between UEs and a data network of two hops:
//
//	…-ue0 ┐                       198.51.100.0/30
//	…-ue1 ┼ TUN ─ gNB ── N3 ── UPF ── N6 ── …-dn ────── …-far
//	…-ue2 ┘                       10.6.0.1  10.6.0.2   10.99.0.2
//	                                        10.99.0.1
//
// Nobody there has a route to the UEs.
type natNetwork struct {
	*network
	config datapath.DataNetwork
	far    space
	pool   netip.Prefix
}

var farAddress = netip.MustParseAddr("10.99.0.2")

func layNAT(t *testing.T, name string) *natNetwork {
	t.Helper()
	n := &natNetwork{network: layNetwork(t, name), pool: netip.MustParsePrefix("198.51.100.0/30")}
	n.config = datapath.DataNetwork{
		Name: "n6", Device: n.N6.UPF.Device, Gateways: []netip.Addr{n.N6.Peer.Address.Addr()}, NAT: datapath.DefaultNAT(n.pool),
	}
	dn := inSpace(t, n.DN.Path())
	n.far = newSpace(t, name+"-far")
	connect(t, end{dn, "far", "02:00:00:00:99:01", []string{"10.99.0.1/24"}}, end{n.far, "far", "02:00:00:00:99:02", []string{"10.99.0.2/24"}})
	check(t, dn.do(func() error {
		for _, pool := range n.Config.UEPools { // the topology's route to the UEs
			err := netlink.RouteDel(&netlink.Route{Dst: &net.IPNet{IP: pool.Addr().AsSlice(), Mask: net.CIDRMask(pool.Bits(), pool.Addr().BitLen())}})
			if err != nil {
				return err
			}
		}
		if err := setSysctls([]string{"ipv4/ip_forward=1"}); err != nil {
			return err
		}
		return route(n.pool.String(), n.N6.UPF.Address.Addr().String())
	}))
	check(t, n.far.do(func() error { return route("0.0.0.0/0", "10.99.0.1") }))
	return n
}

// TestNATPrograms: real programs on several UEs at once, behind a NAT.
func TestNATPrograms(t *testing.T) {
	n := layNAT(t, "xdp-natp")
	n.upf = n.startUPF(t, "", n.config)
	t.Cleanup(func() { check(t, n.upf.Close()) })
	p := n.startPhones(t, 1500, "", "", "")
	content := random(2, 2<<20)
	n.far.site(t, content)
	var all sync.WaitGroup
	outside := make([]netip.AddrPort, len(p.spaces))
	for i, ue := range p.spaces {
		all.Go(func() {
			from, err := ue.curl(t, farAddress.String(), content)
			if outside[i] = from; err != nil || !n.pool.Contains(from.Addr()) {
				t.Errorf("UE %d, curl: seen from %v, %v", i, from, err)
			}
		})
		all.Go(func() { n.pings(t, i, ue) })
		all.Go(func() { n.iperf(t, i, ue) })
		all.Go(func() { n.traceroute(t, i, ue) })
	}
	all.Wait()
	for i := range outside {
		for j := range i {
			if outside[i] == outside[j] {
				t.Errorf("UEs %d and %d are both seen as %v", i, j, outside[i])
			}
		}
	}
	t.Run("hairpin", func(t *testing.T) { n.hairpin(t, p.spaces[0], p.spaces[1]) })
	drops, err := n.upf.Drops()
	check(t, err)
	if drops["nat_full"]+drops["nat_mapping"]+drops["internal"]+drops["ue_address"] != 0 {
		t.Errorf("drops %v", drops)
	}
}

// pings: small ones, and some that are fragments both ways.
func (n *natNetwork) pings(t *testing.T, i int, ue space) {
	for _, size := range []string{"56", "1400", "4000"} {
		out, err := ue.run(t, "ping", "-n", "-i", "0.05", "-c", "5", "-w", "20", "-s", size, farAddress.String())
		if err != nil || !regexp.MustCompile(`, 5 received`).MatchString(out) || bytes.Contains([]byte(out), []byte("wrong data")) {
			t.Errorf("UE %d, ping of %s octets: %v\n%s", i, size, err, out)
		}
	}
}

// iperf sends UDP both ways, without loss to speak of.
func (n *natNetwork) iperf(t *testing.T, i int, ue space) {
	port := fmt.Sprint(5201 + i)
	for _, flags := range [][]string{nil, {"--reverse"}} {
		served := make(chan struct{})
		go func() {
			defer close(served)
			_, _ = n.far.run(t, "iperf3", "--server", "--one-off", "--port", port)
		}()
		args := append([]string{
			"iperf3", "--client", farAddress.String(), "--port", port, "--udp", "--bitrate", "5M", "--length", "1200", "--time", "2", "--json",
		}, flags...)
		var report iperfReport
		var out string
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			report = iperfReport{}
			out, _ = ue.run(t, args...)
			check(t, json.Unmarshal([]byte(out), &report))
			if report.Error == "" { // else the server may not listen yet
				break
			}
		}
		if sum := report.End.Sum; report.Error != "" || sum.Packets < 500 || sum.Percent > 5 {
			t.Errorf("UE %d, iperf3 %v: %q, %d packets, %d lost\n%s", i, flags, report.Error, sum.Packets, sum.Lost, out)
		}
		<-served
	}
}

// iperfReport is what matters of iperf3 --json.
type iperfReport struct {
	Error string `json:"error"`
	End   struct {
		Sum struct {
			Packets int     `json:"packets"`
			Lost    int     `json:"lost_packets"`
			Percent float64 `json:"lost_percent"`
		} `json:"sum"`
	} `json:"end"`
}

// traceroute finds the hops as the program does: by the ICMP errors about UDP, TCP
// and ICMP packets with a small TTL, which the kernel gives to the socket that
// sent what they quote.
func (n *natNetwork) traceroute(t *testing.T, i int, ue space) {
	hops := []string{n.N6.UPF.Address.Addr().String(), n.N6.Peer.Address.Addr().String(), farAddress.String()}
	for ttl, want := range hops {
		check(t, ue.do(func() error {
			got, err := probe(ttl+1, netip.AddrPortFrom(farAddress, 33434))
			if got.String() != want {
				t.Errorf("UE %d, UDP, hop %d: %v, %v; want %s", i, ttl+1, got, err, want)
			}
			return nil
		}))
		if ttl == 2 {
			break // which answers
		}
		out, _ := ue.run(t, "ping", "-n", "-c", "1", "-w", "10", "-t", fmt.Sprint(ttl+1), farAddress.String())
		if !regexp.MustCompile(`From ` + regexp.QuoteMeta(want) + ` icmp_seq=1 Time to live exceeded`).MatchString(out) {
			t.Errorf("UE %d, ICMP, hop %d is not %s:\n%s", i, ttl+1, want, out)
		}
	}
}

// probe sends a datagram with a TTL and returns who sends an ICMP error about it.
func probe(ttl int, to netip.AddrPort) (netip.Addr, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return netip.Addr{}, err
	}
	defer unix.Close(fd)
	for option, value := range map[int]int{unix.IP_TTL: ttl, unix.IP_RECVERR: 1} {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, option, value); err != nil {
			return netip.Addr{}, err
		}
	}
	for range 20 { // the UPF answers a user's packets at a bounded rate
		// An error of before comes with the next packet.
		_ = unix.Sendto(fd, []byte("plumbline"), 0, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLERR}}, 500)
		oob := make([]byte, 512)
		_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 512), oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err != nil {
			continue
		}
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		if err != nil {
			return netip.Addr{}, err
		}
		for _, m := range messages { // struct sock_extended_err, then a sockaddr_in
			if m.Header.Type == unix.IP_RECVERR && len(m.Data) >= 24 {
				return netip.AddrFrom4([4]byte(m.Data[20:24])), nil
			}
		}
	}
	return netip.Addr{}, os.ErrDeadlineExceeded
}

// hairpin: a UE reaches another through the address and port that it has outside,
// over UDP and TCP, and is seen with its own ones, as anybody outside would be.
//
// Source: RFC 4787, REQ-9; RFC 5382, REQ-8.
func (n *natNetwork) hairpin(t *testing.T, server, client space) {
	mirror := n.mirror(t)
	at := n.outsideUDP(t, server, mirror)
	var conn net.Conn
	check(t, client.do(func() (err error) {
		conn, err = net.Dial("udp4", net.UDPAddrFromAddrPort(at.outside).String())
		return err
	}))
	defer conn.Close()
	buf := make([]byte, 2000)
	for _, octets := range []int{10, 1400, 1900} { // the last one is fragments
		_, err := conn.Write(payload(octets))
		check(t, err)
		check(t, at.conn.SetDeadline(time.Now().Add(10*time.Second)))
		size, from, err := at.conn.ReadFromUDPAddrPort(buf)
		check(t, err)
		if !n.pool.Contains(from.Addr().Unmap()) || !bytes.Equal(buf[:size], payload(octets)) {
			t.Errorf("UDP: %d octets from %v, want %d from an address of the NAT", size, from, octets)
		}
		_, err = at.conn.WriteToUDPAddrPort(buf[:size], from)
		check(t, err)
		check(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		if size, err = conn.Read(buf); err != nil || size != octets {
			t.Errorf("UDP, back: %d octets, %v; want %d", size, err, octets)
		}
	}
	n.hairpinTCP(t, server, client)
}

// hairpinTCP: a UE that has opened a connection from a port takes one there.
func (n *natNetwork) hairpinTCP(t *testing.T, server, client space) {
	reuse := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(err, c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }))
	}
	var l net.Listener
	var out, in net.Conn
	check(t, server.do(func() (err error) {
		config := net.ListenConfig{Control: reuse}
		if l, err = config.Listen(t.Context(), "tcp4", phoneAddress(0).String()+":7000"); err != nil {
			return err
		}
		dialer := net.Dialer{
			Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: phoneAddress(0).AsSlice(), Port: 7000},
			Control: reuse,
		}
		out, err = dialer.Dial("tcp4", farAddress.String()+":80")
		return err
	}))
	defer l.Close()
	defer out.Close()
	_, err := out.Write([]byte("HEAD / HTTP/1.0\r\n\r\n"))
	check(t, err)
	buf := make([]byte, 2000)
	size, err := out.Read(buf)
	check(t, err)
	at := seen(string(buf[:size]))
	check(t, client.do(func() (err error) {
		in, err = net.DialTimeout("tcp4", at.String(), 10*time.Second)
		return err
	}))
	defer in.Close()
	accepted, err := l.Accept()
	check(t, err)
	defer accepted.Close()
	for _, c := range []net.Conn{in, accepted} {
		check(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	}
	from := accepted.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	if !n.pool.Contains(from) {
		t.Errorf("TCP: connection from %v, want an address of the NAT", from)
	}
	transfer(t, in, accepted)
	transfer(t, accepted, in)
}

// mapped is a UDP socket of a UE and where it is outside.
type mapped struct {
	conn    *net.UDPConn
	outside netip.AddrPort
}

// mirror answers datagrams with the address from which they came.
func (n *natNetwork) mirror(t *testing.T) netip.AddrPort {
	t.Helper()
	var conn *net.UDPConn
	check(t, n.far.do(func() (err error) {
		conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: farAddress.AsSlice(), Port: 3478})
		return err
	}))
	t.Cleanup(func() { check(t, conn.Close()) })
	go func() {
		buf := make([]byte, 100)
		for {
			_, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort([]byte(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()).String()), from)
		}
	}()
	return netip.AddrPortFrom(farAddress, 3478)
}

func (n *natNetwork) outsideUDP(t *testing.T, ue space, mirror netip.AddrPort) mapped {
	t.Helper()
	var m mapped
	check(t, ue.do(func() (err error) {
		m.conn, err = net.ListenUDP("udp4", nil)
		return err
	}))
	t.Cleanup(func() { check(t, m.conn.Close()) })
	m.outside = m.ask(t, mirror)
	return m
}

// ask returns where the mirror sees m.
func (m mapped) ask(t *testing.T, mirror netip.AddrPort) netip.AddrPort {
	t.Helper()
	_, err := m.conn.WriteToUDPAddrPort([]byte("?"), mirror)
	check(t, err)
	check(t, m.conn.SetDeadline(time.Now().Add(10*time.Second)))
	buf := make([]byte, 100)
	size, _, err := m.conn.ReadFromUDPAddrPort(buf)
	check(t, err)
	at, err := netip.ParseAddrPort(string(buf[:size]))
	check(t, err)
	return at
}

// TestNATRestart: a connection through the NAT goes on over a restart: while no
// process is there, and with the next one, whose sessions come later.
func TestNATRestart(t *testing.T) {
	n := layNAT(t, "xdp-natre")
	pin := filepath.Join(bpffs.New(t), "pin")
	t.Cleanup(func() { check(t, xdp.Unpin(pin)) })
	n.upf = n.startUPF(t, pin, n.config)
	p := n.startPhones(t, 1500, "")
	mirror := n.mirror(t)
	m := n.outsideUDP(t, p.spaces[0], mirror)
	var l net.Listener
	check(t, n.far.do(func() (err error) {
		l, err = net.Listen("tcp4", ":9000")
		return err
	}))
	defer l.Close()
	var conn net.Conn
	check(t, p.spaces[0].do(func() (err error) {
		conn, err = net.DialTimeout("tcp4", farAddress.String()+":9000", 10*time.Second)
		return err
	}))
	defer conn.Close()
	other, err := l.Accept()
	check(t, err)
	defer other.Close()
	check(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	check(t, other.SetDeadline(time.Now().Add(30*time.Second)))
	both := func(when string) {
		t.Helper()
		transfer(t, conn, other)
		transfer(t, other, conn)
		if got := m.ask(t, mirror); got != m.outside {
			t.Errorf("%s: UDP is seen from %v, was from %v", when, got, m.outside)
		}
	}
	both("before")
	for range 2 {
		n.upf.Keep()
		check(t, n.upf.Close())
		both("nobody there")
		n.upf = n.startUPF(t, pin, n.config)
		both("started")
	}
	check(t, n.upf.Close())
}
