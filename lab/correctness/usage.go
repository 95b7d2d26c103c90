package correctness

import (
	"context"
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// usageRates are the frames per second at which volumes are counted; 0: as many
// as there can be. limitRates are those at which limits are reached.
var (
	usageRates = []uint64{1_000, 100_000, 0}
	limitRates = []uint64{1_000, 100_000, 0}
)

const usagePayload = 1400

// usage compares Usage Reports with the meter.
func (b *bed) usage(ctx context.Context) error {
	for _, d := range b.Directions {
		for _, rate := range usageRates {
			b.step(fmt.Sprintf("usage %s at %s", d, inWords(rate)), b.Duration+usageTime)
			err := b.volume(ctx, d, rate, 0)
			if err := b.attempted(Usage, fmt.Sprintf("usage %s at %s", d, inWords(rate)), err); err != nil {
				return err
			}
		}
		err := b.volume(ctx, d, 100_000, 500_000) // half of it is dropped
		if err := b.attempted(Usage, fmt.Sprintf("usage %s above an MBR", d), err); err != nil {
			return err
		}
		for _, rate := range limitRates {
			b.step(fmt.Sprintf("threshold and quota %s at %s", d, inWords(rate)), b.Duration+usageTime)
			for _, kind := range []string{"threshold", "quota"} {
				err := b.limit(ctx, d, rate, kind)
				if err := b.attempted(Usage, fmt.Sprintf("%s %s at %s", kind, d, inWords(rate)), err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func inWords(rate uint64) string {
	if rate == 0 {
		return "the highest rate"
	}
	return fmt.Sprintf("%d frames/s", rate)
}

// volume sends for some time and takes the count out of the deletion's report.
func (b *bed) volume(ctx context.Context, d report.Direction, rate, mbr uint64) (err error) {
	s, err := b.establish(ctx, b.nextUE(), shape{mbr: mbr, urr: true})
	if err != nil {
		return err
	}
	defer s.abandon(ctx)
	w, err := b.watch(s, d, usagePayload)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	done := <-w.start(ctx, generator.Load{Rate: rate, Duration: b.Duration, CPU: generator.LastCPU(), Realtime: rate == 0})
	if done.err != nil {
		return done.err
	}
	got, err := w.drained()
	if err != nil {
		return err
	}
	reports, err := s.delete(ctx)
	if err != nil {
		return err
	}
	f := report.VolumeFigure{
		Direction: d, AskedPPS: rate, RatePPS: float64(got.Received) / done.Elapsed.Seconds(), MBR: mbr != 0,
		ReportedOctets: octetsOf(reports), MeteredOctets: got.Received * (usagePayload + userHeaders),
	}
	f.ErrorPPM = 1e6 * (float64(f.ReportedOctets)/float64(max(f.MeteredOctets, 1)) - 1)
	b.result.Volumes = append(b.result.Volumes, f)
	return nil
}

// octetsOf is the sum of the reports of URR 1.
func octetsOf(reports []pfcp.UsageReport) (sum uint64) {
	for i := range reports {
		if v := &reports[i].Volume.Value; reports[i].URRID == ruleID && v.Total.Present {
			sum += v.Total.Value
		} else if reports[i].URRID == ruleID {
			sum += v.Uplink.Value + v.Downlink.Value
		}
	}
	return sum
}

// limitOctets is the threshold or quota at a rate: reached after about half of
// the time, and no multiple of the packets.
func (b *bed) limitOctets(rate uint64) uint64 {
	if rate == 0 {
		rate = 500_000
	}
	return uint64(b.Duration.Seconds()/2*float64(rate))*(usagePayload+userHeaders) + 7
}

// unsaid is why there was no report of a limit: a UPF that loses most of the frames is not
// silent, since the limit was never reached. One that held a quota has let less through
// than that, but by no whole packet.
func unsaid(silent error, asked, passed, packet uint64) error {
	if passed+packet >= asked {
		return silent
	}
	return fmt.Errorf("correctness: of %d octets that were to be reached %d passed: %w", asked, passed, errLost)
}

// keptUp tells whether frames were sent as they were due, so that it is known when a limit
// was reached. It is not at the highest rate, 0, or where the machine was too busy.
func keptUp(pps float64, rate uint64) bool { return rate > 0 && pps > 0.99*float64(rate) }

// limit sends over a threshold or a quota.
func (b *bed) limit(ctx context.Context, d report.Direction, rate uint64, kind string) (err error) {
	asked := b.limitOctets(rate)
	x := shape{urr: true, triggers: pfcp.ReportVOLTH}
	volume := pfcp.Some(pfcp.Volume{Total: pfcp.Some(asked)})
	if kind == "quota" {
		x.triggers, x.volume.VolumeQuota = pfcp.ReportVOLQU, volume
	} else {
		x.volume.VolumeThreshold = volume
	}
	s, err := b.establish(ctx, b.nextUE(), x)
	if err != nil {
		return err
	}
	defer s.abandon(ctx)
	w, err := b.watch(s, d, usagePayload)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	// As many frames as reach it once, however long that takes a busy machine.
	const octets = usagePayload + userHeaders
	done := <-w.start(ctx, generator.Load{Rate: rate, Frames: 2 * (asked / octets), CPU: generator.LastCPU(), Realtime: rate == 0})
	if done.err != nil {
		return done.err
	}
	said, err := s.report(ctx, noticeTime)
	if err != nil && !errors.Is(err, errSilent) {
		return err
	}
	silent := err
	got, err := w.drained()
	if err != nil {
		return err
	}
	if silent != nil {
		return unsaid(silent, asked, got.Received*octets, octets)
	}
	f := report.LimitFigure{
		Kind: kind, Direction: d, AskedPPS: rate, RatePPS: float64(done.Sent) / done.Elapsed.Seconds(), PacketOctets: octets, AskedOctets: asked,
		ReportedOctets: octetsOf(said.m.UsageReports), PassedOctets: got.Received * octets,
	}
	over := f.ReportedOctets
	if kind == "quota" {
		over = f.PassedOctets
	} else if keptUp(f.RatePPS, rate) {
		reached := int64(got.FirstNs) + int64(float64(asked)/octets*1e9/float64(rate))
		f.DelayNS = said.at - reached
	}
	f.OverPackets = (float64(over) - float64(asked)) / octets
	b.result.Limits = append(b.result.Limits, f)
	_, err = s.delete(ctx)
	return err
}
