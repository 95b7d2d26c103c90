package n4

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// socketBuffer is how many octets may wait in a socket. The kernel may give
// less; then a burst loses requests, which their senders repeat.
const socketBuffer = 8 << 20

// socket is one of those that share our port.
type socket struct {
	*net.UDPConn
	raw syscall.RawConn
}

// listen binds n sockets to one address and port, and lets the kernel give each
// the datagrams that are its.
//
// Sockets that share a port would share it with any other process of the same
// user too, and take each other's requests. So a socket that does not share is
// bound first, to see that nobody is there.
func listen(addr netip.AddrPort, n int) (list []*socket, err error) {
	first, err := listenOne(addr, false)
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return []*socket{first}, nil
	}
	addr = netip.AddrPortFrom(addr.Addr(), first.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	if err := first.Close(); err != nil {
		return nil, fmt.Errorf("n4: close: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(list))
			list = nil
		}
	}()
	for range n {
		s, err := listenOne(addr, true)
		if err != nil {
			return list, err
		}
		list = append(list, s)
	}
	return list, list[0].steer(n)
}

// TryListen says whether an endpoint could listen at addr, and lets go of it.
func TryListen(addr netip.AddrPort) error {
	s, err := listenOne(addr, false)
	if err != nil {
		return err
	}
	return s.Close()
}

func closeAll(list []*socket) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func listenOne(addr netip.AddrPort, share bool) (*socket, error) {
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
	s := &socket{UDPConn: c.(*net.UDPConn)}
	if s.raw, err = s.SyscallConn(); err != nil {
		return nil, errors.Join(fmt.Errorf("n4: %w", err), s.Close())
	}
	return s, nil
}

// steering is the program that says which of n sockets a datagram goes to. The
// kernel would choose by addresses and ports, and one CP function has but one
// of each. This one goes by what the message is about, so that one CP function
// can keep all sockets busy and what concerns a session stays in order:
//
//	node messages           the first socket
//	Session Establishment   by Sequence Number, as there is no SEID yet
//	other session messages  by SEID
//
// A load beyond the datagram's end means the first socket. Offsets are those of
// the UDP payload. Source: TS 29.244 V18.6.0, 7.2.2; socket(7), SO_ATTACH_REUSEPORT_CBPF.
func steering(n int) []bpf.Instruction {
	const offType, offSEIDLow, offSequence = 1, 8, 12
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: offType, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(pfcp.MsgSessionEstablishmentRequest), SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(pfcp.MsgSessionEstablishmentRequest), SkipTrue: 3},
		bpf.LoadAbsolute{Off: offSEIDLow, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpMod, Val: uint32(n)},
		bpf.RetA{},
		bpf.LoadAbsolute{Off: offSequence, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 8}, // Message Priority
		bpf.ALUOpConstant{Op: bpf.ALUOpMod, Val: uint32(n)},
		bpf.RetA{},
	}
}

// steer attaches the program to s and the other n-1 sockets that share its port.
func (s *socket) steer(n int) error {
	raw, err := bpf.Assemble(steering(n))
	if err != nil {
		return fmt.Errorf("n4: steering: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	cerr := s.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &program)
	})
	if err := errors.Join(cerr, err); err != nil {
		return fmt.Errorf("n4: steering over %d sockets: %w", n, err)
	}
	return nil
}
