package traffic

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/generator"
)

// IMIX is the simple Internet mix, 7 short to 4 middle to 1 long frame, whose IPv4
// packets have 46 (40, filled up to the shortest frame), 576 and 1500 octets. Long and
// middle frames stand as far apart as they can. Source: RFC 6985, 1 and 5.
var IMIX = []int{64, 594, 64, 64, 594, 64, 1518, 64, 594, 64, 64, 594}

// NameIMIX is the name of IMIX where a name of frames is wanted.
const NameIMIX = "imix"

const fcsOctets = 4

// payloadOctets returns the UDP payload of a frame of so many octets on N6.
func payloadOctets(octets int, ipv6 bool) int {
	return octets - fcsOctets - inet.LenEthernet - ipOctets(ipv6) - inet.LenUDP
}

func ipOctets(ipv6 bool) int {
	if ipv6 {
		return 40
	}
	return 20
}

// FrameOctets is the length on N6 with FCS of a frame with this UDP payload.
func FrameOctets(payload int, ipv6 bool) int {
	return payload + inet.LenUDP + ipOctets(ipv6) + inet.LenEthernet + fcsOctets
}

// MinOctets returns the length of the shortest frame that holds a stamp: 64 with
// IPv4, 84 with IPv6.
func MinOctets(ipv6 bool) int { return FrameOctets(generator.ShortStampOctets, ipv6) }

// MaxOctets is the length of the longest frame: a packet of 3350 octets, so that with
// outer headers it fits into the largest MTU of a test bed.
const MaxOctets = 3368

func validateOctets(octets []int, ipv6 bool) error {
	if len(octets) == 0 || len(octets) > generator.MaxTurns {
		return fmt.Errorf("%d frame lengths: want 1 to %d", len(octets), generator.MaxTurns)
	}
	for _, n := range octets {
		if least := MinOctets(ipv6); n < least || n > MaxOctets {
			return fmt.Errorf("frame of %d octets: want %d to %d", n, least, MaxOctets)
		}
	}
	return nil
}

// ParseFrames returns the lengths that a name of frames stands for: a number of
// octets, or "imix".
func ParseFrames(name string) ([]int, error) {
	if name == NameIMIX {
		return slices.Clone(IMIX), nil
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < MinOctets(false) || n > MaxOctets {
		return nil, fmt.Errorf("frames %q: want a number of octets on N6 with FCS, %d to %d, or %s", name, MinOctets(false), MaxOctets, NameIMIX)
	}
	return []int{n}, nil
}

// n3Overhead are the outer headers: IPv4, UDP, GTP-U with a PDU Session Container.
const n3Overhead = 20 + 8 + 16

// MTU returns what the links must carry: the longest user packet with its outer
// headers.
func (p *Profile) MTU() int {
	longest := 0
	for _, s := range p.Streams {
		longest = max(longest, s.longest())
	}
	return longest - fcsOctets - inet.LenEthernet + n3Overhead
}

// longest is the length of the stream's longest frame on N6, with FCS.
func (s *Stream) longest() int {
	if s.Replay != nil {
		return s.Replay.longest()
	}
	return slices.Max(s.Octets)
}

// meanBits is the length of the stream's frames on N6 in bits, without FCS, on
// average.
func (s *Stream) meanBits() float64 {
	if s.Replay != nil {
		return s.Replay.meanBits()
	}
	sum := 0
	for _, n := range s.Octets {
		sum += n - fcsOctets
	}
	return 8 * float64(sum) / float64(len(s.Octets))
}
