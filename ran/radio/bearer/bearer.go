// Package bearer is one end of the data radio bearer of one UE, from packets to
// transport blocks and back:
//
//	Send ─ SDAP ─ PDCP ─ queue ─ RLC ─ MAC ─► Fill (a transport block)
//	deliver ◄─ SDAP ◄─ PDCP ◄─ RLC ◄─ MAC ◄─ Receive (a transport block)
//
// A packet is copied once into the queue and once into a transport block. At the other
// end it is copied only if it came in segments or out of order.
//
// Source: TS 37.324 V18, 6.2.2 (SDAP), TS 38.323 V18 (PDCP), TS 38.322 V18 (RLC),
// TS 38.321 V18, 5.4.5 and 6.1 (buffer status, transport blocks).
package bearer

import (
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/mac"
	"github.com/plumbline-upf/plumbline/ran/radio/pdcp"
	"github.com/plumbline-upf/plumbline/ran/radio/rlc"
)

// Config is what both ends know of a bearer, and the bounds of one end. Zero values
// mean the defaults.
type Config struct {
	Mode       string // of RLC: "um" (12-bit sequence numbers) or "am" (18-bit)
	Numerology slot.Numerology
	// UE says which end it is: a UE reports its buffer.
	UE bool

	// Downlink and Uplink are the most that the cell carries, in bit/s. What both ends keep
	// is bounded by them: see [QueueTime], [ConfirmTime].
	Downlink, Uplink float64

	// Reassembly is t-Reassembly, Reordering t-Reordering, of UM: in AM a packet waits for
	// ever. In UM what is later than they allow is lost, so both outlast HARQ.
	// In AM what t-Reassembly takes for lost comes twice.
	Reassembly, Reordering time.Duration

	PollRetransmit time.Duration // t-PollRetransmit, AM
	StatusProhibit time.Duration // t-StatusProhibit, AM
}

// Defaults of a [Config].
const (
	DefaultRate           = 100e6 // bit/s, in each direction
	DefaultReassembly     = 50 * time.Millisecond
	DefaultReordering     = 100 * time.Millisecond
	DefaultPollRetransmit = 60 * time.Millisecond
	DefaultStatusProhibit = 5 * time.Millisecond
)

// harqSlots is more slots than HARQ takes for all transmissions of a transport block: 8, of
// which each waits for the slot of its feedback, then for slot_ahead and k2, then for the
// next slot of its kind in the pattern.
const harqSlots = 250

const (
	umSNBits   = 12
	sdapHeader = 1
	overhead   = sdapHeader + pdcp.HeaderSize
	maxQFI     = 63
)

// MaxPacket is the most octets of a packet.
const MaxPacket = pdcp.MaxSDU

// Bearer is one end of a bearer. Send may be called by any goroutine, all else by one
// at a time.
type Bearer struct {
	config  Config
	deliver func(qfi uint8, packet []byte)
	queue   *rlc.Queue
	rlc     rlc.Entity
	pdcp    *pdcp.Receiver
	last    slot.Number // of Tick
	ticked  bool
	stats   Stats
}

// Stats counts what a bearer did.
type Stats struct {
	BlocksSent     uint64
	BlocksReceived uint64
	BadBlocks      uint64 // not understood to the end
	PaddingOctets  uint64 // sent
	DataOctets     uint64 // sent: of RLC PDUs with their subheaders
	RLC            rlc.Stats
	PDCP           pdcp.Stats
}

// New makes an end. Packets go to deliver, in order, from Receive and Tick; each is
// valid until the next call of one of these.
//
// Errors: no such mode.
func New(c Config, deliver func(qfi uint8, packet []byte)) (*Bearer, error) {
	c.defaults()
	b := &Bearer{config: c, deliver: deliver}
	receiver := pdcp.Config{Reordering: b.slots(c.Reordering)}
	acknowledged := c.Mode == "am"
	if acknowledged {
		receiver.Reordering = 0
	}
	held := c.held(acknowledged)
	receiver.Packets, receiver.Octets = held.packets, held.octets
	b.queue = c.newQueue(acknowledged)
	switch c.Mode {
	case "um":
		um, err := rlc.NewUM(rlc.UMConfig{SNBits: umSNBits, Reassembly: b.slots(c.Reassembly)}, b.queue, b.fromRLC)
		if err != nil {
			return nil, err
		}
		b.rlc = um
	case "am":
		am, err := rlc.NewAM(rlc.AMConfig{
			Reassembly: b.slots(c.Reassembly), PollRetransmit: b.slots(c.PollRetransmit), StatusProhibit: b.slots(c.StatusProhibit),
		}, b.queue, b.fromRLC)
		if err != nil {
			return nil, err
		}
		b.rlc = am
	default:
		return nil, fmt.Errorf("bearer: RLC mode %q is neither um nor am", c.Mode)
	}
	b.pdcp = pdcp.NewReceiver(receiver, b.fromPDCP)
	return b, nil
}

func (c *Config) defaults() {
	set(&c.Downlink, DefaultRate)
	set(&c.Uplink, DefaultRate)
	if c.Mode == "um" {
		harq := harqSlots * c.Numerology.Duration()
		set(&c.Reassembly, max(DefaultReassembly, harq))
		set(&c.Reordering, max(DefaultReordering, harq))
	}
	set(&c.Reassembly, DefaultReassembly)
	set(&c.PollRetransmit, DefaultPollRetransmit)
	set(&c.StatusProhibit, DefaultStatusProhibit)
}

