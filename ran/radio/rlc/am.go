package rlc

import (
	"encoding/binary"
	"fmt"
)

// AMConfig is what both ends of AM know. Times are in slots.
type AMConfig struct {
	Reassembly     int // t-Reassembly
	PollRetransmit int // t-PollRetransmit
	StatusProhibit int // t-StatusProhibit
}

// Constants of AM with sequence numbers of 18 bits. Source: TS 38.322 V18, 7.2.
const (
	amSNBits = 18
	amWindow = 1 << (amSNBits - 1)
	amMask   = 1<<amSNBits - 1
	amHeader = 3

	// pollPDU and pollByte are the amounts of data after which a status report is polled; from
	// maxRetx transmissions on an SDU counts as exceeding the limit. It is still retransmitted,
	// because there is no RRC to release the connection.
	pollPDU  = 256
	pollByte = 125_000
	maxRetx  = 32
)

const (
	flagData = 0x80 // D/C
	flagPoll = 0x40
	siShift  = 4
)

// AM is an entity of acknowledged mode: every SDU has a sequence number, and is kept
// until the peer has confirmed it.
//
// Source: TS 38.322 V18, 5.2.3 (transfer), 5.3 (ARQ), 6.2.2.4 and 6.2.2.5 (PDUs).
type AM struct {
	config  AMConfig
	queue   *Queue
	deliver func(sdu []byte)
	stats   Stats

	amSender
	amReceiver
}

// amSender is the state of the transmitting side. SDUs are named by their number in the
// queue; its low bits, less base, are the sequence number.
type amSender struct {
	base        uint64
	una         uint64 // TX_Next_Ack: the first that is not acknowledged
	cursor      uint64 // TX_Next: the first that was not sent completely
	again       []uint64
	againOctets int

	unpolledPDUs, unpolledOctets int
	pollNow                      bool
	pollNumber                   uint64 // POLL_SN
	polled                       timer  // t-PollRetransmit
}

// NewAM makes an entity that takes SDUs from queue, and gives SDUs to deliver.
//
// Errors: a queue of more SDUs than the window.
func NewAM(c AMConfig, queue *Queue, deliver func(sdu []byte)) (*AM, error) {
	if queue.sdus > amWindow {
		return nil, fmt.Errorf("rlc: AM with a queue of %d SDUs, the window has %d", queue.sdus, amWindow)
	}
	a := &AM{config: c, queue: queue, deliver: deliver}
	a.received = newBitmap(amWindow)
	return a, nil
}

// Reset implements [Entity].
func (a *AM) Reset() {
	base := a.queue.reset()
	a.amSender = amSender{base: base, una: base, cursor: base, again: a.again[:0]}
	a.amReceiver.clear()
}

// Stats implements [Entity].
func (a *AM) Stats() Stats { return a.stats }

// Recycle implements [Entity].
func (a *AM) Recycle() { a.segments.recycle() }

// Pending implements [Entity].
func (a *AM) Pending() (octets, pdus int) {
	pdus = int(a.queue.put.Load()-a.cursor) + len(a.again)
	octets = a.queue.Waiting() + a.againOctets + pdus*amHeader
	if a.fresh() {
		if sent := int(a.queue.at(a.cursor).sent); sent > 0 {
			octets += offsetSize - sent
		}
	}
	if a.statusDue() {
		octets += a.statusEstimate()
		pdus++
	}
	return octets, pdus
}

// fresh reports whether there are octets that were not sent yet.
func (a *AM) fresh() bool { return a.cursor < a.queue.put.Load() }

func amHeaderSize(si byte) int {
	if si == siLast || si == siMiddle {
		return amHeader + offsetSize
	}
	return amHeader
}

// plan is what a data PDU of up to room octets would be: of an SDU that is to be sent
// again, if there is one, else of the next.
func (a *AM) plan(room int) (s *sdu, number uint64, again bool, si byte, size int) {
	if len(a.again) > 0 {
		number = a.again[0]
		s = a.queue.at(number)
		si, size = plan(s.from, s.to, s.length, room, amHeaderSize)
		return s, number, true, si, size
	}
	if !a.fresh() {
		return nil, 0, false, 0, 0
	}
	s = a.queue.at(a.cursor)
	si, size = plan(s.sent, s.length, s.length, room, amHeaderSize)
	return s, a.cursor, false, si, size
}

