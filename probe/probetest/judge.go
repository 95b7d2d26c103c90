package probetest

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/probe"
)

// Verdict is what becomes of comparing samples with records.
type Verdict struct {
	Right int
	Wrong []string // a sentence on each sample that is wrong

	// Before and After say what the probe's delay has beyond that of the forwarder, in
	// ns: from when a packet was sent until the probe saw it come, and from when the
	// forwarder let it go until the probe saw it leave. They are medians.
	Before, After uint64
}

// Judge compares the samples of one direction with the records of the same packets. sent
// is when each was sent, by its place behind first, the TEID of the first one.
//
// A right sample is of a packet that has left, is the only one of it, has its octets, and
//
//	sent <= InNs <= Read, Write <= OutNs <= Written
//
// and packets that the forwarder had one after the other came in one after the other.
func Judge(records []Record, samples []probe.Sample, first uint32, sent []uint64) Verdict {
	j := &judge{sent: sent, first: first, byTEID: map[uint32]*Record{}, seen: map[uint32]bool{}}
	order := map[uint32]int{}
	for i := range records {
		j.byTEID[records[i].TEID] = &records[i]
		order[records[i].TEID] = i
	}
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(a, b probe.Sample) int { return order[a.TEID] - order[b.TEID] })
	for i := range samples {
		if wrong := j.look(&samples[i]); wrong != "" {
			j.verdict.Wrong = append(j.verdict.Wrong, wrong)
		} else {
			j.verdict.Right++
		}
	}
	j.verdict.Before, j.verdict.After = stats.Middle(j.before), stats.Middle(j.after)
	return j.verdict
}

type judge struct {
	first         uint32
	sent          []uint64
	byTEID        map[uint32]*Record
	seen          map[uint32]bool
	last          uint64 // when the one before came in
	before, after []uint64
	verdict       Verdict
}

// look says what is wrong with a sample, nothing if it is right.
func (j *judge) look(s *probe.Sample) string {
	r, ok := j.byTEID[s.TEID]
	n := int(s.TEID - j.first)
	switch {
	case !ok || n >= len(j.sent):
		return fmt.Sprintf("TEID %#x: no such packet", s.TEID)
	case j.seen[s.TEID]:
		return fmt.Sprintf("TEID %#x: a second sample", s.TEID)
	case r.Copies == 0:
		return fmt.Sprintf("TEID %#x: never left", s.TEID)
	case int(s.Octets) != r.Octets:
		return fmt.Sprintf("TEID %#x: %d octets, want %d", s.TEID, s.Octets, r.Octets)
	case s.InNs < j.sent[n] || s.InNs > r.Read:
		return fmt.Sprintf("TEID %#x: came in %d ns after it was sent, %d ns before it was read", s.TEID, int64(s.InNs-j.sent[n]), int64(r.Read-s.InNs))
	case s.OutNs < r.Write || s.OutNs > r.Written:
		return fmt.Sprintf("TEID %#x: left %d ns after the write began, %d ns before it ended", s.TEID, int64(s.OutNs-r.Write), int64(r.Written-s.OutNs))
	case s.InNs < j.last:
		return fmt.Sprintf("TEID %#x: came in %d ns before the one before it", s.TEID, j.last-s.InNs)
	}
	j.seen[s.TEID], j.last = true, s.InNs
	j.before, j.after = append(j.before, s.InNs-j.sent[n]), append(j.after, s.OutNs-r.Write)
	return ""
}

// Left returns how many packets left, how many copies beside them, and how many did not
// leave.
func Left(records []Record) (left, copies, stayed int) {
	for _, r := range records {
		if r.Copies == 0 {
			stayed++
			continue
		}
		left, copies = left+1, copies+r.Copies-1
	}
	return left, copies, stayed
}