func set[T float64 | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

func (b *Bearer) slots(d time.Duration) int {
	return int((d + b.config.Numerology.Duration() - 1) / b.config.Numerology.Duration())
}

// Send queues a packet of a QoS flow, 0 to 63. The packet is copied. False: the queue is
// full, or the packet is empty or longer than [MaxPacket], and it is lost.
func (b *Bearer) Send(qfi uint8, packet []byte) bool {
	if len(packet) == 0 || len(packet) > MaxPacket || qfi > maxQFI {
		return false
	}
	return b.queue.Put(overhead+len(packet), func(sdu []byte, count uint64) {
		pdcp.PutHeader(sdu, count)
		// SDAP: uplink has D/C, downlink neither reflective mapping nor indication.
		sdu[pdcp.HeaderSize] = qfi
		if b.config.UE {
			sdu[pdcp.HeaderSize] |= sdapData
		}
		copy(sdu[overhead:], packet)
	})
}

const (
	sdapData = 0x80 // D/C of uplink
	sdapQFI  = 0x3f
)

// Buffered is how large a transport block would have to be to take all that waits:
// packets, what is to be sent again, status reports, with their headers.
func (b *Bearer) Buffered() int {
	octets, pdus := b.rlc.Pending()
	return octets + pdus*mac.HeaderSize(1<<8)
}

// Fill makes a transport block of exactly len(tb) octets: data, at a UE the buffer
// status, padding. It returns how many octets are data; 0: there was nothing to send,
// or the block is too small.
func (b *Bearer) Fill(tb []byte) (data int) {
	room := len(tb)
	report := b.config.UE && b.Buffered() > room
	if report {
		room -= mac.ShortBSRSize
	}
	for {
		n := b.put(tb[data:max(room, data)])
		if n == 0 {
			break
		}
		data += n
	}
	rest := tb[data:]
	if b.config.UE {
		rest = b.report(rest, report)
	}
	mac.Pad(rest)
	b.stats.BlocksSent++
	b.stats.DataOctets += uint64(data)
	b.stats.PaddingOctets += uint64(len(rest))
	return data
}

// put puts one RLC PDU with its subheader at the start of tb.
func (b *Bearer) put(tb []byte) int {
	const short, long = 2, 3
	size := 0
	if len(tb) > short {
		size = b.rlc.Next(len(tb) - short)
	}
	if mac.HeaderSize(size) == long {
		size = b.rlc.Next(len(tb) - long)
	}
	if size == 0 {
		return 0
	}
	n := mac.PutHeader(tb, mac.DRB1, size)
	b.rlc.Write(tb[n : n+size])
	return n + size
}

// report puts the buffer status at the start of b: the short one if it is due, as there
// is one group; the long one if it replaces padding. It returns what is left.
func (b *Bearer) report(rest []byte, due bool) []byte {
	octets, _ := b.rlc.Pending()
	switch {
	case !due && (octets == 0 && len(rest) >= mac.LongBSREmptySize || len(rest) >= mac.LongBSRSize):
		return rest[mac.PutLongBSR(rest, mac.Group, octets):]
	case len(rest) >= mac.ShortBSRSize:
		return rest[mac.PutShortBSR(rest, mac.Group, octets):]
	}
	return rest
}

// Receive takes a transport block, and delivers the packets that are complete and in
// order with it. waiting is the buffer status of the peer, a UE, in octets; -1 if there is none.
//
// The error is about the format of the transport block: the part before the fault is used. PDUs
// discarded by RLC and PDCP are counted.
func (b *Bearer) Receive(tb []byte) (waiting int, err error) {
	b.rlc.Recycle()
	b.pdcp.Recycle()
	b.stats.BlocksReceived++
	waiting = -1
	reader := mac.NewReader(tb, !b.config.UE)
	for {
		s, ok, err := reader.Next()
		switch {
		case err != nil:
			b.stats.BadBlocks++
			return waiting, err
		case !ok:
			return waiting, nil
		case s.LCID == mac.DRB1:
			_ = b.rlc.Receive(s.Payload) // what is not used, it has counted
		case !b.config.UE:
			if report, ok := mac.ParseBSR(s); ok {
				waiting = report.Octets[mac.Group]
			}
		}
	}
}

func (b *Bearer) fromRLC(sdu []byte) {
	_ = b.pdcp.Receive(sdu) // what is not used, it has counted
}

func (b *Bearer) fromPDCP(packet []byte) {
	if len(packet) > sdapHeader && (b.config.UE || packet[0]&sdapData != 0) {
		b.deliver(packet[0]&sdapQFI, packet[sdapHeader:])
	}
}

// Tick says that slot n begins. Slots that were left out pass, too.
func (b *Bearer) Tick(n slot.Number) {
	slots := b.config.Numerology.Distance(n, b.last)
	if !b.ticked {
		slots, b.ticked = 1, true
	}
	b.last = n
	if slots <= 0 {
		return
	}
	b.rlc.Recycle()
	b.pdcp.Recycle()
	b.rlc.Tick(slots)
	b.pdcp.Tick(slots)
}

// Reset makes the end as new: what waits is lost, numbers begin at 0. It has to happen
// at both ends, with no transport block of before left under way.
func (b *Bearer) Reset() {
	b.rlc.Reset()
	b.pdcp.Reset()
}

// Stats are counts since the bearer was made.
func (b *Bearer) Stats() Stats {
	s := b.stats
	s.RLC, s.PDCP = b.rlc.Stats(), b.pdcp.Stats()
	return s
}
