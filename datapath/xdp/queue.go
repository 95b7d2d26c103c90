package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// queueMax is how many packets of one rule may be in the ring of exceptions. It
// is what a reader that does not get a CPU for 20 ms leaves there of a session
// with 1 Gbit/s, and a small part of the ring.
const queueMax = 2048

// queueBufferFull stops packets in front of the ring, as in bpf/rules.h.
const queueBufferFull = 1

// exceptionHeader is how many octets of struct exception stand before the frame.
const exceptionHeader = 32

// exception is a frame that the programs hand to the slow path.
type exception struct {
	frame     []byte // the record's memory
	queue     uint32 // index in queues of the rule, plus 1; 0: none
	tunnelled bool   // a G-PDU, not a bare packet
	device    int    // index of that on which it came
	wait      uint32 // index in name_waits of its flow, plus 1; 0: none
	passes    int    // F-TEIDs of the UPF itself through which it has come
	network   int    // number of that on which a frame of an Ethernet PDU session is; 0: it is none
}

// parseException reads a record of struct exception, which the programs wrote.
func parseException(record []byte) exception {
	n := binary.NativeEndian.Uint32(record)
	return exception{
		frame:     record[exceptionHeader : exceptionHeader+n],
		queue:     binary.NativeEndian.Uint32(record[8:]),
		tunnelled: binary.NativeEndian.Uint32(record[12:]) != 0,
		device:    int(binary.NativeEndian.Uint32(record[16:])),
		wait:      binary.NativeEndian.Uint32(record[20:]),
		network:   int(binary.NativeEndian.Uint32(record[24:])),
		passes:    int(binary.NativeEndian.Uint32(record[28:])),
	}
}

// exceptional treats one frame of the ring. When it has been sent, or is in the
// buffer, and not before, the next packet of its rule may go another way.
func (s *slowPath) exceptional(e exception) {
	s.d.mu.RLock()
	var out stages.Out
	if e.network != 0 {
		out = s.bridge(e)
	} else if !e.tunnelled {
		out = s.bare(e.frame[min(inet.LenEthernet, len(e.frame)):], e.device, e.passes != 0)
	} else if m, ok := outerDatagram(e.frame); ok {
		m.Passes = e.passes
		out = s.tunnelled(m)
	}
	if out.Reason == datapath.DropBufferFull && e.queue != 0 && s.d.alone(e.queue-1, out.Rule) {
		s.stop(e.queue - 1)
	}
	s.d.mu.RUnlock()
	if e.queue != 0 {
		atomic.AddUint32(&s.d.queues.slots[e.queue-1].Packets, ^uint32(0))
	}
	if e.wait != 0 {
		atomic.AddUint32(&s.d.waits.slots[e.wait-1].Packets, ^uint32(0))
	}
}

// alone reports whether the rule is all that there is for packets of a queue, so
// that one that is not buffered stands for all of them, and nobody counts them.
func (d *Driver) alone(queue uint32, r *stages.Rule) bool {
	t, slot := d.ues, queue
	if n := uint32(len(d.ues.slots)); queue >= n {
		t, slot = d.teids, queue-n
	}
	rules := d.slowRules[tableKey{t.kind, t.slots[slot].Key}]
	return len(rules) == 1 && rules[0] == r && r.MatchesAll(t == d.ues) && !r.CountsDropped()
}

// stop lets the programs drop the packets of a queue until the next look at it,
// so that a flood to a UE that is idle does not get as far as here.
func (s *slowPath) stop(queue uint32) {
	atomic.StoreUint32(&s.d.queues.slots[queue].Full, queueBufferFull)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = append(s.stopped, queue)
}

// resume lets packets of all queues in again: there may be room by now.
func (s *slowPath) resume() {
	s.mu.Lock()
	stopped := s.stopped
	s.stopped = nil
	s.mu.Unlock()
	for _, queue := range stopped {
		atomic.CompareAndSwapUint32(&s.d.queues.slots[queue].Full, queueBufferFull, 0)
	}
}

// tendInterval is how often the buffer and the queues are looked at.
const tendInterval = 50 * time.Millisecond

// tend looks for packets that have waited too long, and for room.
func (s *slowPath) tend(closed <-chan struct{}) {
	tick := time.NewTicker(tendInterval)
	defer tick.Stop()
	for {
		select {
		case <-closed:
			return
		case <-tick.C:
			s.d.mu.RLock()
			s.stages.Sweep()
			s.d.mu.RUnlock()
			s.resume()
		}
	}
}

// queueOf is where the queue of a rule's slot is.
func (d *Driver) queueOf(k kind, slot uint32) *upfQueue {
	if k == ruleByTEID {
		slot += uint32(len(d.ues.slots))
	}
	return &d.queues.slots[slot]
}

// outerDatagram returns the datagram in a frame that the programs have found a
// G-PDU in, as the kernel would give it to the GTP-U socket.
func outerDatagram(frame []byte) (m stages.Datagram, ok bool) {
	ether, ip := stripEthernet(frame)
	var from, to netip.Addr
	header, size, protocol := 0, 0, byte(0)
	switch {
	case ether == inet.EtherIPv4 && len(ip) >= 20:
		header, size, protocol = 4*int(ip[0]&0xf), int(binary.BigEndian.Uint16(ip[2:])), ip[9]
		from, to = netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
	case ether == inet.EtherIPv6 && len(ip) >= 40:
		header, size, protocol = 40, 40+int(binary.BigEndian.Uint16(ip[4:])), ip[6]
		from, to = netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
	}
	if protocol != inet.ProtoUDP || header < 20 || size < header+inet.LenUDP || size > len(ip) {
		return m, false
	}
	udp := ip[header:size]
	return stages.Datagram{
		From:    netip.AddrPortFrom(from, binary.BigEndian.Uint16(udp)),
		To:      netip.AddrPortFrom(to, gtpu.Port),
		Payload: udp[inet.LenUDP:],
	}, true
}

// stripEthernet returns the type of a frame, behind up to two VLAN tags, and what
// it carries; 0 if there is none.
func stripEthernet(frame []byte) (ether uint16, payload []byte) {
	for at := inet.LenEthernet; at <= len(frame) && at <= inet.LenEthernet+8; at += 4 {
		if ether = binary.BigEndian.Uint16(frame[at-2:]); ether != inet.EtherCTag && ether != inet.EtherSTag {
			return ether, frame[at:]
		}
	}
	return 0, nil
}
