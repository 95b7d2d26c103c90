package grid

import (
	"math"
	"slices"
)

// Subcarriers is how many resource elements a PRB has in a symbol. Source: TS 38.211
// V18.2.0, 4.4.4.1.
const Subcarriers = 12

// maxREPerPRB is how many resource elements of a PRB count at most.
const maxREPerPRB = 156

// Transport blocks that have LDPC base graph 2, in bits: up to the first at any rate, up
// to the second at rates of 0.67 at most. Source: TS 38.212 V18, 7.2.2.
const (
	baseGraph2Small  = 292
	baseGraph2Middle = 3824
)

// tbsTable is the sizes of small transport blocks, in bits. Source: TS 38.214 V18,
// table 5.1.3.2-1.
var tbsTable = []int{
	24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208, 224, 240,
	256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640, 672, 704, 736, 768,
	808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672,
	1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104,
	3240, 3368, 3496, 3624, 3752, 3824,
}

// Allocation is the resources of a PDSCH or PUSCH with one codeword.
type Allocation struct {
	PRBs    int
	Symbols int
	DMRS    int // resource elements per PRB that carry no data
	Layers  int
	QM      int     // bits per symbol
	Rate    float64 // of the code, times 1024
}

// TransportBlock is how many octets go into a; 0 if it holds no resource element.
// Source: TS 38.214 V18, 5.1.3.2 and 6.1.4.2.
func (a Allocation) TransportBlock() int {
	re := min(maxREPerPRB, Subcarriers*a.Symbols-a.DMRS) * a.PRBs
	if re <= 0 || a.QM == 0 {
		return 0
	}
	rate := a.Rate / 1024
	return transportBlock(float64(re)*rate*float64(a.QM*a.Layers), rate)
}

// transportBlock quantises a number of information bits; the result is in octets.
func transportBlock(info, rate float64) int {
	if info <= baseGraph2Middle {
		n := max(3, int(math.Floor(math.Log2(info)))-6)
		quantised := max(24, int(info)>>n<<n)
		at, _ := slices.BinarySearch(tbsTable, quantised)
		return tbsTable[at] / 8
	}
	n := int(math.Floor(math.Log2(info-24))) - 5
	quantised := max(3840, int(math.Round((info-24)/float64(int(1)<<n)))<<n)
	blocks := 1
	switch {
	case rate <= 0.25:
		blocks = ceil(quantised+24, 3816)
	case quantised > 8424:
		blocks = ceil(quantised+24, 8424)
	}
	return blocks*ceil(quantised+24, 8*blocks) - 3
}

func ceil(a, b int) int { return (a + b - 1) / b }

// BaseGraph is the LDPC base graph, 1 or 2, for the size of a transport block in octets and the
// code rate times 1024. Source: TS 38.212 V18, 7.2.2.
func BaseGraph(octets int, rate1024 float64) uint8 {
	size, rate := 8*octets, rate1024/1024
	if size <= baseGraph2Small || size <= baseGraph2Middle && rate <= 0.67 || rate <= 0.25 {
		return 2
	}
	return 1
}

// lbrmPRBs are the sizes of a carrier that limited buffer rate matching knows. Source:
// TS 38.212 V18, table 5.4.2.1-1.
var lbrmPRBs = []int{32, 66, 107, 135, 162, 217, 273}

// LBRM is TBS_LBRM in octets, which sets the size of a receiver's soft buffer: the
// largest transport block of a carrier, with at most 4 layers. Source: TS 38.212 V18,
// 5.4.2.1.
func LBRM(prbs, layers int, table uint8) int {
	i, _ := slices.BinarySearch(lbrmPRBs, prbs)
	qm := 6
	if table == 1 {
		qm = 8
	}
	a := Allocation{
		PRBs: lbrmPRBs[min(i, len(lbrmPRBs)-1)], Symbols: maxREPerPRB / Subcarriers,
		Layers: min(layers, 4), QM: qm, Rate: 948,
	}
	return a.TransportBlock()
}
