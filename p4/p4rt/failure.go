package p4rt

import (
	"errors"
	"fmt"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// failure is why one update or one request of a batch was refused.
type failure struct {
	code codes.Code
	text string
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

func fail(code codes.Code, format string, a ...any) *failure {
	return &failure{code, fmt.Sprintf(format, a...)}
}

func invalid(format string, a ...any) *failure { return fail(codes.InvalidArgument, format, a...) }

func unimplemented(format string, a ...any) *failure {
	return fail(codes.Unimplemented, format, a...)
}

// refused says what an executor's error is in P4Runtime; nil: there is none.
func refused(err error) *failure {
	code := codes.Internal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bmv2.ErrFull):
		code = codes.ResourceExhausted
	case errors.Is(err, bmv2.ErrExists):
		code = codes.AlreadyExists
	case errors.Is(err, bmv2.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, bmv2.ErrConst):
		code = codes.PermissionDenied
	case errors.Is(err, bmv2.ErrInvalid):
		code = codes.InvalidArgument
	case errors.Is(err, bmv2.ErrUnsupported):
		code = codes.Unimplemented
	}
	return &failure{code, err.Error()}
}

// failures are those of a batch, in the order of its updates or requests; nil: none.
type failures []*failure

// set keeps that of update i of n.
func (f *failures) set(i, n int, why *failure) {
	if *f == nil {
		*f = make(failures, n)
	}
	(*f)[i] = why
}

// status is what the whole batch is answered with: one p4.v1.Error for each update. Source: P4Runtime Specification v1.4.1, 12.3, 13.3.
func (f failures) status(what string) error {
	if f == nil {
		return nil
	}
	s := &rpc.Status{Code: int32(codes.Unknown), Message: what, Details: make([]*anypb.Any, 0, len(f))}
	for _, why := range f {
		e := &p4.Error{}
		if why != nil {
			e.CanonicalCode, e.Message = int32(why.code), why.text
		}
		detail, err := anypb.New(e)
		if err != nil {
			return status.Error(codes.Internal, err.Error())
		}
		s.Details = append(s.Details, detail)
	}
	return status.ErrorProto(s)
}
