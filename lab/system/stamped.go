package system

import (
	"errors"

	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// stampDevices has the kernel, or both devices, stamp what arrives, as far as that is
// what stamps frames.
func (s *System) stampDevices() error {
	switch s.config.TimeStamps {
	case timestamp.None:
		return nil
	case timestamp.Software:
		undo, err := timestamp.EnableSoftware()
		if err == nil {
			s.unstamp = append(s.unstamp, undo)
		}
		return err
	}
	ports := []topology.Port{s.topology.N3.Peer, s.topology.N6.Peer}
	if s.oneDevice() {
		ports = ports[:1]
	}
	for _, p := range ports {
		err := p.Namespace.Do(func() error {
			undo, err := timestamp.Enable(p.Device)
			if err == nil {
				s.unstamp = append(s.unstamp, undo)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stamp begins to take the frames that meters let through, if the load asks for time
// stamps. stop ends that.
func (t *trial) stamp() (stop func() error, err error) {
	var ends []func() error
	stop = func() error {
		var errs []error
		for _, end := range ends {
			errs = append(errs, end())
		}
		return errors.Join(errs...)
	}
	for _, p := range t.passes {
		p.stamps = nil
		if !t.load.TimeStamps || t.system.config.TimeStamps == timestamp.None {
			continue
		}
		p.stamps = timestamp.NewCollector(t.system.config.TimeStamps, uint64(p.intendedPPS(&t.load)))
		end, err := p.stamps.Receive(p.meter.Port)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		ends = append(ends, end, func() error { return p.at.Stamp(false, 0) })
	}
	return stop, nil
}

// stamped is what the time stamps of a pass say; nil: there are none.
func (p *pass) stamped() (*report.Stamped, error) {
	if p.stamps == nil {
		return nil, nil
	}
	r := p.stamps.Result()
	all, err := histogram.Encode(r.Delays)
	if err != nil {
		return nil, err
	}
	return &report.Stamped{
		By: p.stamps.Source().String(), AskedFrames: r.Asked, SentFrames: r.Sent, ReceivedFrames: r.Received, BackwardFrames: r.Backward,
		Frames: uint64(r.Delays.TotalCount()), LatencyNS: latency(r.Delays), LatencyHistogram: all,
	}, nil
}
