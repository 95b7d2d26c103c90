package gnb

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// Socket buffers in octets: what arrives while the one reader is busy with a
// batch, and nothing for sockets that are only written to.
const (
	receiveBuffer = 8 << 20
	sendBuffer    = 4 << 20
)

// listenN3 opens the socket of the gNB's F-TEIDs, which receives everything,
// and returns it with its device.
func listenN3(n N3) (conn *net.UDPConn, device netlink.Link, err error) {
	err = nsenter.In(n.Namespace, func() error {
		if device, err = deviceOf(n.Address); err != nil {
			return err
		}
		at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(n.Address, gtpu.Port))
		conn, err = net.ListenUDP("udp4", at)
		if errors.Is(err, unix.EADDRINUSE) {
			return fmt.Errorf("gnb: another program has UDP port %d of %v: %w", gtpu.Port, n.Address, err)
		}
		if err != nil {
			return fmt.Errorf("gnb: N3 socket: %w", err)
		}
		return setBuffers(conn, receiveBuffer, sendBuffer)
	})
	if err != nil && conn != nil {
		conn.Close()
	}
	return conn, device, err
}

// dialN3 opens a socket for one UE's uplink. Its source port is its own, which
// gives a UPF with several receive queues something to spread by, and its
// route to the UPF is looked up once.
//
// Source: TS 29.281 V18.1.0, 4.4.2.3 (the source port is locally allocated).
func dialN3(n N3, upf netip.Addr) (*net.UDPConn, error) {
	var conn *net.UDPConn
	err := nsenter.In(n.Namespace, func() error {
		from := net.UDPAddrFromAddrPort(netip.AddrPortFrom(n.Address, 0))
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(upf, gtpu.Port))
		var err error
		if conn, err = net.DialUDP("udp4", from, to); err != nil {
			return fmt.Errorf("gnb: socket to UPF %v: %w", upf, err)
		}
		return setBuffers(conn, 0, sendBuffer)
	})
	if err != nil && conn != nil {
		conn.Close()
	}
	return conn, err
}

// setBuffers sets the socket's buffer sizes in octets, past the system's limit
// if the process may.
func setBuffers(conn *net.UDPConn, receive, send int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("gnb: N3 socket: %w", err)
	}
	control := raw.Control(func(fd uintptr) {
		err = errors.Join(
			setBuffer(int(fd), unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receive),
			setBuffer(int(fd), unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, send))
	})
	if err = errors.Join(control, err); err != nil {
		return fmt.Errorf("gnb: buffers of the N3 socket: %w", err)
	}
	return nil
}

func setBuffer(fd, force, limited, octets int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, octets) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, limited, octets)
}

// segments reports whether the kernel can cut a burst into datagrams for the
// socket (UDP_SEGMENT, Linux 4.18).
func segments(conn *net.UDPConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		_, err = unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT)
	})
	return err == nil
}

// socketDrops returns how many datagrams the kernel threw away because the
// socket's buffer was full.
func socketDrops(conn syscall.Conn) uint64 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	return mmsg.Drops(raw)
}
