package cell

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// rules are how TLVs are read, by tag.
var rules = map[uint16]rule{
	nfapi.TagDLBandwidth:     {2, true, into(func(r *reader, v uint32) { r.Downlink.BandwidthMHz = uint16(v) })},
	nfapi.TagDLFrequency:     {4, true, into(func(r *reader, v uint32) { r.Downlink.FrequencyKHz = v })},
	nfapi.TagDLK0:            {2 * numerologies, false, grid(2)},
	nfapi.TagDLGridSize:      {2 * numerologies, true, grid(0)},
	nfapi.TagNumTXAnt:        {2, true, within(1, 0xffff, func(r *reader, v uint32) { r.Downlink.Antennas = uint16(v) })},
	nfapi.TagUplinkBandwidth: {2, true, into(func(r *reader, v uint32) { r.Uplink.BandwidthMHz = uint16(v) })},
	nfapi.TagUplinkFrequency: {4, true, into(func(r *reader, v uint32) { r.Uplink.FrequencyKHz = v })},
	nfapi.TagULK0:            {2 * numerologies, false, grid(3)},
	nfapi.TagULGridSize:      {2 * numerologies, true, grid(1)},
	nfapi.TagNumRXAnt:        {2, true, within(1, 0xffff, func(r *reader, v uint32) { r.Uplink.Antennas = uint16(v) })},

	nfapi.TagFrequencyShift7p5khz: {1, false, within(0, 1, ignored)},
	nfapi.TagPHYCellID:            {2, true, within(0, 1007, func(r *reader, v uint32) { r.PCI = uint16(v) })},
	nfapi.TagFrameDuplexType:      {1, true, within(duplexTDD, duplexTDD, ignored)},
	nfapi.TagSSPBCHPower:          {4, false, into(func(r *reader, v uint32) { r.SSB.Power = int32(v) })},
	nfapi.TagBchPayload:           {1, false, within(0, 2, ignored)},
	nfapi.TagSCSCommon:            {1, true, within(0, uint32(slot.MaxNumerology), func(r *reader, v uint32) { r.Numerology, r.knowsNumerology = slot.Numerology(v), true })},

	nfapi.TagPRACHSequenceLength:          {1, true, within(0, 1, func(r *reader, v uint32) { r.PRACH.ShortSequence = v == 1 })},
	nfapi.TagPRACHSubCSpacing:             {1, true, within(0, 4, func(r *reader, v uint32) { r.PRACH.Subcarriers = slot.Numerology(v) })},
	nfapi.TagRestrictedSetConfig:          {1, false, within(0, 2, func(r *reader, v uint32) { r.PRACH.RestrictedSet = uint8(v) })},
	nfapi.TagNumPRACHFDOccasions:          {1, true, within(1, MaxOccasions, func(r *reader, v uint32) { r.count = int(v) })},
	nfapi.TagPRACHConfigurationIndex:      {1, true, into(func(r *reader, v uint32) { r.PRACH.ConfigIndex = uint8(v) })},
	nfapi.TagPRACHRootSequenceIndex:       {2, true, beginOccasion},
	nfapi.TagNumRootSequences:             {1, true, occasion(func(o *Occasion, v uint32) { o.RootSequences = uint8(v) })},
	nfapi.TagK1:                           {2, true, occasion(func(o *Occasion, v uint32) { o.FrequencyStart = uint16(v) })},
	nfapi.TagPRACHZeroCorrConf:            {1, true, occasion(func(o *Occasion, v uint32) { o.ZeroCorrelated = uint8(v) })},
	nfapi.TagNumUnusedRootSequences:       {2, false, into(ignored)},
	nfapi.TagUnusedRootSequencesList:      {2, false, occasion(func(o *Occasion, v uint32) { o.UnusedRoots = append(o.UnusedRoots, uint16(v)) })},
	nfapi.TagSSBPerRach:                   {1, true, within(0, 7, func(r *reader, v uint32) { r.PRACH.SSBPerOccasion = uint8(v) })},
	nfapi.TagPRACHMultipleCarriersInABand: {1, false, within(0, 1, func(r *reader, v uint32) { r.PRACH.MultipleCarriers = v == 1 })},

	nfapi.TagSSBOffsetPointA:     {2, true, within(0, 2199, func(r *reader, v uint32) { r.SSB.OffsetPointA = uint16(v) })},
	nfapi.TagBetaPss:             {1, false, into(ignored)},
	nfapi.TagSSBPeriod:           {1, true, within(0, uint32(len(ssbPeriods)-1), func(r *reader, v uint32) { r.SSB.PeriodMs = ssbPeriods[v] })},
	nfapi.TagSSBSubcarrierOffset: {1, true, within(0, 31, func(r *reader, v uint32) { r.SSB.SubcarrierOff = uint8(v) })},
	nfapi.TagMIB:                 {4, true, into(func(r *reader, v uint32) { r.SSB.MIB = v })},
	nfapi.TagSSBMask:             {4, true, mask},
	nfapi.TagBeamID:              {1, false, beam},

	nfapi.TagSSPBCHMultipleCarriersInABand: {1, false, into(ignored)},
	nfapi.TagMultipleCellsSSPBCHInACarrier: {1, false, into(ignored)},
	nfapi.TagTDDPeriod:                     {1, false, within(0, uint32(len(tddPeriods)-1), ignored)},
	nfapi.TagSlotConfig:                    {0, false, slotConfig},
	nfapi.TagTDDTable:                      {0, false, tddTable},
	nfapi.TagRSSIMeasurement:               {1, false, into(func(r *reader, v uint32) { r.RSSI = v != 0 })},
	nfapi.TagBeamformingTable:              {0, false, octetsIgnored},
	nfapi.TagPrecodingTable:                {0, false, octetsIgnored},

	nfapi.TagP7VNFAddressIpv4: {4, false, func(r *reader, _ uint32, b []byte) string { r.four = netip.AddrFrom4([4]byte(b)); return "" }},
	nfapi.TagP7VNFAddressIpv6: {16, false, func(r *reader, _ uint32, b []byte) string { r.six = netip.AddrFrom16([16]byte(b)); return "" }},
	nfapi.TagP7VNFPort:        {2, false, into(func(r *reader, v uint32) { r.port = uint16(v) })},

	nfapi.TagDLTTITimingOffset:  {4, false, into(ignored)},
	nfapi.TagULTTITimingOffset:  {4, false, into(ignored)},
	nfapi.TagULDCITimingOffset:  {4, false, into(ignored)},
	nfapi.TagTXDataTimingOffset: {4, false, into(ignored)},
	nfapi.TagTimingWindow:       {1, false, within(1, 255, func(r *reader, v uint32) { r.TimingWindow = uint8(v) })},
	nfapi.TagTimingInfoMode: {1, false, within(0, 3, func(r *reader, v uint32) {
		r.TimingInfo.Periodic, r.TimingInfo.Aperiodic = v&1 != 0, v&2 != 0
	})},
	nfapi.TagTimingInfoPeriod: {1, false, within(1, maxTimingInfoPeriod, func(r *reader, v uint32) { r.TimingInfo.Period = uint8(v) })},
}

