package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumbline/lab/generator"
	"plumbline/lab/meter"
	"plumbline/lab/report"
)

// lane is one direction: a generator at one end, and what the meter at the
// other has to be.
type lane struct {
	direction report.Direction
	generator *generator.Generator
	meter     meter.Config
}

// newLane makes the generator of direction d for the sessions that there are.
// id tells its frames from any others.
func (r *run) newLane(d report.Direction, id uint32) (*lane, error) {
	t := r.topology
	g := generator.Config{
		Link: t.N3, Direction: generator.Uplink, Run: id, Server: t.N6.Peer.Address.Addr(),
		PayloadOctets: r.PayloadOctets, Mix: r.Mix, OuterChecksum: r.OuterChecksum, Access: r.Access, Seed: 1,
	}
	m := meter.Config{Port: t.N6.Peer, N3: t.N3, Direction: generator.Uplink, Run: id, Streams: 1, Packets: r.packets}
	if d == report.Downlink {
		g.Link, g.Direction = t.N6, generator.Downlink
		m.Port, m.Direction = t.N3.Peer, generator.Downlink
	}
	g.Sessions = towards(d, r.sessions)
	gen, err := generator.New(g)
	if err != nil {
		return nil, err
	}
	return &lane{direction: d, generator: gen, meter: m}, nil
}

// measurement is what one run of a generator sent and the meter saw of it.
type measurement struct {
	frameOctets int // as sent; the mean of a mix
	sent        generator.Result
	received    meter.Stream
	cpu         report.CPU
	drops       map[string]uint64
}

// measureLane runs the load down the lane. bed says whether frames arrive as they
// were sent. The first frames, sent before the meter is set to zero, warm up
// what the path resolves and caches.
func (r *run) measureLane(ctx context.Context, l *lane, load generator.Load, bed bool) (m measurement, err error) {
	c := l.meter
	c.Bed = bed
	meter, err := meter.Attach(c)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, meter.Close()) }()

	warm := load
	warm.Duration = r.warmUp()
	if _, err := l.generator.Run(ctx, warm); err != nil {
		return m, err
	}
	if _, err := drained(ctx, meter); err != nil {
		return m, err
	}
	first, err := l.generator.Next()
	if err == nil {
		err = meter.ResetFrom(first)
	}
	if err != nil {
		return m, err
	}
	if err := r.generate(ctx, l, load, &m); err != nil {
		return m, err
	}
	snapshot, err := drained(ctx, meter)
	if err != nil {
		return m, err
	}
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	m.received = snapshot.Streams[0]
	if err := m.sound(); err != nil {
		return m, err
	}
	m.frameOctets = int(m.sent.SentOctets / m.sent.Sent)
	return m, nil
}

// drained returns what the meter has seen once nothing more has arrived for a while:
// a UPF may hold many frames in its queues.
func drained(ctx context.Context, m *meter.Meter) (*meter.Snapshot, error) {
	const often, polls, most = settle / 5, 5, 200
	last, quiet := uint64(0), 0
	for range most {
		time.Sleep(often)
		s, err := m.Read()
		if err != nil || ctx.Err() != nil {
			return s, errors.Join(err, ctx.Err())
		}
		if quiet++; s.Streams[0].Received != last {
			last, quiet = s.Streams[0].Received, 0
		}
		if quiet == polls {
			return s, nil
		}
	}
	return nil, fmt.Errorf("frames still arrive %v after the last was sent", most*often)
}

// generate runs the load and notes what CPUs and UPF did meanwhile.
func (r *run) generate(ctx context.Context, l *lane, load generator.Load, m *measurement) error {
	dropsBefore, err := r.drops(ctx)
	if err != nil {
		return err
	}
	before, err := readCPU(r.process())
	if err != nil {
		return err
	}
	if m.sent, err = l.generator.Run(ctx, load); err != nil {
		return err
	}
	r.result.Setup.Realtime = r.result.Setup.Realtime || m.sent.Realtime
	after, err := readCPU(r.process())
	if err != nil {
		return err
	}
	m.cpu = after.since(before)
	drops, err := r.drops(ctx)
	if err != nil {
		return err
	}
	m.drops = map[string]uint64{}
	for reason, n := range drops {
		if n > dropsBefore[reason] {
			m.drops[reason] = n - dropsBefore[reason]
		}
	}
	return nil
}

// process is the UPF's, nil where there is none.
func (r *run) process() process {
	if r.dut == nil {
		return nil
	}
	return r.dut
}

// drops are what the UPF says that it dropped so far, by reason.
func (r *run) drops(ctx context.Context) (map[string]uint64, error) {
	if r.dut == nil {
		return nil, nil
	}
	return r.dut.Drops(ctx)
}

// errNothing: a busy machine may hold up a process for as long as a short trial lasts.
var errNothing = errors.New("nothing to measure")

// sound refuses a measurement that would be a figure without a meaning.
func (m *measurement) sound() error {
	switch {
	case m.sent.Sent == 0 || m.sent.Elapsed <= 0:
		return fmt.Errorf("%w: the generator sent no frame", errNothing)
	case m.received.Received == 0:
		return fmt.Errorf("%w: none of %d frames arrived; the UPF dropped %v", errNothing, m.sent.Sent, m.drops)
	case m.received.Received > m.sent.Sent:
		return fmt.Errorf("%d frames arrived of %d that were sent", m.received.Received, m.sent.Sent)
	}
	return nil
}

// perSecond is a count as a rate over the time in which the generator sent.
func (m *measurement) perSecond(n uint64) float64 {
	return float64(n) / m.sent.Elapsed.Seconds()
}

func (m *measurement) lossRatio() float64 {
	return float64(m.sent.Sent-m.received.Received) / float64(m.sent.Sent)
}
