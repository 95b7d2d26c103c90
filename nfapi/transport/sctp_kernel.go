package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of the kernel's SCTP. Source: linux/sctp.h; OpenAirInterface develop 2025-09
// for the payload protocol identifier and the number of streams.
const (
	optInitMsg        = 2  // SCTP_INITMSG
	optNoDelay        = 3  // SCTP_NODELAY
	optDefaultSndInfo = 34 // SCTP_DEFAULT_SNDINFO

	payloadProtocol = 42
	streams         = 5
)

// kernelSCTP reports whether the kernel has SCTP.
var kernelSCTP = sync.OnceValue(func() bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
})

// The kernel's one-to-one sockets are read and written as those of TCP are: a write is a
// message, and reading joins them in order, so that the header frames them.

// kernelSocket opens one and returns it twice: f is for waiting, and for closing fd.
func kernelSocket(a netip.AddrPort) (f *os.File, fd int, err error) {
	family := unix.AF_INET
	if a.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_SCTP)
	if err != nil {
		return nil, 0, os.NewSyscallError("socket", err)
	}
	f = os.NewFile(uintptr(fd), "sctp")
	if err := errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)),
		setInitMsg(fd), setSending(fd),
	); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, fd, nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is6() {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// setInitMsg asks for streams. Source: struct sctp_initmsg.
func setInitMsg(fd int) error {
	m := [4]uint16{streams, streams, 0, 0}
	return setStruct(fd, optInitMsg, unsafe.Pointer(&m), unsafe.Sizeof(m))
}

// setSending has messages go out at once, on stream 0. Source: struct sctp_sndinfo.
func setSending(fd int) error {
	info := struct {
		stream, flags           uint16
		ppid, context, associID uint32
	}{ppid: networkOrder(payloadProtocol)}
	return errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.IPPROTO_SCTP, optNoDelay, 1)),
		setStruct(fd, optDefaultSndInfo, unsafe.Pointer(&info), unsafe.Sizeof(info)),
	)
}

// networkOrder is v as big-endian memory.
func networkOrder(v uint32) (n uint32) {
	*(*[4]byte)(unsafe.Pointer(&n)) = [4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	return n
}

func setStruct(fd, option int, p unsafe.Pointer, size uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_SCTP, uintptr(option), uintptr(p), size, 0); errno != 0 {
		return os.NewSyscallError("setsockopt", errno)
	}
	return nil
}

func dialKernelSCTP(ctx context.Context, c P5Config) (carrier, error) {
	remote, err := resolve(ctx, c.Address)
	if err != nil {
		return nil, err
	}
	f, fd, err := kernelSocket(remote)
	if err != nil {
		return nil, err
	}
	defer f.Close() // FileConn has a descriptor of its own
	if c.Local != "" {
		local, err := resolve(ctx, c.Local)
		if err != nil {
			return nil, err
		}
		if err := unix.Bind(fd, sockaddr(local)); err != nil {
			return nil, os.NewSyscallError("bind", err)
		}
	}
	if err := connect(ctx, f, sockaddr(remote)); err != nil {
		return nil, err
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return newTCP(conn), nil
}

// connect waits until the association is there, or ctx is done.
func connect(ctx context.Context, f *os.File, address unix.Sockaddr) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	begun := false
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		if !begun {
			begun = true
			failed = unix.Connect(int(fd), address)
			return failed != unix.EINPROGRESS
		}
		var n int
		if n, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); failed == nil && n != 0 {
			failed = unix.Errno(n)
		}
		return true
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(err, os.NewSyscallError("connect", failed))
}

type kernelSource struct{ net.Listener }

func listenKernelSCTP(c P5Config) (source, error) {
	local, err := resolve(context.Background(), c.Address)
	if err != nil {
		return nil, err
	}
	f, fd, err := kernelSocket(local)
	if err != nil {
		return nil, err
	}
	defer f.Close() // FileListener has a descriptor of its own
	if err := errors.Join(os.NewSyscallError("bind", unix.Bind(fd, sockaddr(local))), os.NewSyscallError("listen", unix.Listen(fd, 16))); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	return kernelSource{l}, nil
}

func (s kernelSource) accept() (carrier, error) {
	conn, err := s.Accept()
	if err != nil {
		return nil, err
	}
	if c, ok := conn.(*net.TCPConn); ok {
		raw, err := c.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { _ = setSending(int(fd)) })
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return newTCP(conn), nil
}

func (s kernelSource) addr() netip.AddrPort { return addrPort(s.Addr()) }

// resolve finds the address that host:port means; no host: 0.0.0.0.
func resolve(ctx context.Context, address string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port %q: %w", service, err)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), nil
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(list[0].Unmap(), uint16(port)), nil
}
