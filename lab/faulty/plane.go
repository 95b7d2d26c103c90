package faulty

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// gtp is the octets of a GTP-U header with a PDU Session Container.
const gtp = 16

// plane forwards in one direction.
type plane struct {
	*setup
	table    *table
	uplink   bool
	in, out  int // packet sockets
	held     []byte
	next     time.Time // when the rate allows another frame
	delayed  chan late
	received []byte
	others   uint64 // frames without a stamp, so far
}

// late is a frame and when it leaves.
type late struct {
	at    time.Time
	frame []byte
}

func newPlane(s *setup, t *table, uplink bool) (*plane, error) {
	p := &plane{setup: s, table: t, uplink: uplink, delayed: make(chan late, 1<<16), received: make([]byte, 1<<16)}
	from, to := s.N3, s.N6
	if !uplink {
		from, to = to, from
	}
	var err error
	if p.in, err = socket(from, unix.ETH_P_IP); err != nil {
		return nil, err
	}
	p.out, err = socket(to, 0)
	return p, err
}

func socket(device string, protocol uint16) (int, error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return 0, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	const room = 64 << 20
	return fd, errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol<<8 | protocol>>8, Ifindex: link.Index}))
}

// run forwards until something fails.
func (p *plane) run() error {
	go p.release()
	for {
		n, from, err := unix.Recvfrom(p.in, p.received, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		frame, sequence, ok := p.forward(p.received[:n])
		if ok && p.allowed() {
			p.harm(frame, sequence)
		}
	}
}

// forward returns the frame that leaves, and the number of its stamp.
func (p *plane) forward(b []byte) (frame []byte, sequence uint64, ok bool) {
	if p.uplink {
		frame, ok = p.decapsulate(b)
	} else {
		frame, ok = p.encapsulate(b)
	}
	if !ok {
		return nil, 0, false
	}
	user := frame[p.user():]
	if p.Octets > 0 && len(user) > p.Octets {
		return nil, 0, false
	}
	if stamp, err := generator.DecodeStamp(user[inet.LenIPv4+inet.LenUDP:]); err == nil {
		return frame, stamp.Sequence, true
	}
	p.others++
	return frame, p.others, true
}

// user is where the user packet begins in a frame that leaves.
func (p *plane) user() int {
	if p.uplink {
		return inet.LenEthernet
	}
	return inet.LenEthernet + inet.LenIPv4 + inet.LenUDP + gtp
}

func (p *plane) decapsulate(b []byte) ([]byte, bool) {
	const outer = inet.LenEthernet + inet.LenIPv4 + inet.LenUDP
	if len(b) < outer+gtp || b[inet.LenEthernet+9] != unix.IPPROTO_UDP || binary.BigEndian.Uint16(b[inet.LenEthernet+inet.LenIPv4+2:]) != gtpu.Port {
		return nil, false
	}
	h, err := gtpu.Parse(b[outer:])
	if err != nil || h.Type() != gtpu.GPDU {
		return nil, false
	}
	p.table.mu.Lock()
	_, known := p.table.byTEID[h.TEID()]
	p.table.mu.Unlock()
	user := b[outer+len(h):]
	if !known || len(user) < inet.LenIPv4+inet.LenUDP {
		return nil, false
	}
	return append(header(p.N6PeerMAC, p.N6MAC), user...), true
}

func (p *plane) encapsulate(b []byte) ([]byte, bool) {
	user := b[inet.LenEthernet:]
	if len(user) < inet.LenIPv4+inet.LenUDP {
		return nil, false
	}
	ue := netip.AddrFrom4([4]byte(user[16:20]))
	p.table.mu.Lock()
	to, known := p.table.byUE[ue]
	p.table.mu.Unlock()
	if !known {
		return nil, false
	}
	be := binary.BigEndian
	f := header(p.N3PeerMAC, p.N3MAC)
	f = append(f, 0x45, 0)
	f = be.AppendUint16(f, uint16(inet.LenIPv4+inet.LenUDP+gtp+len(user)))
	f = append(f, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0)
	f = append(f, p.N3Address.AsSlice()...)
	f = append(f, p.GNB.AsSlice()...)
	be.PutUint16(f[inet.LenEthernet+10:], checksum.Of(f[inet.LenEthernet:inet.LenEthernet+inet.LenIPv4]))
	f = be.AppendUint16(f, gtpu.Port)
	f = be.AppendUint16(f, gtpu.Port)
	f = be.AppendUint16(f, uint16(inet.LenUDP+gtp+len(user)))
	f = append(f, 0, 0)
	f = append(f, 0x34, 255) // version 1, extension header; G-PDU
	f = be.AppendUint16(f, uint16(gtp-8+len(user)))
	f = be.AppendUint32(f, to.teid)
	f = append(f, 0, 0, 0, 0x85, 1, 0, to.qfi, 0) // PDU Session Container, DL PDU SESSION INFORMATION
	return append(f, user...), true
}

// header is that of Ethernet.
func header(to, from []byte) []byte {
	b := make([]byte, 0, 2048)
	b = append(append(b, to...), from...)
	return binary.BigEndian.AppendUint16(b, unix.ETH_P_IP)
}

// allowed is whether the rate leaves room for a frame, which it then takes.
func (p *plane) allowed() bool {
	if p.PPS == 0 {
		return true
	}
	const burst = 50 * time.Millisecond // that it may be late by, as on a busy machine
	now := time.Now()
	if p.next.After(now) {
		return false
	}
	if early := now.Add(-burst); p.next.Before(early) {
		p.next = early
	}
	p.next = p.next.Add(time.Second / time.Duration(p.PPS))
	return true
}
