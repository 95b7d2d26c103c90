package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
)

// configEdit is a CONFIG.request that differs from one that is right.
type configEdit struct {
	name, says string
	code       uint32
	tag        uint16 // that is listed; 0: none
	missing    bool   // it is listed as missing, not as invalid
	edit       func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV
}

// configEdits are the edits for which the response names the wrong TLV.
//
// Source: SCF 222.10.02, 3.3.2 and table 3-31.
var configEdits = []configEdit{
	{"unknown-tag", "a TLV that there is not is listed as invalid", codeInvalidConfig, 0x7fee, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return append(all, nfapi.TLV{Tag: 0x7fee, Value: []byte{1, 2, 3, 4}})
	}},
	{"vendor-tag", "a TLV of a vendor (a000 and above) is stepped over", codeOK, 0, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return append(all, nfapi.TLV{Tag: 0xa123, Value: []byte{1, 2, 3, 4, 5}})
	}},
	{"short-value", "a TLV that is too short for its number is listed as invalid", codeInvalidConfig, nfapi.TagDLFrequency, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return with(all, nfapi.TagDLFrequency, []byte{1})
	}},
	{"long-value", "a TLV that is too long for its number is listed as invalid", codeInvalidConfig, nfapi.TagPHYCellID, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return with(all, nfapi.TagPHYCellID, make([]byte, 300))
	}},
	{"empty-value", "a TLV without value is listed as invalid", codeInvalidConfig, nfapi.TagSCSCommon, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return with(all, nfapi.TagSCSCommon, nil)
	}},
	{"value-beyond", "a physical cell id above 1007 is listed as invalid", codeInvalidConfig, nfapi.TagPHYCellID, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return with(all, nfapi.TagPHYCellID, []byte{0x13, 0x88})
	}},
	{"numerology-beyond", "a numerology that there is not is listed as invalid", codeInvalidConfig, nfapi.TagSCSCommon, false, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return with(all, nfapi.TagSCSCommon, []byte{9})
	}},
	{"missing", "a mandatory TLV that is missing is listed as missing", codeInvalidConfig, nfapi.TagDLBandwidth, true, func(b *pnfBench, all []nfapi.TLV) []nfapi.TLV {
		return without(all, nfapi.TagDLBandwidth)
	}},
}

func configCases() []pnfCase {
	var all []pnfCase
	for _, e := range configEdits {
		all = append(all, pnfCase{Case{"config/" + e.name, e.says + ": CONFIG.response has error code " + codeText(e.code)}, phyConfigured, func(b *pnfBench) {
			b.edited(&e)
		}})
	}
	return append(all,
		pnfCase{Case{"config/count-modulo-256", "the number of TLVs, of 8 bits, is not relied upon: OpenAirInterface's wraps"}, phyConfigured, func(b *pnfBench) {
			m := b.request(nfapi.MsgConfigRequest).(*nfapi.ConfigRequest)
			m.NumTLVs += 77
			b.expect(phyID, m, codeOK)
		}},
		pnfCase{Case{"config/truncated-tlv", "a TLV that is longer than the message is an error, whatever its tag"}, phyConfigured, func(b *pnfBench) {
			raw, err := octets(b.profile(), phyID, b.request(nfapi.MsgConfigRequest))
			if err != nil {
				b.fatal("CONFIG.request", err)
			}
			at := b.profile().HeaderLen(nfapi.P5) + 1 // the first TLV
			copy(raw[at+2:], []byte{0xff, 0xff})
			b.did("CONFIG.request whose first TLV has 65535 octets")
			got, err := b.raw(raw, phyID, nfapi.MsgConfigRequest)
			if err == nil {
				b.judge(nfapi.MsgConfigRequest, got, err, codeInvalidConfig)
			}
			b.same()
		}},
		pnfCase{Case{"config/fuzz", "whatever CONFIG.request holds is answered, with error code 0 or 2, and the PNF goes on"}, phyConfigured, func(b *pnfBench) {
			b.fuzzConfig()
		}},
	)
}

// raw sends octets that are to be answered.
func (b *pnfBench) raw(raw []byte, phy uint16, id nfapi.MessageID) (*incoming, error) {
	b.link.drain()
	if err := b.link.SendOctets(raw); err != nil {
		return nil, err
	}
	return b.answer(phy, id)
}

