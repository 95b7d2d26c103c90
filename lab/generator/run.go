package generator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/timestamp"
)

// Load is what one run of a generator shall send.
type Load struct {
	Rate     uint64        // frames per second; 0: as many as possible
	Duration time.Duration // ends the run; 0: no limit
	Frames   uint64        // ends the run; 0: no limit
	CPU      int           // to run on; -1: any

	// RampTo is the rate at the end of the duration: the rate changes evenly, in steps of a
	// 1024th of the duration. 0: it stays. Frames must be 0.
	RampTo uint64
	// Speed sends a replay by the times of the file, so many times as fast. 0: at Rate.
	Speed float64
	// Burst frames are due at one moment, and the next ones when Rate allows. 0: 1.
	Burst int

	// Realtime sends from a thread that no ordinary program can interrupt
	// (SCHED_FIFO), where that is permitted and does the path no harm; Result says
	// whether it was.
	Realtime bool

	// Stamps has those frames stamped when they leave which it asks for. The sender must
	// be [Packet]. nil: none.
	Stamps *timestamp.Collector
}

// Result is what one run of a generator did send. Intended less Sent is what the
// machine could not keep up with.
type Result struct {
	Intended   uint64        // frames that were due before the end; Sent if the rate is 0
	Sent       uint64        // frames handed to the device
	SentOctets uint64        // of these, Ethernet header included, FCS not
	Streams    []StreamSent  // the same of each stream
	StartNS    uint64        // when the first frame was due, by CLOCK_MONOTONIC
	Elapsed    time.Duration // from the first intended send time to the last frame, or the end of the duration
	Realtime   bool          // sent from a real-time thread
	Held       time.Duration // that the thread was ready to send, but something else had its CPU
}

// StreamSent is what one run of a generator sent of a stream.
type StreamSent struct {
	First      uint64 // sequence number of the first frame
	Sent       uint64
	SentOctets uint64
}

// maxDuration of a paced run: the schedule counts 2^-20 ns in 64 bits, 4.8 hours, and goes
// beyond the end by up to 1.7, the longest wait of the slowest replay.
const maxDuration = 3 * time.Hour

// Run sends the load and returns when it is done, or with ctx's error and the
// result so far when ctx is. Sequence numbers go on from one run to the next.
func (g *Generator) Run(ctx context.Context, l Load) (Result, error) {
	if err := l.validate(); err != nil {
		return Result{}, fmt.Errorf("generator: %w", err)
	}
	unstamp, err := g.stamp(l.Stamps)
	if err != nil {
		return Result{}, fmt.Errorf("generator: %w", err)
	}
	var result Result
	err = g.config.Link.Peer.Namespace.Do(func() error {
		restore, err := pin(l.CPU)
		if err != nil {
			return err
		}
		defer restore()
		realtime := false
		if l.elevates() {
			var relax func()
			relax, realtime = elevate()
			defer relax()
		}
		result, err = g.run(ctx, l)
		result.Realtime = realtime
		return err
	})
	if err = errors.Join(err, unstamp()); err != nil {
		return result, fmt.Errorf("generator: %w", err)
	}
	return result, nil
}

// run sends the load from this thread.
func (g *Generator) run(ctx context.Context, l Load) (Result, error) {
	first, err := g.sender.sequences()
	if err != nil {
		return Result{}, err
	}
	before, err := g.sender.state()
	if err != nil {
		return Result{}, err
	}
	begun, ramp := l.schedule(before, now()+uint64(lead))
	if err := g.sender.begin(begun, ramp); err != nil {
		return Result{}, err
	}
	waited := held()
	err = g.drive(ctx, begun)
	waited = held() - waited
	after, runErr := g.sender.state()
	next, nextErr := g.sender.sequences()
	if err := errors.Join(runErr, nextErr); err != nil {
		return Result{}, err
	}
	r := g.result(begun, after, ramp)
	r.Held, r.StartNS = waited, begun.StartNs
	for i := range first {
		sent := StreamSent{First: first[i], Sent: next[i] - first[i], SentOctets: g.layout.octets(i, first[i], next[i]-first[i])}
		r.Streams = append(r.Streams, sent)
		r.SentOctets += sent.SentOctets
	}
	return r, err
}

func (l Load) validate() error {
	switch {
	case l.Duration <= 0 && l.Frames == 0:
		return errors.New("load without end: neither duration nor frames")
	case l.Rate > 1e9:
		return fmt.Errorf("rate of %d frames/s: want 1e9 at most", l.Rate)
	case l.RampTo > 1e9:
		return fmt.Errorf("ramp to %d frames/s: want 1e9 at most", l.RampTo)
	case l.RampTo > 0 && (l.Rate == 0 || l.Duration <= 0 || l.Frames > 0):
		return fmt.Errorf("ramp to %d frames/s: want a rate to begin with, a duration, and no number of frames", l.RampTo)
	case l.Burst < 0 || l.Burst > MaxBurst || l.Burst > 1 && l.Rate == 0:
		return fmt.Errorf("burst of %d frames: want %d at most, and a rate", l.Burst, MaxBurst)
	case !(l.Speed == 0 || l.Speed >= MinSpeed && l.Speed <= MaxSpeed) || l.Speed > 0 && l.Rate > 0:
		return fmt.Errorf("speed %v of a replay at %d frames/s: want one of both, and a speed of %v to %v", l.Speed, l.Rate, MinSpeed, MaxSpeed)
	case (l.Rate > 0 || l.Speed > 0) && l.Duration > maxDuration:
		return fmt.Errorf("duration %v: want %v at most", l.Duration, maxDuration)
	}
	return nil
}

