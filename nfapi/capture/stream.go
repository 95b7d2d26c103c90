package capture

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/reassembly"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// stream is one direction of a P5 connection over TCP. Package reassembly orders its octets;
// messages are extracted here.
//
// Missing octets are awaited until the receiver has acknowledged later ones: then they were sent,
// but not captured. After such a gap, and at the beginning of a connection without captured SYN, a
// message begins only at a valid header.
type stream struct {
	*assembler
	d       *decoder
	f       flow
	syn     bool   // its beginning was captured
	base    uint32 // sequence number of its first octet
	top     uint32 // of the octet behind the last one that came
	waiting bool   // octets came that could not be taken yet
	begun   bool   // octets were handed over
	ended   bool
	before  *stream // what came late from before the first octet, if there was no SYN

	at     uint32   // sequence number of the next octet to be taken
	starts []uint32 // of segments that came and were not taken yet
	taken  uint64   // octets that began with a message
	synced bool     // a message begins with the first octet of the buffer, or before
	buffer []byte
	came   time.Time // when the last octets came
	p      nfapi.Profile
	known  bool
	err    error
}

// assembler is used for one stream after the other.
type assembler struct {
	*reassembly.Assembler
	stream *stream
}

// maxStarts is how many segments of a stream are remembered while they wait.
const maxStarts = 1024

const pageOctets = 1900 // of package reassembly

func newAssembler() *assembler {
	a := &assembler{}
	a.Assembler = reassembly.NewAssembler(reassembly.NewStreamPool(a))
	a.MaxBufferedPagesPerConnection = maxHeld / pageOctets
	return a
}

// New is for package reassembly.
func (a *assembler) New(_, _ gopacket.Flow, _ *layers.TCP, _ reassembly.AssemblerContext) reassembly.Stream {
	return a.stream
}

// context is the time of a packet for package reassembly.
type context time.Time

// GetCaptureInfo is for package reassembly.
func (c context) GetCaptureInfo() gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: time.Time(c)}
}

// tcp takes a segment, of which the capture has b.
func (d *decoder) tcp(f flow, b []byte, whole int) error {
	if len(b) < 20 || !d.isP5(f) {
		return nil
	}
	header := int(b[12]>>4) * 4
	if header < 20 || len(b) < header {
		return nil
	}
	t := &layers.TCP{
		SrcPort: layers.TCPPort(f.from.Port()), DstPort: layers.TCPPort(f.to.Port()), Seq: binary.BigEndian.Uint32(b[4:]), Ack: binary.BigEndian.Uint32(b[8:]),
		FIN: b[13]&1 != 0, SYN: b[13]&2 != 0, RST: b[13]&4 != 0, ACK: b[13]&16 != 0,
	}
	t.Payload = b[header:]
	if whole > len(b) {
		t.FIN = false // it is behind what is missing
	}
	if back := d.streams[f.back()]; back != nil && t.ACK {
		if err := d.acknowledged(back, t.Ack); err != nil {
			return err
		}
	}
	return d.segment(f, t)
}

// acknowledged says that the receiver of a stream has all before a sequence number.
func (d *decoder) acknowledged(s *stream, sequence uint32) error {
	if !s.waiting || int32(sequence-s.top) < 0 {
		return nil
	}
	s.waiting = false
	s.FlushWithOptions(reassembly.FlushOptions{T: d.now.Add(time.Hour)})
	return s.err
}

func (d *decoder) segment(f flow, t *layers.TCP) error {
	s := d.streams[f]
	if s != nil && (t.RST || t.SYN && t.Seq+1 != s.base) {
		if err := d.end(s); err != nil {
			return err
		}
		s = nil
	}
	if t.RST || s == nil && (len(t.Payload) == 0 && !t.SYN || d.sentAgain(f, t)) {
		return nil
	}
	if s == nil {
		if len(d.streams) == maxFlows {
			d.unwatched()
			return nil
		}
		s = d.begin(f, t)
		d.streams[f] = s
	}
	if at := int32(t.Seq - s.base); at < 0 && at > -maxHeld && !s.syn && !s.begun && len(t.Payload) > 0 {
		s.base, s.at = t.Seq, t.Seq
	}
	if at := int32(t.Seq - s.base); at < 0 && !s.syn && len(t.Payload) > 0 {
		return d.earlier(s, t, -int(at))
	}
	return d.assemble(s, t)
}

