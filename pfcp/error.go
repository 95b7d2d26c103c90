package pfcp

import (
	"errors"
	"fmt"
)

// Errors of this package; match them with [errors.Is].
var (
	ErrShort   = errors.New("truncated")             // of Parse
	ErrVersion = errors.New("version not supported") // of Parse
	ErrTooLong = errors.New("too long")              // of Append
	ErrUnknown = errors.New("not decoded")           // of DecodeContent and AppendContent

	ErrMissing     = errors.New("mandatory IE missing")          // Cause 66
	ErrConditional = errors.New("conditional IE missing")        // Cause 67
	ErrLength      = errors.New("invalid length")                // Cause 68
	ErrIncorrect   = errors.New("mandatory IE incorrect")        // Cause 69
	ErrTooMany     = errors.New("more than this function takes") // Cause 75
)

// causes is the Cause of each error that a decoder may find.
var causes = []struct {
	err   error
	cause Cause
}{
	{ErrMissing, CauseMandatoryIEMissing},
	{ErrConditional, CauseConditionalIEMissing},
	{ErrLength, CauseInvalidLength},
	{ErrIncorrect, CauseMandatoryIEIncorrect},
	{ErrTooMany, CauseNoResourcesAvailable},
}

// Error is why a message could not be decoded, in the terms of a response.
type Error struct {
	Cause       Cause  // 66 to 69 or 75
	OffendingIE IEType // the IE that is missing or wrong
	In          string // its location: "Session Establishment Request, Create PDR, PDI"
	Err         error  // wraps one of the errors of this package
}

// Error says where, what and why.
func (e *Error) Error() string {
	s := "pfcp: "
	if e.In != "" {
		s += e.In + ": "
	}
	if e.OffendingIE != 0 {
		s += e.OffendingIE.String() + ": "
	}
	return s + fmt.Sprint(e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// fail says that ie, in the container of the given name, is wrong because of
// err. An Error from a container inside has its place completed.
func fail(in string, ie IEType, err error) error {
	var inner *Error
	if errors.As(err, &inner) {
		inner.In = in + ", " + inner.In
		return inner
	}
	e := &Error{Cause: CauseRequestRejected, OffendingIE: ie, In: in, Err: err}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			e.Cause = c.cause
		}
	}
	return e
}
