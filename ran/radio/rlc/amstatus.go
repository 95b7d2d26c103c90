package rlc

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A status report, octets from the left:
//
//	D/C CPT ACK_SN(4) | ACK_SN(8) | ACK_SN(6) E1 R
//	NACK_SN(8) | NACK_SN(8) | NACK_SN(2) E1 E2 E3 R R R     while E1 was set
//	SOstart(16) SOend(16)                                   if E2
//	NACK range(8)                                           if E3
//
// Source: TS 38.322 V18, 6.2.2.5.
const (
	statusHeader = 3
	nackSize     = 3
	offsetsSize  = 2 * offsetSize

	ackE1  = 0x02
	nackE1 = 0x20
	nackE2 = 0x10
	nackE3 = 0x08

	maxNackRange = 255
	endOfSDU     = 0xffff
	maskCPT      = 0x70
)

// statusDue reports whether a status report goes next.
func (r *amReceiver) statusDue() bool { return r.report && !r.prohibited.running() }

// statusEstimate is about how large it will be.
func (r *amReceiver) statusEstimate() int {
	return statusHeader + (1+len(r.segments.active))*(nackSize+offsetsSize)
}

// nack is a negative acknowledgement: of a run of SDUs, or of octets of one.
type nack struct {
	number   uint64
	run      int // SDUs
	from, to int // octets, to is behind the last one; both 0: all
}

// statusWriter appends to a report what fits into it.
type statusWriter struct {
	b    []byte
	room int
	more int  // the octet that has to say that another one follows
	e1   byte // and its bit
}

// nack reports whether it fits.
func (w *statusWriter) nack(k nack) bool {
	size, flags := nackSize, byte(0)
	if k.to > 0 {
		size, flags = size+offsetsSize, nackE2
	}
	if k.run > 1 {
		size, flags = size+1, flags|nackE3
	}
	if len(w.b)+size > w.room {
		return false
	}
	w.b[w.more] |= w.e1
	w.more, w.e1 = len(w.b)+2, nackE1
	sn := uint32(k.number & amMask)
	w.b = append(w.b, byte(sn>>10), byte(sn>>2), byte(sn<<6)|flags)
	if k.to > 0 {
		w.b = binary.BigEndian.AppendUint16(w.b, uint16(k.from))
		w.b = binary.BigEndian.AppendUint16(w.b, uint16(k.to-1))
	}
	if k.run > 1 {
		w.b = append(w.b, byte(k.run))
	}
	return true
}

// buildStatus makes the report in r.status, as far as it fits into room octets: what
// does not fit is for the next one. It returns its size. Source: TS 38.322 V18, 5.3.4.
func (r *amReceiver) buildStatus(room int) int {
	w := statusWriter{b: append(r.status[:0], 0, 0, 0), room: room, more: 2, e1: ackE1}
	n, fits := r.missing(r.next), true
	for n < r.highestStatus && fits {
		var said int
		said, fits = r.sayMissing(&w, n)
		if said > 0 {
			n = r.missing(n + uint64(said))
		}
	}
	n = min(n, r.highestStatus)
	r.statusCut = !fits
	r.status = w.b
	sn := uint32(n & amMask)
	r.status[0], r.status[1], r.status[2] = byte(sn>>14), byte(sn>>6), r.status[2]&ackE1|byte(sn<<2)
	return len(r.status)
}

// sayMissing encodes the missing parts of SDU n, or that it and the following ones are missing
// entirely; said is the number of SDUs covered. If not all gaps of an SDU fit, the others go into a
// later report.
func (r *amReceiver) sayMissing(w *statusWriter, n uint64) (said int, fits bool) {
	segment := r.segments.find(n)
	if segment == nil {
		end := r.present(n, min(r.highestStatus, n+maxNackRange))
		for _, s := range r.segments.active {
			if s.number > n {
				end = min(end, s.number)
			}
		}
		if !w.nack(nack{number: n, run: int(end - n)}) {
			return 0, false
		}
		return int(end - n), true
	}
	from := 0
	for _, s := range segment.spans {
		if s.from > from {
			if !w.nack(nack{n, 1, from, s.from}) {
				return said, false
			}
			said = 1
		}
		from = s.to
	}
	if segment.length == 0 {
		if !w.nack(nack{n, 1, from, endOfSDU + 1}) {
			return said, false
		}
	}
	return 1, true
}

func (a *AM) writeStatus(pdu []byte) {
	copy(pdu, a.status)
	a.report = a.statusCut
	a.prohibited.start(a.config.StatusProhibit)
	a.stats.SentPDUs++
	a.stats.StatusSent++
}

