package probetest

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Sender sends user packets by a wire, and keeps when: packet n has the TEID First + n.
// It is for one goroutine.
type Sender struct {
	Wire  Wire
	First uint32 // TEID of the first packet
	QFI   byte

	// Burst packets go at once, and the next ones when Pause has passed.
	Burst int
	Pause time.Duration

	// Sent is when each packet was about to be sent, CLOCK_MONOTONIC ns.
	Sent []uint64

	fd int
}

// Open opens the sender in the network namespace of the calling thread.
func (s *Sender) Open() (err error) {
	if s.fd, err = s.Wire.open(0); err != nil {
		return fmt.Errorf("probetest: sender: %w", err)
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
		return errors.Join(fmt.Errorf("probetest: sender: %w", err), s.Close())
	}
	return nil
}

// Close ends it.
func (s *Sender) Close() error { return unix.Close(s.fd) }

// Send sends count packets of a kind, from packet first of the kind on.
func (s *Sender) Send(t *Traffic, e Ends, first, count int) error {
	for n := range count {
		if s.Burst > 0 && n%s.Burst == 0 {
			time.Sleep(s.Pause)
		}
		if err := s.SendPacket(t.Packet(e, first+n)); err != nil {
			return err
		}
	}
	return nil
}

// SendPacket sends one.
func (s *Sender) SendPacket(packet []byte) error {
	teid := s.First + uint32(len(s.Sent))
	if s.Wire.From.IsValid() {
		packet = s.Wire.datagram(teid, s.QFI, packet)
	}
	return s.send(virtio{}, packet, 1)
}

// SendTogether sends packets as the kernel has them that it has still to cut: those of
// one flow in a super-packet, and by N3 the G-PDUs of such in a super-packet of UDP. All
// but the last have the same length.
func (s *Sender) SendTogether(packets [][]byte) error {
	if s.Wire.From.IsValid() {
		for i := range packets {
			packets[i] = s.Wire.datagram(s.First+uint32(len(s.Sent)+i), s.QFI, packets[i])
		}
	}
	super, v := merge(packets)
	return s.send(v, super, len(packets))
}

// send sends what count packets are in.
func (s *Sender) send(v virtio, packet []byte, count int) error {
	head := len(s.Wire.frame(packet)) - len(packet)
	if v.gsoType != 0 {
		v.hdrLen += uint16(head)
		v.csumStart += uint16(head)
	}
	b := append(v.append(nil), s.Wire.frame(packet)...)
	started := now()
	for {
		_, err := unix.Write(s.fd, b)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EAGAIN) {
			return fmt.Errorf("probetest: send %d octets by %s: %w", len(b), s.Wire.Device, err)
		}
	}
	for range count {
		s.Sent = append(s.Sent, started)
	}
	return nil
}

// now is CLOCK_MONOTONIC in ns.
func now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // this clock always exists
	}
	return uint64(t.Nano())
}
