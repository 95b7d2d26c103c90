package rlc

import (
	"encoding/binary"
	"fmt"
)

// UMConfig is what both ends of UM know.
type UMConfig struct {
	SNBits     int // 6 or 12
	Reassembly int // t-Reassembly, slots: the most that segments of an SDU may be apart
}

// UM is an entity of unacknowledged mode. Only segments have sequence numbers; an SDU
// that is sent whole has a header of one octet.
//
// Source: TS 38.322 V18, 5.2.2 (transfer), 6.2.2.3 (PDU).
type UM struct {
	config  UMConfig
	queue   *Queue
	deliver func(sdu []byte)
	stats   Stats

	// The sender's state: the SDU that is sent next, and the sequence number of the
	// next SDU that is segmented.
	cursor uint64
	txNext uint32

	// The receiver's state variables, unwrapped: sequence numbers that never come round.
	nextReassembly uint64 // RX_Next_Reassembly
	timerTrigger   uint64 // RX_Timer_Trigger
	nextHighest    uint64 // RX_Next_Highest
	window         uint64 // UM_Window_Size
	delivered      bitmap
	segments       assemblies
	reassembly     timer
}

// NewUM makes an entity that takes SDUs from queue, and gives SDUs to deliver.
func NewUM(c UMConfig, queue *Queue, deliver func(sdu []byte)) (*UM, error) {
	if c.SNBits != 6 && c.SNBits != 12 {
		return nil, fmt.Errorf("rlc: UM with a sequence number of %d bits, it has 6 or 12", c.SNBits)
	}
	u := &UM{config: c, queue: queue, deliver: deliver, window: 1 << (c.SNBits - 1), delivered: newBitmap(1 << c.SNBits)}
	u.clear()
	return u, nil
}

// clear sets the receiver's state. Numbers begin one cycle up, so that what is before
// the first window is not negative.
func (u *UM) clear() {
	u.nextReassembly = u.window * 2
	u.nextHighest, u.timerTrigger = u.nextReassembly, u.nextReassembly
	clear(u.delivered)
	u.segments.drop(^uint64(0))
	u.reassembly.stop()
}

// Reset implements [Entity].
func (u *UM) Reset() {
	u.cursor, u.txNext = u.queue.reset(), 0
	u.clear()
}

// Stats implements [Entity].
func (u *UM) Stats() Stats { return u.stats }

// Recycle implements [Entity].
func (u *UM) Recycle() { u.segments.recycle() }

// Pending implements [Entity].
func (u *UM) Pending() (octets, pdus int) {
	pdus = int(u.queue.put.Load() - u.cursor)
	if pdus == 0 {
		return 0, 0
	}
	octets = u.queue.Waiting() + pdus
	if sent := int(u.queue.at(u.cursor).sent); sent > 0 {
		octets += u.header(siLast) - 1 - sent
	}
	return octets, pdus
}

// header is the size of a PDU's header.
func (u *UM) header(si byte) int {
	n := 1
	if si != siAll && u.config.SNBits == 12 {
		n++
	}
	if si == siLast || si == siMiddle {
		n += offsetSize
	}
	return n
}

// plan is what a PDU of up to room octets would be.
func (u *UM) plan(room int) (si byte, size int) {
	if u.cursor == u.queue.put.Load() {
		return 0, 0
	}
	s := u.queue.at(u.cursor)
	return plan(s.sent, s.length, s.length, room, u.header)
}

// plan is the PDU for octets from up to to of an SDU of some length, if it may have up
// to room octets: size 0 if not even one of them fits.
func plan(from, to, length uint32, room int, header func(si byte) int) (si byte, size int) {
	si = siMiddle
	switch {
	case from == 0 && to == length:
		si = siAll
	case from == 0:
		si = siFirst
	case to == length:
		si = siLast
	}
	if size = header(si) + int(to-from); size <= room {
		return si, size
	}
	if si = siFirst; from > 0 { // what does not fit is not the last one
		si = siMiddle
	}
	if room <= header(si) {
		return si, 0
	}
	return si, room
}

// Next implements [Entity].
func (u *UM) Next(room int) int {
	_, size := u.plan(room)
	return size
}

