package n4

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Drop says why a datagram got no answer.
type Drop uint8

// The reasons, in the order of their names.
const (
	DropShort      Drop = iota // not even a header
	DropTruncated              // longer than any PFCP message
	DropNotAllowed             // the source is not on the list of peers
	DropMalformed              // a heartbeat or a response that cannot be decoded
	DropUnknown                // a message that no CP function sends
	DropUnexpected             // a response to nothing that we asked
	DropBundled                // further messages in a stranger's datagram, or too many
	DropBusy                   // the peer's old sessions are still being deleted
	DropTooLong                // the answer would be too long
	DropRate                   // more requests than one address may send
	DropQueue                  // too many requests wait for their handlers
	DropInProgress             // the request is being worked on already, or its answer is about to leave
	DropStore                  // it was answered before, and the store has failed since
	dropMax
)

var dropNames = [dropMax]string{
	"short", "truncated", "not_allowed", "malformed",
	"unknown", "unexpected", "bundled", "busy", "too_long",
	"rate", "queue", "in_progress", "store",
}

// String is the reason in one word.
func (d Drop) String() string {
	if d < dropMax {
		return dropNames[d]
	}
	return "unknown"
}

// Drops lists all reasons.
func Drops() []Drop {
	list := make([]Drop, dropMax)
	for i := range list {
		list[i] = Drop(i)
	}
	return list
}

// Counters is what an [Endpoint] counts from its start on. Anybody may read it
// at any time.
type Counters struct {
	Received [256]atomic.Uint64 // messages, by type
	Sent     [256]atomic.Uint64 // messages, by type, repetitions included
	Causes   [256]atomic.Uint64 // in responses that were composed, by Cause
	Dropped  [dropMax]atomic.Uint64

	Duplicates      atomic.Uint64 // requests answered from the cache
	Retransmissions atomic.Uint64 // of our own requests
	PathFailures    atomic.Uint64 // peers that stopped answering heartbeats
	PeerRestarts    atomic.Uint64 // peers whose Recovery Time Stamp became newer
	SendErrors      atomic.Uint64 // responses that the socket did not take
	StoreErrors     atomic.Uint64 // times that the store did not hold what it was given

	Reports ReportCounters

	busy atomic.Int64 // ns that workers spent on batches

	// Latency is the time from a request being read from the socket to its
	// response being handed to it, by the request's type.
	Latency [256]Histogram
}

// drop counts a drop.
func (c *Counters) drop(d Drop) { c.Dropped[d].Add(1) }

// latencyBuckets is how many buckets a [Histogram] has: bucket i counts
// durations below 2^i microseconds, the last one all others.
const latencyBuckets = 24

// Histogram counts durations in buckets whose bounds double.
type Histogram struct {
	buckets [latencyBuckets]atomic.Uint64
	sumNs   atomic.Uint64
}

// observe counts n durations of d.
func (h *Histogram) observe(d time.Duration, n uint64) {
	i := bits.Len64(uint64(max(d, 0) / time.Microsecond))
	h.buckets[min(i, latencyBuckets-1)].Add(n)
	h.sumNs.Add(uint64(max(d, 0)) * n)
}

// Read returns how many durations were counted, their sum, and how many there
// were below each bound (cumulative), for bounds of 1 microsecond doubling; the
// last bucket, which has no bound, is left out.
func (h *Histogram) Read() (count uint64, sum time.Duration, below map[time.Duration]uint64) {
	below = make(map[time.Duration]uint64, latencyBuckets-1)
	for i := range h.buckets {
		count += h.buckets[i].Load()
		if i < latencyBuckets-1 {
			below[time.Microsecond<<i] = count
		}
	}
	return count, time.Duration(h.sumNs.Load()), below
}

// MessageTypes lists the message types that are worth showing.
func MessageTypes() []pfcp.MessageType {
	list := []pfcp.MessageType{}
	for t := pfcp.MsgHeartbeatRequest; t <= pfcp.MsgSessionSetModifyResponse; t++ {
		list = append(list, t)
	}
	for t := pfcp.MsgSessionEstablishmentRequest; t <= pfcp.MsgSessionReportResponse; t++ {
		list = append(list, t)
	}
	return list
}
