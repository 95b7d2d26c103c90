package ue

import "sync/atomic"

// counters are written by the goroutine of the slots, the packets of the uplink by
// others.
type counters struct {
	preambles, badDCIs, ignoredDCIs atomic.Uint64

	assignments, downBlocks, downBlockOctets, downAgain, downFailed, duplicates, malformed atomic.Uint64
	downPackets, downOctets                                                                atomic.Uint64

	grants, upBlocks, upBlockOctets, upAgain, requests atomic.Uint64
	upPackets, upOctets, upDropped                     atomic.Uint64
}

// Stats is what a UE has done since it was made.
type Stats struct {
	Preambles   uint64 `json:"preambles"`
	BadDCIs     uint64 `json:"bad_dcis"`     // not understood
	IgnoredDCIs uint64 `json:"ignored_dcis"` // not to be followed: a slot that has one already, no uplink there

	Downlink DownlinkStats `json:"downlink"`
	Uplink   UplinkStats   `json:"uplink"`
}

// DownlinkStats is about the downlink.
type DownlinkStats struct {
	Assignments     uint64 `json:"assignments"`
	Retransmissions uint64 `json:"retransmissions"` // assignments of a transport block that there was one of before
	Failed          uint64 `json:"failed"`          // transport blocks not received, each time
	Duplicates      uint64 `json:"duplicates"`      // received again, after they had been
	Blocks          uint64 `json:"blocks"`          // transport blocks received
	BlockOctets     uint64 `json:"block_octets"`
	Malformed       uint64 `json:"malformed"` // blocks that are no MAC PDU
	Packets         uint64 `json:"packets"`
	Octets          uint64 `json:"octets"` // of packets
}

// UplinkStats is about the uplink.
type UplinkStats struct {
	Requests        uint64 `json:"requests"` // scheduling requests
	Grants          uint64 `json:"grants"`
	Retransmissions uint64 `json:"retransmissions"`
	Blocks          uint64 `json:"blocks"` // new transport blocks sent
	BlockOctets     uint64 `json:"block_octets"`
	Packets         uint64 `json:"packets"` // that were queued
	Octets          uint64 `json:"octets"`
	Dropped         uint64 `json:"dropped"` // packets for which there was no room for long
}

// Stats may be called by any goroutine.
func (u *UE) Stats() Stats {
	c := &u.countings
	return Stats{
		Preambles: c.preambles.Load(), BadDCIs: c.badDCIs.Load(), IgnoredDCIs: c.ignoredDCIs.Load(),
		Downlink: DownlinkStats{
			Assignments: c.assignments.Load(), Retransmissions: c.downAgain.Load(), Failed: c.downFailed.Load(),
			Duplicates: c.duplicates.Load(), Blocks: c.downBlocks.Load(), BlockOctets: c.downBlockOctets.Load(),
			Malformed: c.malformed.Load(), Packets: c.downPackets.Load(), Octets: c.downOctets.Load(),
		},
		Uplink: UplinkStats{
			Requests: c.requests.Load(), Grants: c.grants.Load(), Retransmissions: c.upAgain.Load(),
			Blocks: c.upBlocks.Load(), BlockOctets: c.upBlockOctets.Load(),
			Packets: c.upPackets.Load(), Octets: c.upOctets.Load(), Dropped: c.upDropped.Load(),
		},
	}
}
