package tun

import (
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/datapath"
	"plumbline/datapath/vector"
	"plumbline/vnet"
)

// downlink treats what the kernel gives to one queue of a data network's device.
type downlink struct {
	in      *vnet.Reader
	device  *device
	network int // number of the data network, from 1 on
	memory  *arena
	worker  *vector.Worker
	out     *output
	send    func([]*vector.Packet) // out.send, bound once
	proxy   proxy

	packets []vector.Packet
	vector  []*vector.Packet

	senseless uint64 // of in.Senseless, counted as dropped
}

func (t *traffic) newDownlink(worker, network int, dev *device) (*downlink, error) {
	memory, err := newArena(vector.MaxVector + 1)
	if err != nil {
		return nil, err
	}
	u := &downlink{
		device: dev, network: network, memory: memory, out: t.newOutput(worker),
		packets: make([]vector.Packet, vector.MaxVector), vector: make([]*vector.Packet, 0, vector.MaxVector),
	}
	u.worker, u.send = u.out.worker, u.out.send
	queue := dev.Queues[worker%len(dev.Queues)]
	u.in = vnet.NewReader(queue, memory.slots, vector.Headroom)
	u.proxy = proxy{dev: dev, covers: func(a netip.Addr) bool { return t.d.routes.covers(network-1, a) }}
	u.proxy.out = vnet.NewWriter(queue, vector.MaxVector, dev.mac, dev.peer)
	return u, nil
}

// run treats what comes until the device is closed, or gone.
func (u *downlink) run() error {
	for {
		n, err := u.in.Next()
		for ; u.senseless < u.in.Senseless; u.senseless++ {
			u.worker.Refuse(datapath.DropInternal)
		}
		switch {
		case err == nil:
			u.treat(n)
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.EBADFD), errors.Is(err, unix.EFAULT):
			return errorf("device %s has gone: %w", u.device.Name, err)
		default:
			time.Sleep(retryDelay)
		}
	}
}

// treat treats n packets.
func (u *downlink) treat(n int) {
	u.vector = u.vector[:0]
	for i := range n {
		p := &u.packets[i]
		*p = vector.Packet{Network: u.network}
		p.Buf, p.Start, p.End = u.in.Packet(i)
		switch {
		case !u.device.TAP, u.device.frames, u.device.unframe(p):
			u.vector = append(u.vector, p)
		default:
			u.proxy.reply(p.Octets())
		}
	}
	u.proxy.flush()
	if len(u.vector) > 0 {
		u.worker.Run(u.vector, u.send)
	}
}

func (u *downlink) free() { u.memory.free() }
