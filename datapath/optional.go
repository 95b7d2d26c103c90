package datapath

// Optional abilities of a [Driver]. Whoever needs one asks for the interface; an implementer
// states it with `var _`, so that a renamed method breaks the build.

// MemoryReporter reports the memory of its tables.
type MemoryReporter interface {
	// MemoryOctets is what the tables take now; 0: not known.
	MemoryOctets() uint64
}

// CopyReporter has devices that may give it frames without a copy.
type CopyReporter interface {
	// ZeroCopy reports whether they do.
	ZeroCopy() bool
}

// PeerReporter knows next hops.
type PeerReporter interface {
	// Peers returns them, in any order.
	Peers() []Peer
}

// PassReporter hands packets on that it neither drops nor forwards in its fast path.
type PassReporter interface {
	// Passes returns how many since the start, by [Reason].
	Passes() (map[string]uint64, error)
}

// BufferReporter buffers packets.
type BufferReporter interface {
	Buffered() Buffered
}

// TableReporter has tables that may be full before all sessions are there.
type TableReporter interface {
	TableUse() []TableUse
}

// SliceReporter counts by slice.
type SliceReporter interface {
	// SliceTotals returns what the sessions of each slice have counted since the start.
	SliceTotals() []SliceTotal
}

// KeyReporter knows by which keys packets are those of a session.
type KeyReporter interface {
	// Keys returns them. Errors: [ErrNoSession].
	Keys(seid uint64) ([]Key, error)
}

// TargetReporter forwards by a P4 target.
type TargetReporter interface {
	Target() TargetState
}

// Failer can fail for good while it runs.
type Failer interface {
	// Ended is closed when it has.
	Ended() <-chan struct{}
	// Err returns why; nil: it has not.
	Err() error
}

// Keeper has something outside of the process that can forward without it.
type Keeper interface {
	// Keep has Close leave that as it is: the sessions will be back.
	Keep()
}

// TracePreparer puts off what traces need until after its start.
type TracePreparer interface {
	// PrepareTraces does it. Errors: [ErrClosed], and those of the kernel.
	PrepareTraces() error
}

// MemoryLocker locks memory while it takes packets.
type MemoryLocker interface {
	// LockedOctets is how much. Errors: [ErrUnsupported] if it cannot take packets from its devices.
	LockedOctets() (uint64, error)
}
