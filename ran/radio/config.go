package radio

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("radio: configuration")

// Modes of RLC. Source: TS 38.322 V18, 4.2.1.
const (
	UM = "um"
	AM = "am"
)

// Largest values.
const (
	maxPRBs     = 275   // TS 38.331, maxNrofPhysicalResourceBlocks
	maxLayers   = 4     // of a codeword: TS 38.211, 7.3.1.3
	maxRNTI     = 65519 // TS 38.321, table 7.1-1
	maxPreamble = 63
	maxQFI      = 63
	maxK1       = 15
	// maxK2 leaves room for the 16 values from k2 on that a grant can tell: there are up to
	// 32. TS 38.331, PUSCH-TimeDomainResourceAllocation.
	maxK2  = 32 - 16 + 1
	maxUEs = 32
)

// highestMCS is the last one of each table that is a rate: TS 38.214, 5.1.3.1.
var highestMCS = [...]uint8{28, 27}

// Default is the cell on which OpenAirInterface's split was measured in 2024, with one UE:
// 40 MHz, 64QAM, one layer, seven downlink slots of ten, grants only on request.
func Default() Config {
	return Config{
		Numerology: 1, PRBs: 106, Layers: 1, MCS: 28, Pattern: "DDDDDDDSUU", SpecialDL: 6, SpecialUL: 4,
		K1: 2, K2: 6, SRPeriod: 10, SROffset: 8, RLC: AM,
		UEs: []UE{{RNTI: 0x4601, Preamble: 0, QFI: 9, Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.1")}}},
	}
}

// Validate returns all that makes c no cell, in an error that wraps [ErrConfig].
func (c *Config) Validate() error {
	var m yamltext.Checks
	c.checkCarrier(&m)
	c.checkTiming(&m)
	c.checkUEs(&m)
	return m.Err(ErrConfig)
}

func (c *Config) checkCarrier(m *yamltext.Checks) {
	yamltext.Within(m, "numerology", c.Numerology, 0, slot.MaxNumerology)
	yamltext.Within(m, "prbs", c.PRBs, 1, maxPRBs)
	yamltext.Within(m, "layers", c.Layers, 1, maxLayers)
	if int(c.MCSTable) < len(highestMCS) {
		last := highestMCS[c.MCSTable]
		m.Want(c.MCS <= last, "mcs", c.MCS, fmt.Sprintf("0 to %d, the last of table %d", last, c.MCSTable))
	} else {
		m.Want(false, "mcs_table", c.MCSTable, "0 (64QAM) or 1 (256QAM)")
	}
	m.OneOf("rlc", c.RLC, UM, AM)
}

func (c *Config) checkTiming(m *yamltext.Checks) {
	yamltext.Within(m, "k1", c.K1, 1, maxK1)
	yamltext.Within(m, "k2", c.K2, 1, maxK2)
	special := c.SpecialDL >= 0 && c.SpecialUL >= 0 && c.SpecialDL+c.SpecialUL <= slot.Symbols
	if !special {
		m.Note("special_dl", "special slot of %d downlink and %d uplink symbols: want %d at most", c.SpecialDL, c.SpecialUL, slot.Symbols)
	}
	if !c.Numerology.Valid() {
		return
	}
	period := c.SRPeriod >= 1 && c.Numerology.PerCycle()%c.SRPeriod == 0
	m.Want(period, "sr_period", c.SRPeriod, fmt.Sprintf("a divisor of the %d slots of a cycle", c.Numerology.PerCycle()))
	request := period && c.SROffset >= 0 && c.SROffset < c.SRPeriod
	m.Want(request || !period, "sr_offset", c.SROffset, fmt.Sprintf("0 to %d, sr_period less 1", c.SRPeriod-1))
	c.checkPattern(m, special, request)
}

// checkPattern is about the TDD pattern, also if its special slot is not valid, and, if there
// is a valid one, the slot of the scheduling requests in it.
func (c *Config) checkPattern(m *yamltext.Checks, special, request bool) {
	down, up := c.SpecialDL, c.SpecialUL
	if !special {
		down, up = 0, 0
	}
	tdd, err := slot.ParseTDD(c.Numerology, c.Pattern, down, up)
	if err != nil {
		m.Under("pattern", err)
		return
	}
	var downlinks, uplinks, heard bool
	for n := range c.Numerology.PerCycle() {
		uplink := tdd.UplinkSymbols(slot.Number(n)) == slot.Symbols
		uplinks, downlinks = uplinks || uplink, downlinks || tdd.DownlinkSymbols(slot.Number(n)) > 0
		heard = heard || uplink && request && n%c.SRPeriod == c.SROffset
	}
	m.Want(downlinks && uplinks, "pattern", c.Pattern, "downlink and uplink slots")
	m.Want(heard || !uplinks || !request, "sr_offset", c.SROffset, fmt.Sprintf("an uplink slot of pattern %q in each %d", c.Pattern, c.SRPeriod))
}

func (c *Config) checkUEs(m *yamltext.Checks) {
	if len(c.UEs) == 0 || len(c.UEs) > maxUEs {
		m.Note("ues", "%d: want 1 to %d", len(c.UEs), maxUEs)
	}
	seen := make(map[string]string)
	for i := range c.UEs {
		at := fmt.Sprintf("ues[%d]", i)
		claim := func(key, what string, value any) {
			name := fmt.Sprint(what, value)
			if other, taken := seen[name]; taken {
				m.Want(false, at+"."+key, value, "one that no other has: it is of "+other)
				return
			}
			seen[name] = at
		}
		u := &c.UEs[i]
		m.Under(at, u.check())
		claim("rnti", "rnti ", u.RNTI)
		claim("preamble", "preamble ", u.Preamble)
		for j, a := range u.Addresses {
			claim(fmt.Sprintf("addresses[%d]", j), "address ", a)
		}
	}
}

func (u *UE) check() error {
	var m yamltext.Checks
	yamltext.Within(&m, "rnti", u.RNTI, 1, maxRNTI)
	yamltext.Within(&m, "preamble", u.Preamble, 0, maxPreamble)
	yamltext.Within(&m, "qfi", u.QFI, 0, maxQFI)
	gnb.CheckAddresses(&m, u.Addresses)
	for i, a := range u.Addresses {
		m.Want(!a.IsLinkLocalUnicast() || a.Zone() != "", fmt.Sprintf("addresses[%d]", i), a, "one that crosses links")
	}
	return m.Err(ErrConfig)
}
