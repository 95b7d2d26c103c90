package session

import (
	"errors"
	"fmt"
)

// Cause is why a request was not accepted.
// Source: TS 29.244 V18.6.0, 8.2.1.
type Cause uint8

// The causes that this package gives.
const (
	CauseSessionContextNotFound Cause = 65
	CauseConditionalIEMissing   Cause = 67
	CauseMandatoryIEIncorrect   Cause = 69
	CauseRuleFailure            Cause = 73 // Rule creation/modification Failure
	CauseNoResources            Cause = 75
	CauseServiceNotSupported    Cause = 76
	CauseSystemFailure          Cause = 77
	CauseAddressesOccupied      Cause = 79 // All dynamic addresses are occupied
	CauseUnknownPredefinedRule  Cause = 80
	CauseUnknownApplication     Cause = 81
)

// IE types that this package may find at fault.
// Source: TS 29.244 V18.6.0, table 8.1.2-1.
const (
	IEForwardingParameters  uint16 = 4
	IEFTEID                 uint16 = 21
	IEUEIPAddress           uint16 = 93
	IEPDNType               uint16 = 113
	IECreateTrafficEndpoint uint16 = 127
	IEUpdateTrafficEndpoint uint16 = 129
	IERemoveTrafficEndpoint uint16 = 130
)

// RuleType is the Rule ID Type of a Failed Rule ID.
// Source: TS 29.244 V18.6.0, 8.2.80.
type RuleType uint8

// The kinds of rules.
const (
	RulePDR RuleType = 0
	RuleFAR RuleType = 1
	RuleQER RuleType = 2
	RuleURR RuleType = 3
	RuleBAR RuleType = 4
)

// String names the kind as TS 29.244 does.
func (t RuleType) String() string {
	names := [...]string{"PDR", "FAR", "QER", "URR", "BAR"}
	if int(t) < len(names) {
		return names[t]
	}
	return "rule"
}

// Reasons that an [Error] wraps.
var (
	ErrNoSession   = errors.New("no such session")
	ErrHeld        = errors.New("held by another session")
	ErrFull        = errors.New("no room")
	ErrUnsupported = errors.New("not supported")
	ErrReference   = errors.New("names a rule that the session does not have")
	ErrDuplicate   = errors.New("the session has it already")
	ErrNoRule      = errors.New("the session does not have it")
	ErrInUse       = errors.New("the same request names it")
	ErrIncomplete  = errors.New("incomplete")
	ErrDisagree    = errors.New("the session's PDRs disagree")
)

// Error is why a request was not accepted, as its response has to say it.
type Error struct {
	Cause       Cause
	OffendingIE uint16 // 0: none
	// HasRule: Rule and RuleID are the Failed Rule ID.
	HasRule bool
	Rule    RuleType
	RuleID  uint32
	Err     error
}

// Error gives the rule, if one failed, and the reason.
func (e *Error) Error() string {
	if e.HasRule {
		return fmt.Sprintf("%s %d: %v", e.Rule, e.RuleID, e.Err)
	}
	return e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// ruleError is a Rule creation/modification Failure.
func ruleError(t RuleType, id uint32, err error) *Error {
	return &Error{Cause: CauseRuleFailure, HasRule: true, Rule: t, RuleID: id, Err: err}
}

// pdrError, farError and qerError say which rule failed, and why: the reason
// comes last so that it can be a sentinel behind any words.
func pdrError(id uint16, err error, format string, args ...any) *Error {
	return ruleError(RulePDR, uint32(id), fmt.Errorf(format+": %w", append(args, err)...))
}

func farError(id uint32, err error, format string, args ...any) *Error {
	return ruleError(RuleFAR, id, fmt.Errorf(format+": %w", append(args, err)...))
}

func qerError(id uint32, err error, format string, args ...any) *Error {
	return ruleError(RuleQER, id, fmt.Errorf(format+": %w", append(args, err)...))
}

func urrError(id uint32, err error, format string, args ...any) *Error {
	return ruleError(RuleURR, id, fmt.Errorf(format+": %w", append(args, err)...))
}

// endpointError is about a Traffic Endpoint: there is no Rule ID Type for it, so
// the IE is said to offend.
func endpointError(ie uint16, id uint8, err error) *Error {
	return &Error{Cause: CauseRuleFailure, OffendingIE: ie, Err: fmt.Errorf("Traffic Endpoint %d: %w", id, err)}
}

// withCause gives e another Cause.
func withCause(c Cause, e *Error) *Error {
	e.Cause = c
	return e
}
