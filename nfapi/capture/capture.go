// Package capture finds nFAPI messages in capture files.
//
//	file ─ pcap ─► IP packet ─ fragments put together ─┬─ UDP ─► P7: datagrams, segments put together
//	                                                   ├─ TCP on a P5 port ─► octets by sequence number ─┐
//	                                                   └─ SCTP on a P5 port, also in UDP ─► chunks by TSN ┴► P5
//
// A UDP datagram with the length in its header is P7. The generation of the header determines the
// profile, unless one is given. Datagrams captured before the sender's kernel split them are split
// here. P7 segments are reassembled for each sender, receiver and PHY.
//
// A truncated packet (snap length) yields no message: if its header is present, an [Event] with
// [ErrCut] identifies the message.
//
// Bounds: [maxFlows] connections and as many senders of segments are followed at
// once; further ones are counted and left out. A datagram without a new fragment in
// [maxWait] packets is discarded. Missing octets of a connection are awaited for at
// most [maxHeld] octets.
package capture

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/internal/pcap"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// maxFlows is how many connections, and senders of segments, are followed at once.
const maxFlows = 64

// maxHeld is how many octets of a connection wait for those before them.
const maxHeld = 1 << 20

// maxWait is how many packets a datagram in fragments waits for its next one.
const maxWait = 4096

// ErrCut says that a capture has not all octets of a message.
var ErrCut = errors.New("cut off by the capture's snap length")

// Event is a message, or what should have been one.
type Event struct {
	At       time.Time
	From, To netip.AddrPort
	Plane    nfapi.Plane
	Profile  nfapi.Profile
	Header   nfapi.Header
	Checksum nfapi.ChecksumState
	Expected uint32 // the checksum that the octets give
	Octets   int    // of the body
	Segments int    // of which it was reassembled; 1: unsegmented

	Message nfapi.Message // nil if Err is not; valid until the callback returns
	Err     error         // why it could not be decoded
}

// Options say what to look for.
type Options struct {
	Profile *nfapi.Profile // nil: by the generation of each header
	P5Ports []uint16       // of TCP and SCTP
}

// Stats are the counts of a capture, in addition to its messages.
type Stats struct {
	Packets    int    // all
	Messages   int    // that were decoded
	Failed     int    // that could not be
	Incomplete int    // with a header, but not all octets: [ErrCut]
	Segments   int    // of P7
	Lost       int    // octets of P5 over TCP that the capture has not
	LostChunks int    // chunks of P5 over SCTP that it has not, or not all of
	Unheld     int    // chunks of fragments of P5 over SCTP for which there was no room
	IData      int    // I-DATA chunks of P5, which are not read
	Skipped    int    // octets of P5 over TCP behind such a gap, before a message begins again
	Joined     int    // packets of several datagrams that the sender's kernel had not cut yet
	Unwatched  int    // packets of more connections or senders than are followed
	Cut        int    // packets that the capture has not to their end
	Short      int    // packets that were shorter than their IP header says: malformed
	Unseen     int    // datagrams of P7 in those that are cut, of which it has not even the header
	Unfinished int    // IP datagrams, or messages in SCTP, that came in fragments of which one is missing
	OtherLink  int    // packets of link types that are not read
	Link       string // the first of these
	Blocks     int    // blocks of pcapng of unknown types
}

// Notes say what of a capture could not be looked at, a line each.
func (s *Stats) Notes() []string {
	var list []string
	for _, note := range []struct {
		n    int
		text string
	}{
		{s.Cut, "packets are " + ErrCut.Error()},
		{s.Incomplete, "messages of them are told by their header"},
		{s.Unseen, "datagrams of P7 of them have no header in the capture"},
		{s.Short, "packets are shorter than their IP header says"},
		{s.Unfinished, "datagrams or messages in fragments lack one"},
		{s.LostChunks, "chunks of P5 over SCTP are missing"},
		{s.Unheld, "chunks of P5 over SCTP left out: too many wait for others of their messages"},
		{s.IData, "I-DATA chunks of P5 over SCTP are not read"},
		{s.Skipped, "octets of P5 over TCP left out: no message begins there"},
		{s.Unwatched, "packets of further peers were left out"},
		{s.OtherLink, "packets are of " + s.Link},
		{s.Blocks, "blocks of pcapng are of unknown types"},
	} {
		if note.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", note.n, note.text))
		}
	}
	return list
}

// Read calls f for each message of a pcap or pcapng file, in its order. An error is
// that of the file, or of f.
func Read(r io.Reader, o Options, f func(*Event) error) (Stats, error) {
	d := &decoder{
		Options: o, f: f, fragments: newFragments(), messages: map[nfapi.MessageID]nfapi.Message{},
		streams: map[flow]*stream{}, associations: map[flow]*association{}, segments: map[sender]*assembly{},
	}
	var err error
	d.stats.Blocks, err = pcap.Read(r, d.packet)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return d.stats, d.explain(err)
	}
	if finished := d.finish(); finished != nil {
		return d.stats, finished
	}
	return d.stats, d.explain(err)
}

