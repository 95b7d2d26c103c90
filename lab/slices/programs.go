package slices

import (
	"context"
	"errors"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// programs are all that run in a cell.
type programs struct {
	iperf *apps.Iperf
	phone *apps.Phone
	web   *apps.Web
	bps   uint64 // of the stream
}

// endTime is how much longer than its stream iperf3 may take, to exchange results.
const endTime = 20 * time.Second

// start begins all of them. iperf3 sends for a given time, which has to be enough.
func (s system) start(ctx context.Context, c *Config, l Load, bps uint64, stream time.Duration) (_ *programs, err error) {
	p := &programs{bps: bps}
	defer func() {
		if err != nil {
			p.kill()
		}
	}()
	bed, i := s.of(urllc)
	most := max(1, int(l.Calls*callsSpare+0.5))
	if p.phone, err = apps.StartCalls(ctx, bed.place(i, sipPort), apps.Calls{PerSecond: l.Calls, Hold: callHold, Most: most}); err != nil {
		return nil, err
	}
	bed, i = s.of(mmtc)
	if p.web, err = apps.StartWeb(ctx, bed.place(i, webPort), apps.Downloads{Octets: fileOctets, Pause: filePause, BPS: c.DownloadBPS}); err != nil {
		return nil, err
	}
	bed, i = s.of(embb)
	p.iperf, err = apps.StartIperf(ctx, bed.place(i, iperfPort), c.stream(bps, stream))
	return p, err
}

// stream is UDP in the requested directions.
func (c *Config) stream(bps uint64, d time.Duration) apps.Stream {
	s := apps.Stream{Octets: streamOctets, Duration: d}
	if c.Uplink {
		s.UplinkBPS = bps
	}
	if c.Downlink {
		s.DownlinkBPS = bps
	}
	return s
}

// exited is why one of them runs no more, or fails.
func (p *programs) exited() error {
	return errors.Join(p.iperf.Exited(), p.phone.Exited(), p.web.Exited())
}

// stop ends all of them, and returns what they say.
func (p *programs) stop(ctx context.Context) ([]report.SliceProgram, error) {
	called, callErr := p.phone.Stop()
	got, webErr := p.web.Stop()
	streamed, iperfErr := p.iperf.Wait(ctx, endTime)
	p.iperf, p.phone, p.web = nil, nil, nil
	return []report.SliceProgram{
		{Slice: all[embb].name, Program: "iperf3", Figures: streamFigures(streamed, p.bps)},
		{Slice: all[urllc].name, Program: "SIPp", Figures: callFigures(called)},
		{Slice: all[mmtc].name, Program: "curl", Figures: downloadFigures(got)},
	}, errors.Join(callErr, webErr, iperfErr)
}

func (p *programs) kill() {
	if p.iperf != nil {
		p.iperf.Kill()
	}
	if p.phone != nil {
		p.phone.Kill()
	}
	if p.web != nil {
		p.web.Kill()
	}
}

func streamFigures(s apps.Streamed, bps uint64) []report.Figure {
	figures := []report.Figure{{Name: "intended, each way", Unit: "bit/s", Value: float64(bps)}}
	for _, way := range []struct {
		name string
		t    apps.Transfer
	}{{string(report.Uplink), s.Uplink}, {string(report.Downlink), s.Downlink}} {
		if way.t.Packets == 0 {
			continue
		}
		figures = append(figures,
			report.Figure{Name: "received " + way.name, Unit: "bit/s", Better: report.Higher, Value: way.t.BPS},
			report.Figure{Name: "lost " + way.name, Unit: "ratio", Better: report.Lower, Value: float64(way.t.Lost) / float64(way.t.Packets)},
			report.Figure{Name: "jitter " + way.name, Unit: "ns", Better: report.Lower, Value: float64(way.t.Jitter)})
	}
	return figures
}

func callFigures(c apps.Called) []report.Figure {
	figures := []report.Figure{
		{Name: "calls made", Unit: "calls", Value: float64(c.Made)},
		{Name: "calls failed", Unit: "calls", Better: report.Lower, Value: float64(c.Failed)},
		{Name: "INVITE to 200 OK, mean", Unit: "ms", Better: report.Lower, Value: float64(c.Answer.Milliseconds())}, // SIPp's clock has no less
	}
	if c.EchoedRTP >= 0 {
		figures = append(figures, report.Figure{Name: "RTP that arrived", Unit: "packets", Value: float64(c.EchoedRTP)})
	}
	return figures
}

func downloadFigures(d apps.Downloaded) []report.Figure {
	figures := []report.Figure{
		{Name: "files", Unit: "files", Better: report.Higher, Value: float64(d.Files)},
		{Name: "failed", Unit: "files", Better: report.Lower, Value: float64(d.Failed)},
	}
	if len(d.Took) == 0 {
		return figures
	}
	took := make([]float64, len(d.Took))
	sum := 0.0
	for i, t := range d.Took {
		took[i] = float64(t)
		sum += t.Seconds()
	}
	return append(figures,
		report.Figure{Name: "time of a file, median", Unit: "ns", Better: report.Lower, Value: stats.Median(took)},
		report.Figure{Name: "rate while loading, mean", Unit: "bit/s", Better: report.Higher, Value: float64(d.Octets) * 8 / sum})
}
