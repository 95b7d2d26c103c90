package report

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func (l *Lab) turnColumns(t *Turn) turnColumns {
	c, s := &l.Plan.Cells[t.Cell], l.System(t.System)
	return turnColumns{
		Cell: int64(t.Cell), Method: c.Method, Direction: string(c.Direction), Sessions: int64(c.Sessions), Frames: c.Frames,
		Access: c.Access, Rules: c.Rules, Churn: c.Churn, Load: c.Load, System: t.System, Version: s.Version, Repeat: int64(t.Repeat),
	}
}

func (l *Lab) figureRows() []figureRow {
	var rows []figureRow
	for i := range l.Turns {
		t := &l.Turns[i]
		for _, f := range t.Figures {
			rows = append(rows, figureRow{l.turnColumns(t), f.Name, f.Unit, string(f.Better), f.Value, f.Low, f.High, f.Note})
		}
	}
	return rows
}

func (l *Lab) trialRows() []trialRow {
	var rows []trialRow
	for i := range l.Turns {
		for j := range l.Turns[i].Trials {
			rows = append(rows, l.trialRow(&l.Turns[i], j))
		}
	}
	return rows
}

func (l *Lab) trialRow(turn *Turn, index int) trialRow {
	t := &turn.Trials[index]
	lat := t.LatencyNS
	memory := Memory{}
	if t.Memory != nil {
		memory = *t.Memory
	}
	return trialRow{
		turnColumns: l.turnColumns(turn), trialColumns: trialColumns{int64(index), string(t.Direction), string(t.Kind)},
		Started: t.Started.UTC(), DurationNS: t.DurationNS, Realtime: t.Realtime, FrameOctets: int64(t.FrameOctets),
		IntendedPPS: t.IntendedPPS, OfferedPPS: t.OfferedPPS, ReceivedPPS: t.ReceivedPPS, OfferedBPS: t.OfferedBPS, ReceivedBPS: t.ReceivedBPS,
		IntendedFrames: int64(t.IntendedFrames), OfferedFrames: int64(t.OfferedFrames), SentFrames: int64(t.SentFrames),
		ReceivedFrames: int64(t.ReceivedFrames), LossRatio: t.LossRatio,
		Misdelivered: int64(t.Misdelivered), Unenforced: int64(sum(t.UnenforcedBy)), Duplicated: int64(t.Duplicated), Reordered: int64(t.Reordered),
		LatencyMin: lat.Min, LatencyMean: lat.Mean, LatencyP50: lat.P50, LatencyP90: lat.P90, LatencyP99: lat.P99, LatencyP999: lat.P999,
		LatencyP9999: lat.P9999, LatencyMax: lat.Max, LatencyPDV: lat.PDV, LatencyVariation: lat.Variation,
		CPUDUT: t.CPU.DUTPercent, CPUSoftirq: t.CPU.SoftirqPercent, CPUSystem: t.CPU.SystemPercent, CPUBusy: t.CPU.BusyPercent,
		Drops: dropsText(t.Drops), Phase: t.Phase, MemoryResident: int64(memory.ResidentOctets), MemoryAnonymous: int64(memory.AnonymousOctets),
		MemoryMaps: int64(memory.MapOctets), stampedColumns: t.Stamped.columns(),
	}
}

// columns are those of a trial.
func (s *Stamped) columns() stampedColumns {
	if s == nil {
		return stampedColumns{}
	}
	lat := &s.LatencyNS
	return stampedColumns{
		StampedBy: s.By, StampedAsked: int64(s.AskedFrames), StampedSent: int64(s.SentFrames), StampedReceived: int64(s.ReceivedFrames),
		StampedBackward: int64(s.BackwardFrames), StampedFrames: int64(s.Frames), StampedMin: lat.Min, StampedMean: lat.Mean,
		StampedP50: lat.P50, StampedP90: lat.P90, StampedP99: lat.P99, StampedP999: lat.P999, StampedP9999: lat.P9999, StampedMax: lat.Max,
	}
}

func (l *Lab) streamRows() []streamRow {
	var rows []streamRow
	for i := range l.Turns {
		turn := &l.Turns[i]
		for j := range turn.Trials {
			t := &turn.Trials[j]
			columns := trialColumns{int64(j), string(t.Direction), string(t.Kind)}
			for _, s := range t.Streams {
				rows = append(rows, streamRow{
					turnColumns: l.turnColumns(turn), trialColumns: columns, Stream: s.Name,
					OfferedPPS: s.OfferedPPS, ReceivedPPS: s.ReceivedPPS, ReceivedBPS: s.ReceivedBPS,
					OfferedFrames: int64(s.OfferedFrames), ReceivedFrames: int64(s.ReceivedFrames), LossRatio: s.LossRatio,
					Misdelivered: int64(s.Misdelivered), Unenforced: int64(sum(s.UnenforcedBy)), Duplicated: int64(s.Duplicated), Reordered: int64(s.Reordered),
					LatencyMin: s.LatencyNS.Min, LatencyP50: s.LatencyNS.P50, LatencyP99: s.LatencyNS.P99, LatencyP999: s.LatencyNS.P999,
					LatencyMax: s.LatencyNS.Max,
				})
			}
		}
	}
	return rows
}

func dropsText(drops map[string]uint64) string {
	var parts []string
	for _, reason := range sortedKeys(drops) {
		parts = append(parts, fmt.Sprintf("%s=%d", reason, drops[reason]))
	}
	return strings.Join(parts, " ")
}

func (l *Lab) n4Rows() []n4Row {
	var rows []n4Row
	for i := range l.Turns {
		turn := &l.Turns[i]
		for j := range turn.N4 {
			p := &turn.N4[j]
			c, lat := &p.Total, p.Total.LatencyNS
			rows = append(rows, n4Row{
				turnColumns: l.turnColumns(turn), Phase: p.Name, Operation: p.Operation, Arrival: p.Arrival, Held: int64(p.Held),
				Rate: p.Rate, Window: int64(p.Window), Accepted: c.AcceptedPerSec, Sent: int64(c.Sent), Answered: int64(c.Accepted),
				Refused: int64(c.RefusedTotal()), Lost: int64(c.Lost), Unsent: int64(c.Unsent),
				P50: lat.P50, P90: lat.P90, P99: lat.P99, P999: lat.P999, P9999: lat.P9999, Max: lat.Max,
			})
		}
	}
	return rows
}

// eachHistogram calls f with the latencies of every trial that kept them.
func (l *Lab) eachHistogram(f func(turn *Turn, trial int, h *hdrhistogram.Histogram) error) error {
	for i := range l.Turns {
		turn := &l.Turns[i]
		for j := range turn.Trials {
			h, err := turn.Trials[j].Histogram()
			if err != nil {
				return err
			}
			if h == nil {
				continue
			}
			if err := f(turn, j, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// histogramRows calls f with the rows of each trial.
func (l *Lab) histogramRows(f func([]histogramRow) error) error {
	return l.eachHistogram(func(turn *Turn, trial int, h *hdrhistogram.Histogram) error {
		t := &turn.Trials[trial]
		columns := trialColumns{int64(trial), string(t.Direction), string(t.Kind)}
		var rows []histogramRow
		for _, b := range h.Distribution() {
			if b.Count > 0 {
				rows = append(rows, histogramRow{l.turnColumns(turn), columns, b.From, b.To, b.Count})
			}
		}
		return f(rows)
	})
}
