package traffic

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plumbline/lab/generator"
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
	Packets    []generator.ReplayPacket
	UEs        int            // different addresses of UEs
	Lengthened int            // of Packets: had no room for a stamp in their payload
	Skipped    map[string]int // packets that are left out, by reason
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
	c := collector{replay: r, direction: d, ues: map[netip.Addr]int{}}
	r.Skipped = map[string]int{}
	if err := readCapture(f, c.add); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	if c.full {
		return fmt.Errorf("%s: more than %d packets %v of UEs: cut it, for example with editcap", r.File, generator.MaxReplayPackets, d)
	}
	c.spread()
	return nil
}

// collector makes packets of a replay.
type collector struct {
	replay    *Replay
	direction generator.Direction
	ues       map[netip.Addr]int
	times     []time.Duration
	full      bool
}

// add is called with each packet of the file.
func (c *collector) add(p *captured) bool {
	skip := c.take(p)
	if skip != "" {
		c.replay.Skipped[skip]++
	}
	return !c.full
}

func (c *collector) take(p *captured) (skip string) {
	b := ipOf(p.link, p.data)
	if b == nil {
		return skipNoIP
	}
	u, skip := userOf(b)
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
	if c.full = len(c.replay.Packets) == generator.MaxReplayPackets; c.full {
		return ""
	}
	number, known := c.ues[ue]
	if !known {
		number = len(c.ues)
		c.ues[ue] = number
	}
	if lengthened {
		c.replay.Lengthened++
	}
	c.replay.Packets = append(c.replay.Packets, generator.ReplayPacket{IP: u.ip, UE: number})
	c.times = append(c.times, p.at)
	return ""
}

// spread notes how far apart the packets are. From the last one to the first it is as far as
// on average.
func (c *collector) spread() {
	c.replay.UEs = len(c.ues)
	list, sum := c.replay.Packets, time.Duration(0)
	for i := range len(list) - 1 {
		list[i].Gap = min(max(c.times[i+1]-c.times[i], 0), maxReplayGap)
		sum += list[i].Gap
	}
	if n := len(list); n > 0 {
		list[n-1].Gap = max(sum/time.Duration(max(n-1, 1)), time.Microsecond)
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

// String says what is replayed, how many packets of it were lengthened and what was left out.
func (r *Replay) String() string {
	return fmt.Sprintf("%q, %d packets of %d UEs, %d of them lengthened to hold a stamp; %s", r.File, len(r.Packets), r.UEs, r.Lengthened, r.skipped())
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
	return n + etherOctets + fcsOctets
}

// meanBits is the length of the frames on N6 in bits, without FCS, on average.
func (r *Replay) meanBits() float64 {
	n := 0
	for i := range r.Packets {
		n += len(r.Packets[i].IP) + etherOctets
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
