package system

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// Loss is successive frames that did not arrive, or, on a machine that is too busy to look
// often enough, of which nobody knows.
type Loss struct {
	Direction report.Direction
	At        time.Duration // when the first of them was due, from the first frame that counts
	Span      time.Duration // from then on, until the next frame was due that arrived, or the end
	Frames    uint64
	Unknown   bool
}

const (
	followLag   = 48 << 10 // frames: one that is so far behind and has not arrived will not
	followEvery = 4 << 10  // frames, about, between two looks; the meter knows of the last 64 Ki
	followMost  = 200 * time.Millisecond
)

// follower looks for the losses of a pass.
type follower struct {
	pass *pass
	tell func(Loss)
	rate float64 // frames per second
	next uint64  // sequence number that is looked for next
	lost uint64  // just before it, one after the other
	// unknown: of the lost ones it is not known whether they arrived.
	unknown bool
}

// follow begins to look for losses, if they are asked for. end ends that, and tells
// those that are still open if the trial is sound.
func (t *trial) follow(ctx context.Context) (end func(sound bool) error, err error) {
	if t.load.OnLoss == nil {
		return func(bool) error { return nil }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(t.passes))
	var all []*follower
	for _, p := range t.passes {
		if len(p.first) != 1 {
			cancel()
			return nil, fmt.Errorf("trial: losses of %d streams: want one", len(p.first))
		}
		all = append(all, &follower{pass: p, tell: t.load.OnLoss, rate: float64(t.load.Rate), next: p.first[0]})
	}
	go func() { ended <- followAll(ctx, all) }()
	return func(sound bool) error {
		cancel()
		err := <-ended
		for _, f := range all {
			if sound && err == nil {
				err = f.finish()
			}
		}
		return err
	}, nil
}

// followAll looks at all passes, until ctx is done.
func followAll(ctx context.Context, all []*follower) error {
	often := min(followMost, time.Duration(followEvery*float64(time.Second)/all[0].rate))
	ticker := time.NewTicker(max(often, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, f := range all {
			next, err := f.pass.generator.Next()
			if err != nil {
				return err
			}
			if next > f.next+followLag {
				if err := f.look(next - followLag); err != nil {
					return err
				}
			}
		}
	}
}

// look judges the frames up to a sequence number.
func (f *follower) look(upTo uint64) error {
	arrived, err := f.pass.at.Arrived(0)
	if err != nil {
		return err
	}
	for ; f.next < upTo; f.next++ {
		has, known := arrived.Has(f.next)
		if has || f.unknown == known {
			f.close()
		}
		if !has {
			f.lost, f.unknown = f.lost+1, !known
		}
	}
	return nil
}

// close tells the loss that has come to its end.
func (f *follower) close() {
	if f.lost == 0 {
		return
	}
	due := func(frames uint64) time.Duration { return time.Duration(float64(frames) * 1e9 / f.rate) }
	f.tell(Loss{
		Direction: f.pass.direction, At: due(f.next - f.lost - f.pass.first[0]), Span: due(f.lost), Frames: f.lost, Unknown: f.unknown,
	})
	f.lost = 0
}

// finish judges what is left when nothing arrives any more.
func (f *follower) finish() error {
	if err := f.look(f.pass.first[0] + f.pass.sent.Sent); err != nil {
		return err
	}
	f.close()
	return nil
}
