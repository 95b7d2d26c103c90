package stages

// home is what most sessions count, side by side: what a packet waits for is memory,
// and so its meter and the counters of its rule are one cache line, and its URR is the
// one behind both directions. A session with more has the rest elsewhere.
type home struct {
	sides  [2]side // by Uplink, Downlink
	volume Volume
}

// side is one direction.
type side struct {
	counters Counters
	meter    Meter
	_        [8]byte
}

// rooms says what of the home of a session has been given away.
type rooms struct {
	home     *home
	counters [2]bool
	meters   [2]bool
	volume   bool
}

func (r *rooms) open() *home {
	if r.home == nil {
		r.home = &home{}
	}
	return r.home
}

func (r *rooms) newCounters(direction int) *Counters {
	if r.counters[direction] {
		return &Counters{}
	}
	r.counters[direction] = true
	return &r.open().sides[direction].counters
}

func (r *rooms) newMeter(direction int) *Meter {
	if r.meters[direction] {
		return &Meter{}
	}
	r.meters[direction] = true
	return &r.open().sides[direction].meter
}

func (r *rooms) newVolume(id uint32) *Volume {
	v := &Volume{}
	if !r.volume {
		r.volume = true
		v = &r.open().volume
	}
	v.ID = id
	return v
}

func directionOf(uplink bool) int {
	if uplink {
		return Uplink
	}
	return Downlink
}
