package grid

// mcs is a modulation and coding scheme.
type mcs struct {
	qm   int     // bits per symbol
	rate float64 // of the code, times 1024
}

// MCS index tables 1 and 2 without their reserved rows, which are for retransmissions
// whose transport block is known. Source: TS 38.214 V18, tables 5.1.3.1-1 and 5.1.3.1-2.
var mcsTables = [2][]mcs{
	{
		{2, 120}, {2, 157}, {2, 193}, {2, 251}, {2, 308}, {2, 379}, {2, 449}, {2, 526}, {2, 602}, {2, 679},
		{4, 340}, {4, 378}, {4, 434}, {4, 490}, {4, 553}, {4, 616}, {4, 658},
		{6, 438}, {6, 466}, {6, 517}, {6, 567}, {6, 616}, {6, 666}, {6, 719}, {6, 772}, {6, 822}, {6, 873}, {6, 910}, {6, 948},
	},
	{
		{2, 120}, {2, 193}, {2, 308}, {2, 449}, {2, 602},
		{4, 378}, {4, 434}, {4, 490}, {4, 553}, {4, 616}, {4, 658},
		{6, 466}, {6, 517}, {6, 567}, {6, 616}, {6, 666}, {6, 719}, {6, 772}, {6, 822}, {6, 873},
		{8, 682.5}, {8, 711}, {8, 754}, {8, 797}, {8, 841}, {8, 885}, {8, 916.5}, {8, 948},
	},
}

// Modulation is what an MCS index means in table 0 (64QAM) or 1 (256QAM): the bits per
// symbol, and the code rate times 1024. qm is 0 if there is no such table, or if the
// index is reserved.
func Modulation(table, index uint8) (qm int, rate1024 float64) {
	if int(table) >= len(mcsTables) || int(index) >= len(mcsTables[table]) {
		return 0, 0
	}
	m := mcsTables[table][index]
	return m.qm, m.rate
}
