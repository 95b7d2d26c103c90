package phy

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

type counters struct {
	slots, strangers, misplaced, collisions, unheard, empty atomic.Uint64
	puschGood, puschAbsent, puschFailed                     atomic.Uint64
	feedbackAbsent                                          atomic.Uint64
}

// Stats is what happened on the air since the PHY was made.
type Stats struct {
	Slots      uint64 `json:"slots"`
	Strangers  uint64 `json:"strangers"`  // PDUs and DCIs for no UE that there is
	Misplaced  uint64 `json:"misplaced"`  // PDUs where the slot has no such resources
	Collisions uint64 `json:"collisions"` // PDUs that share resources with others
	Unheard    uint64 `json:"unheard"`    // PDSCHs without a DCI for their UE, or with a different one
	Empty      uint64 `json:"empty"`      // PDSCHs without their transport block

	PUSCHGood      uint64 `json:"pusch_good"`
	PUSCHAbsent    uint64 `json:"pusch_absent"`    // the UE sent nothing, or something else
	PUSCHFailed    uint64 `json:"pusch_failed"`    // by the probability of CRC failures
	FeedbackAbsent uint64 `json:"feedback_absent"` // the UE sent no HARQ bits, or as many as were not asked for

	DeviceLost uint64     `json:"device_lost"` // packets that the UEs' kernel did not take
	UEs        []ue.Stats `json:"ues"`
}

// Stats may be called by any goroutine.
func (p *PHY) Stats() Stats {
	c := &p.countings
	s := Stats{
		Slots: c.slots.Load(), Strangers: c.strangers.Load(), Misplaced: c.misplaced.Load(),
		Collisions: c.collisions.Load(), Unheard: c.unheard.Load(), Empty: c.empty.Load(),
		PUSCHGood: c.puschGood.Load(), PUSCHAbsent: c.puschAbsent.Load(), PUSCHFailed: c.puschFailed.Load(),
		FeedbackAbsent: c.feedbackAbsent.Load(),
	}
	for _, u := range p.ues {
		s.UEs = append(s.UEs, u.Stats())
	}
	for _, d := range p.devices {
		s.DeviceLost += d.Lost()
	}
	return s
}
