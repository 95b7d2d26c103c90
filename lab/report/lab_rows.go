package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The rows that a [Lab] is exported as: a line of CSV, a row of Parquet. The tag is
// the column's name in both; units are in the names, as in the JSON.

// turnColumns say which turn a row is of. They are columns of every table.
type turnColumns struct {
	Cell      int64  `parquet:"cell"`
	Method    string `parquet:"method"`
	Direction string `parquet:"cell_direction"` // empty: both at once
	Sessions  int64  `parquet:"sessions"`
	Frames    string `parquet:"frames"`
	Access    string `parquet:"access"`
	Rules     string `parquet:"rules"`
	Churn     string `parquet:"churn"`
	Load      string `parquet:"load"`
	System    string `parquet:"system"`
	Version   string `parquet:"version"`
	Repeat    int64  `parquet:"repeat"`
}

// figureRow is a [Figure].
type figureRow struct {
	turnColumns
	Figure string  `parquet:"figure"`
	Unit   string  `parquet:"unit"`
	Better string  `parquet:"better"`
	Value  float64 `parquet:"value"`
	Low    float64 `parquet:"low"`
	High   float64 `parquet:"high"`
	Note   string  `parquet:"note"`
}

// trialColumns say which trial of a turn a row is of.
type trialColumns struct {
	Trial          int64  `parquet:"trial"`
	TrialDirection string `parquet:"direction"`
	Kind           string `parquet:"kind"`
}

// trialRow is a [Trial].
type trialRow struct {
	turnColumns
	trialColumns
	Started          time.Time `parquet:"started,timestamp(nanosecond)"`
	DurationNS       int64     `parquet:"duration_ns"`
	FrameOctets      int64     `parquet:"frame_octets"`
	IntendedPPS      float64   `parquet:"intended_pps"`
	OfferedPPS       float64   `parquet:"offered_pps"`
	ReceivedPPS      float64   `parquet:"received_pps"`
	OfferedBPS       float64   `parquet:"offered_bps"`
	ReceivedBPS      float64   `parquet:"received_bps"`
	IntendedFrames   int64     `parquet:"intended_frames"`
	OfferedFrames    int64     `parquet:"offered_frames"`
	SentFrames       int64     `parquet:"sent_frames"`
	ReceivedFrames   int64     `parquet:"received_frames"`
	LossRatio        float64   `parquet:"loss_ratio"`
	Misdelivered     int64     `parquet:"misdelivered"`
	Duplicated       int64     `parquet:"duplicated"`
	Reordered        int64     `parquet:"reordered"`
	LatencyMin       int64     `parquet:"latency_min_ns"`
	LatencyMean      int64     `parquet:"latency_mean_ns"`
	LatencyP50       int64     `parquet:"latency_p50_ns"`
	LatencyP90       int64     `parquet:"latency_p90_ns"`
	LatencyP99       int64     `parquet:"latency_p99_ns"`
	LatencyP999      int64     `parquet:"latency_p999_ns"`
	LatencyP9999     int64     `parquet:"latency_p9999_ns"`
	LatencyMax       int64     `parquet:"latency_max_ns"`
	LatencyPDV       int64     `parquet:"latency_pdv_ns"`
	LatencyVariation int64     `parquet:"latency_variation_ns"`
	CPUDUT           float64   `parquet:"cpu_dut_percent"`
	CPUSoftirq       float64   `parquet:"cpu_softirq_percent"`
	CPUSystem        float64   `parquet:"cpu_system_percent"`
	CPUBusy          float64   `parquet:"cpu_busy_percent"`
	Drops            string    `parquet:"drops"` // reason=frames, with spaces between
}

// histogramRow is a bucket of a trial's latencies that is not empty.
type histogramRow struct {
	turnColumns
	trialColumns
	FromNS int64 `parquet:"from_ns"`
	ToNS   int64 `parquet:"to_ns"` // included
	Count  int64 `parquet:"frames_in_bucket"`
}

// n4Row is an [N4Phase].
type n4Row struct {
	turnColumns
	Phase     string  `parquet:"phase"`
	Operation string  `parquet:"operation"`
	Arrival   string  `parquet:"arrival"`
	Held      int64   `parquet:"held"`
	Rate      float64 `parquet:"intended_per_second"`
	Window    int64   `parquet:"window"`
	Accepted  float64 `parquet:"accepted_per_second"`
	Sent      int64   `parquet:"sent"`
	Answered  int64   `parquet:"accepted"`
	Refused   int64   `parquet:"refused"`
	Lost      int64   `parquet:"lost"`
	Unsent    int64   `parquet:"unsent"`
	P50       int64   `parquet:"latency_p50_ns"`
	P90       int64   `parquet:"latency_p90_ns"`
	P99       int64   `parquet:"latency_p99_ns"`
	P999      int64   `parquet:"latency_p999_ns"`
	P9999     int64   `parquet:"latency_p9999_ns"`
	Max       int64   `parquet:"latency_max_ns"`
}

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
	return trialRow{
		turnColumns: l.turnColumns(turn), trialColumns: trialColumns{int64(index), string(t.Direction), string(t.Kind)},
		Started: t.Started.UTC(), DurationNS: t.DurationNS, FrameOctets: int64(t.FrameOctets),
		IntendedPPS: t.IntendedPPS, OfferedPPS: t.OfferedPPS, ReceivedPPS: t.ReceivedPPS, OfferedBPS: t.OfferedBPS, ReceivedBPS: t.ReceivedBPS,
		IntendedFrames: int64(t.IntendedFrames), OfferedFrames: int64(t.OfferedFrames), SentFrames: int64(t.SentFrames),
		ReceivedFrames: int64(t.ReceivedFrames), LossRatio: t.LossRatio,
		Misdelivered: int64(t.Misdelivered), Duplicated: int64(t.Duplicated), Reordered: int64(t.Reordered),
		LatencyMin: lat.Min, LatencyMean: lat.Mean, LatencyP50: lat.P50, LatencyP90: lat.P90, LatencyP99: lat.P99, LatencyP999: lat.P999,
		LatencyP9999: lat.P9999, LatencyMax: lat.Max, LatencyPDV: lat.PDV, LatencyVariation: lat.Variation,
		CPUDUT: t.CPU.DUTPercent, CPUSoftirq: t.CPU.SoftirqPercent, CPUSystem: t.CPU.SystemPercent, CPUBusy: t.CPU.BusyPercent,
		Drops: dropsText(t.Drops),
	}
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