// Write implements [Entity].
func (u *UM) Write(pdu []byte) {
	si, _ := u.plan(len(pdu))
	s := u.queue.at(u.cursor)
	pdu[0] = si << 6
	if si != siAll {
		u.stats.Segments++
		if u.config.SNBits == 6 {
			pdu[0] |= byte(u.txNext)
		} else {
			binary.BigEndian.PutUint16(pdu, uint16(si)<<14|uint16(u.txNext))
		}
	}
	header := u.header(si)
	if s.sent > 0 {
		binary.BigEndian.PutUint16(pdu[header-offsetSize:], uint16(s.sent))
	}
	s.sent += uint32(copy(pdu[header:], u.queue.bytes(s)[s.sent:]))
	u.stats.SentPDUs++
	if s.sent < s.length {
		return
	}
	if si != siAll {
		u.txNext = (u.txNext + 1) & (1<<u.config.SNBits - 1)
	}
	u.stats.SentSDUs++
	u.cursor++
	u.queue.take(s)
	u.queue.release(u.cursor)
}

// Receive implements [Entity].
func (u *UM) Receive(pdu []byte) error {
	u.stats.ReceivedPDUs++
	if len(pdu) < 2 {
		u.stats.Discarded++
		return ErrTruncated
	}
	si := pdu[0] >> 6
	if si == siAll {
		u.stats.Delivered++
		u.deliver(pdu[1:])
		return nil
	}
	header := u.header(si)
	if len(pdu) <= header {
		u.stats.Discarded++
		return ErrTruncated
	}
	sn := uint64(pdu[0] & 0x3f)
	if u.config.SNBits == 12 {
		sn = uint64(binary.BigEndian.Uint16(pdu) & 0xfff)
	}
	offset := 0
	if si != siFirst {
		offset = int(binary.BigEndian.Uint16(pdu[header-offsetSize:]))
	}
	return u.place(u.unwrap(sn), offset, pdu[header:], si == siLast)
}

// unwrap is the number that a sequence number means: one of the window that ends before
// RX_Next_Highest, or of as many from there on.
func (u *UM) unwrap(sn uint64) uint64 {
	low := u.nextHighest - u.window
	return low + (sn-low)&(2*u.window-1)
}

// place is 5.2.2.2.2 and 5.2.2.2.3.
func (u *UM) place(x uint64, offset int, data []byte, last bool) error {
	if x < u.nextReassembly || x < u.nextHighest && u.delivered.has(x) {
		u.stats.Discarded++
		return ErrWindow
	}
	a := u.segments.open(x)
	if a == nil || !a.add(offset, data, last) {
		u.stats.Discarded++
		u.segments.abandon(a)
		return ErrSegment
	}
	if a.complete() {
		u.finish(a)
	} else if x >= u.nextHighest {
		u.advance(x + 1)
	}
	u.timing()
	return nil
}

func (u *UM) finish(a *assembly) {
	if a.number >= u.nextHighest {
		u.advance(a.number + 1)
	}
	u.delivered.set(a.number)
	u.segments.finish(a)
	u.stats.Delivered++
	u.deliver(a.octets[:a.length])
	if a.number == u.nextReassembly {
		u.nextReassembly = u.undelivered(a.number + 1)
	}
}

// undelivered is the first number from n on that was not delivered.
func (u *UM) undelivered(n uint64) uint64 {
	for n < u.nextHighest && u.delivered.has(n) {
		n++
	}
	return n
}

// advance moves the window's end.
func (u *UM) advance(highest uint64) {
	for ; u.nextHighest < highest; u.nextHighest++ {
		u.delivered.clear(u.nextHighest)
	}
	if low := u.nextHighest - u.window; u.nextReassembly < low {
		u.nextReassembly = u.undelivered(low)
		u.stats.ReassemblyFailed += uint64(u.segments.drop(u.nextReassembly))
	}
}

// waits reports whether segments are missing that t-Reassembly waits for.
func (u *UM) waits() bool {
	if u.nextHighest == u.nextReassembly+1 {
		a := u.segments.find(u.nextReassembly)
		return a != nil && a.gap()
	}
	return u.nextHighest > u.nextReassembly
}

func (u *UM) timing() {
	if u.reassembly.running() {
		outside := u.timerTrigger+u.window < u.nextHighest
		if u.timerTrigger <= u.nextReassembly || outside || u.nextHighest == u.nextReassembly+1 && !u.waits() {
			u.reassembly.stop()
		}
	}
	if !u.reassembly.running() && u.waits() {
		u.reassembly.start(u.config.Reassembly)
		u.timerTrigger = u.nextHighest
	}
}

// Tick implements [Entity].
func (u *UM) Tick(slots int) {
	if !u.reassembly.tick(slots) {
		return
	}
	u.nextReassembly = u.undelivered(u.timerTrigger)
	u.stats.ReassemblyFailed += uint64(u.segments.drop(u.nextReassembly))
	if u.waits() {
		u.reassembly.start(u.config.Reassembly)
		u.timerTrigger = u.nextHighest
	}
}
