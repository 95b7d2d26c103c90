package probe

import "time"

// Cost is what the probe takes of a packet's time at a point.
type Cost struct {
	// Alone is the time for one packet by itself: of a program like that of the point,
	// with tables of its own, less what running any program by BPF_PROG_RUN takes; 0
	// before [Probe.MeasureCost].
	Alone time.Duration

	// Runs and Took are what the kernel has accounted in place, with Config.Stats: how
	// often the program ran, for packets of others too, and how long altogether. The
	// accounting itself is in it.
	Runs uint64
	Took time.Duration
}

// PerRun is the mean time in place; 0 if it is not known.
func (c Cost) PerRun() time.Duration {
	if c.Runs == 0 {
		return 0
	}
	return c.Took / time.Duration(c.Runs)
}

// total is the cost with what runs now. s.mu is held.
func (s *pointState) total() Cost {
	c := s.cost
	if s.program == nil {
		return c
	}
	stats, err := s.program.Stats()
	if err != nil {
		return c
	}
	c.Runs += stats.RunCount
	c.Took += stats.Runtime
	return c
}
