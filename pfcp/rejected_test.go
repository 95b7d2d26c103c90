package pfcp

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRejectedWithoutNodeID takes a Session Establishment Response without a Node ID if it
// is a rejection, and gives it back as it came.
func TestRejectedWithoutNodeID(t *testing.T) {
	offending := []byte{0, 40, 0, 2, 0, 84} // Outer Header Creation
	failed := []byte{0, 114, 0, 5, 1, 0, 0, 0, 2}
	for _, tc := range []struct {
		name  string
		cause byte
		want  error
	}{
		{"Rule creation/modification Failure", 73, nil},
		{"no resources available", 75, nil},
		{"Request accepted", 1, ErrMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body := append([]byte{0, 19, 0, 1, tc.cause}, append(offending, failed...)...)
			var got SessionEstablishmentResponse
			err := got.Decode(body)
			if !errors.Is(err, tc.want) || (err != nil) != (tc.want != nil) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if err != nil {
				return
			}
			if got.Cause != Cause(tc.cause) || got.OffendingIE.Value != IEOuterHeaderCreation || got.FailedRuleID.Value.ID != 2 {
				t.Errorf("got %+v", got)
			}
			b, err := Append(nil, Header{}, &got)
			if err != nil {
				t.Fatal(err)
			}
			_, again, _, err := Parse(b)
			if diff := cmp.Diff(body, again); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
