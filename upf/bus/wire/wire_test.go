package wire

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestFailure: what a driver says arrives as the same error.
func TestFailure(t *testing.T) {
	for _, err := range []error{
		nil,
		errors.New("anything"),
		fmt.Errorf("table: %w", datapath.ErrFull),
		fmt.Errorf("%w", datapath.ErrNoSession),
		&datapath.RuleError{Type: api.RuleType_QER_RULE, ID: 7, Err: fmt.Errorf("gate: %w", datapath.ErrUnsupported)},
		&datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: 1, Err: datapath.ErrClash},
	} {
		got := ErrorOf(FailureOf(err))
		if (got == nil) != (err == nil) {
			t.Errorf("%v: got %v", err, got)
		}
		for _, k := range kinds {
			if errors.Is(got, k.err) != errors.Is(err, k.err) {
				t.Errorf("%v: got %v, %v differs", err, got, k.err)
			}
		}
		var want, have *datapath.RuleError
		if errors.As(err, &want) != errors.As(got, &have) || want != nil && (have.Type != want.Type || have.ID != want.ID) {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

// TestParseHead: what HMGET may return.
func TestParseHead(t *testing.T) {
	for _, tc := range []struct {
		in   []any
		want Head
		ok   bool
	}{
		{[]any{nil, nil, nil}, Head{}, true},
		{[]any{Number(3), Number(1<<63 - 1), "1"}, Head{3, 1<<63 - 1, true}, true},
		{[]any{Number(3), Number(1 << 63), "1"}, Head{}, false}, // there has to be a higher one
		{[]any{"18446744073709551615", "1", "1"}, Head{}, false},
		{[]any{Number(3), "0", "0"}, Head{Epoch: 3}, true},
		{[]any{"3", nil, "1"}, Head{}, false},
		{[]any{"x", "1", "1"}, Head{}, false},
		{[]any{"1"}, Head{}, false},
	} {
		got, err := ParseHead(tc.in)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%v: got %+v, %v", tc.in, got, err)
		}
	}
}

// FuzzBatch: any octets are read without harm; what was accepted has ascending
// versions, and is the same when it is written and read again.
func FuzzBatch(f *testing.F) {
	for _, b := range []*api.Batch{
		{},
		{Previous: 5, Last: 7, Changes: []*api.VersionedChange{{Version: 6, Seid: 1, Session: []byte{1}}, {Version: 7, Seid: 1}}},
		{Previous: 5, Last: 5, Usages: []*api.UsageRequest{{Id: 1, Seid: 2}}},
		{Previous: 5, Last: 7, Changes: []*api.VersionedChange{{Version: 4, Seid: 1}}},
	} {
		octets, err := Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(octets)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := ParseBatch(map[string]any{Field: string(in)})
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatalf("%v is not %v", err, ErrMessage)
			}
			return
		}
		v := b.GetPrevious()
		for _, c := range b.GetChanges() {
			if c.GetVersion() <= v {
				t.Fatalf("version %d behind %d", c.GetVersion(), v)
			}
			v = c.GetVersion()
		}
		out, err := Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBatch(map[string]any{Field: string(out)})
		if err != nil || !proto.Equal(b, again) {
			t.Fatalf("%v\n%v\n%v", b, again, err)
		}
	})
}
