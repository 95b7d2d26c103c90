package rawip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// GTPU are the sockets of the endpoints, by address. All that they send goes where
// the host's routes lead.
type GTPU map[netip.Addr]*Port

// Port is an address at which GTP-U is terminated: a socket that reads GTP-U that the
// kernel has put together, and sends what it is to fragment, and one that takes whole
// packets.
type Port struct {
	*net.UDPConn
	raw *socket
}

// ListenGTPU opens the sockets. A datagram that comes by one of the guarded devices, which
// are indices, has no octets left: see [Guard].
//
// Errors: EADDRINUSE is wrapped if another UPF still runs here.
func ListenGTPU(endpoints []datapath.Endpoint, guarded []int) (GTPU, error) {
	ports := GTPU{}
	for _, e := range endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if !a.IsValid() || ports[a] != nil {
				continue
			}
			p, err := listenGTPU(a, guarded)
			if err != nil {
				return nil, errors.Join(err, ports.Close(), ports.CloseRaw())
			}
			ports[a] = p
		}
	}
	return ports, nil
}

func listenGTPU(a netip.Addr, guarded []int) (*Port, error) {
	at := netip.AddrPortFrom(a, gtpu.Port)
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error { return Guard(raw, guarded) }}
	listened, err := config.ListenPacket(context.Background(), "udp", at.String())
	if err != nil {
		return nil, fmt.Errorf("GTP-U on %v: %w", at, err)
	}
	conn := listened.(*net.UDPConn)
	if err := allowFragments(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	fd, err := openFrom(a)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Port{conn, &socket{fd: fd}}, nil
}

// Close ends the sockets that read. Those that send whole packets are there until
// [GTPU.CloseRaw].
func (c GTPU) Close() error {
	var errs []error
	for _, p := range c {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// CloseRaw ends the others, when nothing is sent any more.
func (c GTPU) CloseRaw() error {
	var errs []error
	for _, p := range c {
		errs = append(errs, unix.Close(p.raw.fd))
	}
	return errors.Join(errs...)
}

// allowFragments lets the kernel fragment what conn sends.
func allowFragments(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("GTP-U socket: %w", err)
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	var opt error
	err = raw.Control(func(fd uintptr) {
		opt = unix.SetsockoptInt(int(fd), level, option, unix.IP_PMTUDISC_DONT)
	})
	return errors.Join(err, opt)
}

// Send sends an outer packet from an address of ours: as it is, or, if it is too long
// for the device by which it leaves, through the UDP socket.
func (c GTPU) Send(packet []byte, local netip.Addr) error {
	p := c[local]
	if p == nil {
		return unix.EADDRNOTAVAIL
	}
	to := Destination(packet)
	err := p.raw.send(packet, sockaddr(to))
	if !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	header := inet.LenIPv4 + inet.LenUDP
	if local.Is6() {
		header = inet.LenIPv6 + inet.LenUDP
	}
	_, err = p.WriteToUDPAddrPort(packet[header:], netip.AddrPortFrom(to, gtpu.Port))
	return err
}