func (d *decoder) begin(f flow, t *layers.TCP) *stream {
	s := &stream{d: d, f: f, syn: t.SYN, base: t.Seq}
	if t.SYN {
		s.base++
		s.synced = true
	}
	s.top, s.at = s.base, s.base
	if n := len(d.free); n > 0 {
		s.assembler, d.free = d.free[n-1], d.free[:n-1]
	} else {
		s.assembler = newAssembler()
	}
	s.assembler.stream = s
	return s
}

// ended is a stream that came to its end, so that what is sent again of it begins no other.
type ended struct {
	flow
	top uint32 // sequence number of the octet behind the last one
}

// sentAgain reports whether a segment is of a stream that has ended.
func (d *decoder) sentAgain(f flow, t *layers.TCP) bool {
	i := slices.IndexFunc(d.ended, func(e ended) bool { return e.flow == f })
	if i < 0 {
		return false
	}
	if behind := int32(d.ended[i].top - t.Seq); !t.SYN && behind > 0 && behind <= maxHeld {
		return true
	}
	d.ended = slices.Delete(d.ended, i, i+1) // another connection
	return false
}

// earlier takes a segment that begins that many octets before the first one: the capture began
// in between, and segments came out of order.
func (d *decoder) earlier(s *stream, t *layers.TCP, octets int) error {
	if s.before == nil && octets <= maxHeld {
		s.before = d.begin(s.f, t)
	}
	if octets > maxHeld || int32(t.Seq-s.before.base) < 0 {
		d.stats.Skipped += len(t.Payload)
		return nil
	}
	first := *t
	first.Payload, first.FIN = t.Payload[:min(octets, len(t.Payload))], false
	if err := d.assemble(s.before, &first); err != nil || len(t.Payload) <= octets {
		return err
	}
	t.Payload, t.Seq = t.Payload[octets:], s.base
	return d.assemble(s, t)
}

func (d *decoder) assemble(s *stream, t *layers.TCP) error {
	if s.ended {
		return nil
	}
	end := t.Seq + uint32(len(t.Payload))
	if t.SYN {
		end++
	}
	if int32(end-s.top) > 0 {
		s.top, s.waiting = end, true
	}
	if len(t.Payload) > 0 && len(s.starts) < maxStarts {
		s.starts = append(s.starts, t.Seq)
	}
	network := gopacket.NewFlow(layers.EndpointIPv4, []byte{0, 0, 0, 1}, []byte{0, 0, 0, 2})
	s.AssembleWithContext(network, t, context(d.now))
	if s.err == nil && s.ended && s.before == nil {
		return d.end(s)
	}
	return s.err
}

// end takes what still waits, and forgets the stream.
func (d *decoder) end(s *stream) error {
	if d.streams[s.f] == s {
		delete(d.streams, s.f)
		if len(d.ended) == maxFlows {
			d.ended = slices.Delete(d.ended, 0, 1)
		}
		d.ended = append(d.ended, ended{s.f, s.top})
	}
	if s.before != nil {
		if err := d.end(s.before); err != nil {
			return err
		}
	}
	s.FlushAll()
	s.buffered(true)
	d.free = append(d.free, s.assembler)
	return s.err
}

// endStreams ends all, in the order of their addresses.
func (d *decoder) endStreams() error {
	order := func(a, b flow) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) }
	for _, f := range slices.SortedFunc(maps.Keys(d.streams), order) {
		if err := d.end(d.streams[f]); err != nil {
			return err
		}
	}
	return nil
}

