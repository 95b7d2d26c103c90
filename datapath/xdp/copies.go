package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// copier makes the copies that FARs ask for (DUPL). Packets that the programs have
// sent on come through a ring of their own; copies of those that the slow path has
// sent itself wait here, so that the copies of a rule leave in the order of its
// packets.
//
// Such a packet overtakes none in the ring: those that were before it are read
// before the ring says that it is empty, and those behind it went into the ring
// later.
type copier struct {
	s    *slowPath
	wake func() error // lets the reader look at late; nil: nobody reads the ring

	mu   sync.Mutex
	late []lateCopies
}

// lateCopies are those of a packet of the slow path.
type lateCopies struct {
	at  uint64 // ns of bpf_ktime_get_ns(), when it was treated
	out stages.Out
}

// maxLate is how many packets of the slow path may have copies that wait.
const maxLate = 2 * queueMax

// copyHeader is how many octets of struct copy stand before the frame.
const copyHeader = 32

// copyPause is how long the ring is left alone when it is empty. A record that comes
// into a ring without others wakes the reader, which costs the program many times
// what the record does; the next ones do not.
const copyPause = 200 * time.Microsecond

// toCopy is a frame that the programs have sent on, as it had arrived.
type toCopy struct {
	frame           []byte // the record's memory
	time            uint64
	counter, serial uint32 // of the PDR
	tunnelled       bool   // a G-PDU, not a bare packet
	device          int    // index of that on which it came
}

// parseCopy reads a record of struct copy, which the programs wrote.
func parseCopy(record []byte) toCopy {
	n := binary.NativeEndian.Uint32(record[8:])
	return toCopy{
		frame:     record[copyHeader : copyHeader+n],
		time:      binary.NativeEndian.Uint64(record),
		counter:   binary.NativeEndian.Uint32(record[12:]),
		serial:    binary.NativeEndian.Uint32(record[16:]),
		tunnelled: binary.NativeEndian.Uint32(record[20:]) != 0,
		device:    int(binary.NativeEndian.Uint32(record[24:])),
	}
}

// start opens the ring. The caller runs [copier.read] and closes it.
func (c *copier) start(ring *ebpf.Map) (*ringbuf.Reader, error) {
	r, err := ringbuf.NewReader(ring)
	if err != nil {
		return nil, fmt.Errorf("xdp: ring of copies: %w", err)
	}
	c.wake = r.Flush
	return r, nil
}

// read makes copies until the ring is closed.
func (c *copier) read(ring *ringbuf.Reader) {
	var record ringbuf.Record
	c.s.d.ending.fail(c.s.d.readAll("the ring of copies", func() error {
		err := ring.ReadInto(&record)
		switch {
		case errors.Is(err, ringbuf.ErrFlushed):
			c.s.d.mu.RLock()
			c.sendLate(^uint64(0))
			c.s.d.mu.RUnlock()
			return nil
		case err != nil:
			return err
		}
		c.take(parseCopy(record.RawSample))
		if record.Remaining == 0 {
			time.Sleep(copyPause)
		}
		return nil
	}))
}

// take makes the copies of a frame, by what the rule says now. A rule that has gone
// meanwhile, or asks for none any more, gets none.
func (c *copier) take(t toCopy) {
	d := c.s.d
	d.mu.RLock()
	defer d.mu.RUnlock()
	c.sendLate(t.time)
	r := d.copied[t.counter]
	if r == nil || atomic.LoadUint32(&d.lists.counters.slots[t.counter].Serial) != t.serial {
		c.s.count(datapath.DropCopy)
		return
	}
	out, from := stages.Out{Rule: r, Lost: len(r.Copies)}, came{}
	if !t.tunnelled {
		from = came{packet: t.frame[min(inet.LenEthernet, len(t.frame)):], device: t.device}
		out.Copies, out.Lost = c.s.stages.CopyBare(r, d.networkOn(t.device), from.packet)
	} else if m, ok := outerDatagram(t.frame); ok {
		from = came{message: &m}
		out.Copies, out.Lost = c.s.stages.CopyTunnelled(r, m.Payload)
	}
	c.send(out, from)
}

// later sends the copies of a packet that the slow path has sent itself. The
// driver's lock is held.
func (c *copier) later(o stages.Out) {
	if len(o.Copies) == 0 && o.Lost == 0 {
		return
	}
	if c.wake == nil {
		c.send(o, came{})
		return
	}
	c.mu.Lock()
	n := len(c.late)
	if n < maxLate {
		c.late = append(c.late, lateCopies{monotonic(), stages.Out{Rule: o.Rule, Copies: o.Copies, Lost: o.Lost}})
	}
	c.mu.Unlock()
	switch n {
	case maxLate:
		c.s.count(datapath.DropCopyFull)
	case 0: // else the reader knows already
		if err := c.wake(); err != nil {
			c.s.d.log.Error("xdp: ring of copies", "err", err)
		}
	}
}

// sendLate sends what waits of packets from before a time. The driver's lock is
// held.
func (c *copier) sendLate(before uint64) {
	for {
		c.mu.Lock()
		if len(c.late) == 0 || c.late[0].at >= before {
			c.mu.Unlock()
			return
		}
		first := c.late[0]
		c.late[0] = lateCopies{}
		if c.late = c.late[1:]; len(c.late) == 0 {
			c.late = nil
		}
		c.mu.Unlock()
		c.send(first.out, came{})
	}
}

func (c *copier) send(o stages.Out, from came) {
	c.s.counts[datapath.DropCopy].Add(uint64(o.Lost))
	for _, p := range o.Copies {
		again, reason := c.s.emit(p)
		if reason != datapath.ReasonNone {
			c.s.count(datapath.DropCopy)
		}
		c.s.d.tracer.besides(from, o, p, reason)
		c.s.again(again)
	}
}

// bindCopies lets the copier find r by its counters, if it asks for copies.
func (d *Driver) bindCopies(r *stages.Rule) {
	if r == nil || len(r.Copies) == 0 {
		return
	}
	if slot := d.lists.counterSlot(r.Counters); slot != 0 {
		d.copied[slot] = r
	}
}

// forgetCopies is bindCopies undone.
func (d *Driver) forgetCopies(r *stages.Rule) {
	if r != nil && len(r.Copies) > 0 {
		delete(d.copied, d.lists.counterSlot(r.Counters))
	}
}
