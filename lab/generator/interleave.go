package generator

import "math/rand/v2"

// entry is one frame of the access pattern.
type entry struct {
	session   uint32 // index in Config.Sessions
	stream    uint16 // index in Config.Streams
	qfi, dscp uint8
}

// entries returns the access pattern: the frames of all streams, each of them as evenly
// among the others as its share allows.
func (c *Config) entries() []entry {
	streams := c.streams()
	random := rand.New(rand.NewPCG(c.Seed, c.Seed))
	if ues := streams[0].replayUEs(); ues > 0 {
		// A whole number of times: the UEs of the file are different sessions at any time.
		frames := max(periodOf(&streams[0]), ues)
		if streams[0].Access == Each { // each session as often as the others
			frames = min(leastCommonMultiple(frames, ues), max(maxPeriod, ues))
		}
		return c.entriesOf(&streams[0], 0, frames-frames%ues, random)
	}
	if len(streams) == 1 {
		return c.entriesOf(&streams[0], 0, periodOf(&streams[0]), random)
	}
	frames := frameCounts(streams)
	lists, total := make([][]entry, len(streams)), 0
	for i := range streams {
		lists[i] = c.entriesOf(&streams[i], uint16(i), frames[i], random)
		total += frames[i]
	}
	return interleave(lists, total)
}

func leastCommonMultiple(a, b int) int {
	divisor, rest := a, b
	for rest > 0 {
		divisor, rest = rest, divisor%rest
	}
	return a / divisor * b
}

// periodOf is the length of a stream's pattern when it is alone.
func periodOf(s *Stream) int {
	frames := period(s.Access, s.Sessions)
	if len(s.QFI)+len(s.DSCP) > 0 {
		frames = max(frames, minPeriod-minPeriod%frames)
	}
	return frames * min(s.Train, max(1, maxPeriod/frames))
}

// frameCounts returns how many frames of each stream the pattern has: in proportion to
// its share, and one at least.
func frameCounts(streams []Stream) []int {
	shares, longest := 0.0, minPeriod
	for i := range streams {
		shares += streams[i].Share
	}
	for i := range streams {
		alone := float64(periodOf(&streams[i])) / streams[i].Share * shares
		longest = max(longest, int(min(alone, maxPeriod)))
	}
	frames := make([]int, len(streams))
	for i := range streams {
		frames[i] = max(1, int(float64(longest)*streams[i].Share/shares+0.5))
	}
	return frames
}

// entriesOf returns so many frames of one stream.
func (c *Config) entriesOf(s *Stream, stream uint16, frames int, random *rand.Rand) []entry {
	trains := (frames + s.Train - 1) / s.Train
	order := pattern(s.Access, s.Sessions, trains, s.ZipfExponent, random)
	qfi, dscp := drawWeighted(s.QFI, frames, random), drawWeighted(s.DSCP, frames, random)
	list := make([]entry, frames)
	for i := range list {
		e := &list[i]
		e.session, e.stream = uint32(s.First)+order[i/s.Train], stream
		e.qfi = c.Sessions[e.session].QFI
		if qfi != nil {
			e.qfi = qfi[i]
		}
		if dscp != nil {
			e.dscp = dscp[i]
		}
	}
	return list
}

// drawWeighted returns n values in the proportion of their weights, to within one, in an
// order drawn by lot; nil if there are none.
func drawWeighted(mix []Weighted, n int, random *rand.Rand) []uint8 {
	if len(mix) == 0 {
		return nil
	}
	total, upTo := 0.0, 0.0
	for _, w := range mix {
		total += w.Weight
	}
	out := make([]uint8, 0, n)
	for _, w := range mix {
		upTo += w.Weight
		for len(out) < n && float64(len(out))+0.5 < upTo/total*float64(n) {
			out = append(out, w.Value)
		}
	}
	for len(out) < n { // what rounding left
		out = append(out, mix[len(mix)-1].Value)
	}
	random.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// interleave merges the lists, each evenly spread over the whole: the next frame is
// that which is due first.
func interleave(lists [][]entry, total int) []entry {
	out := make([]entry, 0, total)
	taken := make([]int, len(lists))
	for len(out) < total {
		next, least := 0, 2.0
		for i, list := range lists {
			// Frame k of n is due in the middle of the k-th n-th part of the period.
			due := (float64(taken[i]) + 0.5) / float64(len(list))
			if taken[i] < len(list) && due < least {
				next, least = i, due
			}
		}
		out = append(out, lists[next][taken[next]])
		taken[next]++
	}
	return out
}
