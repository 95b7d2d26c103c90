package conformance

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// tddForm is a way to write a TDD table.
type tddForm struct {
	name, says string
	good       bool
	edit       func(symbols []byte, period nfapi.TLV) []nfapi.TLV
}

// symbolsEach are TLVs 1027 of a symbol each.
func symbolsEach(symbols []byte, period nfapi.TLV) []nfapi.TLV {
	all := []nfapi.TLV{period}
	for i := range symbols {
		all = append(all, nfapi.TLV{Tag: nfapi.TagSlotConfig, Value: symbols[i : i+1]})
	}
	return all
}

// symbolsTogether is one TLV 1027.
func symbolsTogether(symbols []byte, period nfapi.TLV) []nfapi.TLV {
	return []nfapi.TLV{period, {Tag: nfapi.TagSlotConfig, Value: symbols}}
}

// periodAndSymbols is one TLV 1035.
func periodAndSymbols(symbols []byte, period nfapi.TLV) []nfapi.TLV {
	return []nfapi.TLV{{Tag: nfapi.TagTDDTable, Value: append(slices.Clone(period.Value), symbols...)}}
}

// tddForms are the encodings that there are, and tables that are none. Source: SCF
// 222.10.02 and 222.10.04, 3.3.2, as OpenAirInterface and Aerial have them.
var tddForms = []tddForm{
	{"each-symbol", "TLV 1026 and one TLV 1027 for each symbol of a frame: the form of 222.10.02", true, symbolsEach},
	{"one-tlv", "TLV 1026 and one TLV 1027 with all symbols of a frame: the form of Aerial", true, symbolsTogether},
	{"10.04", "TLV 1035 with period and all symbols of a frame: the form of 222.10.04", true, periodAndSymbols},
	{"two-frames", "a table of two frames is refused, not cut", false, func(s []byte, p nfapi.TLV) []nfapi.TLV {
		return symbolsEach(append(slices.Clone(s), s...), p)
	}},
	{"half-a-frame", "a table of half a frame is refused, not repeated", false, func(s []byte, p nfapi.TLV) []nfapi.TLV {
		return symbolsEach(s[:len(s)/2], p)
	}},
	{"one-symbol-short", "a table that lacks a symbol is refused", false, func(s []byte, p nfapi.TLV) []nfapi.TLV {
		return symbolsTogether(s[:len(s)-1], p)
	}},
	{"10.04-long", "a table of TLV 1035 that is a slot too long is refused", false, func(s []byte, p nfapi.TLV) []nfapi.TLV {
		return periodAndSymbols(append(slices.Clone(s), s[:slot.Symbols]...), p)
	}},
	{"no-such-use", "a symbol that is none of downlink, uplink and guard is refused", false, func(s []byte, p nfapi.TLV) []nfapi.TLV {
		s = slices.Clone(s)
		s[len(s)/2] = 3
		return symbolsEach(s, p)
	}},
	{"unset", "a TDD cell without table is refused: unset is not downlink", false, func([]byte, nfapi.TLV) []nfapi.TLV { return nil }},
}

func tddCases() []pnfCase {
	var all []pnfCase
	for _, f := range tddForms {
		says := f.says
		if f.good {
			says += "; the PHY starts with it"
		} else {
			says += ": error code 2, and TLV 1027 or 1035 is listed"
		}
		all = append(all, pnfCase{Case{"tdd/" + f.name, says}, phyConfigured, func(b *pnfBench) { b.tdd(&f) }})
	}
	return all
}

// tdd sends a CONFIG.request with a table in some form.
func (b *pnfBench) tdd(f *tddForm) {
	m := b.request(nfapi.MsgConfigRequest).(*nfapi.ConfigRequest)
	var symbols []byte
	var all []nfapi.TLV
	period := nfapi.TLV{Tag: nfapi.TagTDDPeriod, Value: []byte{7}}
	for _, t := range m.TLVs {
		switch t.Tag {
		case nfapi.TagTDDPeriod:
			period = t
		case nfapi.TagSlotConfig:
			symbols = append(symbols, t.Value...)
		default:
			all = append(all, t)
		}
	}
	m.TLVs = append(all, f.edit(symbols, period)...)
	m.NumTLVs = uint8(len(m.TLVs))
	if f.good {
		b.expect(phyID, m, codeOK)
		b.cell = b.config.Cell
		b.start()
		return
	}
	got := b.expect(phyID, m, codeInvalidConfig)
	r, ok := got.m.(*nfapi.ConfigResponse)
	b.check(ok, "CONFIG.response", got.String())
	p := cell.ProblemsOf(r)
	b.check(slices.ContainsFunc(slices.Concat(p.Invalid, p.Missing), func(t nfapi.TLV) bool {
		return t.Tag == nfapi.TagSlotConfig || t.Tag == nfapi.TagTDDTable
	}), "TLV 1027 or 1035 listed", fmt.Sprint(p.Err()))
	b.same()
}
