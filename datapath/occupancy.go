package datapath

// Buffered is what waits for UEs that are idle, and how much may.
type Buffered struct {
	Sessions            int
	Packets, MaxPackets int
	Octets, MaxOctets   int // of memory
}

// TableUse is how much of a table is in use. Max is the most that it holds.
type TableUse struct {
	Name      string // such as "nat_mappings"
	Used, Max int
}
