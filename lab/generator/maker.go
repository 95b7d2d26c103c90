package generator

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// maker makes the frames of a generator in user space, octet for octet as
// bpf/lab/generator.bpf.c does, and keeps the same schedule as bpf/lab_schedule.h.
type maker struct {
	config *Config
	layout *layout
	order  []entry
	run    generatorRun
	ramp   *[maxSegments]uint64
	ues    int             // of a replay: in the file
	base   int             // of a replay: entry of the file's UE 0
	next   []atomic.Uint64 // sequence number by stream, read from elsewhere
	made   frameNumber     // of the last frame
}

// frameNumber is which frame it is.
type frameNumber struct {
	stream   uint16
	sequence uint64
}

func newMaker(c *Config, l *layout) *maker {
	return &maker{config: c, layout: l, order: c.entries(), ues: l.streams[0].replayUEs(), next: make([]atomic.Uint64, len(l.streams))}
}

// due takes a place in the schedule: when the frame that is due now was intended to be
// sent. ok: there is one. It sets run.Finished at the end.
func (m *maker) due(now uint64) (intended uint64, ok bool) {
	r := &m.run
	if r.Stretch > 0 {
		r.Interval = step(r, &m.layout.frames[r.Position])
	}
	if now >= r.EndNs || r.Sent >= r.Limit {
		r.Finished = 1
		return 0, false
	}
	intended = now
	if r.Interval != 0 {
		intended = r.StartNs + r.Due>>dueShift
	}
	if now < intended || now < r.StartNs {
		return 0, false
	}
	if r.Left > 0 {
		r.Left--
		return intended, true
	}
	r.Left = r.Further
	r.Due += r.Interval
	if r.Due >= r.SegmentEnd {
		m.nextSegment()
	}
	return intended, true
}

func (m *maker) nextSegment() {
	r := &m.run
	segment := min(r.Due/r.Segment, maxSegments-1)
	r.Interval, r.SegmentEnd = m.ramp[segment], (segment+1)*r.Segment
	if segment == maxSegments-1 {
		r.SegmentEnd = ^uint64(0)
	}
}

// entry takes the place of the next frame in the access pattern.
func (m *maker) entry() entry {
	r := &m.run
	if !m.layout.replays() {
		e := m.order[r.Position]
		r.Position = (r.Position + 1) % uint32(len(m.order))
		return e
	}
	f := &m.layout.frames[r.Position]
	e := m.order[m.base+f.ue]
	e.dscp = f.dscp
	if r.Position++; int(r.Position) == len(m.layout.frames) {
		r.Position = 0
		m.base += m.ues
		if m.base+m.ues > len(m.order) {
			m.base = 0
		}
	}
	return e
}

// make writes the next frame into b, which has room for the longest one, and returns
// its length.
func (m *maker) make(b []byte, intended, now uint64) int {
	e := m.entry()
	sequence := m.next[e.stream].Load()
	m.next[e.stream].Store(sequence + 1)
	m.made = frameNumber{m.config.Stream + e.stream, sequence}
	f := m.layout.frame(int(e.stream), sequence)
	s := &m.config.Sessions[e.session]
	stamp := Stamp{
		Run: m.config.Run, Stream: m.config.Stream + e.stream, Sequence: sequence, IntendedNs: intended, SentNs: now,
		Session: e.session, TEID: s.TEID, QFI: e.qfi, DSCP: e.dscp, UE: FoldUE(s.address(f.ipv6)),
	}
	m.config.write(b[:len(f.octets)], f, s, &stamp)
	m.run.Sent++
	m.run.LastNs = now
	return len(f.octets)
}

// write makes b the frame f of a session with a stamp.
func (c *Config) write(b []byte, f *frame, s *Session, stamp *Stamp) {
	copy(b, f.octets)
	variable := b[f.headers+8 : f.stampEnd()] // its head is in the sum already
	if f.short {
		variable = b[f.headers+4 : f.stampEnd()]
		stamp.Short().Append(b[f.headers:f.headers])
	} else {
		stamp.Append(b[f.headers:f.headers])
	}
	user := b[c.offset():]
	ue := c.writeUE(user, s.address(f.ipv6))
	binary.NativeEndian.PutUint16(b[f.check:], complement(f.l4Sum+sum(variable)+ue))
	if f.dscp == 0 {
		mark(user, stamp.DSCP)
	}
	if !f.ipv6 {
		fixIPv4(user)
	}
	if c.Direction == Downlink {
		return
	}
	outer := b[inet.LenEthernet:]
	udp, gtpu := outer[inet.LenIPv4:], outer[inet.LenIPv4+inet.LenUDP:]
	binary.BigEndian.PutUint32(gtpu[4:], s.TEID)
	gtpu[14] = stamp.QFI
	if f.dscp == 0 {
		mark(outer, stamp.DSCP)
		fixIPv4(outer)
	}
	if c.OuterChecksum {
		binary.NativeEndian.PutUint16(udp[6:], complement(uint64(f.outerSum)+sum(gtpu[4:8])+sum(gtpu[14:16])+sum(user)))
	}
}

// writeUE sets the UE's address in a user packet and returns its sum.
func (c *Config) writeUE(user []byte, ue netip.Addr) uint64 {
	at := 12 // source of IPv4
	if ue.Is6() {
		at = 8
	}
	if c.Direction == Downlink {
		at += ue.BitLen() / 8
	}
	if ue.Is6() {
		octets := ue.As16()
		copy(user[at:], octets[:])
		return sum(octets[:])
	}
	octets := ue.As4()
	copy(user[at:], octets[:])
	return sum(octets[:])
}

// mark sets the DSCP of an IP header in which it is 0.
func mark(ip []byte, dscp uint8) {
	if ip[0]>>4 == 4 {
		ip[1] = dscp << 2
		return
	}
	ip[0] |= dscp >> 2
	ip[1] |= dscp << 6
}

// fixIPv4 sets the header checksum.
func fixIPv4(ip []byte) {
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], checksum.Of(ip[:inet.LenIPv4]))
}

// complement is the UDP checksum of a sum, in the byte order of the machine; never 0,
// which means none. Source: RFC 768.
func complement(total uint64) uint16 {
	for total > 0xffff {
		total = total&0xffff + total>>16
	}
	if total == 0xffff {
		return 0xffff
	}
	return ^uint16(total)
}
