package generator

import (
	"math"
	"time"
)

const (
	dueShift    = 20   // bpf/lab/schedule.h: DUE_SHIFT
	maxSegments = 1024 // SEGMENTS_MAX
)

// lead is the time to get into the kernel before the first frame is due.
const lead = 200 * time.Microsecond

// schedule returns the run that goes on from before, and the intervals of its ramp, nil
// if there is none.
func (l *Load) schedule(before generatorRun, start uint64) (run generatorRun, ramp *[maxSegments]uint64) {
	run = before
	run.StartNs, run.Due, run.LastNs, run.Finished = start, 0, 0, 0
	run.EndNs, run.Limit, run.Interval = math.MaxUint64, math.MaxUint64, 0
	run.Uneven, run.Further, run.Left, run.Segment, run.SegmentEnd, run.Stretch = 0, 0, 0, 0, math.MaxUint64, 0
	if l.Duration > 0 {
		run.EndNs = run.StartNs + uint64(l.Duration)
	}
	if l.Frames > 0 {
		run.Limit = run.Sent + l.Frames
	}
	if l.Speed > 0 {
		run.Stretch = uint64((1<<dueShift)/l.Speed + 0.5)
		run.Interval = 1 // paced: the sender knows how much
	}
	if l.Rate == 0 {
		return run, nil
	}
	run.Interval = l.interval(float64(l.Rate))
	if l.Burst > 1 {
		run.Uneven, run.Further = 1, uint32(l.Burst-1)
		run.Left = run.Further
	}
	if l.RampTo == 0 {
		return run, nil
	}
	ramp = &[maxSegments]uint64{}
	for i := range ramp {
		at := (float64(i) + 0.5) / maxSegments
		ramp[i] = l.interval(float64(l.Rate)*(1-at) + float64(l.RampTo)*at)
	}
	run.Uneven, run.Interval = 1, ramp[0]
	run.Segment = uint64(l.Duration) << dueShift / maxSegments
	run.SegmentEnd = run.Segment
	return run, ramp
}

// interval is the time between bursts at a rate in frames per second, in 2^-20 ns.
func (l *Load) interval(pps float64) uint64 {
	return uint64(1e9*(1<<dueShift)*float64(max(l.Burst, 1))/pps + 0.5)
}

// dueWithin returns how many frames of the run r are due in its first elapsed time: as
// next_intended counts.
func dueWithin(r generatorRun, ramp *[maxSegments]uint64, elapsed time.Duration) uint64 {
	end := uint64(elapsed) << dueShift
	if ramp == nil {
		return (end + r.Interval - 1) / r.Interval * uint64(r.Further+1)
	}
	due, bursts := uint64(0), uint64(0)
	for due < end {
		segment := min(due/r.Segment, maxSegments-1)
		upTo := end
		if segment < maxSegments-1 {
			upTo = min(end, (segment+1)*r.Segment)
		}
		n := (upTo - due + ramp[segment] - 1) / ramp[segment]
		bursts, due = bursts+n, due+n*ramp[segment]
	}
	return bursts * uint64(r.Further+1)
}
