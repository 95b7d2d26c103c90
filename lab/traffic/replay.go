package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/pcap"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// Replay is traffic from a capture file. Of each packet there remain length, ports, TCP
// header, DSCP and payload, but for the stamp in its first octets; UE and server have the
// addresses of the test bed.
type Replay struct {
	File string         // pcap or pcapng
	UE   []netip.Prefix // which of its addresses are those of UEs
	// Speed sends by the times of the file, so many times as fast. 0: at a rate, as other
	// streams.
	Speed float64

	// Of the file, in the direction of the stream:
	Packets    []generator.ReplayPacket // by their times
	UEs        int                      // different addresses of UEs
	Lengthened int                      // of Packets: had no room for a stamp in their payload
	CutOff     int                      // of Packets: their ends were not captured
	Disordered int                      // of Packets: stood in the file behind one with a later time
	CutShort   bool                     // the file ends within a packet
	Skipped    map[string]int           // packets that are left out, by reason
}

// maxReplayGap is how long a replay waits for the next packet at most.
const maxReplayGap = time.Minute

// load reads the file, from a directory if its name is relative.
func (r *Replay) load(directory string, d generator.Direction) error {
	name := r.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(directory, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	c := collector{replay: r, direction: d}
	r.Skipped = map[string]int{}
	other, err := pcap.Read(f, c.add)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.CutShort = true
	case err != nil && !c.full:
		return fmt.Errorf("%s: %w", r.File, err)
	}
	if c.full {
		return fmt.Errorf("%s: more than %d packets %v of UEs: cut it, for example with editcap", r.File, generator.MaxReplayPackets, d)
	}
	if other > 0 {
		r.Skipped[skipBlock] = other
	}
	c.spread()
	return nil
}

// collector makes packets of a replay.
type collector struct {
	replay    *Replay
	direction generator.Direction
	packets   []timed // in the order of the file
	full      bool
}

// timed is a packet of a file with what it is sorted by.
type timed struct {
	at         time.Duration
	ip         []byte
	ue         netip.Addr
	lengthened bool
	cut        bool
}

// add is called with each packet of the file.
func (c *collector) add(p *pcap.Packet) error {
	if skip := c.take(p); skip != "" {
		c.replay.Skipped[skip]++
	}
	if c.full {
		return errFull
	}
	return nil
}

// errFull ends the reading of a file with too many packets.
var errFull = errors.New("too many packets")

func (c *collector) take(p *pcap.Packet) (skip string) {
	b, whole, skip := p.IP()
	if skip != "" {
		return skip
	}
	u, skip := userOf(b, whole)
	if skip != "" {
		return skip
	}
	ue := u.src
	if c.direction == generator.Downlink {
		ue = u.dst
	}
	if !slices.ContainsFunc(c.replay.UE, func(p netip.Prefix) bool { return p.Contains(ue) }) {
		return skipOther
	}
	lengthened := u.lengthen()
	if len(u.ip) > generator.MaxReplayOctets {
		return skipLong
	}
	if c.full = len(c.packets) == generator.MaxReplayPackets; c.full {
		return ""
	}
	c.packets = append(c.packets, timed{p.At, u.ip, ue, lengthened, u.cut})
	return ""
}

// spread brings the packets into the order of their times, numbers their UEs and notes how
// far apart they are. A program that captures at several interfaces writes what it has of one
// before what it has of the next. From the last packet to the first it is as far as on average.
func (c *collector) spread() {
	r := c.replay
	for i, newest := 0, time.Duration(math.MinInt64); i < len(c.packets); i++ {
		if c.packets[i].at < newest {
			r.Disordered++
		}
		newest = max(newest, c.packets[i].at)
	}
	slices.SortStableFunc(c.packets, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	ues, sum := map[netip.Addr]int{}, time.Duration(0)
	for i, p := range c.packets {
		number, known := ues[p.ue]
		if !known {
			number = len(ues)
			ues[p.ue] = number
		}
		if p.lengthened {
			r.Lengthened++
		}
		if p.cut {
			r.CutOff++
		}
		gap := time.Duration(0)
		if i+1 < len(c.packets) {
			gap = min(c.packets[i+1].at-p.at, maxReplayGap)
		}
		sum += gap
		r.Packets = append(r.Packets, generator.ReplayPacket{IP: p.ip, UE: number, Gap: gap})
	}
	r.UEs = len(ues)
	if n := len(r.Packets); n > 0 {
		r.Packets[n-1].Gap = max(sum/time.Duration(max(n-1, 1)), time.Microsecond)
	}
}

func (r *Replay) validate() error {
	switch {
	case len(r.UE) == 0:
		return errors.New("replay: ue: want the prefixes of UEs' addresses in the file")
	case !(r.Speed == 0 || r.Speed >= generator.MinSpeed && r.Speed <= generator.MaxSpeed):
		return fmt.Errorf("replay: speed %v: want %v to %v", r.Speed, generator.MinSpeed, generator.MaxSpeed)
	case len(r.Packets) == 0:
		return fmt.Errorf("replay: %s has no packet in this direction that can be sent: %s", r.File, r.skipped())
	}
	return nil
}

// String says what is replayed, how many packets of it were lengthened or out of order, and
// what was left out.
func (r *Replay) String() string {
	order := ""
	if r.Disordered > 0 {
		order = fmt.Sprintf("; %d out of order in the file, sent by their times", r.Disordered)
	}
	if r.CutOff > 0 {
		order += fmt.Sprintf("; %d cut off by a snap length, with zeros in the place of their ends", r.CutOff)
	}
	if r.CutShort {
		order += "; the file ends within a packet"
	}
	return fmt.Sprintf("%q, %d packets of %d UEs, %d of them lengthened to hold a stamp%s; %s", r.File, len(r.Packets), r.UEs, r.Lengthened, order, r.skipped())
}

// Replayed says it of each stream that replays a file.
func (p *Profile) Replayed() []string {
	var list []string
	for i := range p.Streams {
		if s := &p.Streams[i]; s.Replay != nil {
			list = append(list, fmt.Sprintf("%v stream %q: %v", s.Direction, s.Name, s.Replay))
		}
	}
	return list
}

// skipped says what was left out, in words.
func (r *Replay) skipped() string {
	var words []string
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		words = append(words, fmt.Sprintf("%d %s", r.Skipped[reason], reason))
	}
	if words == nil {
		return "nothing left out"
	}
	return "left out: " + strings.Join(words, ", ")
}

// longest is the length of the longest frame on N6, with FCS.
func (r *Replay) longest() int {
	n := 0
	for i := range r.Packets {
		n = max(n, len(r.Packets[i].IP))
	}
	return n + inet.LenEthernet + fcsOctets
}

// meanBits is the length of the frames on N6 in bits, without FCS, on average.
func (r *Replay) meanBits() float64 {
	n := 0
	for i := range r.Packets {
		n += len(r.Packets[i].IP) + inet.LenEthernet
	}
	return 8 * float64(n) / float64(len(r.Packets))
}

// families returns whether there are IPv4 and IPv6 packets.
func (r *Replay) families() (ipv4, ipv6 bool) {
	for i := range r.Packets {
		if r.Packets[i].IP[0]>>4 == 6 {
			ipv6 = true
		} else {
			ipv4 = true
		}
	}
	return ipv4, ipv6
}
