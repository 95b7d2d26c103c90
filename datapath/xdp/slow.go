package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf/ringbuf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/datapath/model"
	"plumbline/gtpu"
)

const lenEthernet = 14

// slowPath finishes what the programs hand on: it reads GTP-U messages that the
// kernel has put together and passed to the socket, and frames from N6 out of
// the ring, treats them by the model over the driver's tables, and lets the
// kernel send the result, which resolves the next hop and fragments.
type slowPath struct {
	stages model.Stages
	local  func(netip.Addr) bool // whether an address is the host's own
	send   sender
	gtpu   *net.UDPConn
	counts []atomic.Uint64 // by reason
}

// sender puts IP packets on the wire.
type sender interface {
	n3(packet []byte) error // outer IPv4 packet
	n6(packet []byte) error // user packet
}

func newSlowPath(d *Driver, kernel *netlink.Handle) *slowPath {
	return &slowPath{
		stages: d.stages(),
		local:  (&localAddresses{kernel: kernel}).has,
		counts: make([]atomic.Uint64, len(datapath.Reasons())+1),
	}
}

// startSlow opens the sockets and starts the readers.
func (d *Driver) startSlow(p ports) error {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("xdp: netlink: %w", err)
	}
	d.detach = append(d.detach, func() error { kernel.Close(); return nil })
	s := newSlowPath(d, kernel)
	d.slow = s
	if s.gtpu, err = listenGTPU(d.cfg.N3Address); err != nil {
		return err
	}
	raw, err := newRawSender(s.gtpu, p)
	if err != nil {
		return errors.Join(err, s.gtpu.Close())
	}
	s.send = raw
	ring, err := ringbuf.NewReader(d.objs.Exceptions)
	if err != nil {
		return errors.Join(fmt.Errorf("xdp: exception ring: %w", err), s.gtpu.Close(), raw.close())
	}
	var done sync.WaitGroup
	done.Go(func() { s.readGTPU() })
	done.Go(func() { s.readRing(ring) })
	d.detach = append(d.detach, func() error {
		err := errors.Join(s.gtpu.Close(), ring.Close())
		done.Wait()
		return errors.Join(err, raw.close())
	})
	return nil
}

func listenGTPU(addr netip.Addr) (*net.UDPConn, error) {
	at := netip.AddrPortFrom(addr, gtpu.Port)
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, fmt.Errorf("xdp: GTP-U on %v: %w", at, err)
	}
	return conn, nil
}

func (s *slowPath) readGTPU() {
	buf := make([]byte, 65536)
	for {
		n, from, err := s.gtpu.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			s.fromN3(buf[:n], from)
		}
	}
}

// fromN3 treats one GTP-U message.
func (s *slowPath) fromN3(message []byte, from netip.AddrPort) {
	packet, reason := s.stages.Uplink(message)
	switch {
	case reason == datapath.PassSignalling:
		s.signalling(message, from)
	case reason != datapath.ReasonNone:
		s.count(reason)
	case s.local(destination(packet)):
		s.count(datapath.DropLocal)
	default:
		s.count(sendReason(s.send.n6(packet)))
	}
}

// signalling answers an Echo Request. Source: TS 29.281 V18.1.0, 7.2.2.
func (s *slowPath) signalling(message []byte, from netip.AddrPort) {
	h, err := gtpu.Parse(message)
	if err != nil || h.Type() != gtpu.EchoRequest {
		return
	}
	seq, _ := h.Sequence()
	// A response that cannot be sent is one that got lost: the peer asks again.
	_, _ = s.gtpu.WriteToUDPAddrPort(gtpu.AppendEchoResponse(nil, seq), from)
}

func (s *slowPath) readRing(ring *ringbuf.Reader) {
	var record ringbuf.Record
	for {
		err := ring.ReadInto(&record)
		if errors.Is(err, ringbuf.ErrClosed) {
			return
		}
		if err == nil {
			s.fromN6(exceptionFrame(record.RawSample))
		}
	}
}

// exceptionFrame returns the frame in a record of struct exception.
func exceptionFrame(record []byte) []byte {
	n := binary.NativeEndian.Uint32(record)
	return record[8 : 8+n]
}

// fromN6 treats one frame.
func (s *slowPath) fromN6(frame []byte) {
	if len(frame) < lenEthernet {
		return
	}
	packet, reason := s.stages.Downlink(frame[lenEthernet:])
	if reason == datapath.ReasonNone {
		reason = sendReason(s.send.n3(packet))
	}
	s.count(reason)
}

func (s *slowPath) count(r datapath.Reason) {
	if r != datapath.ReasonNone {
		s.counts[r].Add(1)
	}
}

// sendReason says what an error of the kernel means for a packet.
func sendReason(err error) datapath.Reason {
	switch {
	case err == nil:
		return datapath.ReasonNone
	case errors.Is(err, unix.EMSGSIZE):
		return datapath.DropMTU
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
		return datapath.DropSlowFull
	}
	return datapath.DropNextHop
}

func destination(packet []byte) netip.Addr {
	if packet[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(packet[24:40]))
	}
	return netip.AddrFrom4([4]byte(packet[16:20]))
}