// Accept is for package reassembly: a stream without SYN begins where a message does.
func (s *stream) Accept(t *layers.TCP, _ gopacket.CaptureInfo, _ reassembly.TCPFlowDirection, next reassembly.Sequence, start *bool, _ reassembly.AssemblerContext) bool {
	if next == -1 && len(t.Payload) > 0 && t.Seq == s.base && s.begins(t.Payload, 0) {
		*start = true
	}
	return true
}

// ReassembledSG is for package reassembly: octets of the stream in their order.
func (s *stream) ReassembledSG(sg reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	n, _ := sg.Lengths()
	_, _, end, skip := sg.Info()
	s.begun, s.ended = true, s.ended || end
	switch {
	case skip > 0:
		s.buffered(true)
		s.d.stats.Lost += skip
		s.at += uint32(skip)
		s.synced, s.buffer = false, s.buffer[:0]
	case skip < 0 && len(s.starts) > 0: // the beginning was waited for, and did not come
		s.at = slices.MinFunc(s.starts, func(a, b uint32) int { return int(int32(a - b)) })
	}
	b := sg.Fetch(n)
	if !s.synced {
		from := s.resume(b)
		s.d.stats.Skipped += from
		b = b[from:]
	}
	s.at += uint32(n)
	s.starts = slices.DeleteFunc(s.starts, func(start uint32) bool { return int32(start-s.at) < 0 })
	if len(b) == 0 || s.err != nil {
		return
	}
	s.synced = true
	s.taken += uint64(len(b))
	s.buffer, s.came = append(s.buffer, b...), s.d.now
	s.buffered(end)
}

// resume says how many octets to leave out until a message begins, which it does where a
// segment did.
func (s *stream) resume(b []byte) int {
	least := min(int(s.taken), 1) // of the first octets the header need not be whole
	if s.begins(b, least) {
		return 0
	}
	from := len(b)
	for _, start := range s.starts {
		if at := int(int32(start - s.at)); at > 0 && at < from && s.begins(b[at:], 1) {
			from = at
		}
	}
	return from
}

// ReassemblyComplete is for package reassembly.
func (s *stream) ReassemblyComplete(reassembly.AssemblerContext) bool { return true }

// skip leaves out octets in which no message begins.
func (s *stream) skip() {
	s.d.stats.Skipped += len(s.buffer)
	s.buffer, s.synced = s.buffer[:0], false
}

// buffered takes the messages out of the octets that are there. They are the last ones if
// the stream has ended.
func (s *stream) buffered(last bool) {
	if s.err != nil || len(s.buffer) == 0 || !s.recognise(last) {
		return
	}
	if back := s.d.streams[s.f.back()]; back != nil && !back.known {
		back.buffered(false)
		s.err = errors.Join(s.err, back.err)
	}
	// Once for all messages: octets that follow move each time otherwise.
	if rest := s.messages(s.buffer); len(rest) < len(s.buffer) {
		s.buffer = append(s.buffer[:0], rest...)
	}
}

// messages takes the messages at the beginning of b, and returns what follows.
func (s *stream) messages(b []byte) []byte {
	for s.err == nil {
		n, ok := s.p.FrameP5(b)
		if ok && n > nfapi.MaxMessage { // none begins here
			s.d.stats.Skipped += len(b)
			s.synced = false
			return nil
		}
		if !ok || len(b) < n {
			break
		}
		s.err = s.message(b[:n])
		b = b[n:]
	}
	return b
}

func (s *stream) message(b []byte) error {
	d := s.d
	h, body, err := s.p.ParseP5(b)
	e := &Event{At: s.came, From: s.f.from, To: s.f.to, Plane: nfapi.P5, Profile: s.p, Header: h, Segments: 1}
	if err == nil {
		return d.decode(e, body)
	}
	e.Octets, e.Err = len(b), err
	d.stats.Failed++
	return d.f(e)
}
