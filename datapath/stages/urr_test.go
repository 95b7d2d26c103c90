package stages

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestURRManyCPUs: however many count at once, the sums are exact, each limit
// raises its event once, and no more is let through after the quota than was
// under way.
func TestURRManyCPUs(t *testing.T) {
	const workers, packets, octets = 8, 20_000, 100
	u := URR{Volume: &Volume{ID: 3}, Owner: &Owner{SEID: 1}}
	quota := uint64(workers * packets * octets / 2)
	u.SetLimits(&api.URR{
		Threshold: &api.Volume{Total: quota - 1, Uplink: quota / 8}, // the same packet may reach both
		Quota:     &api.Volume{Total: quota},
	})
	var (
		all      sync.WaitGroup
		events   [10]atomic.Uint64
		admitted atomic.Uint64
	)
	for w := range workers {
		all.Go(func() {
			for range packets {
				if u.usedUp(w % 2) {
					return
				}
				admitted.Add(1)
				for _, kind := range u.count(w%2, octets) {
					events[kind].Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := events[api.EventKind_VOLUME_THRESHOLD].Load(); n != 2 {
		t.Errorf("VOLUME_THRESHOLD raised %d times, want 2: total and uplink", n)
	}
	if n := events[api.EventKind_VOLUME_QUOTA].Load(); n != 1 {
		t.Errorf("VOLUME_QUOTA raised %d times, want once", n)
	}
	c := u.Count()
	if sum := c.GetUplinkOctets() + c.GetDownlinkOctets(); sum != octets*admitted.Load() || sum < quota || sum >= quota+workers*octets {
		t.Errorf("counted %d octets of %d packets, quota %d", sum, admitted.Load(), quota)
	}
}

// TestURRRenew: a quota that was changed while the limit before it was reached, and
// came back as it was, is the one that counts.
func TestURRRenew(t *testing.T) {
	const sum = 120
	for _, tc := range []struct {
		name             string
		next, now, limit uint64
		quota            bool // the event
	}{
		{"the same", 200, 200, 200, false},
		{"less", 200, 150, 150, false},
		{"less than was counted", 200, 110, UsedUp, true},
		{"more", 200, 250, 250, false},
		{"more than one that was used up", UsedUp, 150, 150, false},
		{"another that is used up as well", UsedUp, 115, UsedUp, false},
	} {
		u := URR{Volume: &Volume{ID: 3}, Owner: &Owner{SEID: 1}}
		u.Limit[Total], u.Owner.Quota[Total] = tc.next, tc.now
		events := u.renew(Total, sum, tc.next)
		if u.Limit[Total] != tc.limit || len(events) == 1 != tc.quota {
			t.Errorf("%s: limit %d and %v, want %d and the event %v", tc.name, u.Limit[Total], events, tc.limit, tc.quota)
		}
	}
}

// TestLimiter: a burst of a second's worth, and the rate from then on.
func TestLimiter(t *testing.T) {
	l := Limiter{PerSecond: 100}
	allowed := 0
	for ms := range 10_000 {
		for range 5 {
			if l.Allow(uint64(ms) * 1_000_000) {
				allowed++
			}
		}
	}
	if allowed < 1099 || allowed > 1102 {
		t.Errorf("%d in 10 s at 100 a second, want 1100", allowed)
	}
	if (&Limiter{}).Allow(1) {
		t.Errorf("a limiter without a rate lets something through")
	}
}
