// Package cell is the configuration of a cell: what CONFIG.request carries as TLVs.
//
//	VNF  Config ─ TLVs ─► CONFIG.request ─ FromTLVs ─► Config  PNF
//	VNF  reasons ◄─ CONFIG.response ◄─ Problems                PNF
//
// TLVs are in the order of OpenAirInterface. Of the TDD table three encodings are read:
// one TLV for each symbol, one for all, and TLV 1035 of 222.10.04. Whichever it is, it
// has exactly one frame: a table of another length is refused, not cut or repeated.
//
// Source: SCF 222.10.02, 3.3.2, as OpenAirInterface develop 2025-09 has it.
package cell

import (
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// Config is a cell.
type Config struct {
	Numerology slot.Numerology
	PCI        uint16 // physical cell id, 0 to 1007
	TDD        slot.TDD

	Downlink, Uplink Carrier

	SSB   SSB
	PRACH PRACH

	// P7 is where the VNF wants P7 messages: TLVs 0100 and 0102. Not set: where its own
	// come from.
	P7 netip.AddrPort

	// RSSI has the PHY measure it: TLV 1028.
	RSSI bool

	// TimingWindow is how many slots ahead of its slot a request may come: TLV 011E.
	// 0: 30.
	TimingWindow uint8
	// TimingInfo says when the PNF is to report the arrival of requests.
	TimingInfo TimingInfo
}

// Carrier is one direction of a cell.
type Carrier struct {
	BandwidthMHz uint16
	FrequencyKHz uint32 // of point A
	K0           uint16 // offset of the grid at the cell's numerology
	GridSize     uint16 // PRB at the cell's numerology, 1 to 275
	Antennas     uint16 // 0: 1
}

// SSB is the synchronisation signal block.
type SSB struct {
	Power         int32 // dBm
	OffsetPointA  uint16
	PeriodMs      uint8 // 5, 10, 20, 40, 80 or 160; 0: 20
	SubcarrierOff uint8
	MIB           uint32
	Mask          uint64 // the first SSB in the highest bit; 0: only that one
	Beams         [MaxSSB]uint8
}

// MaxSSB is how many SSBs a burst has at most. Source: TS 38.213 V18, 4.1.
const MaxSSB = 64

// PRACH is where a UE may send preambles.
type PRACH struct {
	ConfigIndex      uint8
	ShortSequence    bool // 139 instead of 839
	Subcarriers      slot.Numerology
	RestrictedSet    uint8 // 0 unrestricted, 1 type A, 2 type B
	SSBPerOccasion   uint8 // 0 1/8, 1 1/4, 2 1/2, 3 1, 4 2, 5 4, 6 8, 7 16
	MultipleCarriers bool  // in the band
	// Occasions are adjacent in frequency: 1 to 8; none means one with one root sequence, number 0.
	Occasions []Occasion
}

// Occasion is one of the places in frequency for a preamble.
type Occasion struct {
	RootSequence   uint16
	RootSequences  uint8
	FrequencyStart uint16 // PRB
	ZeroCorrelated uint8
	UnusedRoots    []uint16
}

// MaxOccasions is the maximum number of adjacent PRACH occasions. Source: TS
// 38.331 V18, msg1-FDM.
const MaxOccasions = 8

// TimingInfo is when a PNF sends TIMING_INFO: TLVs 011F and 0120.
type TimingInfo struct {
	Periodic  bool
	Aperiodic bool  // when a request came late
	Period    uint8 // slots, 1 to 225; 0: 32
}

// Defaults of OpenAirInterface, in slots.
const (
	TimingWindowDefault     = 30
	TimingInfoPeriodDefault = 32
	maxTimingInfoPeriod     = 225
)

// Slot is how long a slot takes.
func (c *Config) Slot() time.Duration { return c.Numerology.Duration() }
