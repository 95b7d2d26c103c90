package tun

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/vnet"
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

	senseless, full uint64 // of in.Senseless and in.Full, counted as dropped
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
	if err := u.share(&t.d.cfg); err != nil {
		u.free()
		return nil, err
	}
	u.proxy = proxy{dev: dev, covers: func(a netip.Addr) bool { return t.d.routes.covers(network-1, a) }}
	u.proxy.out = vnet.NewWriter(queue, vector.MaxVector, dev.mac, dev.peer)
	return u, nil
}

// share receives packets through a ring, if that is configured and permitted. Frames are
// unmodified, with tags, which a ring has in metadata.
func (u *downlink) share(c *Config) error {
	if !c.Ring || u.device.frames {
		return nil
	}
	err := u.in.Share(c.MTU, c.ringOctets)
	if errors.Is(err, os.ErrPermission) {
		c.Log.Warn("packets are read one by one: a ring needs CAP_NET_RAW", "device", u.device.Name, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return u.device.unread()
}

// run treats what comes until the device is stopped, or gone.
func (u *downlink) run() error {
	for {
		n, err := u.in.Next()
		for ; u.senseless < u.in.Senseless; u.senseless++ {
			u.worker.Refuse(datapath.DropInternal)
		}
		for ; u.full < u.in.Full; u.full++ {
			u.worker.Refuse(datapath.DropRxFull)
		}
		switch {
		case err == nil:
			u.treat(n)
		case errors.Is(err, os.ErrClosed):
			return nil
		case errors.Is(err, unix.EBADFD), errors.Is(err, unix.EFAULT):
			return fmt.Errorf("device %s has gone: %w", u.device.Name, err)
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
		case u.device.frames:
			u.vector = append(u.vector, p)
		case !u.device.TAP && u.out.host.isRedirect(p.Octets()):
			p.Reason = datapath.DropICMPRedirect
			u.worker.Refuse(p.Reason)
		case !u.device.TAP, u.device.unframe(p):
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

func (u *downlink) free() {
	_ = u.in.Free() // cannot fail: own memory, and mapped
	u.memory.free()
}