// explain says at which packet an error of the file is.
func (d *decoder) explain(err error) error {
	if errors.Is(err, pcap.Error) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("packet %d: %w", d.stats.Packets+1, err)
	}
	return err
}

type decoder struct {
	Options
	f            func(*Event) error
	stats        Stats
	now          time.Time // of the packet
	fragments    *fragments
	messages     map[nfapi.MessageID]nfapi.Message // used again and again
	streams      map[flow]*stream
	free         []*assembler // of connections that ended
	ended        []ended      // the last ones of TCP
	associations map[flow]*association
	segments     map[sender]*assembly
	padded       []byte // a packet that is cut off, with zeros
	leftOut      int    // number of the last packet that was
}

// unwatched counts a packet of a connection or sender that is not followed, once.
func (d *decoder) unwatched() {
	if d.leftOut != d.stats.Packets {
		d.leftOut = d.stats.Packets
		d.stats.Unwatched++
	}
}

// flow is one direction of a connection.
type flow struct{ from, to netip.AddrPort }

func (f flow) back() flow { return flow{f.to, f.from} }

func (d *decoder) packet(p *pcap.Packet) error {
	if d.stats.Packets++; d.stats.Packets%maxWait == 0 {
		d.stats.Unfinished += d.fragments.giveUp(d.stats.Packets)
	}
	d.now = time.Unix(0, int64(p.At)).UTC()
	b, whole, why := p.IP()
	switch {
	case why == pcap.NoIP:
		return nil
	case why != "":
		if d.stats.OtherLink++; d.stats.OtherLink == 1 {
			d.stats.Link = why
		}
		return nil
	}
	return d.ip(b, whole)
}

// finish tells of what still waited for something.
func (d *decoder) finish() error {
	d.stats.Unfinished += d.fragments.giveUp(-1)
	for _, a := range d.associations {
		d.lose(a)
	}
	return d.endStreams()
}

func (d *decoder) isP5(f flow) bool {
	for _, port := range d.P5Ports {
		if f.from.Port() == port || f.to.Port() == port {
			return true
		}
	}
	return false
}

// candidates are the profiles that a message may be of.
func (d *decoder) candidates() []nfapi.Profile {
	if d.Profile != nil {
		return []nfapi.Profile{*d.Profile}
	}
	return []nfapi.Profile{nfapi.OAI2025, nfapi.Aerial}
}

// decode reads the body of a message and hands it over.
func (d *decoder) decode(e *Event, body []byte) error {
	e.Octets = len(body)
	m := d.messages[e.Header.MessageID]
	if m == nil {
		m = nfapi.NewMessage(e.Header.MessageID)
		if e.Header.MessageID.Known() {
			d.messages[e.Header.MessageID] = m
		}
	}
	if err := m.DecodeBody(e.Profile, body); err != nil {
		e.Err = err
		d.stats.Failed++
	} else {
		e.Message = m
		d.stats.Messages++
	}
	return d.f(e)
}

// sender identifies a numbering of segments.
type sender struct {
	flow
	phy uint16
}

type assembly struct {
	*nfapi.Reassembly
	sequence, count int
}

// p7 reassembles segments. A segment with a wrong checksum is reported, and not used.
func (d *decoder) p7(e *Event, body []byte) error {
	key := sender{flow{e.From, e.To}, e.Header.PhyID}
	a := d.segments[key]
	if e.Header.Whole() {
		if a != nil && e.Checksum != nfapi.ChecksumWrong {
			a.Add(&e.Header, body) // its sequence number ends that of the last segments
		}
		return d.decode(e, body)
	}
	d.stats.Segments++
	if a == nil {
		if len(d.segments) == maxFlows {
			d.unwatched()
			return nil
		}
		a = &assembly{Reassembly: nfapi.NewReassembly(0), sequence: -1}
		d.segments[key] = a
	}
	if e.Checksum == nfapi.ChecksumWrong {
		e.Octets, e.Err = len(body), fmt.Errorf("segment %d: %w", e.Header.SegmentNumber(), nfapi.ErrChecksum)
		d.stats.Failed++
		return d.f(e)
	}
	if a.sequence != int(e.Header.Sequence()) {
		a.sequence, a.count = int(e.Header.Sequence()), 0
	}
	a.count++
	if body = a.Add(&e.Header, body); body == nil {
		return nil
	}
	e.Segments, a.sequence = a.count, -1
	e.Header.Segment &= 0xff
	return d.decode(e, body)
}
