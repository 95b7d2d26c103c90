package cell

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// numerologies is how many entries the TLVs of grids have: one for each mu from 0 to 4.
const numerologies = 5

// completed is the cell with the defaults of what is not set.
func (c *Config) completed() Config {
	d := *c
	d.Downlink.Antennas, d.Uplink.Antennas = max(d.Downlink.Antennas, 1), max(d.Uplink.Antennas, 1)
	if d.SSB.PeriodMs == 0 {
		d.SSB.PeriodMs = 20
	}
	if d.SSB.Mask == 0 {
		d.SSB.Mask = 1 << 63
	}
	if len(d.PRACH.Occasions) == 0 {
		d.PRACH.Occasions = []Occasion{{RootSequences: 1}}
	}
	if d.TimingWindow == 0 {
		d.TimingWindow = TimingWindowDefault
	}
	if d.TimingInfo.Period == 0 {
		d.TimingInfo.Period = TimingInfoPeriodDefault
	}
	return d
}

// Request is the CONFIG.request for the cell.
func (c *Config) Request(p nfapi.Profile) *nfapi.ConfigRequest {
	list := c.TLVs(p)
	return &nfapi.ConfigRequest{NumTLVs: uint8(len(list)), TLVs: list} // modulo 256, as peers expect it
}

// TLVs are those of CONFIG.request, in OpenAirInterface's order.
//
// Source: OpenAirInterface develop 2025-09, nr_config_request; SCF 222.10.02, 3.3.2.
func (c *Config) TLVs(p nfapi.Profile) []nfapi.TLV {
	d := c.completed()
	w := writer{profile: p}
	w.carrier(&d.Downlink, d.Numerology, downlinkTags)
	w.carrier(&d.Uplink, d.Numerology, uplinkTags)
	w.uint(nfapi.TagFrequencyShift7p5khz, 1, 0)
	w.uint(nfapi.TagPHYCellID, 2, uint32(d.PCI))
	w.uint(nfapi.TagFrameDuplexType, 1, duplexTDD)
	w.uint(nfapi.TagSSPBCHPower, 4, uint32(d.SSB.Power))
	w.uint(nfapi.TagBchPayload, 1, bchPayloadPHY)
	w.uint(nfapi.TagSCSCommon, 1, uint32(d.Numerology))
	w.prach(&d.PRACH)
	w.ssb(&d.SSB)
	w.tdd(d.TDD, d.Numerology)
	w.bool(nfapi.TagRSSIMeasurement, d.RSSI)
	w.address(nfapi.TagP7VNFAddressIpv4, nfapi.TagP7VNFAddressIpv6, d.P7)
	if d.P7.IsValid() {
		w.uint(nfapi.TagP7VNFPort, 2, uint32(d.P7.Port()))
	}
	w.uint(nfapi.TagTimingWindow, 1, uint32(d.TimingWindow))
	mode := uint32(0)
	if d.TimingInfo.Periodic {
		mode |= 1
	}
	if d.TimingInfo.Aperiodic {
		mode |= 2
	}
	w.uint(nfapi.TagTimingInfoMode, 1, mode)
	w.uint(nfapi.TagTimingInfoPeriod, 1, uint32(d.TimingInfo.Period))
	return w.list
}

// Values of TLVs 100D and 100F.
const (
	duplexTDD     = 1
	bchPayloadPHY = 1 // the PHY makes the whole PBCH payload
)

// carrierTags are the TLVs of a carrier.
type carrierTags struct{ bandwidth, frequency, k0, grid, antennas uint16 }

var (
	downlinkTags = carrierTags{nfapi.TagDLBandwidth, nfapi.TagDLFrequency, nfapi.TagDLK0, nfapi.TagDLGridSize, nfapi.TagNumTXAnt}
	uplinkTags   = carrierTags{nfapi.TagUplinkBandwidth, nfapi.TagUplinkFrequency, nfapi.TagULK0, nfapi.TagULGridSize, nfapi.TagNumRXAnt}
)

// writer makes a list of TLVs.
type writer struct {
	profile nfapi.Profile
	list    []nfapi.TLV
}

func (w *writer) octets(tag uint16, value []byte) {
	w.list = append(w.list, nfapi.TLV{Tag: tag, Value: value})
}

func (w *writer) uint(tag uint16, width int, v uint32) {
	w.list = append(w.list, w.profile.UintTLV(tag, width, v))
}

func (w *writer) bool(tag uint16, v bool) {
	n := uint32(0)
	if v {
		n = 1
	}
	w.uint(tag, 1, n)
}

// numbers writes a number for each numerology: 0 for all but mu.
func (w *writer) numbers(tag uint16, mu slot.Numerology, v uint16) {
	value := make([]byte, 0, 2*numerologies)
	for i := range slot.Numerology(numerologies) {
		n := uint32(0)
		if i == mu {
			n = uint32(v)
		}
		one := w.profile.UintTLV(tag, 2, n)
		value = append(value, one.Value...)
	}
	w.octets(tag, value)
}

