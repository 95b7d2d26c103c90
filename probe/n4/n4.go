// Package n4 measures the PFCP of a running UPF without modifying it, and learns from it the slices
// of packets.
//
//	CP function ◄── N4 ──► device of the UPF, or of the CP function
//	                          ● every PFCP datagram, whole, with its time (bpf/probe/probe_n4.bpf.c)
//	                          └─► ring ─► transactions: requests and responses paired
//	                                        ├─► histograms by role of the requester and message type
//	                                        └─► sessions ─► TEID, UE address → S-NSSAI, DNN, QFI
//
// A transaction is a request and its response: the same addresses and ports reversed, the same
// sequence number, and the response type of the request. The time counts from the first
// transmission, so it is the waiting time of the requester: at the UPF's device without the network
// path, at the CP function's device with it. At any moment, of the transactions that began,
//
//	Requests = Answered + Unanswered + Outstanding + Evicted
//
// Only accepted state is learned: keys of a session are learned when the response accepts them, and
// forgotten when the session or its last rule with the key is deleted. An F-TEID that the UP
// function chose is in the response.
//
// All datagrams are untrusted. No content makes a table grow beyond its limit; data that does not
// fit is counted.
//
// Times are nanoseconds of CLOCK_MONOTONIC.
//
// Source: TS 29.244 V18.6.0, 6.4 (reliable delivery), 7.2.2 (header), 7.3 (types).
package n4

import (
	"net/netip"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/slicemap"
)

// Role says which function sent a request.
type Role uint8

// Roles.
const (
	Unknown Role = iota // of a type that both may ask, before either was known
	CP
	UP
)

// String returns "CP", "UP" or "-".
func (r Role) String() string {
	switch r {
	case CP:
		return "CP"
	case UP:
		return "UP"
	}
	return "-"
}

// UPF is a UPF whose N4 is measured.
type UPF struct {
	Name string
	N4   []netip.Addr // its addresses there; empty: any
}

// Point is a device by which N4 goes, at either end. A datagram that passes two points of
// one UPF looks as if it had been sent twice.
type Point struct {
	UPF       int    // index in Config.UPFs
	Namespace string // path of the network namespace; empty: that of the process
	Device    string // name there
}

// Config describes a Monitor.
type Config struct {
	UPFs []UPF // more may be added later

	Timeout      time.Duration // a request without response for longer is unanswered; default 20 s, at most 60 s
	Transactions int           // that there is room for, answered ones for a while included; default 65,536
	Sessions     int           // maximum number of sessions with keys; default 131,072

	Slices *slicemap.Map // names slices; nil: by S-NSSAI and DNN

	// Learn and Forget are called with keys, in the order of the responses: those of a probe.Probe
	// with the same UPFs. Learn of a known key changes its slice. Nil: not called.
	Learn  func(upf int, k probe.Key, s probe.Slice) error
	Forget func(upf int, k probe.Key) error

	// Done is called for transactions that were answered, or expired unanswered. Nil: not called.
	// All three are called by the goroutine that reads the ring, or that of Monitor.Read, one at a
	// time; they must not block, nor call the Monitor.
	Done func(Transaction)
}

// Transaction is one that has ended.
type Transaction struct {
	UPF                  int
	Role                 Role             // role of the requester
	Type                 pfcp.MessageType // of the request
	Requester, Responder netip.AddrPort
	Sequence             uint32
	SEID                 uint64     // of the request's header; 0: it has none
	RequestNs            uint64     // when it was first sent
	ResponseNs           uint64     // 0: never
	Cause                pfcp.Cause // 0: none, or it could not be read
	Retransmissions      uint32
}

// Account counts transactions by result.
type Account struct {
	Requests    uint64 // begun
	Answered    uint64 // a response came
	Unanswered  uint64 // none came within Config.Timeout, or before the sequence number meant another request
	Outstanding uint64 // wait for one
	Evicted     uint64 // were forgotten for want of room

	Retransmissions uint64 // requests once more
	Repeated        uint64 // responses once more
	Rejected        uint64 // of Answered: with a Cause that is not acceptance
}

// Series is the transactions of one type that one function asked.
type Series struct {
	UPF  string
	Role Role
	Type pfcp.MessageType // of the request
	Account
	Causes map[pfcp.Cause]uint64   // of Answered; a Heartbeat Response has none
	Delay  *hdrhistogram.Histogram // ns, of Answered; two significant figures to 2^36 - 1
}

// PointCount is what passed at a point.
type PointCount struct {
	Point
	Datagrams uint64 // to or from UPF.N4
	Octets    uint64 // of UDP payload
	Messages  uint64
	Bundles   uint64 // datagrams of several messages
	Fragments uint64 // datagrams of which the first part alone was seen
	Malformed uint64 // datagrams whose header or message type is not PFCP
	Orphans   uint64 // responses to no known request
	Foreign   uint64 // datagrams of other addresses
	Lost      uint64 // datagrams for which the ring had no room
}

// Learnt is how much is known of sessions.
type Learnt struct {
	Sessions  uint64 // known now
	Keys      uint64 // of these
	Accepted  uint64 // session messages that were accepted and learnt from
	Undecoded uint64 // session messages that could not be read
	Full      uint64 // sessions, rules and keys for which there was no room
	Refused   uint64 // errors of Config.Learn and Config.Forget
}

// Snapshot is all that was counted until a moment.
type Snapshot struct {
	At          time.Time
	MonotonicNs uint64
	Series      []Series     // by UPF, role and type
	Points      []PointCount // in the order of Attach, closed ones included until others need their room
	Learnt      Learnt
}
