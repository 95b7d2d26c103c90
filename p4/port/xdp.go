package port

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// xdpPort is a device with AF_XDP sockets: one on each of its queues.
type xdpPort struct {
	name      string
	index     int
	mtu       atomic.Int32
	counters  counters
	program   redirect
	zero      bool
	promisc   int // packet socket by which the device takes frames for all stations; -1: none
	queues    []*queue
	receivers []*xdpReceiver
	senders   []Sender
	packets   []*sender // of these
	given     int       // of senders

	closing sync.Mutex // of queues, whose counters are read
	closed  bool
}

// queue is a socket and its frames: those of the first half of the memory are for what comes, the others for what leaves.
type queue struct {
	*xsk.Socket
	number int
	memory *xsk.UMEM // registered
	in     *xsk.UMEM
	out    *xsk.UMEM
	base   uint64 // of out, in the memory
	lost   uint64 // that is counted already
}

// openXDP makes a port of AF_XDP sockets. choosy: p is nil, and why says it, where packet sockets are the better ones.
//
// Errors: those of the kernel; [errors.ErrUnsupported] is wrapped for what kernel or device cannot do.
func openXDP(c Config, device *net.Interface, choosy bool) (p Port, why string, err error) {
	link, err := netlink.LinkByName(c.Device)
	if err != nil {
		return nil, "", fmt.Errorf("port %s: %w", c.Device, err)
	}
	receive, both := netdev.Queues(link.Attrs())
	if choosy {
		if why := better(link, device, both, c.Workers); why != "" {
			return nil, why, nil
		}
	}
	x := &xdpPort{name: c.Device, index: device.Index, promisc: -1}
	x.mtu.Store(int32(device.MTU))
	if err := x.open(&c, link.Type(), receive, both, choosy); err != nil {
		return nil, "", errors.Join(fmt.Errorf("port %s: AF_XDP: %w", c.Device, err), x.Close())
	}
	return x, "", nil
}

// better is why packet sockets are the better ones; "": they are not.
func better(link netlink.Link, device *net.Interface, queues, workers int) string {
	switch {
	case device.Flags&net.FlagLoopback != 0 || link.Type() != "device":
		return fmt.Sprintf("a device of type %s passes on frames with unfinished checksums and with tags beside them, which packet sockets report, at about the same cost", link.Type())
	case queues < workers:
		return fmt.Sprintf("%d queues are fewer than %d workers", queues, workers)
	}
	return ""
}

func (x *xdpPort) open(c *Config, kind string, receive, both int, nativeOnly bool) error {
	if receive > maxQueues {
		return fmt.Errorf("%d queues: want %d at most (`ethtool -L`): %w", receive, maxQueues, errors.ErrUnsupported)
	}
	octets, err := frameOctets(int(x.mtu.Load()))
	if err != nil {
		return err
	}
	// A veth keeps a tag that the sender offloaded in metadata, regardless of its own settings.
	veth := kind == "veth"
	if strips, err := netdev.StripsTags(c.Device); err == nil && strips && !veth {
		return fmt.Errorf("the device takes tags off frames, where they would be lost: `ethtool -K %s rxvlan off`: %w", c.Device, errors.ErrUnsupported)
	}
	if err := x.program.load(x.index, veth); err != nil {
		return err
	}
	if err := x.program.attach(x.index, nativeOnly || veth); err != nil {
		return err
	}
	if err := x.openQueues(c, receive, octets); err != nil {
		return err
	}
	for worker := range c.Workers {
		r, err := x.newReceiver(worker, c.Workers, kind != "device")
		if err != nil {
			return err
		}
		x.receivers = append(x.receivers, r)
	}
	if err := x.openSenders(c.Workers, both); err != nil {
		return err
	}
	if x.promisc, err = promiscuous(x.index); err != nil {
		return err
	}
	for _, q := range x.queues {
		if err := x.program.sockets.Put(uint32(q.number), uint32(q.FD)); err != nil {
			return fmt.Errorf("socket of queue %d: %w", q.number, err)
		}
	}
	if kind != "device" && kind != "tuntap" && !veth {
		c.Log.Warn("tags that the kernel keeps beside frames are lost", "device", c.Device, "type", kind)
	}
	c.Log.Info("port is of AF_XDP sockets", "device", c.Device, "mode", x.Mode(), "queues", receive)
	return nil
}

