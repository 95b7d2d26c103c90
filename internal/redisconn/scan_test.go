package redisconn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
)

// TestScan: of a field whose name is too long neither its own value nor that of another
// field is returned, and the others are whole.
func TestScan(t *testing.T) {
	server := redistest.Start(t)
	long := strings.Repeat("x", 64)
	value := strings.Repeat("v", 1<<20)
	huge := strings.Repeat("h", redisconn.MaxValue+1)
	for field, value := range map[string]string{"of ours.": "1", long: "of 64", long + "1": "of 65", long + "2": value, "huge": huge} {
		if err := server.Client.HSet(t.Context(), "key", field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		pairs, next, err := redisconn.Scan(t.Context(), server.Client, "key", cursor, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			switch {
			case p.Err == nil:
				got[p.Field+"="+p.Value]++
			case errors.Is(p.Err, redisconn.ErrTooLong) && p.Value == "":
				got[p.Field+": "+p.Err.Error()]++
			default:
				t.Errorf("%q: %d octets, %v", p.Field, len(p.Value), p.Err)
			}
		}
		cursor = next
	}
	for _, want := range []string{
		"of ours.=1", long + "=of 64", long + ": field of 65 octets, at most 64: reply too long",
		"huge: value of 16777217 octets, at most 16777216: reply too long",
	} {
		if got[want] == 0 {
			t.Errorf("got %v, want %q", got, want)
		}
		delete(got, want)
	}
	if len(got) > 0 {
		t.Errorf("got %v beside", got)
	}
}
