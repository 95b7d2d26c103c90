package bench

import (
	"context"
	"time"

	"plumbline/lab/n4load"
	"plumbline/lab/report"
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
	l.WarmUp, l.Duration, l.Seed = n4WarmUp, r.N4Config.Duration, 1
	loaded, err := r.population.Run(ctx, l, nil)
	if err != nil {
		return report.N4Phase{}, err
	}
	return loaded.Phase(r.variant.name), nil
}

// phase measures what f costs the UPF, and adds it to the result. n sessions
// are held at its end.
func (r *n4Run) phase(n int, f func() (report.N4Phase, error)) error {
	before, err := r.dut.CPUTime()
	if err != nil {
		return err
	}
	p, err := f()
	if err != nil {
		return err
	}
	after, err := r.dut.CPUTime()
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
	r.sessions = r.population.Sessions()
	l, err := r.newLane(report.Uplink, 1)
	if err != nil {
		return err
	}
	r.lanes = append(r.lanes, l)
	bed, err := r.bedTrial(ctx, l, 1)
	if err != nil {
		return err
	}
	rate := roundRate(n4Forward * bed.ReceivedPPS)
	type result struct {
		m   measurement
		err error
	}
	done := make(chan result, 1)
	go func() {
		load := r.run.load(rate)
		load.Duration = r.N4Config.Duration + 2*n4WarmUp
		m, err := r.measureLane(ctx, l, load, false)
		done <- result{m, err}
	}()
	time.Sleep(longWarmUp + settle) // until packets flow
	err = r.phase(len(r.sessions), func() (report.N4Phase, error) { return r.load(ctx, n4load.Load{Rate: r.Rate}) })
	forwarded := <-done
	if err != nil {
		return err
	}
	if forwarded.err != nil {
		return forwarded.err
	}
	d := r.out.Phases[len(r.out.Phases)-1].DUT
	d.BedPPS, d.ForwardedPPS, d.FrameLossRatio = bed.ReceivedPPS, forwarded.m.perSecond(forwarded.m.received.Received), forwarded.m.lossRatio()
	return nil
}
