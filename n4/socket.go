package n4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// socketBuffer is how many octets may wait in a socket. The kernel may give
// less; then a burst loses requests, which their senders repeat.
const socketBuffer = 8 << 20

// listen binds n sockets to one address and port.
//
// Sockets that share a port would share it with any other process of the same
// user too, and take each other's requests. So a socket that does not share is
// bound first, to see that nobody is there.
func listen(addr netip.AddrPort, n int) ([]*ipv4.PacketConn, error) {
	var list []*ipv4.PacketConn
	first, err := listenOne(addr, false)
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return []*ipv4.PacketConn{ipv4.NewPacketConn(first)}, nil
	}
	addr = netip.AddrPortFrom(addr.Addr(), first.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	if err := first.Close(); err != nil {
		return nil, fmt.Errorf("n4: close: %w", err)
	}
	for range n {
		c, err := listenOne(addr, true)
		if err != nil {
			for _, c := range list {
				err = errors.Join(err, c.Close())
			}
			return nil, err
		}
		list = append(list, ipv4.NewPacketConn(c))
	}
	return list, nil
}

func listenOne(addr netip.AddrPort, share bool) (net.PacketConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		cerr := raw.Control(func(fd uintptr) {
			if share {
				err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			}
			// Beyond the system's limit with CAP_NET_ADMIN, else up to it.
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer)
			}
		})
		return errors.Join(cerr, err)
	}}
	c, err := lc.ListenPacket(context.Background(), "udp", addr.String())
	if err != nil {
		return nil, fmt.Errorf("n4: %w", err)
	}
	return c, nil
}
