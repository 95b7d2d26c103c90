package main

import (
	"context"
	"time"
)

// within ends ctx after d, for --duration; 0: it goes on until ctx itself ends.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
