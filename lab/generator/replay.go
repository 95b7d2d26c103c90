package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// ReplayPacket is a user packet that is sent as it is, but for addresses, checksums, the
// hop limit and the stamp, which takes the place of the first octets of its payload.
type ReplayPacket struct {
	// IP is an IPv4 packet without options or an IPv6 packet without extension headers, whole,
	// with a TCP segment or UDP datagram whose payload has room for a [ShortStamp].
	IP  []byte
	UE  int           // number of its UE in the file, from 0
	Gap time.Duration // until the next packet; of the last one: until the first comes again
}

// Bounds of a replay. What a live frame is copied from is in kernel memory.
const (
	MaxReplayPackets = 1 << 16
	MaxReplayOctets  = 1984 // of a user packet: with all headers a frame of 2048 octets at most
	maxReplayGap     = time.Minute
	maxReplayUEs     = 1 << 16
)

// segment returns where transport header and payload of a packet begin, and where the
// checksum is.
//
// Errors: what of [ReplayPacket.IP] does not hold.
func (p *ReplayPacket) segment() (protocol uint8, l4, payload, check int, err error) {
	ip := p.IP
	switch {
	case len(ip) > MaxReplayOctets:
		return 0, 0, 0, 0, fmt.Errorf("packet of %d octets: want %d at most", len(ip), MaxReplayOctets)
	case len(ip) >= inet.LenIPv4 && ip[0] == 4<<4|inet.LenIPv4/4 && int(binary.BigEndian.Uint16(ip[2:])) == len(ip):
		protocol, l4 = ip[9], inet.LenIPv4
	case len(ip) >= inet.LenIPv6 && ip[0]>>4 == 6 && int(binary.BigEndian.Uint16(ip[4:]))+inet.LenIPv6 == len(ip):
		protocol, l4 = ip[6], inet.LenIPv6
	default:
		return 0, 0, 0, 0, errors.New("no whole IPv4 packet without options nor IPv6 packet")
	}
	switch {
	case protocol == inet.ProtoUDP:
		payload, check = l4+inet.LenUDP, l4+6
	case protocol == inet.ProtoTCP && len(ip) > l4+12:
		payload, check = l4+int(ip[l4+12]>>4)*4, l4+16
	default:
		return 0, 0, 0, 0, fmt.Errorf("protocol %d: want TCP or UDP", protocol)
	}
	if payload < l4+inet.LenUDP || payload < check+2 || len(ip) < payload+ShortStampOctets {
		return 0, 0, 0, 0, fmt.Errorf("no room for a stamp behind %d octets of %d", payload, len(ip))
	}
	return protocol, l4, payload, check, nil
}

// Validate says what of [ReplayPacket.IP] does not hold.
func (p *ReplayPacket) Validate() error {
	_, _, _, _, err := p.segment()
	return err
}

func (s *Stream) validateReplay(c *Config) error {
	if len(s.Replay) > MaxReplayPackets {
		return fmt.Errorf("replay of %d packets: want %d at most", len(s.Replay), MaxReplayPackets)
	}
	servers := map[netip.Addr]bool{}
	for i := range s.Replay {
		p := &s.Replay[i]
		if err := p.Validate(); err != nil {
			return fmt.Errorf("packet %d: %w", i, err)
		}
		if p.UE < 0 || p.UE >= maxReplayUEs || p.Gap < 0 || p.Gap > maxReplayGap {
			return fmt.Errorf("packet %d: UE %d, %v before the next: want 0 to %d, 0 to %v", i, p.UE, p.Gap, maxReplayUEs-1, maxReplayGap)
		}
		servers[s.serverOf(p)] = true
	}
	for server := range servers {
		if !server.IsValid() {
			return errors.New("replay of packets of both families: want a server of each")
		}
		if err := c.validateSessions(s, server); err != nil {
			return err
		}
	}
	return nil
}

// serverOf is the server that a packet comes from or goes to; the zero value: there is none
// of its family.
func (s *Stream) serverOf(p *ReplayPacket) netip.Addr {
	for _, a := range []netip.Addr{s.Server, s.Server6} {
		if a.IsValid() && a.Is6() == (p.IP[0]>>4 == 6) {
			return a
		}
	}
	return netip.Addr{}
}

// replayUEs returns how many UEs there are in the file.
func (s *Stream) replayUEs() int {
	n := 0
	for i := range s.Replay {
		n = max(n, s.Replay[i].UE+1)
	}
	return n
}

// newReplayFrame builds the frame of a packet, which is valid.
func newReplayFrame(c *Config, s *Stream, p *ReplayPacket) frame {
	protocol, l4, payload, check, _ := p.segment()
	user := append([]byte{}, p.IP...)
	server, dscp := s.serverOf(p), user[1]>>2
	if server.Is6() {
		dscp = user[0]&0x0f<<2 | user[1]>>6
	}
	rewriteHeader(user, server, c.Direction)
	clear(user[check : check+2])
	if protocol == inet.ProtoUDP {
		binary.BigEndian.PutUint16(user[l4+4:], uint16(len(user)-l4))
	}
	short := len(user)-payload < StampOctets
	if short {
		clear(user[payload : payload+ShortStampOctets])
		ShortStamp{Head: ShortHead(c.Run) | uint32(c.Stream)&maxShortStream}.Append(user[:payload])
	} else {
		clear(user[payload : payload+StampOctets])
		Stamp{Run: c.Run}.Append(user[:payload])
	}
	f := frame{headers: payload, check: check, short: short, dscp: dscp, ue: p.UE, gap: uint64(p.Gap)}
	f.finish(c, server, protocol, user, l4)
	return f
}

// rewriteHeader puts the server's address and the hop limit into an IP header, and 0 in the
// place of the UE's address and the checksum. ECN is 0 as well.
func rewriteHeader(ip []byte, server netip.Addr, d Direction) {
	at, octets := 12, server.AsSlice()
	if server.Is6() {
		at, ip[7] = 8, hopLimit
		ip[1] &= 0xcf
	} else {
		ip[8], ip[10], ip[11] = hopLimit, 0, 0
		ip[1] &= 0xfc
	}
	clear(ip[at : at+2*len(octets)])
	if d == Uplink {
		at += len(octets)
	}
	copy(ip[at:], octets)
}

// replayDue returns how many frames of a replay are due in the first elapsed time of a run
// by the times of the file.
func replayDue(frames []frame, begun generatorRun, elapsed time.Duration) uint64 {
	end, round := uint64(elapsed)<<dueShift, uint64(0)
	for i := range frames {
		if round += step(&begun, &frames[i]); round > end {
			break // long files would not go into 64 bits
		}
	}
	due, n := end/round*round, end/round*uint64(len(frames))
	for i := int(begun.Position); due < end; i = (i + 1) % len(frames) {
		due += step(&begun, &frames[i])
		n++
	}
	return n
}

// step is the time from one frame of a replay to the next, in 2^-20 ns.
func step(r *generatorRun, f *frame) uint64 { return max(f.gap*r.Stretch, 1) }
