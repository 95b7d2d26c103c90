package cell

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// reader takes a cell out of TLVs.
type reader struct {
	Config
	Problems
	profile nfapi.Profile
	seen    map[uint16]bool

	knowsNumerology bool // TLV 1010 came, with one that there is

	grids    [4][numerologies]uint16 // of TLVs 1004, 1009, 1003, 1008
	masks    int                     // TLVs 1022 that came
	beams    int                     // TLVs 1023
	count    int                     // PRACH occasions that are announced
	symbols  []byte                  // of TLVs 1027
	table    []byte                  // of TLV 1035
	tableTLV *nfapi.TLV              // 1027 or 1035, the first one
	four     netip.Addr
	six      netip.Addr
	port     uint16
}

// maxSymbols is how many symbols a frame has at most.
const maxSymbols = 10 << slot.MaxNumerology * slot.Symbols

// rule is how a TLV is read. width is its length in octets, 0: any. take puts it into
// the cell and returns what is wrong with its value, or "".
type rule struct {
	width     int
	mandatory bool
	take      func(r *reader, v uint32, octets []byte) string
}

// FromTLVs reads the TLVs of CONFIG.request. If there are problems, the cell is not to be
// used. It does not share the octets of the TLVs, the problems do. What was not sent and
// has a default has it.
//
// TLVs of vendors are stepped over, and so are those of beamforming and precoding.
//
// Source: SCF 222.10.02, 3.3.2; 222.10.04 for TLV 1035.
func FromTLVs(p nfapi.Profile, tlvs []nfapi.TLV) (Config, Problems) {
	r := reader{profile: p, seen: map[uint16]bool{}}
	for i := range tlvs {
		r.tlv(&tlvs[i])
	}
	for _, tag := range order {
		if rules[tag].mandatory && !r.seen[tag] {
			r.missing(tag)
		}
	}
	r.whole(tlvs)
	return r.completed(), r.Problems
}

const vendorTags = 0xa000 // and above

func (r *reader) tlv(t *nfapi.TLV) {
	rule, ok := rules[t.Tag]
	switch {
	case t.Tag >= vendorTags:
		return
	case !ok:
		r.invalid(t, "not supported")
		return
	case rule.width != 0 && rule.width != len(t.Value):
		r.invalid(t, "%d octets, it has %d", len(t.Value), rule.width)
		return
	}
	r.seen[t.Tag] = true
	if r.tableTLV == nil && (t.Tag == nfapi.TagSlotConfig || t.Tag == nfapi.TagTDDTable) {
		r.tableTLV = t
	}
	v, _ := t.Uint(r.profile)
	if why := rule.take(r, v, t.Value); why != "" {
		r.invalid(t, "%s", why)
	}
}

// whole looks at what TLVs say together.
func (r *reader) whole(tlvs []nfapi.TLV) {
	if !r.knowsNumerology {
		return // which is missing, or cannot be: what depends on it cannot be judged
	}
	mu := r.Numerology
	for i, at := range []*uint16{&r.Downlink.GridSize, &r.Uplink.GridSize, &r.Downlink.K0, &r.Uplink.K0} {
		*at = r.grids[i][mu]
	}
	for i, tag := range []uint16{nfapi.TagDLGridSize, nfapi.TagULGridSize} {
		if n := r.grids[i][mu]; r.seen[tag] && (n == 0 || n > maxPRB) {
			r.invalid(find(tlvs, tag), "%d PRB at numerology %d, there may be 1 to %d", n, mu, maxPRB)
		}
	}
	if r.seen[nfapi.TagNumPRACHFDOccasions] && r.count != len(r.PRACH.Occasions) {
		r.invalid(find(tlvs, nfapi.TagNumPRACHFDOccasions), "%d PRACH occasions, %d root sequence indices", r.count, len(r.PRACH.Occasions))
	}
	r.tdd()
	for _, a := range []netip.Addr{r.four, r.six} {
		if a.IsValid() && !r.P7.IsValid() && r.port != 0 {
			r.P7 = netip.AddrPortFrom(a, r.port)
		}
	}
}

// maxPRB is the size of the largest grid. Source: TS 38.211 V18.2.0, 4.4.2.
const maxPRB = 275

// tdd makes the table. It has one frame exactly.
func (r *reader) tdd() {
	symbols := r.symbols
	switch {
	case r.tableTLV == nil:
		r.missing(nfapi.TagSlotConfig)
		return
	case r.table != nil && r.symbols != nil:
		r.invalid(r.tableTLV, "a table in TLV 1027 and another in 1035")
		return
	case r.table != nil:
		symbols = r.table
	case !r.seen[nfapi.TagTDDPeriod]:
		r.missing(nfapi.TagTDDPeriod)
		return
	}
	want := r.Numerology.PerFrame() * slot.Symbols
	if len(symbols) != want {
		r.invalid(r.tableTLV, "tdd table of %d symbols, a frame of numerology %d has %d", len(symbols), r.Numerology, want)
		return
	}
	slots := make([][slot.Symbols]slot.Use, r.Numerology.PerFrame())
	for i, v := range symbols {
		slots[i/slot.Symbols][i%slot.Symbols] = slot.Use(v)
	}
	table, err := slot.NewTDD(r.Numerology, slots)
	if err != nil {
		r.invalid(r.tableTLV, "%v", err)
		return
	}
	r.TDD = table
}

// find is the first TLV of a tag, which is there.
func find(tlvs []nfapi.TLV, tag uint16) *nfapi.TLV {
	for i := range tlvs {
		if tlvs[i].Tag == tag {
			return &tlvs[i]
		}
	}
	return &nfapi.TLV{Tag: tag}
}
