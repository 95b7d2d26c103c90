package dci

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

func formats(t testing.TB, prbs, layers int) (*Formats, *grid.Grid) {
	t.Helper()
	g, err := grid.New(&radio.Config{
		Numerology: 1, PRBs: prbs, Layers: layers, MCS: 27, Pattern: "DDDDDDDSUU", SpecialDL: 6, SpecialUL: 4,
		K1: 4, K2: 6, SRPeriod: 10, SROffset: 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(g), g
}

// TestGolden: the fields of TS 38.212, written down bit by bit.
func TestGolden(t *testing.T) {
	f, _ := formats(t, 106, 1)
	var d nfapi.DCI
	if err := f.PutDownlink(&d, &Downlink{
		HARQ: 5, NDI: 1, RV: 2, MCS: 28, PRBStart: 0, PRBs: 106, Symbols: grid.Symbols{Start: 1, Length: 13}, K1: 4, PUCCH: 6, TPC: 1,
	}); err != nil {
		t.Fatal(err)
	}
	//                              id  RIV: 106*(106-106+1)+105   TDRA MCS     NDI  RV   HARQ   TPC  PUCCH K1  ports  SRS  DMRS
	if got, want := number(d), field("1   0000011010011              0    11100   1    10   0101   01   110  000  0011   00   0"); got != want || d.PayloadSizeBits != 42 {
		t.Errorf("format 1_1: got %d bits, %b, want 42, %b", d.PayloadSizeBits, got, want)
	}
	if err := f.PutUplink(&d, &Uplink{HARQ: 15, RV: 3, MCS: 9, PRBStart: 10, PRBs: 4, K2: 7, DAI: 1, TPC: 2}); err != nil {
		t.Fatal(err)
	}
	//                              id  RIV: 106*3+10   k2    MCS    NDI  RV  HARQ  DAI  TPC  ports  SRS  DMRS  UL-SCH
	if got, want := number(d), field("0   0000101001000   0001  01001  0    11  1111  1    10   010    00   0     1"); got != want || d.PayloadSizeBits != 40 {
		t.Errorf("format 0_1: got %d bits, %b, want 40, %b", d.PayloadSizeBits, got, want)
	}
}

func number(d nfapi.DCI) (n uint64) {
	for i, octet := range d.Payload[:8] {
		n |= uint64(octet) << (8 * i)
	}
	return n
}

func field(s string) (n uint64) {
	for _, c := range s {
		if c == '0' || c == '1' {
			n = n<<1 | uint64(c-'0')
		}
	}
	return n
}

// TestRoundTrip: whatever is put is read, for every carrier and number of layers, and
// the other format is told apart.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for prbs := 1; prbs <= 275; prbs++ {
		f, g := formats(t, prbs, 1+prbs%4)
		var d nfapi.DCI
		for range 50 {
			start := r.IntN(prbs)
			down := Downlink{
				HARQ: uint8(r.IntN(16)), NDI: uint8(r.IntN(2)), RV: uint8(r.IntN(4)), MCS: uint8(r.IntN(32)),
				PRBStart: start, PRBs: 1 + r.IntN(prbs-start), Symbols: f.pdsch[r.IntN(len(f.pdsch))], K1: g.K1s[r.IntN(len(g.K1s))],
				PUCCH: uint8(r.IntN(8)), TPC: uint8(r.IntN(4)),
			}
			if err := f.PutDownlink(&d, &down); err != nil {
				t.Fatal(err)
			}
			if got, err := f.Downlink(&d); err != nil || got != down {
				t.Fatalf("%d PRBs: got %+v, %v, want %+v", prbs, got, err, down)
			}
			if _, err := f.Uplink(&d); !errors.Is(err, ErrFormat) && !errors.Is(err, ErrSize) {
				t.Fatalf("%d PRBs: an assignment is read as a grant: %v", prbs, err)
			}
			up := Uplink{
				HARQ: down.HARQ, NDI: down.NDI, RV: down.RV, MCS: down.MCS, PRBStart: down.PRBStart, PRBs: down.PRBs,
				K2: 6 + r.IntN(grid.K2s), DAI: uint8(r.IntN(2)), TPC: down.TPC,
			}
			if err := f.PutUplink(&d, &up); err != nil {
				t.Fatal(err)
			}
			if got, err := f.Uplink(&d); err != nil || got != up {
				t.Fatalf("%d PRBs: got %+v, %v, want %+v", prbs, got, err, up)
			}
		}
	}
}

func TestPutErrors(t *testing.T) {
	f, _ := formats(t, 106, 1)
	good := Downlink{PRBs: 1, Symbols: grid.Symbols{Start: 1, Length: 13}, K1: 4}
	for name, change := range map[string]func(*Downlink){
		"symbols": func(m *Downlink) { m.Symbols.Length = 12 },
		"k1":      func(m *Downlink) { m.K1 = 9 },
		"PRBs":    func(m *Downlink) { m.PRBStart, m.PRBs = 100, 7 },
		"no PRB":  func(m *Downlink) { m.PRBs = 0 },
		"below 0": func(m *Downlink) { m.PRBStart = -1 },
		"HARQ":    func(m *Downlink) { m.HARQ = 16 },
		"MCS":     func(m *Downlink) { m.MCS = 32 },
	} {
		m, d := good, nfapi.DCI{PayloadSizeBits: 7}
		change(&m)
		if err := f.PutDownlink(&d, &m); !errors.Is(err, ErrValue) || d.PayloadSizeBits != 7 || number(d) != 0 {
			t.Errorf("%s: %v, %+v", name, err, d)
		}
	}
	for name, m := range map[string]Uplink{
		"k2 below": {PRBs: 1, K2: 5}, "k2 above": {PRBs: 1, K2: 22}, "PRBs": {PRBs: 107, K2: 6}, "NDI": {PRBs: 1, K2: 6, NDI: 2},
	} {
		if err := f.PutUplink(&nfapi.DCI{}, &m); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead: what is read can be put, and gives the same bits.
func FuzzRead(f *testing.F) {
	f.Add(uint64(0b1_0000011010011_0_11100_1_10_0101_01_110_000_0011_00_0), false, uint16(106), uint8(0))
	f.Add(uint64(0b0_0000101001000_0001_01001_0_11_1111_1_10_010_00_0_1), true, uint16(106), uint8(0))
	f.Fuzz(func(t *testing.T, value uint64, uplink bool, prbs uint16, layers uint8) {
		fs, _ := formats(t, 1+int(prbs)%275, 1+int(layers)%4)
		d := nfapi.DCI{PayloadSizeBits: uint16(fs.DownlinkBits())}
		if uplink {
			d.PayloadSizeBits = uint16(fs.UplinkBits())
		}
		value &= 1<<d.PayloadSizeBits - 1
		for i := range 8 {
			d.Payload[i] = byte(value >> (8 * i))
		}
		var again nfapi.DCI
		var put error
		if uplink {
			m, err := fs.Uplink(&d)
			if err != nil {
				return
			}
			put = fs.PutUplink(&again, &m)
		} else {
			m, err := fs.Downlink(&d)
			if err != nil {
				return
			}
			put = fs.PutDownlink(&again, &m)
		}
		if put != nil || again.PayloadSizeBits != d.PayloadSizeBits || again.Payload != d.Payload {
			t.Errorf("read %+v, put %+v, %v", d, again, put)
		}
	})
}