// edited sends a CONFIG.request that is wrong somewhere.
func (b *pnfBench) edited(e *configEdit) {
	m := b.request(nfapi.MsgConfigRequest).(*nfapi.ConfigRequest)
	m.TLVs = e.edit(b, m.TLVs)
	m.NumTLVs = uint8(len(m.TLVs))
	got := b.expect(phyID, m, e.code)
	if e.tag != 0 {
		r, ok := got.m.(*nfapi.ConfigResponse)
		b.check(ok, "CONFIG.response", got.String())
		p := cell.ProblemsOf(r)
		list, what := p.Invalid, "invalid"
		if e.missing {
			list, what = p.Missing, "missing"
		}
		b.check(slices.ContainsFunc(list, func(t nfapi.TLV) bool { return t.Tag == e.tag }),
			fmt.Sprintf("TLV %04x listed as %s", e.tag, what), fmt.Sprint(p.Err()))
	}
	b.same()
}

// with replaces the value of a TLV.
func with(all []nfapi.TLV, tag uint16, value []byte) []nfapi.TLV {
	for i := range all {
		if all[i].Tag == tag {
			all[i].Value = value
		}
	}
	return all
}

// without leaves all TLVs of a tag out.
func without(all []nfapi.TLV, tag uint16) []nfapi.TLV {
	return slices.DeleteFunc(all, func(t nfapi.TLV) bool { return t.Tag == tag })
}

// checkEvery is the number of random messages between valid requests.
const checkEvery = 20

// fuzzConfig sends random changes of a CONFIG.request.
func (b *pnfBench) fuzzConfig() {
	chance := b.random()
	steps := len(b.result.Steps)
	for i := range b.config.Fuzz {
		m := b.request(nfapi.MsgConfigRequest).(*nfapi.ConfigRequest)
		what := mutate(chance, m)
		raw, err := octets(b.profile(), phyID, m)
		if err != nil {
			b.fatal("CONFIG.request", err)
		}
		if chance.IntN(3) == 0 { // and some octets of the body
			body := raw[b.profile().HeaderLen(nfapi.P5):]
			for range 1 + chance.IntN(4) {
				body[chance.IntN(len(body))] = byte(chance.Uint32())
			}
			what += ", some octets changed"
		}
		b.did("CONFIG.request no. %d of seed %d: %s", i, b.config.Seed, what)
		got, err := b.raw(raw, phyID, nfapi.MsgConfigRequest)
		b.judge(nfapi.MsgConfigRequest, got, err, codeOK, codeInvalidConfig)
		b.result.Steps = b.result.Steps[:steps] // successful steps are too long to report
		if i%checkEvery == checkEvery-1 {
			b.configure(b.config.Cell)
			b.result.Steps = b.result.Steps[:steps]
		}
	}
	b.did("%d random CONFIG.requests, and a right one", b.config.Fuzz)
	b.configure(b.config.Cell)
}

// mutate changes TLVs at random, and says how.
func mutate(chance *rand.Rand, m *nfapi.ConfigRequest) string {
	i := chance.IntN(len(m.TLVs))
	t := &m.TLVs[i]
	tag := t.Tag
	switch chance.IntN(7) {
	case 0:
		t.Value = make([]byte, chance.IntN(64))
		return fmt.Sprintf("TLV %04x of %d octets", tag, len(t.Value))
	case 1:
		t.Value = slices.Clone(t.Value)
		for j := range t.Value {
			t.Value[j] = byte(chance.Uint32())
		}
		return fmt.Sprintf("TLV %04x with a random value", tag)
	case 2:
		t.Tag = uint16(chance.Uint32())
		return fmt.Sprintf("TLV %04x in the place of %04x", t.Tag, tag)
	case 3:
		m.TLVs = slices.Delete(m.TLVs, i, i+1)
		return fmt.Sprintf("without TLV %04x", tag)
	case 4:
		m.TLVs = slices.Insert(m.TLVs, i, *t, *t)
		return fmt.Sprintf("TLV %04x three times", tag)
	case 5:
		chance.Shuffle(len(m.TLVs), func(i, j int) { m.TLVs[i], m.TLVs[j] = m.TLVs[j], m.TLVs[i] })
		return "TLVs in any order"
	}
	m.TLVs = m.TLVs[:i]
	return fmt.Sprintf("%d TLVs", i)
}
