// Package rlc is the radio link control of a bearer: unacknowledged (UM) and
// acknowledged (AM) mode, which segment SDUs to the sizes of transport blocks and reassemble them.
//
//	Queue ─ SDU ─► Next, Write ─ PDU ─► MAC … air … MAC ─ PDU ─► Receive ─ SDU ─► deliver
//	                   ▲                                           │
//	                   └──────────────── STATUS (AM) ◄─────────────┘
//
// SDUs are delivered when they are complete, in any order; PDCP puts them in order. Time is counted
// in slots passed to [Entity.Tick]: the package reads no clock. Lengths are in octets, headers big
// endian.
//
// An entity belongs to one goroutine, except its [Queue], to which any goroutine may add. The
// memory of an entity is bounded by its window and by the number of SDUs reassembled at a time,
// regardless of the peer.
//
// Source: TS 38.322 V18.
package rlc

import "errors"

// Errors of a PDU that is not used. They have no values in them: duplicates are usual
// where HARQ repeats, and cost nothing.
var (
	ErrTruncated = errors.New("rlc: PDU ends inside its header, or there")
	ErrReserved  = errors.New("rlc: PDU with a reserved value")
	ErrWindow    = errors.New("rlc: sequence number is outside the window, or delivered")
	ErrSegment   = errors.New("rlc: segment does not fit the others, or there are too many")
)

// Entity is one end of RLC.
type Entity interface {
	// Pending is how many octets of PDUs, headers in, could be sent, and in about how
	// many PDUs.
	Pending() (octets, pdus int)
	// Next is the size of the next PDU if it may have up to room octets; 0: there is
	// none, or it does not fit.
	Next(room int) int
	// Write writes that PDU; pdu has the size that Next said just before.
	Write(pdu []byte)
	// Receive takes a PDU, and delivers SDUs that are complete with it. They are valid
	// until [Entity.Recycle]. The error says why the PDU was not used.
	Receive(pdu []byte) error
	// Tick lets slots pass.
	Tick(slots int)
	// Recycle says that delivered SDUs are not in use any more.
	Recycle()
	// Reset makes it as new, its queue empty.
	Reset()
	// Stats are counts since the entity was made.
	Stats() Stats
}

// Stats counts what an entity did.
type Stats struct {
	SentPDUs         uint64
	SentSDUs         uint64 // completely, for the first time
	Segments         uint64 // PDUs sent that are not a whole SDU
	Retransmissions  uint64 // PDUs sent again, AM
	MaxRetries       uint64 // SDUs that were sent again more often than the limit, AM
	StatusSent       uint64
	StatusReceived   uint64
	ReceivedPDUs     uint64
	Delivered        uint64 // SDUs
	Discarded        uint64 // PDUs that were not used: duplicates, outside the window, no room
	ReassemblyFailed uint64 // incomplete SDUs discarded, UM
}

// Segmentation info. Source: TS 38.322 V18, 6.2.3.4.
const (
	siAll    = 0
	siFirst  = 1
	siLast   = 2
	siMiddle = 3
)

const offsetSize = 2

// timer counts slots down.
type timer struct{ left int }

func (t *timer) running() bool { return t.left > 0 }

func (t *timer) start(slots int) { t.left = max(slots, 1) }

func (t *timer) stop() { t.left = 0 }

// tick reports whether it ran out.
func (t *timer) tick(slots int) bool {
	if t.left == 0 {
		return false
	}
	t.left = max(t.left-slots, 0)
	return t.left == 0
}

// bitmap says of each number of a window whether it is there. Its length is a power of
// 2, and at least that of the window.
type bitmap []uint64

func newBitmap(window int) bitmap { return make(bitmap, max(window/64, 1)) }

func (m bitmap) word(n uint64) (word *uint64, bit uint64) {
	return &m[n/64%uint64(len(m))], 1 << (n % 64)
}

func (m bitmap) has(n uint64) bool {
	word, bit := m.word(n)
	return *word&bit != 0
}

func (m bitmap) set(n uint64) {
	word, bit := m.word(n)
	*word |= bit
}

func (m bitmap) clear(n uint64) {
	word, bit := m.word(n)
	*word &^= bit
}
