package rlc

import (
	"encoding/binary"
	"math/bits"
)

// amReceiver is the state of the receiving side, its variables unwrapped.
type amReceiver struct {
	next          uint64 // RX_Next: the first that is not complete
	trigger       uint64 // RX_Next_Status_Trigger
	highestStatus uint64 // RX_Highest_Status: up to here a status report may say "missing"
	nextHighest   uint64 // RX_Next_Highest
	received      bitmap // complete, of the window from next on
	segments      assemblies
	reassembly    timer

	report     bool  // a status report is due
	prohibited timer // t-StatusProhibit
	status     []byte
	statusCut  bool // it did not fit as a whole

	// Polls that are answered when highestStatus is beyond them: the first and the
	// last.
	pollWaits           bool
	pollFirst, pollLast uint64
}

func (r *amReceiver) clear() {
	clear(r.received)
	r.segments.drop(^uint64(0))
	*r = amReceiver{received: r.received, segments: r.segments, status: r.status}
}

// receiveData is 5.2.3.2.2.
func (a *AM) receiveData(pdu []byte) error {
	si := pdu[0] >> siShift & 3
	header := amHeaderSize(si)
	if len(pdu) <= header {
		return ErrTruncated
	}
	sn := uint64(pdu[0]&3)<<16 | uint64(binary.BigEndian.Uint16(pdu[1:]))
	x := a.next + (sn-a.next)&amMask
	offset := 0
	if header > amHeader {
		offset = int(binary.BigEndian.Uint16(pdu[amHeader:]))
	}
	var err error
	if x >= a.next+amWindow || a.received.has(x) {
		err = ErrWindow
	} else {
		err = a.place(x, si, offset, pdu[header:])
	}
	if pdu[0]&flagPoll != 0 {
		if err != nil || x < a.highestStatus {
			a.report = true
		} else {
			a.waitWithPoll(x)
		}
	}
	a.answerPolls()
	return err
}

func (a *AM) waitWithPoll(x uint64) {
	if !a.pollWaits {
		a.pollWaits, a.pollFirst, a.pollLast = true, x, x
	}
	a.pollFirst, a.pollLast = min(a.pollFirst, x), max(a.pollLast, x)
}

func (a *AM) answerPolls() {
	if !a.pollWaits || a.pollFirst >= a.highestStatus {
		return
	}
	a.report = true
	a.pollFirst = a.pollLast
	a.pollWaits = a.pollLast >= a.highestStatus
}

// place is 5.2.3.2.3.
func (a *AM) place(x uint64, si byte, offset int, data []byte) error {
	segment := a.segments.find(x)
	if si == siAll {
		if segment != nil {
			a.segments.finish(segment)
		}
		a.complete(x, data)
		return nil
	}
	if segment == nil {
		segment = a.segments.open(x)
	}
	if segment == nil || !segment.add(offset, data, si == siLast) {
		a.segments.abandon(segment)
		return ErrSegment
	}
	if segment.complete() {
		a.segments.finish(segment)
		a.complete(x, segment.octets[:segment.length])
		return nil
	}
	a.nextHighest = max(a.nextHighest, x+1)
	a.timing()
	return nil
}

// complete delivers an SDU.
func (a *AM) complete(x uint64, sdu []byte) {
	a.nextHighest = max(a.nextHighest, x+1)
	a.received.set(x)
	if x == a.highestStatus {
		a.highestStatus = a.missing(x + 1)
	}
	if x == a.next {
		end := a.missing(x + 1)
		for ; a.next < end; a.next++ {
			a.received.clear(a.next)
		}
		a.highestStatus = max(a.highestStatus, a.next)
	}
	a.timing()
	a.stats.Delivered++
	a.deliver(sdu)
}

// missing is the first number from n on that is not complete.
func (r *amReceiver) missing(n uint64) uint64 {
	for n < r.nextHighest {
		word, _ := r.received.word(n)
		run, left := uint64(bits.TrailingZeros64(^(*word >> (n % 64)))), 64-n%64
		if n += run; run < left {
			break
		}
	}
	return min(n, r.nextHighest)
}

// present is the first number from n on, below end, that is complete; else end.
func (r *amReceiver) present(n, end uint64) uint64 {
	for n < end {
		word, _ := r.received.word(n)
		rest := *word >> (n % 64)
		if rest != 0 {
			n += uint64(bits.TrailingZeros64(rest))
			break
		}
		n += 64 - n%64
	}
	return min(n, end)
}

// waits reports whether something is missing between from and what came.
func (r *amReceiver) waits(from uint64) bool {
	if r.nextHighest == from+1 {
		segment := r.segments.find(from)
		return segment != nil && segment.gap()
	}
	return r.nextHighest > from
}

func (a *AM) timing() {
	if a.reassembly.running() && (a.trigger <= a.next || a.trigger == a.next+1 && !a.gapAtNext() || a.trigger > a.next+amWindow) {
		a.reassembly.stop()
	}
	if !a.reassembly.running() && a.waits(a.next) {
		a.reassembly.start(a.config.Reassembly)
		a.trigger = a.nextHighest
	}
}

func (r *amReceiver) gapAtNext() bool {
	segment := r.segments.find(r.next)
	return segment != nil && segment.gap()
}

// reassemblyExpired is 5.2.3.2.4: PDUs missing up to the trigger are lost, and a STATUS report to
// the peer is due.
func (a *AM) reassemblyExpired() {
	a.highestStatus = a.missing(a.trigger)
	if a.waits(a.highestStatus) {
		a.reassembly.start(a.config.Reassembly)
		a.trigger = a.nextHighest
	}
	a.report = true
	a.answerPolls()
}
