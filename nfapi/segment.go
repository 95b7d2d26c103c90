package nfapi

import "fmt"

// MaxSegments is how many segments a message may have: their number has 7 bits.
const MaxSegments = 128

// Segment sizes that OpenAirInterface uses, header included. Above the MTU the
// kernel fragments.
const (
	SegmentSize2024 = 1400
	SegmentSize2025 = 65000
)

// SegmentSize is what the peer uses.
func (p Profile) SegmentSize() int {
	if p == OAI2024 {
		return SegmentSize2024
	}
	return SegmentSize2025
}

// Segments cuts a message into datagrams of at most size octets and calls send for
// each, first to last. b is the whole message, as [Profile.EncodeP7] made it; sequence
// its number. Each datagram has its own header with length and segment; checksum and
// time stamp are for send to write, with [Profile.Seal].
//
// The first datagram is made in b, the others side by side in room, which needs size
// octets for each of them: all stay valid until b and room are used again. A message
// that fits is b itself.
//
// Errors: those of send; [ErrTooLong] for more than [MaxSegments], or for more octets
// than the length field holds; [ErrRoom].
func (p Profile) Segments(h *Header, b []byte, size int, sequence uint8, room []byte, send func([]byte) error) error {
	header := lenHeader(P7, h.Generation)
	h.Segment = uint16(sequence)
	if len(b) <= size || h.Generation == GenFAPI {
		if h.Generation == Gen2024 && len(b) > 0xffff {
			return tooLong2024(len(b))
		}
		p.put(P7, h, b)
		return send(b)
	}
	part := size - header
	if part <= 0 {
		return fmt.Errorf("nfapi: segments of %d octets, the header has %d: %w", size, header, ErrRoom)
	}
	n := (len(b) - header + part - 1) / part
	switch {
	case n > MaxSegments:
		return fmt.Errorf("nfapi: %d octets are %d segments of %d, there may be %d: %w", len(b), n, size, MaxSegments, ErrTooLong)
	case h.Generation == Gen2024 && size > 0xffff:
		return tooLong2024(size)
	case len(room) < (n-1)*size:
		return fmt.Errorf("nfapi: %d segments of %d octets in %d: %w", n, size, len(room), ErrRoom)
	}
	for i := range n {
		datagram := b[:size]
		if i > 0 {
			piece := b[header+i*part : min(header+(i+1)*part, len(b))]
			datagram = room[(i-1)*size:][:header+len(piece)]
			copy(datagram[header:], piece)
		}
		h.Segment = uint16(i)<<8 | uint16(sequence)
		if i < n-1 {
			h.Segment |= 0x8000
		}
		p.put(P7, h, datagram)
		if err := send(datagram); err != nil {
			return err
		}
	}
	return nil
}

func tooLong2024(octets int) error {
	return fmt.Errorf("nfapi: %d octets, the length field holds 65535: %w", octets, ErrTooLong)
}

// Reassembly joins the segments of one sender and PHY, received in any order. It holds one message:
// when a segment of a newer one arrives, the missing segments of the older one are lost or too
// late. Its memory is bounded by [MaxMessage] and allocated by [NewReassembly].
type Reassembly struct {
	most     int
	active   bool
	finished bool // the message of sequence is complete
	late     int  // segments in a row that were older than sequence
	sequence uint8
	id       MessageID
	last     int // number of the last segment, -1: not here yet
	count    int
	ordered  bool // segments came first to last, so that parts is the body
	here     [MaxSegments]piece
	parts    []byte // segments in the order in which they came
	whole    []byte

	Stats ReassemblyStats
}

// piece is where a segment is in parts.
type piece struct {
	at, size int32
	here     bool
}

// ReassemblyStats counts, since the beginning.
type ReassemblyStats struct {
	Messages   uint64 // that were reassembled
	Segments   uint64 // of which they were made, and others
	Duplicates uint64 // segments that were there already
	Dropped    uint64 // discarded messages: a newer one came, or Forget was called
	Late       uint64 // segments of an older message
	Bad        uint64 // segments that contradict others, or are too long
}

// NewReassembly makes one for messages of at most most octets of body ([MaxMessage]
// if 0 or more than that).
func NewReassembly(most int) *Reassembly {
	if most <= 0 || most > MaxMessage {
		most = MaxMessage
	}
	return &Reassembly{most: most, parts: make([]byte, 0, most), whole: make([]byte, 0, most)}
}

// Add adds a segment parsed by [Profile.ParseP7]. If the message is complete with it, Add returns
// its body, which is valid until the next call; for an unsegmented message that is body itself,
// independent of a pending one. Otherwise it returns nil.
func (r *Reassembly) Add(h *Header, body []byte) []byte {
	if h.Whole() {
		r.newer(h.Sequence())
		return body
	}
	r.Stats.Segments++
	if r.finished && h.Sequence() == r.sequence && h.MessageID == r.id {
		r.Stats.Duplicates++
		return nil
	}
	if !r.active || h.Sequence() != r.sequence || h.MessageID != r.id {
		if r.active && int8(h.Sequence()-r.sequence) < 0 && r.late < latest {
			r.late++
			r.Stats.Late++
			return nil
		}
		r.begin(h)
	}
	return r.add(h, body)
}

// Active reports whether a message is begun and not complete.
func (r *Reassembly) Active() bool { return r.active }

// Forget discards the pending message, and forgets the last complete one: the next segment belongs
// to a new message, regardless of its sequence number. Call it after too much time has passed.
func (r *Reassembly) Forget() {
	if r.active {
		r.Stats.Dropped++
	}
	r.active, r.finished = false, false
}

// latest is the number of older segments in a row after which the sender is assumed to have restarted.
const latest = 16

// newer discards the pending message if sequence is after it.
func (r *Reassembly) newer(sequence uint8) {
	if sequence != r.sequence {
		r.finished = false
	}
	if r.active && int8(sequence-r.sequence) > 0 {
		r.Stats.Dropped++
		r.active = false
	}
}

func (r *Reassembly) begin(h *Header) {
	if r.active {
		r.Stats.Dropped++
	}
	r.active, r.sequence, r.id = true, h.Sequence(), h.MessageID
	r.last, r.count, r.late, r.finished, r.ordered = -1, 0, 0, false, true
	r.parts = r.parts[:0]
	r.here = [MaxSegments]piece{}
}

func (r *Reassembly) add(h *Header, body []byte) []byte {
	n := int(h.SegmentNumber())
	switch {
	case r.here[n].here:
		r.Stats.Duplicates++
		return nil
	case len(r.parts)+len(body) > r.most,
		!h.More() && r.last >= 0, r.last >= 0 && n > r.last, !h.More() && r.beyond(n):
		r.Stats.Bad++
		return nil
	}
	r.ordered = r.ordered && n == r.count
	r.here[n] = piece{at: int32(len(r.parts)), size: int32(len(body)), here: true}
	r.parts = append(r.parts, body...)
	r.count++
	if !h.More() {
		r.last = n
	}
	if r.last < 0 || r.count != r.last+1 {
		return nil
	}
	r.active, r.finished = false, true
	r.Stats.Messages++
	if r.ordered {
		return r.parts
	}
	r.whole = r.whole[:0]
	for i := range r.last + 1 {
		p := r.here[i]
		r.whole = append(r.whole, r.parts[p.at:p.at+p.size]...)
	}
	return r.whole
}

// beyond reports whether a segment behind n is here.
func (r *Reassembly) beyond(n int) bool {
	for i := n + 1; i < MaxSegments; i++ {
		if r.here[i].here {
			return true
		}
	}
	return false
}
