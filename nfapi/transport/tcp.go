package transport

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// keepAlive finds out within 10 s that the peer's machine is gone, as long as everything
// that was sent has arrived; unacknowledged does if it has not.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 5}

const unacknowledged = 10 * time.Second

// detectTimeout is how long the end of a first header may take: the two octets by which
// the generations differ if there is no body.
const detectTimeout = 200 * time.Millisecond

// tcp carries P5 over a TCP connection.
type tcp struct {
	net.Conn
	in    *bufio.Reader
	known bool // the generation of the stream is
}

func newTCP(c net.Conn) *tcp {
	if raw, ok := c.(syscall.Conn); ok {
		if s, err := raw.SyscallConn(); err == nil {
			_ = s.Control(func(fd uintptr) { // SCTP has no such option, and times out by itself
				_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacknowledged/time.Millisecond))
			})
		}
	}
	return &tcp{Conn: c, in: bufio.NewReader(c)}
}

func dialTCP(ctx context.Context, c P5Config) (carrier, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	if c.Local != "" {
		local, err := net.ResolveTCPAddr("tcp", c.Local)
		if err != nil {
			return nil, err
		}
		d.LocalAddr = local
	}
	conn, err := d.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	return newTCP(conn), nil
}

type tcpSource struct{ net.Listener }

func listenTCP(c P5Config) (source, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	l, err := lc.Listen(context.Background(), "tcp", c.Address)
	if err != nil {
		return nil, err
	}
	return tcpSource{l}, nil
}

func (s tcpSource) accept() (carrier, error) {
	c, err := s.Accept()
	if err != nil {
		return nil, err
	}
	return newTCP(c), nil
}

func (s tcpSource) addr() netip.AddrPort { return addrPort(s.Addr()) }

func (t *tcp) addresses() (local, remote netip.AddrPort) {
	return addrPort(t.LocalAddr()), addrPort(t.RemoteAddr())
}

// write sends a message with one call: OpenAirInterface reads a message with two, and
// takes what is there for all of it.
func (t *tcp) write(b []byte, timeout time.Duration) error {
	if err := t.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := t.Write(b)
	return err
}

// next reads a message.
func (t *tcp) next(p nfapi.Profile) ([]byte, error) {
	if !t.known {
		g, err := t.detect(p)
		if err != nil {
			return nil, err
		}
		p, t.known = profileOf(p, g), true
	}
	header, err := t.in.Peek(p.HeaderLen(nfapi.P5))
	if err != nil {
		return nil, withinMessage(header, err)
	}
	n, _ := p.FrameP5(header)
	if n < len(header) || n > nfapi.MaxMessage {
		return nil, fmt.Errorf("%w: message of %d octets, there may be %d", ErrFraming, n, nfapi.MaxMessage)
	}
	return grown(n, func(b []byte) error {
		_, err := io.ReadFull(t.in, b)
		return withinMessage(header, err)
	})
}

// withinMessage makes of an end behind part of a message an error of its own.
func withinMessage(had []byte, err error) error {
	if (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && len(had) > 0 {
		return fmt.Errorf("%w: it ends within a message", ErrFraming)
	}
	return err
}

// detect looks at the first header of a stream. Where a length of 32 bits begins with
// zeros, as that of any P5 message does, the generation of 2024 has its length. A
// message without a body has zeros in both, and two octets more in one of them.
func (t *tcp) detect(p nfapi.Profile) (nfapi.Generation, error) {
	if p == nfapi.Aerial {
		return nfapi.GenFAPI, nil
	}
	b, err := t.in.Peek(8)
	if err != nil {
		return 0, withinMessage(b, err)
	}
	switch {
	case binary.BigEndian.Uint16(b[4:]) != 0:
		return nfapi.Gen2024, nil
	case binary.BigEndian.Uint16(b[6:]) != 0:
		return nfapi.Gen2025, nil
	}
	_ = t.SetReadDeadline(time.Now().Add(detectTimeout)) // what is wrong with the connection, reading tells
	b, err = t.in.Peek(10)
	_ = t.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.EOF):
		return nfapi.Gen2024, nil
	case err != nil:
		return 0, err
	case binary.BigEndian.Uint16(b[8:]) != 0:
		return nfapi.Gen2024, nil
	}
	return nfapi.Gen2025, nil
}
