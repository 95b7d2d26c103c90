package generator

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// IMIX is the simple Internet mix, 7 short to 4 middle to 1 long frame: UDP payloads
// of 64, 548 and 1400 octets, which are IPv4 packets of 92, 576 and 1428. The
// usual sizes are 40, 576 and 1500; but the short one must hold a [Stamp], and the
// long one must go into a tunnel over links with an MTU of 1500. Long and middle
// frames stand as far apart as they can.
//
// Source: RFC 6985, 1, for what a mix must say of itself.
var IMIX = []int{64, 548, 64, 64, 548, 64, 1400, 64, 548, 64, 64, 548}

// Bounds of a mix.
const (
	maxTurns  = 64 // bpf/generator.bpf.c: TURNS_MAX
	maxShapes = 4  // SHAPES_MAX
)

// turns are the payloads of successive frames.
func (c *Config) turns() []int {
	if len(c.Mix) > 0 {
		return c.Mix
	}
	return []int{c.PayloadOctets}
}

// shapes are the payloads that there are, the largest first.
func (c *Config) shapes() []int {
	sizes := slices.Sorted(slices.Values(c.turns()))
	slices.Reverse(sizes)
	return slices.Compact(sizes)
}

func (c *Config) validateMix() error {
	if len(c.Mix) > maxTurns || len(c.shapes()) > maxShapes {
		return fmt.Errorf("mix of %d frames with %d lengths: want %d and %d at most", len(c.Mix), len(c.shapes()), maxTurns, maxShapes)
	}
	for _, payload := range c.turns() {
		if payload < StampOctets {
			return fmt.Errorf("payload of %d octets: want %d at least", payload, StampOctets)
		}
	}
	return nil
}

// shapeByTurn is the index of each turn's payload in g.frames.
func (g *Generator) shapeByTurn(turns []int) (out [maxTurns]uint8) {
	shapes := g.config.shapes()
	for turn, payload := range turns {
		out[turn] = uint8(slices.Index(shapes, payload))
	}
	return out
}

// shapesInProgram are g.frames as the program wants them.
func (g *Generator) shapesInProgram() (out [maxShapes]generatorShape) {
	for i, f := range g.frames {
		out[i] = generatorShape{
			UdpSum: f.udpSum, IpSum: f.ipSum, PseudoSum: f.pseudoSum, OuterSum: f.outerSum,
			Cut: uint32(g.FrameOctets() - len(f.octets)),
		}
		var headers [len(out[i].Headers) * 8]byte
		copy(headers[:], f.octets[:f.headers])
		for word := range out[i].Headers {
			out[i].Headers[word] = binary.NativeEndian.Uint64(headers[8*word:])
		}
	}
	return out
}

// octets returns how many octets n frames have, the first of them in this turn.
func (g *Generator) octets(turn int, n uint64) uint64 {
	turns := g.config.turns()
	around := g.FrameOctets() - slices.Max(turns)
	round := uint64(0)
	for _, payload := range turns {
		round += uint64(around + payload)
	}
	sum := n / uint64(len(turns)) * round
	for range n % uint64(len(turns)) {
		sum += uint64(around + turns[turn])
		turn = (turn + 1) % len(turns)
	}
	return sum
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
