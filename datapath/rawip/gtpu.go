package rawip

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/gtpu"
)

// GTPU are the sockets of the endpoints, by address: they read GTP-U that the
// kernel has put together, and send what it is to fragment.
type GTPU map[netip.Addr]*net.UDPConn

// ListenGTPU opens the sockets.
//
// Errors: EADDRINUSE is wrapped if another UPF still runs here.
func ListenGTPU(endpoints []datapath.Endpoint) (GTPU, error) {
	conns := GTPU{}
	for _, e := range endpoints {
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if !a.IsValid() || conns[a] != nil {
				continue
			}
			at := netip.AddrPortFrom(a, gtpu.Port)
			conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("GTP-U on %v: %w", at, err), conns.Close())
			}
			conns[a] = conn
			if err := allowFragments(conn); err != nil {
				return nil, errors.Join(err, conns.Close())
			}
		}
	}
	return conns, nil
}

// Close ends the sockets.
func (c GTPU) Close() error {
	var errs []error
	for _, conn := range c {
		errs = append(errs, conn.Close())
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

// Octets of outer headers.
const (
	lenIPv4 = 20
	lenIPv6 = 40
	lenUDP  = 8
)

// Send sends an outer packet from an address of ours: through the sockets of its
// device, or, if it is too long for them, through that of the address.
func (c GTPU) Send(s Sockets, packet []byte, local netip.Addr) error {
	err := s.Send(packet, Destination(packet))
	conn := c[local]
	if conn == nil || !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	header := lenIPv4 + lenUDP
	if local.Is6() {
		header = lenIPv6 + lenUDP
	}
	_, err = conn.WriteToUDPAddrPort(packet[header:], netip.AddrPortFrom(Destination(packet), gtpu.Port))
	return err
}
