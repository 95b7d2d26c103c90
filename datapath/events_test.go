package datapath

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestEventsOnce: what is posted again before it is taken comes once, in the
// order of the first time; afterwards it may come again.
func TestEventsOnce(t *testing.T) {
	var q Events
	post := func(seid uint64, urr uint32) {
		q.Post(&api.Event{Kind: api.EventKind_VOLUME_THRESHOLD, Seid: seid, RuleId: urr})
	}
	post(1, 1)
	post(1, 2)
	post(1, 1)
	post(2, 1)
	for i, want := range [][2]uint64{{1, 1}, {1, 2}, {2, 1}} {
		e, err := q.Next(t.Context())
		if err != nil || e.GetSeid() != want[0] || uint64(e.GetRuleId()) != want[1] {
			t.Errorf("event %d: got %v, %v, want SEID %d, URR %d", i, e, err, want[0], want[1])
		}
	}
	post(1, 1)
	if e, err := q.Next(t.Context()); err != nil || e.GetSeid() != 1 {
		t.Errorf("posted again: got %v, %v", e, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := q.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("empty: got %v, %v, want %v", e, err, context.Canceled)
	}
}

// TestEventsWaiters: each of several waiters gets its event, and all hear of
// the end.
func TestEventsWaiters(t *testing.T) {
	var q Events
	const waiters, events = 4, 1000
	var wg sync.WaitGroup
	got := make([]int, waiters)
	for i := range waiters {
		wg.Go(func() {
			for {
				_, err := q.Next(context.Background())
				if errors.Is(err, ErrClosed) {
					return
				}
				got[i]++
			}
		})
	}
	for i := range events {
		q.Post(&api.Event{Kind: api.EventKind_DOWNLINK_DATA, Seid: uint64(i + 1)})
	}
	for {
		q.mu.Lock()
		left := len(q.queue)
		q.mu.Unlock()
		if left == 0 {
			break
		}
	}
	q.Close()
	wg.Wait()
	sum := 0
	for _, n := range got {
		sum += n
	}
	if sum != events {
		t.Errorf("got %d events, want %d", sum, events)
	}
}
