// Package radio is what the parts of the simulated radio agree on: the cell and the
// UEs, in one configuration that the gNB's MAC (ran/radio/scheduler) and the simulated PHY
// with its UEs (ran/radio/phy) both have, as a real UE has it from RRC.
//
//	core ─ SDAP ─ PDCP ─ RLC ─ MAC ─ scheduler ⇄ FAPI ⇄ PHY ⇄ air ⇄ UE: MAC ─ RLC ─ PDCP ─ SDAP ─ TUN
//
// Below the air interface of FAPI everything is simulated; above it everything is
// real: transport blocks are octets with MAC sub-PDUs in them, and what was not
// scheduled, acknowledged or delivered in time is lost.
package radio

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// Config is a cell and its UEs.
type Config struct {
	Numerology slot.Numerology `yaml:"numerology"`
	PRBs       int             `yaml:"prbs"`
	Layers     int             `yaml:"layers"`
	MCS        uint8           `yaml:"mcs"`
	MCSTable   uint8           `yaml:"mcs_table"` // 0 64QAM, 1 256QAM: TS 38.214, 5.1.3.1

	// Pattern is the TDD pattern, as [slot.ParseTDD] reads it.
	Pattern   string `yaml:"pattern"`
	SpecialDL int    `yaml:"special_dl"` // downlink symbols of S
	SpecialUL int    `yaml:"special_ul"`

	// K1 is the least number of slots from a PDSCH to its HARQ feedback, K2 that from
	// a grant to its PUSCH.
	K1 int `yaml:"k1"`
	K2 int `yaml:"k2"`
	// SRPeriod is how many slots there are between a UE's scheduling request
	// occasions, SROffset the slot of the first one.
	SRPeriod int `yaml:"sr_period"`
	SROffset int `yaml:"sr_offset"`
	// StandingGrant gives UEs uplink without being asked: all of them in each uplink slot,
	// as far as what others have asked for leaves room and there are DCIs, else in turn.
	StandingGrant bool `yaml:"standing_grant"`
	// RLC is the mode of the bearers: um or am. TS 38.322.
	RLC string `yaml:"rlc"`

	UEs []UE `yaml:"ues"`
}

// UE is one UE with one PDU session and one bearer.
type UE struct {
	RNTI      uint16       `yaml:"rnti"`
	Preamble  uint8        `yaml:"preamble"` // contention-free: it tells which UE it is
	QFI       uint8        `yaml:"qfi"`
	Addresses []netip.Addr `yaml:"addresses"`
}

// MaxHARQ is how many HARQ processes a UE has in each direction. Source: TS 38.321,
// 5.3.2.1 and 5.4.2.1.
const MaxHARQ = 16

// Cell makes the cell of it.
func (c *Config) Cell() (*cell.Config, error) {
	tdd, err := slot.ParseTDD(c.Numerology, c.Pattern, c.SpecialDL, c.SpecialUL)
	if err != nil {
		return nil, err
	}
	carrier := cell.Carrier{GridSize: uint16(c.PRBs), Antennas: uint16(c.Layers)}
	return &cell.Config{Numerology: c.Numerology, TDD: tdd, Downlink: carrier, Uplink: carrier, TimingWindow: cell.TimingWindowDefault}, nil
}

// Core is the side of the data network of a gNB: N3, or a TUN device.
type Core interface {
	// Uplink takes a packet from a UE, the index of [Config.UEs]. It must not block;
	// the packet is valid until it returns.
	Uplink(ue int, qfi uint8, packet []byte)
	// Flush says that no more packets of this slot come: what was held back to be sent
	// together goes now.
	Flush()
}

// Downlink is how a core gives packets to the gNB's MAC.
type Downlink interface {
	// Downlink queues a packet for a UE. It may be called by any goroutine; the packet
	// is copied. False: the queue is full, or there is no such UE, and it is lost.
	Downlink(ue int, qfi uint8, packet []byte) bool
}
