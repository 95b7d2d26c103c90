package correctness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Octets of the user packets' IPv4 and UDP headers, and of what frames have
// around user packets.
const (
	userHeaders = inet.LenIPv4 + inet.LenUDP
	tunnelled   = inet.LenEthernet + inet.LenIPv4 + inet.LenUDP + 16 // with a PDU Session Container
)

const (
	offer       = 1.3  // of the MBR is offered
	leastFrames = 1000 // that pass in a measurement: one more or less is 0.1 %
	smallFrames = 1_000_000
	leastWarmUp = 300 * time.Millisecond
	burstOctets = 16 << 10               // that a UPF may let pass at once, whatever the rate
	burstTime   = 250 * time.Millisecond // or of the rate, unless it is known for longer
)

// payloadAt is how long the UDP payload of user packets is at an MBR: at a low
// one packets are small, or there would be few of them.
func payloadAt(kbps uint64) int {
	if kbps*1000 <= smallFrames {
		return generator.StampOctets
	}
	return 1400
}

// rateDuration is how long a rate is measured.
func (b *bed) rateDuration(kbps uint64) time.Duration {
	packet := float64(8*(payloadAt(kbps)+userHeaders)) / float64(kbps*1000)
	return max(b.Duration, time.Duration(leastFrames*packet*float64(time.Second)))
}

// warmUp is until what is offered above the MBR has used up the burst.
func (b *bed) warmUp(kbps uint64) time.Duration {
	burst := max(burstTime, b.Kind.Burst, time.Duration(8*burstOctets*float64(time.Second)/float64(kbps*1000)))
	return max(leastWarmUp, time.Duration(float64(burst)/(offer-1)))
}

func (b *bed) rateTime(kbps uint64) time.Duration { return b.warmUp(kbps) + b.rateDuration(kbps) }