func (w *writer) carrier(c *Carrier, mu slot.Numerology, tags carrierTags) {
	w.uint(tags.bandwidth, 2, uint32(c.BandwidthMHz))
	w.uint(tags.frequency, 4, c.FrequencyKHz)
	w.numbers(tags.k0, mu, c.K0)
	w.numbers(tags.grid, mu, c.GridSize)
	w.uint(tags.antennas, 2, uint32(c.Antennas))
}

func (w *writer) prach(c *PRACH) {
	w.bool(nfapi.TagPRACHSequenceLength, c.ShortSequence)
	w.uint(nfapi.TagPRACHSubCSpacing, 1, uint32(c.Subcarriers))
	w.uint(nfapi.TagRestrictedSetConfig, 1, uint32(c.RestrictedSet))
	w.uint(nfapi.TagNumPRACHFDOccasions, 1, uint32(len(c.Occasions)))
	w.uint(nfapi.TagPRACHConfigurationIndex, 1, uint32(c.ConfigIndex))
	for _, o := range c.Occasions {
		w.uint(nfapi.TagPRACHRootSequenceIndex, 2, uint32(o.RootSequence))
		w.uint(nfapi.TagNumRootSequences, 1, uint32(o.RootSequences))
		w.uint(nfapi.TagK1, 2, uint32(o.FrequencyStart))
		w.uint(nfapi.TagPRACHZeroCorrConf, 1, uint32(o.ZeroCorrelated))
		w.uint(nfapi.TagNumUnusedRootSequences, 2, uint32(len(o.UnusedRoots)))
		for _, root := range o.UnusedRoots {
			w.uint(nfapi.TagUnusedRootSequencesList, 2, uint32(root))
		}
	}
	w.uint(nfapi.TagSSBPerRach, 1, uint32(c.SSBPerOccasion))
	w.bool(nfapi.TagPRACHMultipleCarriersInABand, c.MultipleCarriers)
}

// ssbPeriods are those of TLV 101F by its value, in ms.
var ssbPeriods = [...]uint8{5, 10, 20, 40, 80, 160}

func (w *writer) ssb(s *SSB) {
	w.uint(nfapi.TagSSBOffsetPointA, 2, uint32(s.OffsetPointA))
	w.uint(nfapi.TagSSBPeriod, 1, uint32(max(slices.Index(ssbPeriods[:], s.PeriodMs), 0)))
	w.uint(nfapi.TagSSBSubcarrierOffset, 1, uint32(s.SubcarrierOff))
	w.uint(nfapi.TagMIB, 4, s.MIB)
	w.uint(nfapi.TagSSBMask, 4, uint32(s.Mask>>32))
	w.uint(nfapi.TagSSBMask, 4, uint32(s.Mask))
	for _, b := range s.Beams {
		w.uint(nfapi.TagBeamID, 1, uint32(b))
	}
}

// tdd writes the period and the table: in OpenAirInterface's form a TLV for each symbol,
// in that of Aerial one for all.
func (w *writer) tdd(t slot.TDD, mu slot.Numerology) {
	if t.IsZero() {
		return
	}
	w.uint(nfapi.TagTDDPeriod, 1, uint32(tddPeriod(t, mu)))
	all := make([]byte, 0, mu.PerFrame()*slot.Symbols)
	for n := range slot.Number(mu.PerFrame()) {
		for _, use := range t.At(n) {
			all = append(all, byte(use))
		}
	}
	if w.profile == nfapi.Aerial {
		w.octets(nfapi.TagSlotConfig, all)
		return
	}
	for i := range all {
		w.octets(nfapi.TagSlotConfig, all[i:i+1:i+1])
	}
}

// tddPeriods are those of TLV 1026 by its value, in units of 1/8 ms: 0.5, 0.625, 1, 1.25,
// 2, 2.5, 5, 10 and 20 ms.
var tddPeriods = [...]int{4, 5, 8, 10, 16, 20, 40, 80, 160}

// tddPeriod is the shortest period after which the table repeats, in the encoding of TLV 1026.
func tddPeriod(t slot.TDD, mu slot.Numerology) int {
	for i, eighths := range tddPeriods {
		n := eighths << mu / 8 // slots
		if n<<3>>mu != eighths || n == 0 || mu.PerFrame()%n != 0 {
			continue
		}
		repeats := true
		for s := range slot.Number(mu.PerFrame() - n) {
			repeats = repeats && t.At(s) == t.At(s+slot.Number(n))
		}
		if repeats {
			return i
		}
	}
	return slices.Index(tddPeriods[:], 80)
}

func (w *writer) address(four, six uint16, a netip.AddrPort) {
	switch b := a.Addr().Unmap(); {
	case b.Is4():
		w.octets(four, b.AsSlice())
	case b.Is6():
		w.octets(six, b.AsSlice())
	}
}

// PNFEndpointTLVs are those of PARAM.response that say where a PNF wants P7 messages. Its
// port has its octets swapped, as OpenAirInterface's PNF sends and its VNF takes it.
func PNFEndpointTLVs(p nfapi.Profile, a netip.AddrPort) []nfapi.TLV {
	w := writer{profile: p}
	w.address(nfapi.TagP7PNFAddressIpv4, nfapi.TagP7PNFAddressIpv6, a)
	w.octets(nfapi.TagP7PNFPort, []byte{byte(a.Port()), byte(a.Port() >> 8)})
	return w.list
}
