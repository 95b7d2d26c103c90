package p4rt

import "sync/atomic"

// counters count what a server does.
type counters struct {
	updates, updatesRefused                         atomic.Uint64
	packetIns, packetInsDropped, packetInsMalformed atomic.Uint64
	packetOuts, packetOutsRefused                   atomic.Uint64
	digestLists, digestsDropped, digestsMalformed   atomic.Uint64
}

func (c *counters) wrote(n int, why failures) {
	c.updates.Add(uint64(n))
	for _, f := range why {
		if f != nil {
			c.updatesRefused.Add(1)
		}
	}
}

// Stats is what a server has done.
type Stats struct {
	// Controllers is how many there are, with a place in the arbitration.
	Controllers int `json:"controllers"`
	// Updates is how many updates were asked for, UpdatesRefused how many of them were refused.
	Updates        uint64 `json:"updates"`
	UpdatesRefused uint64 `json:"updates_refused"`
	// PacketIns went to the controller. PacketInsDropped found none, or one that does not keep up; PacketInsMalformed
	// were shorter than their header.
	PacketIns          uint64 `json:"packet_ins"`
	PacketInsDropped   uint64 `json:"packet_ins_dropped"`
	PacketInsMalformed uint64 `json:"packet_ins_malformed"`
	// PacketOuts came from the controller. PacketOutsRefused had wrong metadata, came from another controller or found
	// no room.
	PacketOuts        uint64 `json:"packet_outs"`
	PacketOutsRefused uint64 `json:"packet_outs_refused"`
	// DigestLists went to the controller; DigestsDropped are the messages of those that did not.
	DigestLists    uint64 `json:"digest_lists"`
	DigestsDropped uint64 `json:"digests_dropped"`
}

// Stats returns what the server has done.
func (s *Server) Stats() Stats {
	s.mu.RLock()
	n := len(s.clients)
	s.mu.RUnlock()
	c := &s.stats
	return Stats{
		Controllers: n, Updates: c.updates.Load(), UpdatesRefused: c.updatesRefused.Load(),
		PacketIns: c.packetIns.Load(), PacketInsDropped: c.packetInsDropped.Load(), PacketInsMalformed: c.packetInsMalformed.Load(),
		PacketOuts: c.packetOuts.Load(), PacketOutsRefused: c.packetOutsRefused.Load(),
		DigestLists: c.digestLists.Load(), DigestsDropped: c.digestsDropped.Load() + c.digestsMalformed.Load(),
	}
}
