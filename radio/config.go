package radio

import (
	"errors"
	"fmt"
	"net/netip"

	"plumbline/nfapi/slot"
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

// Validate returns an error that wraps [ErrConfig] if c is no cell.
func (c *Config) Validate() error {
	for _, check := range []func() error{c.checkCarrier, c.checkTiming, c.checkUEs} {
		if err := check(); err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	return nil
}

func (c *Config) checkCarrier() error {
	switch {
	case !c.Numerology.Valid():
		return fmt.Errorf("numerology %d is above %d", c.Numerology, slot.MaxNumerology)
	case c.PRBs < 1 || c.PRBs > maxPRBs:
		return fmt.Errorf("prbs %d is not within 1 to %d", c.PRBs, maxPRBs)
	case c.Layers < 1 || c.Layers > maxLayers:
		return fmt.Errorf("layers %d is not within 1 to %d", c.Layers, maxLayers)
	case int(c.MCSTable) >= len(highestMCS):
		return fmt.Errorf("mcs_table %d is none of 0 (64QAM), 1 (256QAM)", c.MCSTable)
	case c.MCS > highestMCS[c.MCSTable]:
		return fmt.Errorf("mcs %d is above %d, the last of table %d", c.MCS, highestMCS[c.MCSTable], c.MCSTable)
	case c.RLC != UM && c.RLC != AM:
		return fmt.Errorf("rlc %q is none of %s, %s", c.RLC, UM, AM)
	}
	return nil
}

func (c *Config) checkTiming() error {
	tdd, err := slot.ParseTDD(c.Numerology, c.Pattern, c.SpecialDL, c.SpecialUL)
	if err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	switch {
	case c.K1 < 1 || c.K1 > maxK1:
		return fmt.Errorf("k1 %d is not within 1 to %d", c.K1, maxK1)
	case c.K2 < 1 || c.K2 > maxK2:
		return fmt.Errorf("k2 %d is not within 1 to %d", c.K2, maxK2)
	case c.SRPeriod < 1 || c.Numerology.PerCycle()%c.SRPeriod != 0:
		return fmt.Errorf("sr_period %d does not divide the %d slots of a cycle", c.SRPeriod, c.Numerology.PerCycle())
	case c.SROffset < 0 || c.SROffset >= c.SRPeriod:
		return fmt.Errorf("sr_offset %d is not within 0 to sr_period %d less 1", c.SROffset, c.SRPeriod)
	}
	var down, up, request bool
	for n := range c.Numerology.PerCycle() {
		uplink := tdd.UplinkSymbols(slot.Number(n)) == slot.Symbols
		up, down = up || uplink, down || tdd.DownlinkSymbols(slot.Number(n)) > 0
		request = request || uplink && n%c.SRPeriod == c.SROffset
	}
	switch {
	case !down || !up:
		return fmt.Errorf("pattern %q has no downlink or no uplink slot", c.Pattern)
	case !request:
		return fmt.Errorf("pattern %q has no uplink slot at sr_offset %d of each %d", c.Pattern, c.SROffset, c.SRPeriod)
	}
	return nil
}

func (c *Config) checkUEs() error {
	if len(c.UEs) == 0 || len(c.UEs) > maxUEs {
		return fmt.Errorf("%d ues are not 1 to %d", len(c.UEs), maxUEs)
	}
	seen := make(map[string]int)
	claim := func(ue int, what string) error {
		if other, taken := seen[what]; taken {
			return fmt.Errorf("ues %d and %d both have %s", other, ue, what)
		}
		seen[what] = ue
		return nil
	}
	for i := range c.UEs {
		u := &c.UEs[i]
		if err := u.check(); err != nil {
			return fmt.Errorf("ue %d: %w", i, err)
		}
		errs := []error{claim(i, fmt.Sprint("rnti ", u.RNTI)), claim(i, fmt.Sprint("preamble ", u.Preamble))}
		for _, a := range u.Addresses {
			errs = append(errs, claim(i, fmt.Sprint("address ", a)))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func (u *UE) check() error {
	switch {
	case u.RNTI == 0 || u.RNTI > maxRNTI:
		return fmt.Errorf("rnti %d is not within 1 to %d", u.RNTI, maxRNTI)
	case u.Preamble > maxPreamble:
		return fmt.Errorf("preamble %d is above %d", u.Preamble, maxPreamble)
	case u.QFI > maxQFI:
		return fmt.Errorf("qfi %d is above %d", u.QFI, maxQFI)
	case len(u.Addresses) == 0:
		return errors.New("no addresses")
	}
	for _, a := range u.Addresses {
		special := a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.Is4In6()
		if !a.IsValid() || special || a.Zone() != "" {
			return fmt.Errorf("address %q cannot be a UE's", a)
		}
	}
	return nil
}
