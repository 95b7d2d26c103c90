package port

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// packetPort is a device with packet sockets.
type packetPort struct {
	name      string
	index     int
	counters  counters
	receivers []*receiver
	senders   []*sender
	given     int // of senders
	fanout    int // 0: none yet
}

// openPacket makes a port of packet sockets.
//
// Errors: [os.ErrPermission] without CAP_NET_RAW; [errors.ErrUnsupported] before Linux 4.20.
func openPacket(c Config, link *net.Interface) (Port, error) {
	p := &packetPort{name: c.Device, index: link.Index}
	for range max(c.Workers, 1) {
		r, err := p.newReceiver(&c, link.MTU)
		if err != nil {
			return nil, errors.Join(explain(c.Device, err), p.Close())
		}
		p.receivers = append(p.receivers, r)
	}
	for range len(p.receivers) + 1 {
		s, err := newSender(p.index, &p.counters)
		if err != nil {
			return nil, errors.Join(explain(c.Device, err), p.Close())
		}
		p.senders = append(p.senders, s)
	}
	for _, r := range p.receivers {
		if err := r.start(len(p.receivers)); err != nil {
			return nil, errors.Join(explain(c.Device, err), p.Close())
		}
	}
	return p, nil
}

func explain(device string, err error) error {
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("port %s: packet socket: needs CAP_NET_RAW: %w", device, err)
	case errors.Is(err, unix.ENOPROTOOPT):
		return fmt.Errorf("port %s: packet socket: this needs Linux 4.20: %w: %w", device, errors.ErrUnsupported, err)
	}
	return fmt.Errorf("port %s: packet socket: %w", device, err)
}

// Name is that of the device.
func (p *packetPort) Name() string { return p.name }

// Mode is [ModePacket].
func (p *packetPort) Mode() Mode { return ModePacket }

// Receiver returns that of a worker.
func (p *packetPort) Receiver(worker int) Receiver { return p.receivers[worker] }

// Stats returns what was counted.
func (p *packetPort) Stats() Stats {
	for _, r := range p.receivers {
		r.countFull()
	}
	return p.counters.stats()
}

// Close frees the resources of the port. It must not be used afterwards.
func (p *packetPort) Close() error {
	var errs []error
	for _, r := range p.receivers {
		errs = append(errs, r.close())
	}
	for _, s := range p.senders {
		errs = append(errs, unix.Close(s.fd))
	}
	p.receivers, p.senders = nil, nil
	return errors.Join(errs...)
}

// join has the socket of a receiver get its part of the flows.
func (p *packetPort) join(fd int) error {
	const byFlow = unix.PACKET_FANOUT_HASH << 16
	if p.fanout != 0 {
		return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, p.fanout)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, byFlow|unix.PACKET_FANOUT_FLAG_UNIQUEID<<16); err != nil {
		return err
	}
	group, err := unix.GetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
	p.fanout = byFlow | group&0xffff
	return err
}
