package correctness

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestPass: whoever waits for TCP goes when it is over, whatever is left.
func TestPass(t *testing.T) {
	if err := pass(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("got %v, want that the time passes", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("over")
	cancel(why)
	if err := pass(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
