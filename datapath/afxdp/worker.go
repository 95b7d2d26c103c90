package afxdp

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// worker treats the packets of its queues: one of each device, or more where a device
// has more queues than there are workers. Sockets, frames and rings are its own.
type worker struct {
	m       *machine
	number  int
	engine  *vector.Worker
	umem    *xsk.UMEM
	live    *live // nil: all frames are sent through sockets
	sockets []*socket
	out     []*socket // on which it sends, by device index in machine.devices

	arrived  [vector.MaxVector]unix.XDPDesc
	packets  [vector.MaxVector]vector.Packet
	in       []*vector.Packet
	treated  atomic.Uint64 // packets
	unbroken int           // of these, since nothing had arrived when it looked
	made     []uint64      // frames that were taken for packets of this vector
	given    []uint64      // frames that come back
	send     func(out []*vector.Packet)
	leaving  []*socket // that have something to send, in the order in which it came
	polled   []unix.PollFd
	lastPeer peerCache

	lane       Lane                     // nil: all is for the stages
	first      func() []*vector.Packet  // lane's
	comingFrom *socket                  // of coming
	coming     []unix.XDPDesc           // what has arrived, for the lane
	frames     [vector.MaxVector][]byte // of coming
	told       [vector.MaxVector]bool   // the front has reported its result
}

// newWorker opens the sockets of a worker. The first one has the UMEM; all have to
// bind in the same mode, zero copy or not.
func (m *machine) newWorker(number int, flags uint16) (*worker, error) {
	w := &worker{
		m: m, number: number, engine: m.d.workers[number], given: make([]uint64, m.entries),
		out: make([]*socket, len(m.devices)),
	}
	w.send, w.first = w.leave, w.before
	if front := m.d.cfg.Front; front != nil {
		w.lane = front.NewLane()
	}
	var err error
	if err = w.openMemory(flags); err != nil {
		return nil, err
	}
	for i, dev := range m.devices {
		for q := number; q < dev.receives; q += m.count {
			var shared *xsk.Socket
			if len(w.sockets) > 0 {
				shared = w.sockets[0].Socket
			}
			s, err := openSocket(dev, q, w.umem, m.entries, shared, flags)
			if err != nil {
				return nil, errors.Join(err, w.close())
			}
			w.sockets = append(w.sockets, s)
			if q == number {
				w.out[i] = s
			}
		}
	}
	for _, s := range w.sockets {
		w.polled = append(w.polled, unix.PollFd{Fd: int32(s.FD), Events: unix.POLLIN})
	}
	w.polled = append(w.polled, unix.PollFd{Fd: int32(m.stop), Events: unix.POLLIN})
	w.refill() // before anything arrives
	return w, nil
}

// openMemory makes the frames: where they are copied and a device is a veth, memory from
// which they can also be sent as XDP frames.
func (w *worker) openMemory(flags uint16) (err error) {
	m := w.m
	if flags&unix.XDP_COPY != 0 && slices.ContainsFunc(m.devices, func(d *device) bool { return d.veth }) {
		if w.live, err = openLive(m.frames, m.octets, m.devices); err == nil {
			w.umem = xsk.NewUMEMOver(w.live.memory, m.octets)
			return nil
		}
		m.d.log.Info("frames are sent one by one", "worker", w.number, "reason", err)
	}
	if w.umem, err = xsk.NewUMEM(m.frames, m.octets); err != nil {
		return fmt.Errorf("afxdp: %w", err)
	}
	return nil
}

func (w *worker) close() error {
	var errs []error
	if w.lane != nil {
		w.lane.Close()
	}
	for _, s := range slices.Backward(w.sockets) {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.umem.Close(), w.live.close())...)
}

// run treats packets until the machine stops. It has a thread of its own.
func (w *worker) run() error {
	runtime.LockOSThread() // and never gives it back: it may be pinned
	if err := w.pin(); err != nil {
		return err
	}
	last, idle := time.Now(), false
	for !w.m.stopping.Load() {
		busy, err := w.turn()
		switch {
		case err != nil:
			return fmt.Errorf("afxdp: worker %d: %w", w.number, err)
		case busy:
			idle = false
		case !idle:
			last, idle = time.Now(), true
		case w.m.rests(last):
			if err := w.rest(); err != nil {
				return err
			}
			idle = false
		}
	}
	return w.drain()
}

