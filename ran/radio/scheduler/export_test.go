package scheduler

// Buffered is how many octets wait for a UE in downlink.
func (s *Scheduler) Buffered(index int) int { return s.ues[index].bearer.Buffered() }
