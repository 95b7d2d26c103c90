package target

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/port"
)

// lane is one goroutine through which frames go.
type lane struct {
	s         *Switch
	receivers []port.Receiver // by position of the port; none: that of the CPU port
	senders   []port.Sender
	unsent    []bool // by position: Flush is due
	wakeup    int    // eventfd
	waitAt    []unix.PollFd

	live    *liveState // instance of its worker
	worker  Worker
	frames  [batch]port.Frame
	in      [batch]bmv2.Frame
	scratch []byte // of frames that cannot leave from where they are
	used    int

	toPort, toCPU atomic.Uint64
	drops         [drops]atomic.Uint64
}

const (
	batch       = 64
	lenScratch  = 256 << 10 // more than the longest frame
	idleTimeout = time.Second
)

func (s *Switch) newLane(worker int) (*lane, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	l := &lane{s: s, wakeup: fd, unsent: make([]bool, len(s.numbers)), scratch: make([]byte, lenScratch)}
	l.waitAt = append(l.waitAt, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	for _, number := range s.numbers {
		p := s.config.Ports[number]
		sender, err := p.NewSender()
		if err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
		l.senders = append(l.senders, sender)
		if worker < s.config.Workers {
			r := p.Receiver(worker)
			l.receivers = append(l.receivers, r)
			l.waitAt = append(l.waitAt, unix.PollFd{Fd: int32(r.Descriptor()), Events: unix.POLLIN})
		}
	}
	return l, nil
}

func (l *lane) close() error { return unix.Close(l.wakeup) }

// wake has a lane that waits look around.
func (l *lane) wake() {
	_, _ = unix.Write(l.wakeup, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full: it is awake
}

// run takes frames of the ports until the switch stops.
func (l *lane) run() {
	defer l.letGo()
	for !l.s.stopping.Load() {
		n := 0
		for i, r := range l.receivers {
			count := r.Receive(l.frames[:])
			if count > 0 {
				l.process(l.s.numbers[i], count)
				r.Release()
			}
			n += count
		}
		if n == 0 {
			for _, r := range l.receivers { // of frames that made no sense
				r.Release()
			}
			l.wait()
		}
	}
}

// wait waits until there is something at a port.
func (l *lane) wait() {
	n, err := unix.Poll(l.waitAt, int(idleTimeout.Milliseconds()))
	if n <= 0 || err != nil { // EINTR
		return
	}
	for i := range l.waitAt {
		switch events := l.waitAt[i].Revents; {
		case i == 0 && events != 0:
			var b [8]byte
			_, _ = unix.Read(l.wakeup, b[:]) // empty: another reader was first
			l.follow()
		case events&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
			l.receivers[i-1].Woken()
			if events&unix.POLLIN == 0 && l.s.config.Log != nil {
				l.s.config.Log.Warn("port is down", "port", l.s.numbers[i-1])
			}
		}
	}
}

// runCPU takes frames of controllers until the switch stops.
func (l *lane) runCPU() {
	defer l.letGo()
	for {
		var frame []byte
		select {
		case frame = <-l.s.fromCPU:
		case <-l.s.stop:
			return
		}
		n := 0
		for more := true; more; {
			l.s.waiting.Add(-int64(len(frame)))
			l.frames[n] = port.Frame{Buf: frame, End: len(frame)}
			if n++; n == batch {
				break
			}
			select {
			case frame = <-l.s.fromCPU:
			default:
				more = false
			}
		}
		l.process(l.s.config.CPUPort, n)
	}
}

// follow makes the worker one of the state that is to run. It reports whether there is one.
func (l *lane) follow() bool {
	live := l.s.live.Load()
	if live == l.live {
		return live != nil
	}
	l.letGo()
	l.live, l.worker = live, live.machine.NewWorker()
	return true
}

func (l *lane) letGo() {
	if l.worker != nil {
		l.worker.Close()
		l.live, l.worker = nil, nil
	}
}

// process lets the first n of the frames through the program.
func (l *lane) process(number uint32, n int) {
	if !l.follow() {
		l.drops[dropNoPipeline].Add(uint64(n))
		return
	}
	for i := range n {
		f := &l.frames[i]
		l.in[i] = bmv2.Frame{Port: number, Data: f.Buf[f.Start:f.End]}
	}
	l.worker.Process(l.in[:n], l)
	l.flush()
}

// flush sends what there is.
func (l *lane) flush() {
	for i, unsent := range l.unsent {
		if unsent {
			l.senders[i].Flush()
			l.unsent[i] = false
		}
	}
	l.used = 0
}

// Emit sends a frame to its port.
func (l *lane) Emit(o *bmv2.Out) {
	if o.Port == l.s.config.CPUPort {
		l.toCPU.Add(1)
		l.s.controller.PacketIn(l.live.machine, o.Head, o.Payload)
		return
	}
	if o.Port > maxPort || l.s.byPort[o.Port] < 0 {
		l.drops[dropNoPort].Add(1)
		return
	}
	at := l.s.byPort[o.Port]
	l.senders[at].Send(l.frame(o))
	l.unsent[at] = true
	l.toPort.Add(1)
}

// frame puts a frame together: where it came from, if that can be.
func (l *lane) frame(o *bmv2.Out) []byte {
	if f := &l.frames[o.Frame]; o.InPlace {
		if start := f.End - len(o.Payload) - len(o.Head); start >= 0 {
			copy(f.Buf[start:], o.Head)
			return f.Buf[start:f.End]
		}
	}
	size := len(o.Head) + len(o.Payload)
	if size > len(l.scratch)-l.used {
		if size > len(l.scratch) { // longer than a frame may be
			return append(append(make([]byte, 0, size), o.Head...), o.Payload...)
		}
		l.flush()
	}
	b := l.scratch[l.used:][:size:size]
	l.used += size
	copy(b[copy(b, o.Head):], o.Payload)
	return b
}

// Digest tells the controller.
func (l *lane) Digest(_, digest int, data []byte) {
	l.s.controller.Digest(l.live.machine, digest, data)
}

// Drop counts a packet that ends.
func (l *lane) Drop(_ int, why bmv2.Drop) {
	if int(why) < len(l.drops) {
		l.drops[why].Add(1)
	}
}

// Why the switch itself drops, behind the reasons of the program.
const (
	dropNoPort = int(bmv2.Drops) + iota
	dropNoPipeline
	drops
)

var dropNames = [drops]string{
	bmv2.DropIngress: "ingress", bmv2.DropEgress: "egress", bmv2.DropGroup: "group_without_replicas", bmv2.DropSession: "no_clone_session",
	bmv2.DropPasses: "too_many_passes", bmv2.DropAssert: "assertion", bmv2.DropParser: "parser_bound", bmv2.DropSize: "too_long",
	dropNoPort: "no_such_port", dropNoPipeline: "no_pipeline",
}

// PortStats is what one port has counted.
type PortStats struct {
	Number uint32    `json:"port"`
	Device string    `json:"device"`
	Mode   port.Mode `json:"mode"`
	port.Stats
}

// Stats is what a switch has counted.
type Stats struct {
	Ports []PortStats `json:"ports"`
	// ToPorts and ToController are the frames that came out of the program.
	ToPorts      uint64            `json:"to_ports"`
	ToController uint64            `json:"to_controller"`
	Drops        map[string]uint64 `json:"drops"`
}

// Stats returns what was counted.
func (s *Switch) Stats() Stats {
	st := Stats{Drops: map[string]uint64{}}
	for _, number := range s.numbers {
		p := s.config.Ports[number]
		st.Ports = append(st.Ports, PortStats{number, p.Name(), p.Mode(), p.Stats()})
	}
	for _, l := range s.lanes {
		st.ToPorts += l.toPort.Load()
		st.ToController += l.toCPU.Load()
		for i := range l.drops {
			st.Drops[dropNames[i]] += l.drops[i].Load()
		}
	}
	return st
}
