// Package bmv2 executes a P4 program that p4c has compiled for BMv2's v1model architecture: the heart of a software
// switch, without devices and without a control protocol.
//
//	BMv2 JSON ─ Load ─► Program ─ New ─► Instance ◄─ Update, View: entries, counters, meters, groups
//	                   (checked, compiled)   │
//	                                     NewWorker (one for each goroutine)
//	                                         │                                    ┌► Sink.Emit: frame, egress port
//	Frame ─► parser ─► verify ─► ingress ─► clone, digest, multicast ─► egress ─► update ─► deparser ─► recirculate
//	            ▲                     │ resubmit                                  └► Sink.Digest, Sink.Drop        │
//	            └─────────────────────┴────────────────────────────────────────────────────────────────────────────┘
//
// Load checks the whole program: an accepted program runs without lookups by name, without
// allocation and without unbounded loops. A program that uses an unimplemented feature is rejected,
// with an error that names it.
//
// Fields of up to 64 bits are one word each, wider ones several, the least significant first.
// Actions and pipelines are code: instructions test and assign words, and call closures for all
// else. They are chosen by the ranges of all values, so arithmetic is as exact as BMv2's, which is
// unbounded, and as fast as word arithmetic where possible. Tests with a result known from earlier
// tests or assignments are omitted.
//
// Values at this interface are octet strings in network byte order. They may be shorter or longer than the field, as long
// as the value fits; those that come back have no leading zero octets, and zero is one octet (the canonical form of
// P4Runtime). Lengths are in octets, widths in bits, times in nanoseconds, rates in packets or octets per second.
//
// Sources: BMv2's docs/JSON_format.md 2.24 and its simple_switch target, for behaviour; P4-16 Language Specification
// v1.2.5; v1model.p4 of p4c; P4Runtime Specification v1.4.1, 9, for tables, counters, meters, groups and sessions;
// RFC 2698 for meters.
package bmv2

import "errors"

// What a control request is refused with; the errors that are returned wrap these.
var (
	// ErrFull says that the table has as many entries as it may have.
	ErrFull = errors.New("table is full")
	// ErrExists says that there is an entry with this match and priority.
	ErrExists = errors.New("entry exists")
	// ErrNotFound says that there is no such entry.
	ErrNotFound = errors.New("no such entry")
	// ErrInvalid says that the request does not fit the program: a width, an action, a match, an index.
	ErrInvalid = errors.New("invalid")
	// ErrConst says that the program does not let this be changed: const entries, a const default action.
	ErrConst = errors.New("constant in the program")
)

// ErrUnsupported is wrapped by what Load returns for a sound program that uses what is not implemented.
var ErrUnsupported = errors.New("not implemented")

// MatchKind is how a key field is matched.
type MatchKind uint8

// The match kinds. A key of kind valid comes as an exact one of one bit, one of kind optional as a ternary one: the compiler
// writes it so, and only P4Info knows the difference.
const (
	Exact MatchKind = iota
	LPM
	Ternary
	Range
)

// Table describes a table of the program. ID is its position in Program.Tables.
type Table struct {
	ID   int
	Name string
	Size int
	Keys []Key
	// Actions are the actions that an entry may have, as positions in Program.Actions.
	Actions []int
	// HasPriority is true if entries have a priority: a ternary or range field is in the key.
	HasPriority bool
	// ConstEntries is true if the program gives the entries, which a controller may not change.
	ConstEntries bool
	// ConstDefault is true if the default action may not be changed.
	ConstDefault bool
	// DefaultAction is the program's default action, a position in Program.Actions.
	DefaultAction int
	// Hidden is true for tables that the compiler made of statements. They have no key.
	Hidden bool
	// Counter and Meter are the direct ones, as positions in Program.Counters and Program.Meters, or -1.
	Counter, Meter int
}

// Key describes one field of a table's key. Width is in bits.
type Key struct {
	Name  string
	Kind  MatchKind
	Width int
}

// Action describes an action. ID is its position in Program.Actions. The compiler may write an action several times, once for
// each table; so look names up in a table.
type Action struct {
	ID     int
	Name   string
	Params []Param
}

// Param is a parameter of an action or a member of a digest. Width is in bits.
type Param struct {
	Name  string
	Width int
}

// Counter describes a counter array, or the direct counters of a table. Cells always count packets and octets.
type Counter struct {
	ID   int
	Name string
	Size int
	// Table is the table that has these as direct counters, or -1.
	Table int
}

