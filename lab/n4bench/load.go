package n4bench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// measureHeld brings the population up to n, and measures modifications in a
// closed and in an open loop.
func (r *n4Run) measureHeld(ctx context.Context, n int) error {
	held := r.population.Held()
	if err := r.phase(n, func() (report.N4Phase, error) {
		filled, err := r.population.Fill(ctx, n, nil)
		return filled.Phase(r.variant.name, n4load.OperationNames[n4load.OpEstablish], n4Window, held), err
	}); err != nil {
		return err
	}
	for _, l := range []n4load.Load{{Window: n4Window}, {Rate: r.Rate}} {
		if err := r.phase(n, func() (report.N4Phase, error) { return r.load(ctx, l) }); err != nil {
			return err
		}
	}
	return nil
}

// load is modifications.
func (r *n4Run) load(ctx context.Context, l n4load.Load) (report.N4Phase, error) {
	l.Shares[n4load.OpModify] = 1
	l.WarmUp, l.Duration, l.Seed = n4WarmUp, r.Duration, 1
	loaded, err := r.population.Run(ctx, l, nil)
	if err != nil {
		return report.N4Phase{}, err
	}
	return loaded.Phase(r.variant.name), nil
}

// phase measures what f costs the UPF, and adds it to the result. n sessions
// are held at its end.
func (r *n4Run) phase(n int, f func() (report.N4Phase, error)) error {
	before, err := r.system.DUT().CPUTime()
	if err != nil {
		return err
	}
	p, err := f()
	if err != nil {
		return err
	}
	after, err := r.system.DUT().CPUTime()
	if err != nil {
		return err
	}
	octets, err := r.ownOctets()
	if err != nil {
		return err
	}
	d := &report.N4DUT{CPUs: r.variant.cores}
	if r.variant.store {
		d.Store = "journal"
	}
	// The process's time has the warm-up's requests in it, at the same rate.
	share := float64(p.Total.DurationNS) / float64(p.Total.DurationNS+p.WarmUpNS)
	d.CPUNSPerRequest = float64(after-before) * share / float64(max(p.Total.Sent, 1))
	if n >= 10_000 && octets > r.resident {
		d.OctetsPerSession = float64(octets-r.resident) / float64(n)
	}
	p.DUT = d
	r.out.Phases = append(r.out.Phases, p)
	return nil
}

// measureForwarding measures the open loop once more, while packets of all
// sessions go uplink at half the bed limit.
func (r *n4Run) measureForwarding(ctx context.Context) error {
	sessions := r.population.Sessions()
	r.system.Adopt(sessions)
	profile, err := traffic.Named(strconv.Itoa(traffic.FrameOctets(n4Payload, false)), generator.Same, generator.Uplink)
	if err != nil {
		return err
	}
	if err := r.system.Open(profile, system.NewRun()); err != nil {
		return err
	}
	var bed []report.Trial
	err = r.system.InBed(func() (err error) {
		bed, err = r.system.Trial(ctx, system.At(0, r.Duration))
		return err
	})
	if err != nil {
		return err
	}
	type result struct {
		trials []report.Trial
		err    error
	}
	done := make(chan result, 1)
	load := system.At(uint64(n4Forward*bed[0].ReceivedPPS), r.Duration+2*n4WarmUp)
	go func() {
		trials, err := r.system.Trial(ctx, load)
		done <- result{trials, err}
	}()
	time.Sleep(load.Time() - load.Duration) // until packets flow
	err = r.phase(len(sessions), func() (report.N4Phase, error) { return r.load(ctx, n4load.Load{Rate: r.Rate}) })
	forwarded := <-done
	if err := errors.Join(err, forwarded.err); err != nil {
		return err
	}
	d, t := r.out.Phases[len(r.out.Phases)-1].DUT, &forwarded.trials[0]
	d.BedPPS, d.ForwardedPPS, d.FrameLossRatio = bed[0].ReceivedPPS, t.ReceivedPPS, t.LossRatio
	return nil
}