// order is the order in which missing TLVs are reported.
var order = func() []uint16 {
	var list []uint16
	for tag := range rules {
		list = append(list, tag)
	}
	slices.Sort(list)
	return list
}()

// into reads a number that may have any value.
func into(set func(r *reader, v uint32)) func(*reader, uint32, []byte) string {
	return func(r *reader, v uint32, _ []byte) string {
		set(r, v)
		return ""
	}
}

// within reads a number from least to most.
func within(least, most uint32, set func(r *reader, v uint32)) func(*reader, uint32, []byte) string {
	return func(r *reader, v uint32, _ []byte) string {
		if v < least || v > most {
			return fmt.Sprintf("%d is not within %d to %d", v, least, most)
		}
		set(r, v)
		return ""
	}
}

func ignored(*reader, uint32) {}

func octetsIgnored(*reader, uint32, []byte) string { return "" }

// grid reads a number for each numerology.
func grid(which int) func(*reader, uint32, []byte) string {
	return func(r *reader, _ uint32, b []byte) string {
		for i := range r.grids[which] {
			one := nfapi.TLV{Value: b[2*i : 2*i+2]}
			v, _ := one.Uint(r.profile)
			r.grids[which][i] = uint16(v)
		}
		return ""
	}
}

// beginOccasion reads the first TLV of a PRACH occasion.
func beginOccasion(r *reader, v uint32, _ []byte) string {
	if len(r.PRACH.Occasions) == MaxOccasions {
		return fmt.Sprintf("more than %d PRACH occasions", MaxOccasions)
	}
	r.PRACH.Occasions = append(r.PRACH.Occasions, Occasion{RootSequence: uint16(v)})
	return ""
}

// occasion reads a further TLV of the PRACH occasion that has begun.
func occasion(set func(o *Occasion, v uint32)) func(*reader, uint32, []byte) string {
	return func(r *reader, v uint32, _ []byte) string {
		n := len(r.PRACH.Occasions)
		if n == 0 {
			return "no root sequence index before it"
		}
		set(&r.PRACH.Occasions[n-1], v)
		return ""
	}
}

// mask reads one of the two halves of the SSB mask.
func mask(r *reader, v uint32, _ []byte) string {
	if r.masks == 2 {
		return "a third one"
	}
	r.SSB.Mask |= uint64(v) << (32 * (1 - r.masks))
	r.masks++
	return ""
}

// beam reads the beam of the next SSB.
func beam(r *reader, v uint32, _ []byte) string {
	if r.beams == MaxSSB {
		return fmt.Sprintf("more than %d", MaxSSB)
	}
	r.SSB.Beams[r.beams] = uint8(v)
	r.beams++
	return ""
}

// slotConfig reads a symbol of the TDD table, or all of them.
func slotConfig(r *reader, _ uint32, b []byte) string {
	if len(b) == 0 || len(r.symbols)+len(b) > maxSymbols {
		return fmt.Sprintf("%d symbols and %d more, a frame has at most %d", len(r.symbols), len(b), maxSymbols)
	}
	r.symbols = append(r.symbols, b...)
	return ""
}

// tddTable reads period and table of 222.10.04.
func tddTable(r *reader, _ uint32, b []byte) string {
	switch {
	case r.table != nil:
		return "a second table"
	case len(b) < 2 || len(b) > 1+maxSymbols:
		return fmt.Sprintf("%d octets, a period and at most %d symbols are possible", len(b), maxSymbols)
	case int(b[0]) >= len(tddPeriods):
		return fmt.Sprintf("period %d is not within 0 to %d", b[0], len(tddPeriods)-1)
	}
	r.table = slices.Clone(b[1:])
	return ""
}
