package datapath

// Total is what rules counted since the start, those included that are gone.
// Octets are those of user packets, from their IP header on.
type Total struct {
	Packets, Octets uint64 // forwarded
	Dropped         uint64 // packets that matched, then were dropped by gate, quota, meter or FAR
}

// Add adds u to t.
func (t *Total) Add(u Total) {
	t.Packets += u.Packets
	t.Octets += u.Octets
	t.Dropped += u.Dropped
}

// SliceTotal is what the rules of the sessions of one slice counted.
type SliceTotal struct {
	Slice            uint32 // number of the slice; 0: of sessions without one
	Uplink, Downlink Total
}
