package grid

import (
	"math"
	"testing"
)

// TestTransportBlock: sizes that others have computed. Those of 12 symbols are of
// nrTBS of MathWorks' 5G Toolbox, as in the unit tests of srsRAN Project 23.10; those
// with an MCS index are the ones that srsRAN's scheduler is tested with.
func TestTransportBlock(t *testing.T) {
	for _, test := range []struct {
		dmrs, qm int
		rate     float64
		layers   int
		prbs     int
		want     int // bits
	}{
		{6, 2, 102.4, 1, 6, 160}, {18, 2, 102.4, 1, 6, 144}, {6, 2, 921.6, 1, 6, 1544}, {18, 2, 921.6, 1, 6, 1416},
		{36, 2, 102.4, 1, 6, 128}, {48, 2, 102.4, 1, 6, 112}, {36, 2, 921.6, 1, 6, 1160}, {48, 2, 921.6, 1, 6, 1032},
		{6, 2, 102.4, 1, 11, 304}, {6, 2, 921.6, 1, 11, 2728}, {36, 2, 921.6, 1, 11, 2152}, {48, 2, 921.6, 1, 11, 1928},
		{6, 2, 921.6, 4, 6, 5888}, {18, 2, 921.6, 4, 6, 5376}, {36, 2, 921.6, 4, 6, 4608}, {48, 2, 921.6, 4, 6, 4096},
		{6, 2, 921.6, 4, 11, 11016}, {18, 2, 921.6, 4, 11, 9992}, {36, 2, 921.6, 4, 11, 8456}, {48, 2, 921.6, 4, 11, 7552},
		{6, 4, 102.4, 1, 6, 336}, {6, 4, 921.6, 1, 11, 5504}, {36, 4, 921.6, 1, 11, 4224}, {48, 4, 921.6, 1, 11, 3824},
		{6, 4, 921.6, 4, 6, 11784}, {18, 4, 921.6, 4, 6, 10760}, {36, 4, 921.6, 4, 6, 9224}, {48, 4, 921.6, 4, 6, 8192},
		{6, 4, 921.6, 4, 11, 22032}, {18, 4, 921.6, 4, 11, 19968}, {36, 4, 921.6, 4, 11, 16896}, {48, 4, 921.6, 4, 11, 15112},
		{6, 6, 102.4, 1, 6, 504}, {6, 6, 921.6, 1, 6, 4480}, {18, 6, 921.6, 1, 6, 4032}, {36, 6, 921.6, 1, 6, 3496},
		{6, 6, 102.4, 4, 11, 3624}, {18, 6, 102.4, 4, 11, 3368}, {36, 6, 102.4, 4, 11, 2856}, {48, 6, 102.4, 4, 11, 2536},
		{6, 6, 921.6, 4, 11, 32776}, {18, 6, 921.6, 4, 11, 29704}, {36, 6, 921.6, 4, 11, 25608}, {48, 6, 921.6, 4, 11, 23040},
		{6, 8, 102.4, 1, 6, 672}, {6, 8, 921.6, 1, 6, 5888}, {6, 8, 921.6, 1, 11, 11016}, {48, 8, 921.6, 1, 11, 7552},
		{6, 8, 102.4, 4, 6, 2664}, {18, 8, 102.4, 4, 6, 2408}, {6, 8, 921.6, 4, 6, 24072},
	} {
		a := Allocation{PRBs: test.prbs, Symbols: 12, DMRS: test.dmrs, Layers: test.layers, QM: test.qm, Rate: test.rate}
		if got := 8 * a.TransportBlock(); got != test.want {
			t.Errorf("%+v: got %d bits, want %d", a, got, test.want)
		}
	}
	for _, test := range []struct {
		symbols int
		mcs     uint8
		prbs    int
		want    int // octets
	}{
		{12, 28, 5, 372}, {12, 28, 20, 1505}, {12, 26, 106, 7298}, {12, 23, 3, 177}, {12, 19, 275, 11272},
		{12, 13, 32, 816}, {12, 11, 41, 816}, {12, 8, 179, 2817}, {12, 3, 84, 561}, {12, 0, 55, 177}, {12, 0, 5, 15},
		{14, 27, 5, 437}, {14, 28, 20, 1825}, {14, 26, 106, 8961}, {14, 23, 3, 209}, {14, 19, 275, 13829},
		{14, 13, 32, 1008}, {14, 11, 41, 992}, {14, 8, 179, 3457}, {14, 3, 84, 673}, {14, 0, 55, 217}, {14, 0, 1, 3},
	} {
		qm, rate := Modulation(0, test.mcs)
		a := Allocation{PRBs: test.prbs, Symbols: test.symbols, DMRS: 36, Layers: 1, QM: qm, Rate: rate}
		if got := a.TransportBlock(); got != test.want {
			t.Errorf("%+v: got %d octets, want %d", a, got, test.want)
		}
	}
	if got := (Allocation{PRBs: 10, Symbols: 1, DMRS: 12, Layers: 1, QM: 2, Rate: 120}).TransportBlock(); got != 0 {
		t.Errorf("no resource element: got %d octets, want 0", got)
	}
}

