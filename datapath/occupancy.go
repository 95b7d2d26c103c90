package datapath

import "time"

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

// TargetState is how the switch is that forwards for a datapath, and what it does.
type TargetState struct {
	Address  string // host:port; empty: it is in the process
	DeviceID uint64
	Since    time.Time // when Away changed last
	Away     error     // why nothing is written to it; nil: it is there
	// Sessions are those that it forwards, at least in part. Of the others, which the CPU
	// forwards, Waiting are about to be put into it.
	Sessions, Waiting, All int
	// Handed is how many packets it has handed to the CPU, by reason.
	Handed map[Reason]uint64
}
