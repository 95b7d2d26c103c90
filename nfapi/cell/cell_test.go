package cell

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// golden is the CONFIG.request of OpenAirInterface, with its header.
func golden(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("../testdata/oai/oai-2025-09_p5.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct{ Name, Hex string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, v := range file.Vectors {
		if v.Name == "CONFIG.request_TDD_7D1S2U_mu1" {
			b, err := hex.DecodeString(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("no such vector")
	return nil
}

// theirs is the cell of that vector.
func theirs(t testing.TB) Config {
	t.Helper()
	tdd, err := slot.ParseTDD(1, "DDDDDDDSUU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := Carrier{BandwidthMHz: 40, FrequencyKHz: 3_600_000, GridSize: 106, Antennas: 1}
	c := Config{
		Numerology: 1, PCI: 42, TDD: tdd, Downlink: carrier, Uplink: carrier,
		SSB: SSB{Power: -25, OffsetPointA: 86, PeriodMs: 20, SubcarrierOff: 6, MIB: 0x6a5b3c00, Mask: 1 << 63},
		PRACH: PRACH{ConfigIndex: 98, ShortSequence: true, Subcarriers: 1, SSBPerOccasion: 3,
			Occasions: []Occasion{{RootSequence: 1, RootSequences: 16, ZeroCorrelated: 13}}},
		P7: netip.MustParseAddrPort("10.0.0.1:50011"), RSSI: true, TimingWindow: 30, TimingInfo: TimingInfo{Periodic: true, Period: 10},
	}
	for i := range c.SSB.Beams {
		c.SSB.Beams[i] = uint8(i)
	}
	return c
}

var compare = cmp.Options{cmp.Comparer(func(a, b slot.TDD) bool { return fmt.Sprintf("%v", tableOf(a)) == fmt.Sprintf("%v", tableOf(b)) }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })}

// tableOf is the frame of a table; one that is not set has none.
func tableOf(t slot.TDD) (list [][slot.Symbols]slot.Use) {
	if t.IsZero() {
		return nil
	}
	for n := range slot.Number(len(t.String())) {
		list = append(list, t.At(n))
	}
	return list
}

// TestGolden: OpenAirInterface's CONFIG.request is the cell that its vector says, and
// that cell is its octets; but for the number of TLVs, which OpenAirInterface gives as 386
// modulo 256 where 385 follow.
func TestGolden(t *testing.T) {
	b := golden(t)
	h, body, err := nfapi.OAI2025.ParseP5(b)
	if err != nil {
		t.Fatal(err)
	}
	var m nfapi.ConfigRequest
	if err := m.DecodeBody(nfapi.OAI2025, body); err != nil {
		t.Fatal(err)
	}
	want := theirs(t)
	got, problems := FromTLVs(nfapi.OAI2025, m.TLVs)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("cell (-want +got):\n%s", diff)
	}
	again, request := make([]byte, len(b)+100), want.Request(nfapi.OAI2025)
	if request.NumTLVs != 385-256 || m.NumTLVs != request.NumTLVs+1 || len(m.TLVs) != 385 {
		t.Errorf("got %d TLVs, counted as %d, theirs as %d", len(m.TLVs), request.NumTLVs, m.NumTLVs)
	}
	request.NumTLVs = m.NumTLVs
	n, err := nfapi.OAI2025.EncodeP5(&nfapi.Header{PhyID: h.PhyID}, request, again)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(again[:n]), hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// anyCell is some cell.
func anyCell(t testing.TB, r *rand.Rand) Config {
	t.Helper()
	mu := slot.Numerology(r.IntN(4))
	patterns := []string{"D", "DDDDDDDSUU", "DDDSU", "SU", "DSUUU", "U"}
	dl := r.IntN(slot.Symbols + 1)
	tdd, err := slot.ParseTDD(mu, patterns[r.IntN(len(patterns))], dl, r.IntN(slot.Symbols+1-dl))
	if err != nil {
		t.Fatal(err)
	}
	carrier := func() Carrier {
		return Carrier{uint16(r.Uint32()), r.Uint32(), uint16(r.Uint32()), uint16(1 + r.IntN(maxPRB)), uint16(1 + r.IntN(64))}
	}
	c := Config{
		Numerology: mu, PCI: uint16(r.IntN(1008)), TDD: tdd, Downlink: carrier(), Uplink: carrier(), RSSI: r.IntN(2) == 0,
		SSB: SSB{int32(r.Uint32()), uint16(r.IntN(2200)), ssbPeriods[r.IntN(len(ssbPeriods))], uint8(r.IntN(32)), r.Uint32(), r.Uint64() | 1, [MaxSSB]uint8{}},
		PRACH: PRACH{uint8(r.Uint32()), r.IntN(2) == 0, slot.Numerology(r.IntN(5)), uint8(r.IntN(3)), uint8(r.IntN(8)),
			r.IntN(2) == 0, make([]Occasion, 1+r.IntN(MaxOccasions))},
		TimingWindow: uint8(1 + r.IntN(255)), TimingInfo: TimingInfo{r.IntN(2) == 0, r.IntN(2) == 0, uint8(1 + r.IntN(maxTimingInfoPeriod))},
	}
	for i := range c.PRACH.Occasions {
		c.PRACH.Occasions[i] = Occasion{uint16(r.Uint32()), uint8(r.Uint32()), uint16(r.Uint32()), uint8(r.Uint32()), nil}
		for range r.IntN(3) {
			c.PRACH.Occasions[i].UnusedRoots = append(c.PRACH.Occasions[i].UnusedRoots, uint16(r.Uint32()))
		}
	}
	for i := range c.SSB.Beams {
		c.SSB.Beams[i] = uint8(r.Uint32())
	}
	c.P7 = []netip.AddrPort{{}, netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("[2001:db8::1]:65535")}[r.IntN(3)]
	return c
}

// TestRoundTrip: any cell becomes TLVs and the same cell again, across the wire, in each
// profile.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		p, c := nfapi.Profiles()[i%3], anyCell(t, r)
		body := make([]byte, nfapi.MaxMessage)
		n, err := c.Request(p).EncodeBody(p, body)
		if err != nil {
			t.Fatal(err)
		}
		var m nfapi.ConfigRequest
		if err := m.DecodeBody(p, body[:n]); err != nil {
			t.Fatal(err)
		}
		got, problems := FromTLVs(p, m.TLVs)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, got, compare); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", p, diff)
		}
	}
}

