package scheduler

import "sync/atomic"

// counters are written by the goroutine of the slots, except downlink packets.
type counters struct {
	UEs                        atomic.Int64
	Slots, Preambles, Requests atomic.Uint64
	Unknown, Stale, Malformed  atomic.Uint64

	Downlink, Uplink direction
}

type direction struct {
	Packets, Refused, Missing atomic.Uint64
	Blocks, Again, Octets     atomic.Uint64
	Good, Bad, Absent, Lost   atomic.Uint64
	GivenUp                   atomic.Uint64
	Busy                      atomic.Int64
}

// Stats are what was counted since the scheduler was made.
type Stats struct {
	UEs       int64  `json:"ues"`       // known, when the last slot was scheduled
	Slots     uint64 `json:"slots"`     // scheduled
	Preambles uint64 `json:"preambles"` // of its UEs
	Requests  uint64 `json:"requests"`  // scheduling requests
	Unknown   uint64 `json:"unknown"`   // indications of RNTIs that are not known
	Stale     uint64 `json:"stale"`     // indications that no process waited for (any more)
	Malformed uint64 `json:"malformed"` // transport blocks that ended before their headers said

	Downlink Direction `json:"downlink"`
	Uplink   Direction `json:"uplink"`
}

// Direction is what was counted in one direction.
type Direction struct {
	Packets uint64 `json:"packets"` // of users: taken from the core, or given to it
	Refused uint64 `json:"refused"` // downlink: no such UE, it is not known, or its queue is full

	Missing uint64 `json:"missing"` // uplink: packets missing in the sequence, given up

	Blocks  uint64 `json:"blocks"`   // new transport blocks
	Again   uint64 `json:"again"`    // transmissions of them behind the first
	Octets  uint64 `json:"octets"`   // of transport blocks: sent for the first time, or received
	Good    uint64 `json:"good"`     // acknowledged, or received
	Bad     uint64 `json:"bad"`      // not acknowledged, or CRC wrong
	Absent  uint64 `json:"absent"`   // feedback that was not detected; CRC right, but the octets did not come
	Lost    uint64 `json:"lost"`     // nothing was heard of it
	GivenUp uint64 `json:"given_up"` // sent as often as allowed
	Busy    int64  `json:"busy"`     // HARQ processes that are not free, when the last slot was scheduled
}

// Stats may be called by any goroutine.
func (s *Scheduler) Stats() Stats {
	c := &s.count
	return Stats{
		UEs: c.UEs.Load(), Slots: c.Slots.Load(), Preambles: c.Preambles.Load(), Requests: c.Requests.Load(),
		Unknown: c.Unknown.Load(), Stale: c.Stale.Load(), Malformed: c.Malformed.Load(),
		Downlink: c.Downlink.load(), Uplink: c.Uplink.load(),
	}
}

func (d *direction) load() Direction {
	return Direction{
		Packets: d.Packets.Load(), Refused: d.Refused.Load(), Missing: d.Missing.Load(), Blocks: d.Blocks.Load(), Again: d.Again.Load(), Octets: d.Octets.Load(),
		Good: d.Good.Load(), Bad: d.Bad.Load(), Absent: d.Absent.Load(), Lost: d.Lost.Load(), GivenUp: d.GivenUp.Load(), Busy: d.Busy.Load(),
	}
}