// receiveStatus is 5.3.2 and 5.3.3.3: it is checked as a whole before it is used.
func (a *AM) receiveStatus(pdu []byte) error {
	if pdu[0]&maskCPT != 0 {
		return ErrReserved
	}
	sn := uint64(pdu[0]&0xf)<<14 | uint64(pdu[1])<<6 | uint64(pdu[2])>>2
	ack := a.number(sn)
	if ack > a.submitted() {
		return ErrWindow
	}
	if err := a.checkNacks(pdu, ack); err != nil {
		return err
	}
	a.stats.StatusReceived++
	n := a.una
	reader := nackReader{rest: pdu[statusHeader:], more: pdu[2]&ackE1 != 0}
	for reader.more {
		k, _ := reader.next()
		k.number = a.number(k.number)
		a.confirm(n, k.number)
		n = k.number + uint64(k.run)
		a.repeat(k)
	}
	a.confirm(n, ack)
	if a.pollNumber < ack {
		a.polled.stop()
	}
	a.forget()
	return nil
}

// number is what a sequence number means: one of the window from TX_Next_Ack on.
func (a *AM) number(sn uint64) uint64 {
	low := a.una - a.base
	return a.una + (sn-low)&amMask
}

// checkNacks rejects a report that is truncated, has non-ascending numbers, or does not mention an
// SDU that was not sent completely.
func (a *AM) checkNacks(pdu []byte, ack uint64) error {
	reader := nackReader{rest: pdu[statusHeader:], more: pdu[2]&ackE1 != 0}
	low, mentioned := a.una, false
	for reader.more {
		k, ok := reader.next()
		if !ok {
			return ErrTruncated
		}
		number := a.number(k.number)
		if number < low || number+uint64(k.run) > ack || k.run == 0 || k.to > 0 && k.run == 1 && k.from >= k.to {
			return ErrReserved
		}
		low = number + uint64(k.run) - 1 // other octets of the last one may follow
		mentioned = number+uint64(k.run) == ack
	}
	if ack > a.cursor && !mentioned {
		return fmt.Errorf("rlc: status confirms an SDU of which not all was sent: %w", ErrReserved)
	}
	return nil
}

// confirm notes that the peer has the SDUs from from up to to. from may be above to if
// more than one part of an SDU is missing.
func (a *AM) confirm(from, to uint64) {
	for n := from; n < to; n++ {
		s := a.queue.at(n)
		if s.again {
			s.again = false
			a.againOctets -= int(s.to - s.from)
		}
		s.acked = true
	}
}

// repeat notes what is missing.
func (a *AM) repeat(k nack) {
	last := k.number + uint64(k.run) - 1
	for n := k.number; n <= last; n++ {
		from, to := uint32(0), a.queue.at(n).length
		if k.to > 0 && n == k.number {
			from = uint32(k.from)
		}
		if k.to > 0 && k.to <= endOfSDU && n == last {
			to = min(to, uint32(k.to))
		}
		a.sendAgain(n, from, to)
	}
}

// forget is done with the SDUs that are confirmed.
func (a *AM) forget() {
	first := a.una
	for a.una < a.cursor && a.queue.at(a.una).acked {
		a.una++
	}
	a.again = slices.DeleteFunc(a.again, func(n uint64) bool { return n < a.una || !a.queue.at(n).again })
	if a.una > first {
		a.queue.release(a.una)
	}
}

// nackReader reads the negative acknowledgements of a report; their numbers are
// sequence numbers.
type nackReader struct {
	rest []byte
	more bool
}

func (r *nackReader) next() (k nack, ok bool) {
	b := r.rest
	if len(b) < nackSize {
		return nack{}, false
	}
	flags := b[2]
	k = nack{number: uint64(b[0])<<10 | uint64(b[1])<<2 | uint64(flags)>>6, run: 1}
	r.more = flags&nackE1 != 0
	b = b[nackSize:]
	if flags&nackE2 != 0 {
		if len(b) < offsetsSize {
			return nack{}, false
		}
		k.from, k.to = int(binary.BigEndian.Uint16(b)), int(binary.BigEndian.Uint16(b[2:]))+1
		b = b[offsetsSize:]
	}
	if flags&nackE3 != 0 {
		if len(b) < 1 {
			return nack{}, false
		}
		k.run = int(b[0])
		b = b[1:]
	}
	r.rest = b
	return k, true
}