// frameOctets returns how long a frame of the memory is: what comes has 256 octets in front.
func frameOctets(mtu int) (int, error) {
	const most = 4096 - unix.XDP_PACKET_HEADROOM - inet.LenEthernet - 2*inet.LenTag
	switch {
	case mtu > most:
		return 0, fmt.Errorf("MTU of %d octets: want %d at most: %w", mtu, most, errors.ErrUnsupported)
	case mtu > most-2048:
		return 4096, nil
	}
	return 2048, nil
}

// openQueues opens the sockets: without copies if the driver can do that.
func (x *xdpPort) openQueues(c *Config, receive, octets int) error {
	var err error
	if x.program.mode == ModeNative {
		if err = x.openAll(c, receive, octets, unix.XDP_ZEROCOPY); err == nil {
			x.zero = true
			return nil
		}
		if err := x.closeQueues(); err != nil {
			return err
		}
	}
	return x.openAll(c, receive, octets, unix.XDP_COPY)
}

func (x *xdpPort) openAll(c *Config, receive, octets int, flags uint16) error {
	entries := 256
	for entries*2*octets*2*((receive+c.Workers-1)/c.Workers) <= c.Memory && entries < 4096 {
		entries *= 2
	}
	for number := range receive {
		q := &queue{number: number}
		var err error
		if q.memory, err = xsk.NewUMEM(2*entries, octets); err != nil {
			return err
		}
		x.queues = append(x.queues, q)
		half := entries * octets
		q.in, q.out, q.base = xsk.NewUMEMOver(q.memory.Memory[:half:half], octets), xsk.NewUMEMOver(q.memory.Memory[half:], octets), uint64(half)
		q.Socket, err = xsk.Open(xsk.Config{Device: x.name, Index: x.index, Queue: number, UMEM: q.memory, Entries: entries, Flags: flags, Burst: xdpBurst})
		if err != nil {
			return err
		}
	}
	return nil
}

// openSenders makes one for each worker on its queue; those that have none, and the one that is over, send by packet sockets.
func (x *xdpPort) openSenders(workers, queues int) error {
	for worker := range workers + 1 {
		if worker < min(workers, queues, len(x.queues)) {
			x.senders = append(x.senders, newXDPSender(x, x.queues[worker]))
			continue
		}
		s, err := newSender(x.index, &x.counters)
		if err != nil {
			return err
		}
		x.senders, x.packets = append(x.senders, s), append(x.packets, s)
	}
	return nil
}

// promiscuous makes a packet socket which takes nothing, and as long as it is open has the device take frames for all
// stations.
func promiscuous(index int) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
	}
	err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
	if err != nil {
		return -1, errors.Join(fmt.Errorf("promiscuous: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// Name is that of the device.
func (x *xdpPort) Name() string { return x.name }

// Mode says where the program is, and whether frames are copied.
func (x *xdpPort) Mode() Mode {
	if x.zero {
		return ModeZeroCopy
	}
	return x.program.mode
}

// Receiver returns that of a worker.
func (x *xdpPort) Receiver(worker int) Receiver { return x.receivers[worker] }

// NewSender returns one of as many senders as there are receivers, and one more.
func (x *xdpPort) NewSender() (Sender, error) {
	if x.given == len(x.senders) {
		return nil, fmt.Errorf("port %s: all %d senders are taken", x.name, x.given)
	}
	x.given++
	return x.senders[x.given-1], nil
}

// Stats returns what was counted.
func (x *xdpPort) Stats() Stats {
	x.closing.Lock()
	defer x.closing.Unlock()
	for _, q := range x.queues {
		if q.Socket == nil || x.closed {
			continue
		}
		if lost, err := q.Lost(); err == nil {
			x.counters.rxFull.Add(lost - q.lost)
			q.lost = lost
		}
	}
	return x.counters.stats()
}

// Close frees the resources of the port. It must not be used afterwards.
func (x *xdpPort) Close() error {
	errs := []error{x.program.detach()}
	x.closing.Lock()
	x.closed = true
	x.closing.Unlock()
	for _, r := range x.receivers {
		errs = append(errs, r.close())
	}
	for _, s := range x.packets {
		errs = append(errs, unix.Close(s.fd))
	}
	errs = append(errs, x.closeQueues(), x.program.close())
	if x.promisc >= 0 {
		errs = append(errs, unix.Close(x.promisc))
		x.promisc = -1
	}
	x.receivers, x.senders, x.packets = nil, nil, nil
	return errors.Join(errs...)
}

func (x *xdpPort) closeQueues() error {
	var errs []error
	for _, q := range x.queues {
		errs = append(errs, q.Close(), q.memory.Close())
	}
	x.queues = nil
	return errors.Join(errs...)
}
