package slices

import (
	"slices"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/probe"
)

// since is what was counted between two looks. Packets that were in a UPF at the first
// one count as come in after it, so that the account balances.
func since(before, now *probe.Snapshot) *probe.Snapshot {
	d := *now
	d.SamplesLost -= before.SamplesLost
	d.Series, d.Points = slices.Clone(now.Series), slices.Clone(now.Points)
	for i := range d.Series {
		x := &d.Series[i]
		at := slices.IndexFunc(before.Series, func(old probe.Series) bool {
			return old.UPF == x.UPF && old.Slice == x.Slice && old.Direction == x.Direction
		})
		if at >= 0 {
			x.Account, x.Delay = accountSince(before.Series[at].Account, x.Account), histogram.Since(x.Delay, before.Series[at].Delay)
		}
	}
	for i := range d.Points {
		x := &d.Points[i]
		at := slices.IndexFunc(before.Points, func(old probe.PointCount) bool { return old.Point == x.Point })
		if at < 0 {
			continue
		}
		old := &before.Points[at]
		x.Packets, x.AmbiguousOut, x.Unmatched = x.Packets-old.Packets, x.AmbiguousOut-old.AmbiguousOut, x.Unmatched-old.Unmatched
		x.Foreign, x.Unparsed = x.Foreign-old.Foreign, x.Unparsed-old.Unparsed
	}
	return &d
}

func accountSince(before, now probe.Account) probe.Account {
	return probe.Account{
		In: now.In - before.In + before.InFlight, Matched: now.Matched - before.Matched, Lost: now.Lost - before.Lost, InFlight: now.InFlight,
		Ambiguous: now.Ambiguous - before.Ambiguous, Evicted: now.Evicted - before.Evicted, Octets: now.Octets - before.Octets,
	}
}

// delaysOf are the series of which there were packets.
func delaysOf(s *probe.Snapshot) []report.SliceDelay {
	var list []report.SliceDelay
	for i := range s.Series {
		x := &s.Series[i]
		if x.In == 0 {
			continue
		}
		list = append(list, report.SliceDelay{
			UPF: x.UPF, Slice: x.Slice, Direction: direction(x.Direction),
			In: x.In, Matched: x.Matched, Lost: x.Lost, InFlight: x.InFlight, Ambiguous: x.Ambiguous, Evicted: x.Evicted, Octets: x.Octets,
			DelayNS: report.LatencyOf(x.Delay), MeanNS: x.Delay.Mean(), Histogram: encode(x.Delay),
		})
	}
	return list
}
