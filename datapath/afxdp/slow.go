package afxdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// slow is the path through the kernel: reassembled GTP-U comes from the GTP-U sockets, and packets
// that the workers cannot send go through raw ones. It is safe for concurrent use.
type slow struct {
	m     *machine
	host  *rawip.Host
	conns rawip.GTPU
	raw   []rawip.Sockets // of data networks, by device number
	ether []int           // packet sockets of Ethernet data networks, by device number; -1: none
	done  sync.WaitGroup

	mu     sync.RWMutex // held for reading while something is sent
	closed bool
}

func openSlow(m *machine) (*slow, error) {
	s := &slow{m: m, host: m.d.host}
	guarded := rawip.Guarded(m.d.cfg.Endpoints, &m.d.cfg.N6, func(device string) (int, bool) {
		for _, dev := range m.devices {
			if dev.name == device {
				return dev.index, true
			}
		}
		return 0, false
	})
	conns, err := rawip.ListenGTPU(m.d.cfg.Endpoints, guarded)
	if err != nil {
		return nil, fmt.Errorf("afxdp: %w", err)
	}
	s.conns = conns
	for _, dev := range m.devices {
		raw, ether := rawip.Sockets{}, -1
		switch {
		case dev.ethernet:
			ether, err = openPacket(dev.index)
		case dev.network != 0:
			raw, err = rawip.Open(dev.name)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("afxdp: %s: %w", dev.name, err), s.close())
		}
		s.raw, s.ether = append(s.raw, raw), append(s.ether, ether)
	}
	return s, nil
}

// openPacket makes a packet socket that sends on an Ethernet data network and, as
// long as it is open, lets the device take frames for all stations.
func openPacket(index int) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
	}
	err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
	if err != nil {
		return -1, errors.Join(fmt.Errorf("promiscuous: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// read starts to treat what the GTP-U sockets bring.
func (s *slow) read() {
	for addr, conn := range s.conns {
		worker := s.m.d.slowWorker(addr)
		s.done.Go(func() { s.readGTPU(conn.UDPConn, addr, worker) })
	}
}

// maxDatagram is how many octets a UDP datagram can have.
const maxDatagram = 1 << 16

func (s *slow) readGTPU(conn *net.UDPConn, to netip.Addr, worker *vector.Worker) {
	buf := make([]byte, vector.Headroom+maxDatagram)
	send := func(out []*vector.Packet) { s.leave(out, worker) }
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf[vector.Headroom:])
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // an ICMP error of something that was sent before
			continue
		case n == 0:
			worker.Refuse(datapath.DropDevice)
			continue
		}
		p := vector.Packet{
			Buf: buf, Start: vector.Headroom, End: vector.Headroom + n,
			From: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), To: to,
		}
		worker.Run([]*vector.Packet{&p}, send)
	}
}

// leave sends packets through the kernel, and lets a worker count those that it does
// not take.
func (s *slow) leave(out []*vector.Packet, counts *vector.Worker) {
	for _, p := range out {
		if reason := s.send(p); reason != datapath.ReasonNone {
			counts.Refuse(reason)
		}
	}
}

// send sends one packet, or says why not.
func (s *slow) send(p *vector.Packet) datapath.Reason {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return datapath.DropNextHop
	}
	switch {
	case p.Outer != nil:
		return s.tunnel(p)
	case p.Frame:
		return s.frame(p)
	case s.host.Has(rawip.Destination(p.Octets())):
		return datapath.DropLocal
	}
	way := s.m.d.ways[p.Way]
	return rawip.Reason(s.raw[way.dev.number].Send(p.Octets(), way.slowVia(p.Octets(), p.Flow)))
}

func (s *slow) tunnel(p *vector.Packet) datapath.Reason {
	if p.Start < inet.LenIPv6+inet.LenUDP {
		room := make([]byte, vector.Headroom+p.End-p.Start)
		n := copy(room[vector.Headroom:], p.Octets())
		p.Buf, p.Start, p.End = room, vector.Headroom, vector.Headroom+n
	}
	if !p.PutOuter() {
		return datapath.DropNextHop
	}
	q := s.m.d.peers.waiting.Of(nexthop.Peer{Local: p.Outer.Local, Addr: p.Outer.Peer})
	if !q.Admit(p.End - p.Start) {
		return datapath.DropNextHop
	}
	err := s.conns.Send(p.Octets(), p.Outer.Local)
	if err != nil {
		q.Return(p.End - p.Start)
	}
	return rawip.TunnelReason(err)
}

func (s *slow) frame(p *vector.Packet) datapath.Reason {
	dev := s.m.d.ways[p.Way].dev
	if s.ether[dev.number] < 0 {
		return datapath.DropNextHop // its network is for IP
	}
	err := unix.Sendto(s.ether[dev.number], p.Octets(), unix.MSG_DONTWAIT, &unix.SockaddrLinklayer{Ifindex: dev.index})
	return rawip.Reason(err)
}

func (s *slow) close() error {
	if s == nil {
		return nil
	}
	err := s.conns.Close()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	errs := []error{err, s.conns.CloseRaw()}
	for _, raw := range s.raw {
		errs = append(errs, raw.Close())
	}
	for _, fd := range s.ether {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
