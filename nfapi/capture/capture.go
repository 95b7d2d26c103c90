// Package capture finds nFAPI messages in capture files.
//
// A packet goes this way: Ethernet, VLAN, loopback or bare IP; IPv4 fragments are put
// together; a UDP datagram whose length is that in its header is P7, and a TCP
// connection on a P5 port is P5, in the order of its sequence numbers. The
// generation of the header says which profile it is, unless one is given. Datagrams that
// were captured before the sender's kernel cut them from each other are cut here. Segments
// of P7 are put together for each sender, receiver and PHY.
//
// Bounds: [maxFlows] connections and as many senders of segments are followed at
// once; what comes beyond is counted and left out. A datagram of which no fragment
// came in [maxWait] packets is given up.
package capture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/ip4defrag"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"plumbline/nfapi"
)

// maxFlows is how many connections, and senders of segments, are followed at once.
const maxFlows = 64

// maxWait is how many packets a datagram in fragments waits for its next one.
const maxWait = 4096

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
	Segments int    // of which it was put together; 1: it is whole

	Message nfapi.Message // nil if Err is not; valid until the callback returns
	Err     error         // why it could not be decoded
}

// Options say what to look for.
type Options struct {
	Profile *nfapi.Profile // nil: by the generation of each header
	P5Ports []uint16
}

// Stats are what a capture held, beside its messages.
type Stats struct {
	Packets   int // all
	Messages  int // that were decoded
	Failed    int // that could not be
	Segments  int // of P7
	Lost      int // octets of P5 connections that the capture has not
	Joined    int // packets of several datagrams that the sender's kernel had not cut yet
	Unwatched int // packets of more connections or senders than are followed
}

// Read calls f for each message of a pcap or pcapng file, in its order. An error is
// that of the file, or of f.
func Read(r io.Reader, o Options, f func(*Event) error) (Stats, error) {
	packets, link, err := open(r)
	if err != nil {
		return Stats{}, err
	}
	d := &decoder{
		Options: o, f: f, defragment: ip4defrag.NewIPv4Defragmenter(), messages: map[nfapi.MessageID]nfapi.Message{},
		flows: map[flow]*connection{}, segments: map[sender]*assembly{},
	}
	for {
		b, info, err := packets.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return d.stats, nil
		}
		if err != nil {
			return d.stats, fmt.Errorf("packet %d: %w", d.stats.Packets+1, err)
		}
		if d.stats.Packets++; d.stats.Packets%maxWait == 0 {
			d.defragment.DiscardOlderThan(count(d.stats.Packets - maxWait))
		}
		p := gopacket.NewPacket(b, link(info), gopacket.DecodeOptions{Lazy: true, NoCopy: true})
		if err := d.packet(p, info.Timestamp); err != nil {
			return d.stats, err
		}
	}
}

// open finds out which kind of file it is.
func open(r io.Reader) (gopacket.PacketDataSource, func(gopacket.CaptureInfo) gopacket.Decoder, error) {
	in := bufio.NewReader(r)
	magic, err := in.Peek(4)
	if err != nil {
		return nil, nil, fmt.Errorf("no capture file: %w", err)
	}
	if bytes.Equal(magic, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		ng, err := pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, nil, err
		}
		return ng, func(info gopacket.CaptureInfo) gopacket.Decoder {
			if len(info.AncillaryData) > 0 {
				if link, ok := info.AncillaryData[0].(layers.LinkType); ok {
					return link
				}
			}
			return ng.LinkType()
		}, nil
	}
	pcap, err := pcapgo.NewReader(in)
	if err != nil {
		return nil, nil, fmt.Errorf("neither pcap nor pcapng: %w", err)
	}
	return pcap, func(gopacket.CaptureInfo) gopacket.Decoder { return pcap.LinkType() }, nil
}

type decoder struct {
	Options
	f          func(*Event) error
	stats      Stats
	defragment *ip4defrag.IPv4Defragmenter
	messages   map[nfapi.MessageID]nfapi.Message // used again and again
	flows      map[flow]*connection
	segments   map[sender]*assembly
}

// flow is one direction of a connection.
type flow struct{ from, to netip.AddrPort }