// Meter describes a meter array, or the direct meters of a table.
type Meter struct {
	ID   int
	Name string
	Size int
	// Table is the table that has these as direct meters, or -1.
	Table int
	// Octets is true if the meter is about octets, false if about packets.
	Octets bool
}

// Register describes a register array. Width is in bits.
type Register struct {
	ID    int
	Name  string
	Size  int
	Width int
}

// Digest describes a digest message. Sink.Digest gets its members one after the other, each in whole octets.
type Digest struct {
	ID     int
	Name   string
	Fields []Param
}

// Match is what an entry says of one key field. A nil Value says nothing: any value matches, which exact fields do not
// allow.
type Match struct {
	// Value is the value of an exact field, that of an LPM or ternary field under its mask, and the lowest
	// value of a range.
	Value []byte
	// Mask has a one for each bit of a ternary field that counts. Bits of Value beyond Mask must be zero.
	Mask []byte
	// High is the highest value of a range.
	High []byte
	// PrefixLen is the number of bits of an LPM field that count. Bits of Value beyond it must be zero.
	PrefixLen int
}

// Entry is a table entry. Match, and Priority if the table has priorities, say which one it is.
type Entry struct {
	Match []Match
	// Priority is greater than zero if the table has priorities, zero if not. The greatest wins. Of entries of the
	// same priority that match a packet, any one wins.
	Priority int32
	// Action is a position in Program.Actions.
	Action int
	Params [][]byte
	// Counter is set if not nil, and given in reads if the table has direct counters.
	Counter *CounterValue
	// Meter is set if not nil, and given in reads if the entry has a direct meter that was set.
	Meter *MeterConfig
	// Const is true in reads of entries that the program gave.
	Const bool
}

// CounterValue is what a counter has counted.
type CounterValue struct {
	Packets, Octets uint64
}

// MeterConfig is a two rate three colour meter: rates in packets or octets per second, bursts in packets or octets.
type MeterConfig struct {
	CIR, CBurst uint64
	PIR, PBurst uint64
}

// Replica is one copy that a multicast group or a clone session makes. Instance becomes egress_rid.
type Replica struct {
	Port     uint32
	Instance uint16
}

// CloneSession says where a cloned packet goes.
type CloneSession struct {
	Replicas []Replica
	// PacketLength is how much of the frame a clone has, at most, or 0 for all of it.
	PacketLength int
}

// Config is what an Instance gets from its owner.
type Config struct {
	// Clock gives the time in nanoseconds; it never goes back. The time of New is zero of all timestamps.
	Clock func() int64
	// Passes is how often a frame may go through the ingress, by resubmit and recirculate; 0 is 16.
	Passes int
}

// Frame is a frame that comes in, without FCS.
type Frame struct {
	Port uint32
	Data []byte
}

// Out is a frame that leaves: Head, then Payload. Both are valid until Emit returns.
type Out struct {
	// Frame is the index of the frame in the batch that this was made of.
	Frame int
	// Port is the egress port.
	Port uint32
	// Head are the headers that the deparser wrote, in memory of the worker.
	Head []byte
	// Payload is what follows. Usually it is the end of Frame.Data itself.
	Payload []byte
	// InPlace is true if Payload is the end of Frame.Data and nothing else of it is needed any more: a
	// caller with room before the payload may write Head there.
	InPlace bool
}

// Drop says where a packet ended.
type Drop uint8

// Where a packet may end, other than at a port.
const (
	// DropIngress is egress_spec 511 at the end of ingress.
	DropIngress Drop = iota
	// DropEgress is egress_spec 511 at the end of egress.
	DropEgress
	// DropGroup is a multicast group without replicas.
	DropGroup
	// DropSession is a clone to a session that does not exist; the packet itself continues.
	DropSession
	// DropPasses is a packet that was resubmitted or recirculated too often.
	DropPasses
	// DropAssert is an assert or assume that was not true.
	DropAssert
	// DropParser is a parser or an action that did not end within its bound of steps.
	DropParser
	// DropSize is a frame longer than MaxFrame.
	DropSize
	// Drops is the number of the above.
	Drops
)

// Sink takes what a worker gives out, in the goroutine of Process: it must call neither Update, which waits for Process, nor
// Process of this worker. A packet-in is a frame like any other: the program sends
// it to the port that leads to the controller, with a header of its own.
type Sink interface {
	Emit(o *Out)
	// Digest gets the members of a digest one after the other, each in whole octets. data is valid until it returns.
	Digest(frame, digest int, data []byte)
	Drop(frame int, why Drop)
}

// DropPort is the egress_spec that drops a packet.
const DropPort = 511

// MaxFrame is the greatest length of a frame.
const MaxFrame = 65535
