// Package datapath is what every datapath of the UPF has in common: the
// [Driver] that takes rules in, and the errors with which it refuses one.
//
// A rule comes down as an [api.Change] and packets pass through the stages
// parse, detect (PDR), enforce (QER), measure, forward (FAR) and emit. The
// packages below this one are the datapaths; package stages is the slow path of all of them.
package datapath

import (
	"context"
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Driver is one running datapath. All methods may be called from several
// goroutines at once.
type Driver interface {
	// Capabilities says what the datapath can do. It is constant.
	Capabilities() *api.Capabilities

	// Apply makes the datapath hold c, whole, before it returns nil. If it
	// returns an error, nothing has changed. No packet is treated by a mixture
	// of an old and a new rule. Packets that were buffered for a rule that now
	// forwards leave in their order, before any later packet of the session. The
	// driver keeps no reference to c.
	//
	// Errors: [RuleError] if a rule asks for what this datapath cannot do or
	// clashes with another session's, [ErrFull] if it has no room.
	Apply(ctx context.Context, c *api.Change) error

	// Usage returns what was counted for the session's rules and URRs, in their
	// order. Counts of a rule start at 0 when its match is first installed and
	// survive a change of its FAR or QERs; whether they survive a change of its
	// match is open. Those of a URR go on as long as the session has that URR,
	// also over a restart of the process.
	//
	// Errors: [ErrNoSession].
	Usage(seid uint64) (*api.SessionUsage, error)

	// Next waits for the next event. Events that nobody asks for are kept, the
	// same ones as one.
	//
	// Errors: that of ctx, and [ErrClosed].
	Next(ctx context.Context) (*api.Event, error)

	// Settle removes every session that the datapath still held from before it
	// was opened and that has not been applied since. Until then their packets
	// flow as they did, and no Error Indication is sent: a TEID that is not known
	// may be that of a session which is about to be applied.
	Settle(ctx context.Context) error

	// Drops returns how many packets were dropped, by reason, since start.
	Drops() (map[string]uint64, error)

	// Close takes the datapath off its devices and frees what it holds.
	Close() error
}

// Errors that a [Driver] wraps.
var (
	ErrNoSession   = errors.New("no such session")
	ErrFull        = errors.New("no room for another session")
	ErrUnsupported = errors.New("not supported by this datapath")
	ErrClash       = errors.New("held by another session")
	ErrNoRule      = errors.New("no such rule in the session")
	ErrClosed      = errors.New("the datapath is closed")
	ErrPDUType     = fmt.Errorf("PDU session type: %w", ErrUnsupported)
)

// RuleError says which rule of a change could not be applied.
// Source: TS 29.244, 8.2.80 (Failed Rule ID).
type RuleError struct {
	Type api.RuleType
	ID   uint32
	Err  error
}

// Error names the rule as TS 29.244 does.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s %d: %v", ruleNames[e.Type], e.ID, e.Err)
}

// Unwrap returns the reason.
func (e *RuleError) Unwrap() error { return e.Err }

var ruleNames = map[api.RuleType]string{
	api.RuleType_PDR_RULE: "PDR",
	api.RuleType_FAR_RULE: "FAR",
	api.RuleType_QER_RULE: "QER",
	api.RuleType_URR_RULE: "URR",
	api.RuleType_BAR_RULE: "BAR",
}
