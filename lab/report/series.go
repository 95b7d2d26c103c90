package report

import "fmt"

// Slot is a part of a trial's time: from the slot before, or the first frame that counts.
// Frames under way at its end are lost in it, and arrive in the next one.
type Slot struct {
	AtNS        int64   `json:"at_ns"` // its end, since the first frame that counts was due
	OfferedPPS  float64 `json:"offered_pps"`
	ReceivedPPS float64 `json:"received_pps"`
	LossRatio   float64 `json:"loss_ratio"`
	P50NS       int64   `json:"p50_ns"` // one-way latency of what arrived; 0: nothing did
	P99NS       int64   `json:"p99_ns"`
}

// MaxSlots is how many slots a series may have.
const MaxSlots = 4096

func validateSlots(series []Slot) error {
	if len(series) > MaxSlots {
		return invalid("series", len(series), fmt.Sprintf("slots: want %d at most", MaxSlots))
	}
	last := int64(0)
	for i := range series {
		s := &series[i]
		if s.AtNS <= last {
			return invalid("series", s.AtNS, fmt.Sprintf("ns: not after %d", last))
		}
		last = s.AtNS
		if err := first(
			rates(s.OfferedPPS, s.ReceivedPPS, 0), between("loss_ratio", s.LossRatio, 0, 1),
			between("p50_ns", float64(s.P50NS), 0, float64(s.P99NS)), between("p99_ns", float64(s.P99NS), 0, float64(maxLatencyNS)),
		); err != nil {
			return fmt.Errorf("slot %d: %w", i, err)
		}
	}
	return nil
}

// seriesRow is a [Slot].
type seriesRow struct {
	turnColumns
	trialColumns
	Phase       string  `parquet:"phase"`
	Stream      string  `parquet:"stream"` // empty: all together
	AtNS        int64   `parquet:"at_ns"`
	OfferedPPS  float64 `parquet:"offered_pps"`
	ReceivedPPS float64 `parquet:"received_pps"`
	LossRatio   float64 `parquet:"loss_ratio"`
	P50NS       int64   `parquet:"latency_p50_ns"`
	P99NS       int64   `parquet:"latency_p99_ns"`
}

func (l *Lab) seriesRows() []seriesRow {
	var rows []seriesRow
	for i := range l.Turns {
		turn := &l.Turns[i]
		for j := range turn.Trials {
			t := &turn.Trials[j]
			add := func(stream string, series []Slot) {
				for _, s := range series {
					rows = append(rows, seriesRow{
						l.turnColumns(turn), trialColumns{int64(j), string(t.Direction), string(t.Kind)}, t.Phase, stream,
						s.AtNS, s.OfferedPPS, s.ReceivedPPS, s.LossRatio, s.P50NS, s.P99NS,
					})
				}
			}
			add("", t.Series)
			for k := range t.Streams {
				add(t.Streams[k].Name, t.Streams[k].Series)
			}
		}
	}
	return rows
}
