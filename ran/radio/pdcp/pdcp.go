// Package pdcp numbers the packets of a bearer and puts them in order again: PDCP with
// sequence numbers of 18 bits, null ciphering and no integrity protection.
//
//	octet  0              1        2        3 …
//	┌─────┬─────┬────────────────────────┬────────┐
//	│ D/C │ R*5 │          SN            │ packet │
//	└─────┴─────┴────────────────────────┴────────┘
//	 1 bit       18 bits, big endian
//
// Source: TS 38.323 V18, 5.2.1 and 5.2.2 (transfer), 6.2.2.3 (PDU), 7.1 (state).
package pdcp

import "errors"

// HeaderSize is that of a data PDU, in octets.
const HeaderSize = 3

const (
	snBits  = 18
	window  = 1 << (snBits - 1) // Window_Size
	snMask  = 1<<snBits - 1
	dataPDU = 0x80
)

// MaxSDU is the most octets of a packet. Source: TS 38.323 V18, 4.3.1.
const MaxSDU = 9000

// Errors of a PDU that is discarded. They contain no values, so that repeated PDUs cause no garbage.
var (
	ErrTruncated = errors.New("pdcp: PDU without a packet")
	ErrControl   = errors.New("pdcp: control PDU")
	ErrOld       = errors.New("pdcp: packet was delivered, waits already, or was given up")
	ErrLong      = errors.New("pdcp: packet is too long")
)

// PutHeader writes the header of the data PDU with a COUNT, of which the PDU has the
// low bits, at the start of b.
func PutHeader(b []byte, count uint64) {
	b[0] = dataPDU | byte(count>>16)&0x03
	b[1], b[2] = byte(count>>8), byte(count)
}

// Config is what a receiver knows.
type Config struct {
	// Reordering is t-Reordering in slots: how long a packet waits for those before it.
	// 0: for ever.
	Reordering int
	// Packets and Octets limit the waiting data; beyond them, the receiver continues as if
	// t-Reordering had expired. It has memory for three times the octets.
	Packets, Octets int
}

// Stats counts what a receiver did.
type Stats struct {
	Delivered uint64
	Reordered uint64 // of those, packets that waited for others
	Lost      uint64 // skipped numbers
	Discarded uint64 // PDUs that were not used
	TimedOut  uint64 // times that t-Reordering ended
	Overflows uint64 // times that what waited was too much
}

// Receiver is the receiving side of a bearer. Counts are unwrapped: they do not come
// round.
type Receiver struct {
	config  Config
	deliver func(packet []byte)
	stats   Stats

	next  uint64 // RX_NEXT: after the highest that came
	first uint64 // RX_DELIV: the first that was not delivered
	reord uint64 // RX_REORD: what the timer was started for
	left  int    // slots of t-Reordering; 0: it does not run

	held   []held // by count, modulo its length, which is a power of 2
	store  store
	octets int
}

// held is a packet that waits.
type held struct {
	count  uint64
	packet []byte // nil: none
}

// NewReceiver makes a receiver. Delivered packets are valid until [Receiver.Recycle] or, if the
// packet did not wait, as long as the PDU.
func NewReceiver(c Config, deliver func(packet []byte)) *Receiver {
	size := 1
	for size < c.Packets {
		size *= 2
	}
	return &Receiver{config: c, deliver: deliver, held: make([]held, size), store: store{limit: c.Octets}}
}

// Stats are counts since the receiver was made.
func (r *Receiver) Stats() Stats { return r.stats }

// Waiting is how many octets wait for packets before them.
func (r *Receiver) Waiting() int { return r.octets }

// Recycle says that what was delivered is not in use any more.
func (r *Receiver) Recycle() { r.store.recycle() }

// Reset makes it as new; what waits is dropped.
func (r *Receiver) Reset() {
	for i := range r.held {
		if h := &r.held[i]; h.packet != nil {
			r.store.drop(h.packet)
			h.packet = nil
		}
	}
	r.next, r.first, r.reord, r.left, r.octets = 0, 0, 0, 0, 0
}