// drain treats what has arrived yet: the programs are off the devices.
func (w *worker) drain() error {
	for {
		if busy, err := w.turn(); err != nil || !busy {
			return err
		}
	}
}

func (w *worker) pin() error {
	cpus := w.m.d.cfg.CPUs
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	cpu := cpus[w.number%len(cpus)]
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("afxdp: worker %d on CPU %d: %w", w.number, cpu, err)
	}
	return nil
}

// turn treats one vector of each queue, and reports whether there was any.
func (w *worker) turn() (busy bool, err error) {
	for _, s := range w.sockets {
		if n := s.RX.Take(w.arrived[:]); n > 0 {
			s.lent -= n
			w.unbroken += n
			w.treat(s, w.arrived[:n])
			busy = true
		}
	}
	if !busy {
		w.unbroken = 0
	}
	if err := w.reclaim(); err != nil {
		return busy, err
	}
	w.refill()
	return busy, nil
}

// treat lets the stages treat what has arrived on a socket.
func (w *worker) treat(s *socket, arrived []unix.XDPDesc) {
	for i := range arrived {
		w.umem.Give(arrived[i].Addr, xsk.Held)
	}
	if w.lane != nil && !w.engine.Traced() {
		w.comingFrom, w.coming = s, arrived
		w.engine.RunAfter(w.first, w.send)
	} else {
		w.in = w.in[:0]
		for i := range arrived {
			w.take(s, &arrived[i], &w.packets[i])
		}
		w.engine.Run(w.in, w.send)
	}
	for i := range arrived {
		w.settle(arrived[i].Addr)
	}
	for _, offset := range w.made {
		w.settle(offset)
	}
	w.made = w.made[:0]
	w.treated.Add(uint64(len(arrived)))
}

// take notes a frame that is for the stages, or counts why it is not.
func (w *worker) take(s *socket, d *unix.XDPDesc, p *vector.Packet) {
	start := int(d.Addr - w.umem.Base(d.Addr))
	*p = vector.Packet{Buf: w.umem.Bytes(d.Addr), Start: start, End: start + int(d.Len)}
	if reason := w.arrive(s.device, p); reason != datapath.ReasonNone {
		w.engine.Refuse(reason)
		return
	}
	w.in = append(w.in, p)
}

// settle makes a frame of the vector free that was not sent.
func (w *worker) settle(offset uint64) {
	if w.umem.OwnerOf(offset) == xsk.Held {
		w.umem.Put(offset)
	}
}

// reclaim takes back the frames that have been sent.
func (w *worker) reclaim() error {
	for _, s := range w.sockets {
		for {
			n := s.Completion.Take(w.given)
			for _, offset := range w.given[:n] {
				if err := w.umem.Reclaim(offset); err != nil {
					return err
				}
			}
			if n < len(w.given) {
				break
			}
		}
	}
	return nil
}

// kept is how many frames are not given away to be filled: for packets that are made
// here.
const kept = vector.MaxVector

// A worker without a pause for this multiple of its frames is overloaded. Waiting frames then only
// leave the caches before their turn, and few frames in the kernel achieve a higher rate than many.
const (
	overloaded     = 16
	overloadedLent = 1024 // frames of a socket
)

// most is how many frames a socket may have in the kernel's hands, filled and not.
func (w *worker) most() int {
	if w.unbroken > overloaded*w.m.frames {
		return min(overloadedLent, w.m.entries)
	}
	return w.m.entries
}

// refill gives the kernel frames to fill, and wakes it where it waits for them.
func (w *worker) refill() {
	most := w.most()
	for _, s := range w.sockets {
		free := w.umem.Unused
		n := min(int(s.Fill.Room(s.Fill.Size)), len(free)-kept, most-s.lent)
		if n <= 0 {
			continue
		}
		s.lent += n
		give := free[len(free)-n:]
		slices.Reverse(give) // the one that was used last is to be filled first
		for _, offset := range give {
			w.umem.Give(offset, xsk.Kernel)
		}
		s.Fill.Put(give)
		w.umem.Unused = free[:len(free)-n]
		if s.Fill.Asleep() {
			_ = s.Poke() // the next packet reports it again
		}
	}
}
