package method

import (
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// course is samples of a trial, of all its directions, in their order.
type course []system.Sample

func (c *course) add(s system.Sample) {
	if len(*c) < len(report.Directions)*report.MaxSlots {
		*c = append(*c, s)
	}
}

// give puts the samples into the trials that they are of.
func (c course) give(trials []report.Trial) {
	for i := range trials {
		t := &trials[i]
		for j := range c {
			s := &c[j]
			if s.Direction != t.Direction || len(t.Series) == report.MaxSlots {
				continue
			}
			t.Series = append(t.Series, s.Slot())
			for k := range min(len(s.Streams), len(t.Streams)) {
				t.Streams[k].Series = append(t.Streams[k].Series, s.Streams[k])
			}
		}
	}
}

// slots is how often a trial of some duration is sampled to be cut into so many parts,
// and no more often than least.
func slots(d time.Duration, parts int, least time.Duration) time.Duration {
	return max(d/time.Duration(parts), least)
}
