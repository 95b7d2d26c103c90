package system

import (
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
)

const (
	longWarmUp = 200 * time.Millisecond // at most, if a load does not say: next hops, caches, clock speed
	settle     = 50 * time.Millisecond  // after the last frame was sent
)

// Load is what a trial offers.
type Load struct {
	Direction report.Direction // empty: in all that are open, at the same time, so much in each

	Rate uint64 // frames per second; 0: as many as possible
	// AsProfile takes rate, ramp and bursts from the profile; Rate is then the
	// throughput that percentages in it are of, and the rate where it says none.
	AsProfile bool

	Duration time.Duration // of what is measured
	// Frames ends what is measured; Duration is then how long it may last. 0: no limit.
	// With no Rate it is a burst: the warm-up is idle.
	Frames uint64
	WarmUp time.Duration // before, at the same rate; 0: as the duration, and 200 ms at most
	// WarmUpRate is that of the warm-up, after which what is measured follows at once,
	// while frames of the warm-up may be on their way. 0: as Rate, and the path is empty
	// when what is measured begins.
	WarmUpRate uint64
	// Realtime sends from threads that no ordinary program can interrupt. The kernel
	// takes such a thread off its CPU for up to 50 ms of each second, which would be
	// the latency of paced frames.
	Realtime bool
	Churn    Churn // of other sessions, while frames flow

	// TimeStamps has frames stamped, if [Config.TimeStamps] says by what.
	TimeStamps bool

	// OnSample is called for each direction while frames flow, by another goroutine. It
	// may be nil.
	OnSample    func(Sample)
	SampleEvery time.Duration // 0: twice a second, without those of streams
	// OnLoss is called for losses in the order in which they were sent, by another
	// goroutine. There must be a Rate, and one stream. It may be nil.
	OnLoss func(Loss)
}

// At is a load of so many frames per second, 0 for as many as possible, for so long.
func At(rate uint64, d time.Duration) Load { return Load{Rate: rate, Duration: d, Realtime: rate == 0} }

// In is the load in one direction only.
func (l Load) In(d report.Direction) Load {
	l.Direction = d
	return l
}

// Time is how long a trial with the load takes, about.
func (l Load) Time() time.Duration { return l.warmUp() + l.Duration + 2*settle }

func (l Load) warmUp() time.Duration {
	if l.WarmUp > 0 {
		return l.WarmUp
	}
	return min(longWarmUp, l.Duration)
}

func (l Load) validate() error {
	if l.Duration <= 0 || l.WarmUp < 0 {
		return fmt.Errorf("duration of %v after a warm-up of %v", l.Duration, l.WarmUp)
	}
	if l.OnLoss != nil && (l.Rate == 0 || l.AsProfile) {
		return errors.New("losses are told of loads with a constant rate")
	}
	return l.Churn.validate()
}

// of is the load of one pass.
func (l Load) of(p *pass, d time.Duration) generator.Load {
	load := generator.Load{Rate: l.Rate, Duration: d, CPU: p.cpu, Realtime: l.Realtime}
	if l.AsProfile {
		p.profile.Load(p.meter.Direction, float64(l.Rate), &load)
	}
	return load
}

// burstWarmUp is the rate, in frames per second, at which the path is warmed up for a
// burst.
const burstWarmUp = 1000

// before is the load of a pass that warms up.
func (l Load) before(p *pass) generator.Load {
	switch {
	case l.WarmUpRate > 0:
		l.Rate, l.AsProfile = l.WarmUpRate, false
	case l.Frames > 0 && l.Rate == 0:
		l.Rate = burstWarmUp
	}
	return l.of(p, l.warmUp())
}

// counted is the load of a pass that is measured.
func (l Load) counted(p *pass) generator.Load {
	load := l.of(p, l.Duration)
	load.Frames = l.Frames
	load.Stamps = p.stamps
	return load
}