// Bounds of how fast a replay is, by the times of the file.
const (
	MinSpeed = 0.01
	MaxSpeed = 1000
)

// MaxBurst is the highest number of frames in a burst.
const MaxBurst = 1 << 16

// Next returns the sequence number of the next frame of the first stream. It may be called
// by any goroutine.
func (g *Generator) Next() (uint64, error) {
	next, err := g.Sequences()
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// Order is which sessions the frames are of, by their place in the configuration, one frame
// after the other from number 0 on, until that begins again.
func (g *Generator) Order() []uint32 {
	entries := g.config.entries()
	order := make([]uint32, len(entries))
	for i := range entries {
		order[i] = entries[i].session
	}
	return order
}

// result is the difference between a run as it began and as it ended.
func (g *Generator) result(begun, after generatorRun, ramp *[maxSegments]uint64) Result {
	r := Result{Sent: after.Sent - begun.Sent}
	end := max(after.LastNs, after.StartNs+after.Due>>dueShift)
	if after.Finished != 0 && after.Sent < after.Limit {
		end = after.EndNs
	}
	r.Elapsed = time.Duration(end - after.StartNs)
	r.Intended = r.Sent
	if begun.Interval > 0 && begun.Stretch == 0 && after.Sent < after.Limit {
		r.Intended = dueWithin(begun, ramp, r.Elapsed)
	}
	if begun.Stretch > 0 && after.Sent < after.Limit {
		r.Intended = replayDue(g.layout.frames, begun, r.Elapsed)
	}
	return r
}

// drive lets the sender send until the run has finished.
func (g *Generator) drive(ctx context.Context, run generatorRun) error {
	batch := g.batch(run)
	times, callTime := batch, callTimeFor(run.Interval)
	for run.Finished == 0 {
		if err := sleepUntilDue(ctx, run); err != nil {
			return err
		}
		start := now()
		if err := g.sender.send(times, batch); err != nil {
			return err
		}
		times = adapt(times, time.Duration(now()-start), callTime)
		var err error
		if run, err = g.sender.state(); err != nil {
			return err
		}
	}
	return nil
}

// batch returns how many times the program runs before the device is flushed. At
// the highest rate that is a NAPI poll's worth; paced, as many as are due in
// about 8 µs, because every frame waits for the last run of its batch.
func (g *Generator) batch(run generatorRun) uint32 {
	const most, least, span = 64, 4, 8_000 // ns
	if g.config.Batch > 0 {
		return uint32(g.config.Batch)
	}
	if run.Interval == 0 {
		return most
	}
	return uint32(min(max(span<<dueShift*uint64(run.Further+1)/run.Interval, uint64(run.Further+1), least), most))
}

// callTimeFor returns how long one system call should last. Long, so that what
// it costs to begin (16 µs) does not count, but not so long that it holds up
// whoever waits for RCU; short if there is time to sleep between frames.
func callTimeFor(interval uint64) time.Duration {
	if interval>>dueShift > uint64(sleepWorth) {
		return 2 * sleepMargin // the frame is due in the middle
	}
	return 10 * time.Millisecond
}

// adapt returns how often to repeat, given how long it took.
func adapt(repeat uint32, took, callTime time.Duration) uint32 {
	want := float64(repeat) * float64(callTime) / float64(took+1)
	return uint32(min(want, 2*float64(repeat), 1<<24) + 1)
}

const (
	sleepWorth  = 200 * time.Microsecond // shorter waits are spent spinning
	sleepMargin = 80 * time.Microsecond  // before a frame is due: the time to wake up
)

// sleepUntilDue sleeps while the next frame is far away, but never so long that
// ctx would go unnoticed.
func sleepUntilDue(ctx context.Context, run generatorRun) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wake := min(run.StartNs+run.Due>>dueShift, run.EndNs) - uint64(sleepMargin)
		start := now()
		if run.Interval == 0 || wake <= start || wake-start < uint64(sleepWorth-sleepMargin) {
			return nil
		}
		t := unix.NsecToTimespec(int64(min(wake, start+uint64(10*time.Millisecond))))
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("sleep: %w", err)
		}
	}
}

// pin puts the thread on a CPU, if one is given, and lets it wake up on time. It
// returns how to undo both.
func pin(cpu int) (restore func(), err error) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("timer slack: %w", err)
	}
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("CPU affinity: %w", err)
	}
	if cpu >= 0 {
		only.Set(cpu)
		if err := unix.SchedSetaffinity(0, &only); err != nil {
			return nil, fmt.Errorf("run on CPU %d: %w", cpu, err)
		}
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // last, as errors leave all as it was; setting it does not fail
	return func() {
		_ = unix.SchedSetaffinity(0, &before)
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	}, nil
}

// now is the clock of the stamps.
func now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // this clock always exists
	}
	return uint64(t.Nano())
}
