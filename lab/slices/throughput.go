package slices

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/search"
)

const (
	lossGoal     = 0.005 // of the packets, both ways together
	searchTime   = time.Second
	searchWidth  = 0.1
	searchParts  = 256 // of the highest rate is the lowest that is tried
	searchTrials = 10  // are about what a search takes, for progress
	kbps         = 1000
)

// throughput searches the highest rate of iperf3 within the loss goal, in each direction and
// without other traffic: that of UE, gNB, UPF and data network together.
func (s system) throughput(ctx context.Context, c *Config) (bps uint64, err error) {
	const unlimited = 1 << 40 // bit/s: above any real rate
	got, err := s.once(ctx, c, unlimited)
	if err != nil {
		return 0, err
	}
	sent := uint64(0)
	for _, t := range []apps.Transfer{got.Uplink, got.Downlink} {
		sent = max(sent, uint64(float64(t.Packets)*streamOctets*8/searchTime.Seconds()))
	}
	highest := max(sent/kbps, searchParts)
	b := search.Binary{Min: highest / searchParts, Max: highest, LossRatio: lossGoal, Width: searchWidth, Duration: searchTime, Tolerated: 1}
	trial := 0
	result, err := b.Search(ctx, func(ctx context.Context, t search.Trial) (search.Outcome, error) {
		trial++
		c.detail("throughput: trial %d, %.1f Mbit/s each way", trial, float64(t.Load)/kbps)
		got, err := s.once(ctx, c, t.Load*kbps)
		sum := uint64(got.Uplink.Packets + got.Downlink.Packets)
		return search.Outcome{Intended: sum, Sent: sum, Received: sum - uint64(got.Uplink.Lost+got.Downlink.Lost)}, err
	})
	if err != nil {
		return 0, err
	}
	found := result.Goals[0].Lower * kbps
	if found == 0 {
		return 0, fmt.Errorf("throughput: more than %g %% was lost at the lowest rate of %d kbit/s", 100*lossGoal, b.Min)
	}
	return found, nil
}

// once sends at a rate for the time of a trial.
func (s system) once(ctx context.Context, c *Config, bps uint64) (apps.Streamed, error) {
	bed, i := s.of(embb)
	stream := c.stream(bps, searchTime)
	p, err := apps.StartIperf(ctx, bed.place(i, iperfPort), stream)
	if err != nil {
		return apps.Streamed{}, err
	}
	return p.Wait(ctx, endTime)
}
