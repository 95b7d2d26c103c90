package probetest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Record is what a forwarder did with a packet. Times are CLOCK_MONOTONIC ns.
type Record struct {
	TEID   uint32 // uplink: that it came with; downlink: that it left with
	Octets int    // of the user packet

	Read    uint64 // the forwarder had it
	Write   uint64 // it was about to let it go; 0: it has not, or not yet
	Written uint64 // it has let it go
	Copies  int    // that left
}

// plane forwards in one direction.
type plane struct {
	forwarder *Forwarder
	harm      Harm
	in, out   end
	downlink  bool
	teid      uint32 // downlink: of the next packet

	stopped atomic.Bool
	held    []waiting
	batch   [][]byte // to be written together
	batched []int    // their records

	mu  sync.Mutex
	log []Record
	err error // that ended it
}

// waiting is a packet that is held.
type waiting struct {
	record int
	packet []byte
	due    int // leaves when so many packets have come
}

// end is where packets come from and go to.
type end interface {
	// read returns a user packet; ok is false for what is none. It does not wait.
	read(b []byte) (packet []byte, teid uint32, ok bool, err error)
	// write lets a user packet leave.
	write(packet []byte, teid uint32) error
	fd() int
}

const (
	idle     = 5  // ms without a packet after which what is held leaves
	together = 16 // packets in a super-packet at most
)

func (p *plane) run() {
	b := make([]byte, 1<<16)
	for !p.forwarder.shut.Load() {
		packet, teid, ok, err := p.in.read(b)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			err = p.rest()
		case err == nil && ok:
			err = p.take(packet, teid)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			p.err = err
			return
		}
	}
}

// rest waits for a packet. If none comes, what is held leaves.
func (p *plane) rest() error {
	if err := p.flush(); err != nil {
		return err
	}
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(p.in.fd()), Events: unix.POLLIN}}, idle)
	if err != nil || ready > 0 || p.stopped.Load() {
		return err
	}
	return errors.Join(p.release(len(p.held)), p.flush())
}

// take does with a packet what is to be done with it.
func (p *plane) take(packet []byte, teid uint32) error {
	if p.downlink {
		teid = p.teid
		p.teid++
	}
	at := p.note(Record{TEID: teid, Octets: len(packet), Read: now()})
	count := at + 1
	switch {
	case every(count, p.harm.Drop):
		return nil
	case p.stopped.Load() || len(p.held) > 0 && p.held[0].due == 0:
		p.held = append(p.held, waiting{at, slices.Clone(packet), 0})
		return nil
	case every(count, p.harm.Hold):
		p.held = append(p.held, waiting{at, slices.Clone(packet), count + p.harm.For})
		return nil
	}
	if err := p.leave(at, packet); err != nil {
		return err
	}
	due := 0
	for due < len(p.held) && p.held[due].due <= count {
		due++
	}
	return p.release(due)
}

func every(count, n int) bool { return n > 0 && count%n == 0 }

// release lets the first held packets leave.
func (p *plane) release(count int) error {
	for _, w := range p.held[:count] {
		if err := p.leave(w.record, w.packet); err != nil {
			return err
		}
	}
	p.held = slices.Delete(p.held, 0, count)
	return nil
}

// leave lets a packet leave, or puts it with those that are to leave with it.
func (p *plane) leave(record int, packet []byte) error {
	if n := p.forwarder.config.NAT; n != nil {
		n.translate(packet, p.downlink)
	}
	if p.forwarder.config.Merge && !p.downlink {
		return p.join(record, packet)
	}
	copies := 1
	if every(record+1, p.harm.Double) {
		copies = 2
	}
	return p.write([]int{record}, copies, func() error { return p.out.write(packet, p.teidOf(record)) })
}

// join puts a packet with those before it, if they can leave together.
func (p *plane) join(record int, packet []byte) error {
	if n := len(p.batch); n == together || n > 0 && !follows(p.batch[n-1], packet) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.batch, p.batched = append(p.batch, slices.Clone(packet)), append(p.batched, record)
	return nil
}

// flush writes what is to leave together.
func (p *plane) flush() error {
	if len(p.batch) == 0 {
		return nil
	}
	super, v := p.batch[0], virtio{}
	if len(p.batch) > 1 {
		super, v = merge(p.batch)
	}
	err := p.write(p.batched, 1, func() error { return p.out.(*tun).writeWith(v, super) })
	p.batch, p.batched = nil, nil
	return err
}

// write writes so many copies of what the packets of records are in, and notes it.
func (p *plane) write(records []int, copies int, f func() error) error {
	started := now()
	for range copies {
		if err := retry(f); err != nil {
			return err
		}
	}
	done := now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range records {
		r := &p.log[i]
		r.Write, r.Written, r.Copies = started, done, copies
	}
	return nil
}

// retry does f until it is not put off any more.
func retry(f func() error) error {
	for {
		err := f()
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.ENOBUFS) && !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
}

func (p *plane) note(r Record) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, r)
	return len(p.log) - 1
}

func (p *plane) teidOf(record int) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log[record].TEID
}

func (p *plane) records() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}