// rates measures what passes of frames at each MBR.
func (b *bed) rates(ctx context.Context) error {
	for _, d := range b.Directions {
		for _, kbps := range b.Kbps {
			b.step(fmt.Sprintf("MBR %d kbit/s %s", kbps, d), b.rateTime(kbps))
			err := b.rate(Rates, fmt.Sprintf("MBR %d kbit/s %s", kbps, d), kbps, alike, func(mbr uint64) (report.RateFigure, error) {
				return b.passed(ctx, d, kbps, mbr)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Where an MBR is out by more than doubtful percent, the same is sent without it: what a UPF
// loses anyway is no error of its MBR, and an MBR that changes nothing is not enforced. alike
// is as [report.RateFigure.Judge] has it.
const (
	doubtful = 2
	alike    = 0.97
)

// rate adds what passes at an MBR to the result, or why there is no figure. One that could not be
// held against what passes without an MBR stays as it was measured, and why is a line of its own.
func (b *bed) rate(p Part, what string, kbps uint64, alike float64, passed func(mbr uint64) (report.RateFigure, error)) error {
	f, err := passed(kbps)
	if err != nil {
		return b.attempted(p, what, err)
	}
	if f.Reached && math.Abs(f.ErrorPercent) >= doubtful {
		var free report.RateFigure
		if free, err = passed(0); err == nil {
			f.Judge(free.PassedBPS, alike)
		}
	}
	b.result.Rates = append(b.result.Rates, f)
	return b.attempted(p, what+", without an MBR", err)
}

// passed measures what passes of what is offered for an MBR, in a session that has this one;
// 0: none.
func (b *bed) passed(ctx context.Context, d report.Direction, kbps, mbr uint64) (f report.RateFigure, err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{mbr: mbr})
	if err != nil {
		return f, err
	}
	payload := payloadAt(kbps)
	defer s.abandon(ctx)
	w, err := b.watch(s, d, payload)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	asked := float64(kbps) * 1000
	bits := float64(8 * (payload + userHeaders))
	duration := b.rateDuration(kbps)
	ended := w.start(ctx, generator.Load{Rate: uint64(offer*asked/bits) + 1, Duration: b.warmUp(kbps) + duration, CPU: generator.LastCPU(), Realtime: true})
	time.Sleep(b.warmUp(kbps))
	before, err := w.read()
	sent := <-ended // whatever came of that: the sender must not be closed while it sends
	if err := errors.Join(err, sent.err); err != nil {
		return f, err
	}
	after, err := w.drained()
	if err != nil {
		return f, err
	}
	f = report.RateFigure{
		Direction: d, Protocol: "UDP", AskedBPS: asked, PacketOctets: payload + userHeaders,
		OfferedBPS: bits * float64(sent.Sent) / sent.Elapsed.Seconds(), DurationNS: int64(after.LastNs - before.LastNs),
	}
	if after.LastNs > before.LastNs {
		f.PassedBPS = bits * float64(after.Received-before.Received) * 1e9 / float64(after.LastNs-before.LastNs)
	}
	f.Reached = f.OfferedBPS > asked*1.02
	f.ErrorPercent = 100 * (f.PassedBPS/asked - 1)
	_, err = s.delete(ctx)
	return f, err
}

// watcher is a generator before the UPF and a meter behind it.
type watcher struct {
	generator  *generator.Generator
	meter      *meter.Meter
	unenforced map[string]uint64 // of the last read
	result     *report.Correctness
	carriers   topology.Carriers // when it began
}

type sent struct {
	generator.Result
	err error
}

const settle = 50 * time.Millisecond // after the last frame was sent

// watch makes both for the session's frames of direction d.
func (b *bed) watch(s *session, d report.Direction, payload int) (*watcher, error) {
	way, port := generator.Uplink, b.topology.N6.Peer
	if d == report.Downlink {
		way, port = generator.Downlink, b.topology.N3.Peer
	}
	g, err := b.sender(s, way, payload)
	if err != nil {
		return nil, err
	}
	m, err := meter.Attach(meter.Config{Port: port, N3: b.topology.N3, N6: b.topology.N6, Direction: way, Run: b.run, Packets: b.Kind.Packets, Unenforced: b.Kind.Unenforced})
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	w := &watcher{generator: g, meter: m, result: b.result}
	if err = port.AwaitCarrier(); err == nil {
		w.carriers, err = b.topology.Carriers()
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// start runs the load; the result comes when it has ended.
func (w *watcher) start(ctx context.Context, l generator.Load) <-chan sent {
	ended := make(chan sent, 1)
	go func() {
		r, err := w.generator.Run(ctx, l)
		ended <- sent{r, err}
	}()
	return ended
}

// read returns what has arrived. Frames that are not what they should be are an
// error.
func (w *watcher) read() (meter.Stream, error) {
	s, err := w.meter.Read()
	if err != nil {
		return meter.Stream{}, err
	}
	got := &s.Streams[0]
	w.unenforced = got.UnenforcedBy()
	return *got, wrongly(got)
}

// wrongly says how frames arrived that are not what they should be.
func wrongly(s *meter.Stream) error {
	var how []string
	by := s.MisdeliveredBy()
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		how = append(how, fmt.Sprintf("%d wrong (%s)", by[kind], kind))
	}
	if s.Duplicated > 0 {
		how = append(how, fmt.Sprintf("%d twice", s.Duplicated))
	}
	if len(how) == 0 {
		return nil
	}
	return fmt.Errorf("correctness: of %d frames that arrived %s: %w", s.Received, strings.Join(how, ", "), errWrong)
}

// drained is read once nothing more comes: a UPF may hold many packets in its queues. That
// a link of the laboratory's failed meanwhile is an error.
func (w *watcher) drained() (meter.Stream, error) {
	const most, enough = 100, 3
	last, quiet := uint64(0), 0
	for range most {
		time.Sleep(settle)
		s, err := w.read()
		if quiet++; s.Received != last {
			last, quiet = s.Received, 0
		}
		if err != nil || quiet == enough {
			return s, errors.Join(err, w.carriers.Kept())
		}
	}
	return meter.Stream{}, fmt.Errorf("correctness: frames still arrive %v after the last was sent", most*settle)
}

// close ends both, and adds to the result what was wrong only in what the UPF is known not
// to enforce.
func (w *watcher) close() error {
	for kind, n := range w.unenforced {
		if w.result.UnenforcedBy == nil {
			w.result.UnenforcedBy = map[string]uint64{}
		}
		w.result.UnenforcedBy[kind] += n
	}
	return errors.Join(w.meter.Close(), w.generator.Close())
}