// Next implements [Entity]. Status reports go before data, what is sent again goes
// before what is new.
func (a *AM) Next(room int) int {
	if a.statusDue() && room >= statusHeader {
		return a.buildStatus(min(room, MaxSDU))
	}
	_, _, _, _, size := a.plan(room)
	return size
}

// Write implements [Entity].
func (a *AM) Write(pdu []byte) {
	if a.statusDue() {
		a.writeStatus(pdu)
		return
	}
	s, number, again, si, size := a.plan(len(pdu))
	from := s.sent
	if again {
		from = s.from
	}
	header := amHeaderSize(si)
	data := uint32(size - header)
	sn := uint32(number-a.base) & amMask
	pdu[0] = flagData | si<<siShift | byte(sn>>16)
	binary.BigEndian.PutUint16(pdu[1:], uint16(sn))
	if header > amHeader {
		binary.BigEndian.PutUint16(pdu[amHeader:], uint16(from))
	}
	copy(pdu[header:], a.queue.bytes(s)[from:from+data])
	a.stats.SentPDUs++
	if si != siAll {
		a.stats.Segments++
	}
	if again {
		a.sentAgain(s, data)
	} else {
		a.sentNew(s, data)
	}
	if a.poll() {
		pdu[0] |= flagPoll
	}
}

func (a *AM) sentAgain(s *sdu, data uint32) {
	a.stats.Retransmissions++
	a.againOctets -= int(data)
	if s.from += data; s.from == s.to {
		s.again = false
		a.again = a.again[:copy(a.again, a.again[1:])]
	}
}

func (a *AM) sentNew(s *sdu, data uint32) {
	a.unpolledPDUs++
	a.unpolledOctets += int(data)
	if s.sent += data; s.sent == s.length {
		a.stats.SentSDUs++
		a.cursor++
		a.queue.take(s)
	}
}

// poll decides whether the PDU that was just made asks for a status report.
func (a *AM) poll() bool {
	if !a.pollNow && a.unpolledPDUs < pollPDU && a.unpolledOctets < pollByte && (a.fresh() || len(a.again) > 0) {
		return false
	}
	a.pollNow, a.unpolledPDUs, a.unpolledOctets = false, 0, 0
	a.pollNumber = a.submitted() - 1
	a.polled.start(a.config.PollRetransmit)
	return true
}

// submitted is after the last SDU of which something was sent.
func (a *AM) submitted() uint64 {
	if a.fresh() && a.queue.at(a.cursor).sent > 0 {
		return a.cursor + 1
	}
	return a.cursor
}

// pollExpired asks again: if nothing else is to be sent, with the last SDU that the peer
// has not confirmed. Source: TS 38.322 V18, 5.3.3.4.
func (a *AM) pollExpired() {
	a.pollNow = true
	if a.fresh() || len(a.again) > 0 || a.una == a.cursor {
		return
	}
	number := a.cursor - 1
	if a.queue.at(number).acked {
		number = a.una
	}
	a.sendAgain(number, 0, a.queue.at(number).length)
}

// sendAgain notes that octets of an SDU are to be sent again. What lies between such
// octets goes with them.
func (a *AM) sendAgain(number uint64, from, to uint32) {
	s := a.queue.at(number)
	if to = min(to, s.sent); from >= to || s.acked {
		return
	}
	if s.again {
		a.againOctets -= int(s.to - s.from)
		s.from, s.to = min(s.from, from), max(s.to, to)
	} else {
		s.from, s.to, s.again = from, to, true
		a.again = append(a.again, number)
		if s.retries++; s.retries == maxRetx {
			a.stats.MaxRetries++
		}
	}
	a.againOctets += int(s.to - s.from)
}

// Tick implements [Entity].
func (a *AM) Tick(slots int) {
	a.prohibited.tick(slots)
	if a.polled.tick(slots) {
		a.pollExpired()
	}
	if a.reassembly.tick(slots) {
		a.reassemblyExpired()
	}
}

// Receive implements [Entity].
func (a *AM) Receive(pdu []byte) error {
	a.stats.ReceivedPDUs++
	var err error
	switch {
	case len(pdu) < amHeader:
		err = ErrTruncated
	case pdu[0]&flagData == 0:
		err = a.receiveStatus(pdu)
	default:
		err = a.receiveData(pdu)
	}
	if err != nil {
		a.stats.Discarded++
	}
	return err
}
