package method

import (
	"context"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// Campaign sends frames of one length at each of the loads for a long time, as
// published comparisons of UPFs do, and says what was sent and received.
type Campaign struct {
	Loads    []Level
	Duration time.Duration
}

// NameCampaign is the name of [Campaign].
const NameCampaign = "campaign"

// Name is "campaign".
func (Campaign) Name() string { return NameCampaign }

// Cells are the point at each load.
func (m Campaign) Cells(point report.LabCell) []report.LabCell {
	return cells(point, m.Name(), m.Loads)
}

// Options say how long trials are.
func (m Campaign) Options() map[string]string {
	return map[string]string{m.Name(): "trials of " + m.Duration.String()}
}

// Expected is the trial, with its warm-up and the time in which queues run empty.
func (m Campaign) Expected(report.LabCell) time.Duration { return system.At(0, m.Duration).Time() }

// Measure makes the trial.
func (m Campaign) Measure(ctx context.Context, t *Turn) error {
	level := levelOf(t.Cell, m.Loads)
	pps, ok := level.rate(t, t.System.Name())
	if !ok {
		return t.noThroughput()
	}
	kind := level.kind()
	trials, err := t.Trial(ctx, kind, level.load(pps, m.Duration))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, unit string
		of         func(*report.Trial) float64
	}{
		{"Tx", "bit/s", func(t *report.Trial) float64 { return t.OfferedBPS }},
		{"Rx", "bit/s", func(t *report.Trial) float64 { return t.ReceivedBPS }},
		{"Tx frames", "pps", func(t *report.Trial) float64 { return t.OfferedPPS }},
		{"Rx frames", "pps", receivedPPS},
	} {
		better := report.Better("")
		if f.name[0] == 'R' {
			better = report.Higher
		}
		t.Figure(report.Figure{Name: f.name, Unit: f.unit, Better: better, Value: sum(trials, f.of)})
		for i := range trials {
			if prefix := t.prefix(trials[i].Direction); prefix != "" {
				t.Figure(report.Figure{Name: prefix + f.name, Unit: f.unit, Better: better, Value: f.of(&trials[i])})
			}
		}
	}
	t.Figure(report.Figure{Name: "loss", Unit: "ratio", Better: report.Lower, Value: lossOf(trials)})
	for i := range trials {
		if prefix := t.prefix(trials[i].Direction); prefix != "" {
			t.Figure(report.Figure{Name: prefix + "loss", Unit: "ratio", Better: report.Lower, Value: trials[i].LossRatio})
		}
	}
	cpu := trials[0].CPU // of all directions
	t.Figure(report.Figure{Name: "CPU of the process", Unit: "percent", Better: report.Lower, Value: cpu.DUTPercent})
	t.Figure(report.Figure{Name: "CPU of softirq", Unit: "percent", Value: cpu.SoftirqPercent})
	if kind == report.Paced { // otherwise frames wait in the sender
		for i := range trials {
			t.Figure(report.Figure{
				Name: t.prefix(trials[i].Direction) + "latency p50", Unit: "ns", Better: report.Lower, Value: float64(trials[i].LatencyNS.P50)})
			t.Figure(report.Figure{
				Name: t.prefix(trials[i].Direction) + "latency p99", Unit: "ns", Better: report.Lower, Value: float64(trials[i].LatencyNS.P99)})
		}
	}
	return nil
}

// lossOf is the loss ratio of all directions together.
func lossOf(trials []report.Trial) float64 {
	offered := sum(trials, func(t *report.Trial) float64 { return float64(t.OfferedFrames) })
	received := sum(trials, func(t *report.Trial) float64 { return float64(t.ReceivedFrames) })
	if offered == 0 {
		return 0
	}
	return 1 - received/offered
}
