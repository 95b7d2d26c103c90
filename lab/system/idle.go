package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

const (
	pageRest  = 2 * time.Second // without a report or an answer, after the last frame: no more will come
	pageOften = 20 * time.Millisecond
)

// Idled is what became of sessions that were made idle, and called back by data.
type Idled struct {
	// Release is the modifications that made them idle, in a closed loop; Service those
	// that made them active again, their response times from the report on.
	Release, Service *n4load.Report

	Sessions   int
	Reported   int                     // for which a Downlink Data Report came
	Report     *hdrhistogram.Histogram // ns from when the frame was due until the report came
	Frames     report.Latency          // of the frames that arrived, from when they were due
	Offered    uint64                  // frames, one for each session
	Received   uint64                  // of them, at the gNB
	Wrong      uint64                  // of those, of another session, tunnel or QFI
	Figures    []report.Figure         // of the check by packets afterwards
	unreported []n4load.Session
}

// Idle makes all sessions idle, as the release of the access network does, sends a frame
// to each of their UEs, so many per second, and has each forward again when the UPF
// reports data for it. Then it makes those active that nobody has reported, and sends
// frames of all to see whether they stand. The UPF must be told to buffer, and how to say
// so: that it does not is in the counts.
//
// The CP function has the CPUs of the UPF.
func (s *System) Idle(ctx context.Context, n int, r Rules, rate uint64) (*Idled, error) {
	if s.dut == nil {
		return nil, fmt.Errorf("%s has no N4: %w", s.config.Name, errors.ErrUnsupported)
	}
	if err := s.Establish(ctx, n, r); err != nil {
		return nil, err
	}
	client := s.n4.Clients()[0]
	p, err := s.downlinkOfEach(ctx)
	if err != nil {
		return nil, err
	}
	out := &Idled{Sessions: n}
	if out.Release, err = client.Idle(ctx, s.sessions, s.window()); err != nil {
		return nil, err
	}
	if err := s.page(ctx, client, p, rate, out); err != nil {
		return nil, err
	}
	if err := s.Shut(); err != nil {
		return nil, err
	}
	if _, err := client.Activate(ctx, out.unreported, s.window()); err != nil {
		return nil, err
	}
	out.Figures, err = s.standing(ctx, s.sessions)
	return out, err
}

// downlinkOfEach makes ready to send one frame to each UE, and meets what the path has to
// resolve and cache before the sessions are idle.
func (s *System) downlinkOfEach(ctx context.Context) (*pass, error) {
	profile, err := traffic.Simple(checkFrames, generator.Each, generator.Downlink)
	if err != nil {
		return nil, err
	}
	if err := s.Open(profile, NewRun()); err != nil {
		return nil, err
	}
	p := &pass{lane: s.lanes[0], cpu: s.config.CPUs.sender(0)}
	if err := s.attach(p.lane); err != nil {
		return nil, err
	}
	// Whole rounds: the first frame that counts is of the first session of the order.
	warmUp := uint64(len(s.sessions)) * max(1, warmUpFrames/uint64(len(s.sessions)))
	if _, err := p.generator.Run(ctx, generator.Load{Rate: checkRates[0], Frames: warmUp, CPU: p.cpu}); err != nil {
		return nil, err
	}
	if _, err := drained(ctx, p.at); err != nil {
		return nil, err
	}
	return p, p.begin()
}

const warmUpFrames = 1000

// page sends the frames, and answers what the UPF reports.
func (s *System) page(ctx context.Context, client *n4load.Client, p *pass, rate uint64, out *Idled) error {
	paging, err := client.Page(ctx, s.sessions)
	if err != nil {
		return err
	}
	sent, err := p.generator.Run(ctx, generator.Load{Rate: rate, Frames: uint64(len(s.sessions)), CPU: p.cpu})
	if err == nil {
		err = served(ctx, paging, len(s.sessions))
	}
	var active []bool
	var endErr error
	out.Service, active, endErr = paging.End()
	if err := errors.Join(err, endErr); err != nil {
		return err
	}
	got, err := drained(ctx, p.at)
	if err != nil {
		return err
	}
	out.received(sent, together(got.Streams))
	out.reports(paging, p.generator.Order(), sent.StartNS, rate)
	for i, is := range active {
		if !is {
			out.unreported = append(out.unreported, s.sessions[i])
		}
	}
	return nil
}

// served waits until all sessions are active again, or nothing has happened for a while.
func served(ctx context.Context, p *n4load.Paging, n int) error {
	last, since := 0, time.Now()
	for p.Served() < n && time.Since(since) < pageRest {
		select {
		case <-time.After(pageOften):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if now := p.Served(); now != last {
			last, since = now, time.Now()
		}
	}
	return nil
}

func (i *Idled) received(sent generator.Result, got meter.Stream) {
	i.Offered, i.Received, i.Wrong = sent.Sent, got.Received, got.MisdeliveredTotal()
	i.Frames = latencyOf(&got)
}

// reports are by when the frame of each session was due.
func (i *Idled) reports(p *n4load.Paging, order []uint32, start, rate uint64) {
	const longest, digits = time.Minute, 3
	i.Report = hdrhistogram.New(1, longest.Nanoseconds(), digits)
	for frame, session := range order {
		at := p.Reported(int(session))
		if at == 0 {
			continue
		}
		i.Reported++
		due := int64(start) + int64(float64(frame)*1e9/float64(rate))
		_ = i.Report.RecordValue(min(max(at-due, 1), longest.Nanoseconds())) // in range by that
	}
}

// standing sends a frame of each session in each direction.
func (s *System) standing(ctx context.Context, sessions []n4load.Session) (figures []report.Figure, err error) {
	defer func() { err = errors.Join(err, s.Shut()) }()
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		lost, wrong, err := s.missing(ctx, sessions, d)
		if err != nil {
			return figures, err
		}
		figures = append(figures,
			report.Figure{Name: "standing, but not forwarded " + d.String(), Unit: "sessions", Better: report.Lower, Value: float64(lost)},
			report.Figure{Name: "standing, forwarded wrongly " + d.String(), Unit: "frames", Better: report.Lower, Value: float64(wrong)})
	}
	return figures, nil
}