// TestDefaults: a cell of which only the grid is set can be configured.
func TestDefaults(t *testing.T) {
	tdd, _ := slot.ParseTDD(3, "DDDSU", 6, 4)
	c := Config{Numerology: 3, TDD: tdd, Downlink: Carrier{GridSize: 66}, Uplink: Carrier{GridSize: 66}}
	got, problems := FromTLVs(nfapi.OAI2025, c.TLVs(nfapi.OAI2025))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.completed(), got, compare); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.SSB.PeriodMs != 20 || got.TimingWindow != 30 || got.Downlink.Antennas != 1 {
		t.Errorf("got %+v", got)
	}
}

// without are the TLVs that have not one of the tags.
func without(list []nfapi.TLV, tags ...uint16) []nfapi.TLV {
	return slices.DeleteFunc(slices.Clone(list), func(t nfapi.TLV) bool { return slices.Contains(tags, t.Tag) })
}

// table are the symbols of n slots of the pattern.
func table(t testing.TB, n int) []byte {
	c := theirs(t)
	var list []byte
	for i := range slot.Number(n) {
		for _, use := range c.TDD.At(i) {
			list = append(list, byte(use))
		}
	}
	return list
}

// TestTDDTable: three encodings are read, all of exactly one frame.
func TestTDDTable(t *testing.T) {
	const p = nfapi.OAI2025
	c := theirs(t)
	bare := without(c.TLVs(p), nfapi.TagTDDPeriod, nfapi.TagSlotConfig)
	period := nfapi.TLV{Tag: nfapi.TagTDDPeriod, Value: []byte{6}}
	each := func(symbols []byte) (list []nfapi.TLV) {
		for _, s := range symbols {
			list = append(list, nfapi.TLV{Tag: nfapi.TagSlotConfig, Value: []byte{s}})
		}
		return append([]nfapi.TLV{period}, list...)
	}
	one := func(symbols []byte) []nfapi.TLV {
		return []nfapi.TLV{period, {Tag: nfapi.TagSlotConfig, Value: symbols}}
	}
	later := func(symbols []byte) []nfapi.TLV {
		return []nfapi.TLV{{Tag: nfapi.TagTDDTable, Value: append([]byte{6}, symbols...)}}
	}
	wrong := table(t, 20)
	wrong[200] = 3
	for _, tc := range []struct {
		name string
		in   []nfapi.TLV
		want string // problem
	}{
		{"1027 for each symbol", each(table(t, 20)), ""},
		{"1027 for all", one(table(t, 20)), ""},
		{"1035", later(table(t, 20)), ""},
		{"none", nil, "missing: 1027 slot_config"},
		{"no period", each(table(t, 20))[1:], "missing: 1026 tdd_period"},
		{"two frames", each(table(t, 40)), "1027 slot_config: tdd table of 560 symbols, a frame of numerology 1 has 280"},
		{"two frames in one", one(table(t, 40)), "1027 slot_config: tdd table of 560 symbols, a frame of numerology 1 has 280"},
		{"two frames of 222.10.04", later(table(t, 40)), "1035 tdd_table: tdd table of 560 symbols, a frame of numerology 1 has 280"},
		{"half a frame", each(table(t, 10)), "1027 slot_config: tdd table of 140 symbols, a frame of numerology 1 has 280"},
		{"one symbol too few", one(table(t, 20)[1:]), "1027 slot_config: tdd table of 279 symbols, a frame of numerology 1 has 280"},
		{"too long for any", one(make([]byte, maxSymbols+1)), "1027 slot_config: 0 symbols and 1121 more, a frame has at most 1120"},
		{"too long by many", each(make([]byte, maxSymbols+9)), "1027 slot_config: 1120 symbols and 1 more, a frame has at most 1120"},
		{"a symbol that is nothing", one(wrong), "1027 slot_config: slot: tdd table: slot 14, symbol 4: 3 is none of"},
		{"both", append(one(table(t, 20)), later(table(t, 20))...), "1027 slot_config: a table in TLV 1027 and another in 1035"},
		{"no octets", one(nil), "1027 slot_config: 0 symbols and 0 more"},
		{"1035 twice", append(later(table(t, 20)), later(table(t, 20))...), "1035 tdd_table: a second table"},
		{"1035 without table", later(nil), "1035 tdd_table: 1 octets"},
		{"period", append(one(table(t, 20)), nfapi.TLV{Tag: nfapi.TagTDDPeriod, Value: []byte{9}}), "1026 tdd_period: 9 is not within 0 to 8"},
	} {
		got, problems := FromTLVs(p, append(slices.Clone(bare), tc.in...))
		err := problems.Err()
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			} else if diff := cmp.Diff(c, got, compare); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestNumerologyInvalid: what depends on a numerology that there is not is not judged by
// another one.
func TestNumerologyInvalid(t *testing.T) {
	c := theirs(t)
	list := without(c.TLVs(nfapi.OAI2025), nfapi.TagSCSCommon)
	_, problems := FromTLVs(nfapi.OAI2025, append(list, nfapi.TLV{Tag: nfapi.TagSCSCommon, Value: []byte{4}}))
	if err := problems.Err(); err == nil || len(problems.Invalid) != 1 || err.Error() != "cell: 1010 scs_common: 4 is not within 0 to 3" {
		t.Errorf("got %v, %d invalid", err, len(problems.Invalid))
	}
}

// TestTDDPeriod: the shortest period that the table has.
func TestTDDPeriod(t *testing.T) {
	for _, tc := range []struct {
		mu      slot.Numerology
		pattern string
		want    int // eighths of a ms
	}{{1, "DDDDDDDSUU", 40}, {1, "DDDSU", 20}, {1, "DDSU", 16}, {1, "SU", 8}, {1, "D", 4}, {0, "D", 8}, {0, "DDSUU", 40}, {3, "DDDSU", 5}, {2, "DDDSU", 10}, {1, "DDDDDDDDDDDDDDDDDDSU", 80}} {
		tdd, err := slot.ParseTDD(tc.mu, tc.pattern, 6, 4)
		if err != nil {
			t.Fatal(err)
		}
		if got := tddPeriods[tddPeriod(tdd, tc.mu)]; got != tc.want {
			t.Errorf("%s at %d: got %d/8 ms, want %d/8", tc.pattern, tc.mu, got, tc.want)
		}
	}
}

// TestProblems: what is wrong goes into its list, and through CONFIG.response to the VNF.
func TestProblems(t *testing.T) {
	const p = nfapi.OAI2025
	c := theirs(t)
	list := without(c.TLVs(p), nfapi.TagPHYCellID, nfapi.TagSSBMask)
	list = append(list,
		nfapi.TLV{Tag: nfapi.TagPHYCellID, Value: []byte{0x03, 0xf0}},
		nfapi.TLV{Tag: nfapi.TagDLBandwidth, Value: []byte{1}},
		nfapi.TLV{Tag: 0x1fff, Value: []byte{1, 2, 3}},
		nfapi.TLV{Tag: 0xa123, Value: []byte{1}}, // a vendor's
	)
	_, problems := FromTLVs(p, list)
	m := problems.Response()
	if m.ErrorCode != 2 || m.NumInvalid != 3 || m.NumMissing != 1 || m.NumInvalidIdle+m.NumInvalidRunning != 0 || len(m.TLVs) != 4 {
		t.Errorf("got %+v", m)
	}
	body := make([]byte, 1000)
	n, err := m.EncodeBody(p, body)
	if err != nil {
		t.Fatal(err)
	}
	var again nfapi.ConfigResponse
	if err := again.DecodeBody(p, body[:n]); err != nil {
		t.Fatal(err)
	}
	told := ProblemsOf(&again)
	if got, want := told.Err().Error(), "cell: invalid: 100c phy_cell_id, 1001 dl_bandwidth, 1fff; missing: 1022 ssb_mask"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := "cell: 100c phy_cell_id: 1008 is not within 0 to 1007; 1001 dl_bandwidth: 1 octets, it has 2; 1fff: not supported; missing: 1022 ssb_mask"
	if got := problems.Err().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	none, _ := FromTLVs(p, nil)
	if _, problems := FromTLVs(p, nil); len(problems.Missing) < 20 || problems.None() || none.P7.IsValid() {
		t.Errorf("got %d missing", len(problems.Missing))
	}
	var fine Problems
	if m := fine.Response(); m.ErrorCode != 0 || len(m.TLVs) != 0 || fine.Err() != nil {
		t.Errorf("got %+v, %v", m, fine.Err())
	}
	lying := ProblemsOf(&nfapi.ConfigResponse{ErrorCode: 2, NumInvalid: 200, NumMissing: 3, TLVs: again.TLVs[:1]})
	if len(lying.Invalid) != 1 || len(lying.Missing) != 0 {
		t.Errorf("got %+v", lying)
	}
}

// TestPNFEndpointTLVs: the port is swapped on the wire.
func TestPNFEndpointTLVs(t *testing.T) {
	for a, address := range map[string]string{"10.0.0.2:50010": "0a000002", "[2001:db8::2]:50010": "20010db8000000000000000000000002"} {
		list := PNFEndpointTLVs(nfapi.OAI2025, netip.MustParseAddrPort(a))
		if len(list) != 2 || hex.EncodeToString(list[0].Value) != address || hex.EncodeToString(list[1].Value) != "5ac3" {
			t.Errorf("%s: got %+v, want address %s and port 50010 = c35a as 5ac3", a, list, address)
		}
	}
}

// FuzzFromTLVs: whatever TLVs come, there are problems or a cell; and a cell becomes TLVs
// that make the same cell.
func FuzzFromTLVs(f *testing.F) {
	b := golden(f)
	f.Add(b[10:], uint8(0))
	f.Add(b[10:400], uint8(1))
	f.Fuzz(func(t *testing.T, body []byte, profile uint8) {
		p := nfapi.Profiles()[int(profile)%3]
		var m nfapi.ConfigRequest
		if m.DecodeBody(p, body) != nil {
			return
		}
		c, problems := FromTLVs(p, m.TLVs)
		if n := len(problems.Invalid); n > maxListed {
			t.Fatalf("%d invalid TLVs listed", n)
		}
		if (problems.Err() == nil) != problems.None() || (problems.Response().ErrorCode == 0) != problems.None() {
			t.Fatalf("problems %+v: %v", problems, problems.Err())
		}
		if !problems.None() {
			return
		}
		again, problems := FromTLVs(p, c.TLVs(p))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, compare); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