// Of a code block with its CRC, in bits. Source: TS 38.212 V18, 5.2.2.
const (
	crcTB     = 24
	maxBlock1 = 8448 // base graph 1
	maxBlock2 = 3840
)

// codeBlocks is into how many code blocks a transport block is cut. Source: TS 38.212
// V18, 5.2.2.
func codeBlocks(octets int, baseGraph uint8) int {
	largest := maxBlock1
	if baseGraph == 2 {
		largest = maxBlock2
	}
	crc := crcTB
	if 8*octets <= baseGraph2Middle {
		crc = 16
	}
	if size := 8*octets + crc; size > largest {
		return ceil(size, largest-crcTB)
	}
	return 1
}

// TestTransportBlockEqualCodeBlocks: the sizes are made so that a transport block with
// its CRC divides into code blocks of equally many octets. TS 38.214 V18, 5.1.3.2.
func TestTransportBlockEqualCodeBlocks(t *testing.T) {
	for table := range mcsTables {
		for index, m := range mcsTables[table] {
			last := 0
			for prbs := 1; prbs <= maxPRBs; prbs++ {
				a := Allocation{PRBs: prbs, Symbols: 13, DMRS: 12, Layers: 4, QM: m.qm, Rate: m.rate}
				octets := a.TransportBlock()
				if octets < last {
					t.Fatalf("table %d, MCS %d: %d PRBs hold %d octets, one less holds %d", table, index, prbs, octets, last)
				}
				last = octets
				blocks := codeBlocks(octets, BaseGraph(octets, m.rate))
				if 8*octets > baseGraph2Middle && (octets+crcTB/8)%blocks != 0 {
					t.Errorf("table %d, MCS %d, %d PRBs: %d octets in %d code blocks", table, index, prbs, octets, blocks)
				}
			}
		}
	}
}

func TestModulation(t *testing.T) {
	for table, want := range []int{29, 28} {
		efficiency := 0.0
		for index := range uint8(32) {
			qm, rate := Modulation(uint8(table), index)
			if got := qm > 0; got != (int(index) < want) {
				t.Errorf("table %d, MCS %d: qm %d", table, index, qm)
			}
			// MCS 17 of table 1 is a little below MCS 16: 2.5664 after 2.5703.
			if qm > 0 && float64(qm)*rate/1024 < efficiency-0.004 {
				t.Errorf("table %d, MCS %d: less efficient than the one before", table, index)
			}
			efficiency = math.Max(efficiency, float64(qm)*rate/1024)
		}
	}
	if qm, _ := Modulation(2, 0); qm != 0 {
		t.Errorf("table 2: qm %d, want none", qm)
	}
}

func TestBaseGraph(t *testing.T) {
	for _, test := range []struct {
		octets int
		rate   float64
		want   uint8
	}{
		{36, 948, 2}, {37, 948, 1}, {478, 0.67 * 1024, 2}, {478, 0.68 * 1024, 1}, {479, 0.67 * 1024, 1}, {10000, 256, 2}, {10000, 257, 1},
	} {
		if got := BaseGraph(test.octets, test.rate); got != test.want {
			t.Errorf("%d octets at rate %g: got base graph %d, want %d", test.octets, test.rate/1024, got, test.want)
		}
	}
}

func TestCodeBlocks(t *testing.T) {
	for _, test := range []struct {
		octets int
		graph  uint8
		want   int
	}{
		{3, 2, 1}, {477, 2, 1}, {478, 2, 1}, {479, 2, 2}, {1053, 1, 1}, {1054, 1, 2}, {10594, 1, 11},
	} {
		if got := codeBlocks(test.octets, test.graph); got != test.want {
			t.Errorf("%d octets, base graph %d: got %d code blocks, want %d", test.octets, test.graph, got, test.want)
		}
	}
}

// TestLBRM: computed by hand from 156 resource elements in each PRB of the next larger
// carrier of the table.
func TestLBRM(t *testing.T) {
	for _, test := range []struct {
		prbs, layers int
		table        uint8
		want         int // octets
	}{
		{106, 1, 0, 11525}, {107, 1, 0, 11525}, {106, 8, 0, 46109}, {273, 4, 1, 159749}, {275, 4, 1, 159749}, {24, 1, 0, 3457},
	} {
		if got := LBRM(test.prbs, test.layers, test.table); got != test.want {
			t.Errorf("%d PRBs, %d layers, table %d: got %d octets, want %d", test.prbs, test.layers, test.table, got, test.want)
		}
	}
}