// count is what a sequence number means: RCVD_COUNT of 5.2.2.1, the number with that SN
// that is next to RX_DELIV.
func (r *Receiver) count(sn uint64) (count uint64, ok bool) {
	hfn, delivered := r.first>>snBits, r.first&snMask
	switch {
	case sn+window < delivered:
		hfn++
	case sn >= delivered+window:
		if hfn == 0 {
			return 0, false // before the first packet
		}
		hfn--
	}
	return hfn<<snBits | sn, true
}

// Receive takes a PDU and delivers what is in order with it. The error says why the PDU
// was not used.
func (r *Receiver) Receive(pdu []byte) error {
	err := r.receive(pdu)
	if err != nil {
		r.stats.Discarded++
	}
	return err
}

func (r *Receiver) receive(pdu []byte) error {
	switch {
	case len(pdu) <= HeaderSize:
		return ErrTruncated
	case pdu[0]&dataPDU == 0:
		return ErrControl
	case len(pdu) > HeaderSize+MaxSDU+1:
		return ErrLong
	}
	sn := uint64(pdu[0]&0x03)<<16 | uint64(pdu[1])<<8 | uint64(pdu[2])
	count, ok := r.count(sn)
	if !ok || count < r.first {
		return ErrOld
	}
	r.next = max(r.next, count+1)
	if count == r.first {
		r.pass(pdu[HeaderSize:])
	} else if err := r.hold(count, pdu[HeaderSize:]); err != nil {
		return err
	}
	r.flush()
	r.timing()
	return nil
}

// hold keeps a packet until those before it are there.
func (r *Receiver) hold(count uint64, packet []byte) error {
	for r.octets > 0 && (count-r.first >= uint64(len(r.held)) || r.octets+len(packet) > r.config.Octets) {
		r.stats.Overflows++
		r.skip(r.lowest())
		r.flush()
	}
	if count-r.first >= uint64(len(r.held)) {
		// Nothing waits, and what is missing is more than could: it will not come.
		r.stats.Overflows++
		r.skip(count)
	}
	h := &r.held[count%uint64(len(r.held))]
	if count < r.first || h.packet != nil {
		return ErrOld
	}
	*h = held{count: count, packet: r.store.keep(packet)}
	r.octets += len(packet)
	return nil
}

// pass delivers a packet, the next in order.
func (r *Receiver) pass(packet []byte) {
	r.first++
	r.stats.Delivered++
	r.deliver(packet)
}

// flush delivers what is in order.
func (r *Receiver) flush() {
	for {
		h := &r.held[r.first%uint64(len(r.held))]
		if h.packet == nil {
			return
		}
		packet := h.packet
		h.packet = nil
		r.octets -= len(packet)
		r.stats.Reordered++
		r.store.release(packet)
		r.pass(packet)
	}
}

// lowest is the first count that waits; there has to be one.
func (r *Receiver) lowest() uint64 {
	for n := r.first; ; n++ {
		if r.held[n%uint64(len(r.held))].packet != nil {
			return n
		}
	}
}

// skip gives up missing PDUs before count, and delivers the received ones.
func (r *Receiver) skip(count uint64) {
	for r.first < count {
		r.flush()
		if r.first < count {
			if r.octets == 0 {
				r.stats.Lost += count - r.first
				r.first = count
				break
			}
			r.stats.Lost++
			r.first++
		}
	}
	r.next = max(r.next, r.first)
}

// timing starts and stops t-Reordering. Source: TS 38.323 V18, 5.2.2.1.
func (r *Receiver) timing() {
	if r.left > 0 && r.first >= r.reord {
		r.left = 0
	}
	if r.left == 0 && r.first < r.next && r.config.Reordering > 0 {
		r.reord, r.left = r.next, r.config.Reordering
	}
}

// Tick lets slots pass.
func (r *Receiver) Tick(slots int) {
	if r.left == 0 {
		return
	}
	if r.left = max(r.left-slots, 0); r.left > 0 {
		return
	}
	r.stats.TimedOut++
	r.skip(r.reord)
	r.flush()
	r.timing()
}