func (d *decoder) packet(p gopacket.Packet, at time.Time) error {
	var source, target netip.Addr
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		source, target = address(ip.SrcIP), address(ip.DstIP)
		whole, err := d.defragment.DefragIPv4WithTimestamp(ip, count(d.stats.Packets))
		if err != nil || whole == nil {
			return nil // what is no packet is no message; others come
		}
		if whole != ip {
			p = gopacket.NewPacket(whole.Payload, whole.NextLayerType(), gopacket.DecodeOptions{Lazy: true, NoCopy: true})
		}
	case *layers.IPv6:
		source, target = address(ip.SrcIP), address(ip.DstIP)
	default:
		return nil
	}
	switch t := p.TransportLayer().(type) {
	case *layers.UDP:
		return d.udp(at, flow{netip.AddrPortFrom(source, uint16(t.SrcPort)), netip.AddrPortFrom(target, uint16(t.DstPort))}, t.Payload)
	case *layers.TCP:
		return d.tcp(at, flow{netip.AddrPortFrom(source, uint16(t.SrcPort)), netip.AddrPortFrom(target, uint16(t.DstPort))}, t)
	}
	return nil
}

// count is the number of a packet as a time: that of the capture is as its author likes.
func count(packet int) time.Time { return time.Unix(0, int64(packet)) }

func address(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a.Unmap()
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

// sender is who numbers segments.
type sender struct {
	flow
	phy uint16
}

type assembly struct {
	*nfapi.Reassembly
	sequence, count int
}

// p7 puts segments together. A segment with a wrong checksum is told of, and not
// used.
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
			d.stats.Unwatched++
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

// connection is one direction of a P5 connection.
type connection struct {
	next   uint32 // sequence number that is due
	buffer []byte
	p      nfapi.Profile
	known  bool
}

// tcp joins the octets of a connection and takes messages out of them.
func (d *decoder) tcp(at time.Time, f flow, t *layers.TCP) error {
	if !d.isP5(f) {
		return nil
	}
	if t.SYN || t.RST || t.FIN && len(t.Payload) == 0 {
		delete(d.flows, f) // the next one has other sequence numbers
	}
	if len(t.Payload) == 0 {
		return nil
	}
	c := d.flows[f]
	if c == nil {
		if len(d.flows) == maxFlows {
			d.stats.Unwatched++
			return nil
		}
		c = &connection{next: t.Seq}
		d.flows[f] = c
	}
	b := t.Payload
	switch gap := int(int32(t.Seq - c.next)); {
	case -gap >= len(b):
		return nil // sent again
	case gap < 0:
		b = b[-gap:]
	case gap > 0: // not in the capture, or late: begin anew at a boundary of messages
		d.stats.Lost += gap
		c.buffer = c.buffer[:0]
	}
	c.next = t.Seq + uint32(len(t.Payload))
	c.buffer = append(c.buffer, b...)
	if t.FIN {
		delete(d.flows, f)
	}
	return d.p5(at, f, c)
}

func (d *decoder) isP5(f flow) bool {
	for _, port := range d.P5Ports {
		if f.from.Port() == port || f.to.Port() == port {
			return true
		}
	}
	return false
}

// p5 takes the messages out of the octets that are there.
func (d *decoder) p5(at time.Time, f flow, c *connection) error {
	for {
		if !c.known && !c.recognise(d.Profile) {
			return nil
		}
		n, ok := c.p.FrameP5(c.buffer)
		if ok && n > nfapi.MaxMessage {
			c.buffer, c.known = c.buffer[:0], false
			return nil
		}
		if !ok || len(c.buffer) < n {
			return nil
		}
		h, body, err := c.p.ParseP5(c.buffer[:n])
		e := &Event{At: at, From: f.from, To: f.to, Plane: nfapi.P5, Profile: c.p, Header: h, Segments: 1}
		if err == nil {
			err = d.decode(e, body)
		} else {
			e.Octets, e.Err = n, err
			d.stats.Failed++
			err = d.f(e)
		}
		if err != nil {
			return err
		}
		c.buffer = append(c.buffer[:0], c.buffer[n:]...)
	}
}

// recognise finds the profile by the first message: with the length of 32 bits
// there are zeros where the other generation has length and spare.
func (c *connection) recognise(given *nfapi.Profile) bool {
	switch {
	case given != nil:
		c.p = *given
	case len(c.buffer) < 8,
		len(c.buffer) < 10 && binary.BigEndian.Uint16(c.buffer[4:]) == 0 && binary.BigEndian.Uint16(c.buffer[6:]) != 0:
		return false
	case len(c.buffer) >= 10 && binary.BigEndian.Uint16(c.buffer[4:]) == 0 && binary.BigEndian.Uint16(c.buffer[8:]) == 0:
		c.p = nfapi.OAI2025
	default:
		c.p = nfapi.OAI2024
	}
	c.known = true
	return true
}
