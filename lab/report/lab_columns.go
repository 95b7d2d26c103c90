package report

import "time"

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
	Realtime         bool      `parquet:"realtime"`
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
	Unenforced       int64     `parquet:"unenforced"`
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
	Phase            string    `parquet:"phase"`
	MemoryResident   int64     `parquet:"memory_resident_octets"` // 0: not looked at
	MemoryAnonymous  int64     `parquet:"memory_anonymous_octets"`
	MemoryMaps       int64     `parquet:"memory_map_octets"`
	stampedColumns
}

// stampedColumns are a [Stamped]; of a trial without time stamps empty and 0.
type stampedColumns struct {
	StampedBy       string `parquet:"stamped_by"`
	StampedAsked    int64  `parquet:"stamped_asked_frames"`
	StampedSent     int64  `parquet:"stamped_sent_frames"`
	StampedReceived int64  `parquet:"stamped_received_frames"`
	StampedBackward int64  `parquet:"stamped_backward_frames"`
	StampedFrames   int64  `parquet:"stamped_frames"`
	StampedMin      int64  `parquet:"stamped_latency_min_ns"`
	StampedMean     int64  `parquet:"stamped_latency_mean_ns"`
	StampedP50      int64  `parquet:"stamped_latency_p50_ns"`
	StampedP90      int64  `parquet:"stamped_latency_p90_ns"`
	StampedP99      int64  `parquet:"stamped_latency_p99_ns"`
	StampedP999     int64  `parquet:"stamped_latency_p999_ns"`
	StampedP9999    int64  `parquet:"stamped_latency_p9999_ns"`
	StampedMax      int64  `parquet:"stamped_latency_max_ns"`
}

// streamRow is a [StreamTrial].
type streamRow struct {
	turnColumns
	trialColumns
	Stream         string  `parquet:"stream"`
	OfferedPPS     float64 `parquet:"offered_pps"`
	ReceivedPPS    float64 `parquet:"received_pps"`
	ReceivedBPS    float64 `parquet:"received_bps"`
	OfferedFrames  int64   `parquet:"offered_frames"`
	ReceivedFrames int64   `parquet:"received_frames"`
	LossRatio      float64 `parquet:"loss_ratio"`
	Misdelivered   int64   `parquet:"misdelivered"`
	Unenforced     int64   `parquet:"unenforced"`
	Duplicated     int64   `parquet:"duplicated"`
	Reordered      int64   `parquet:"reordered"`
	LatencyMin     int64   `parquet:"latency_min_ns"`
	LatencyP50     int64   `parquet:"latency_p50_ns"`
	LatencyP99     int64   `parquet:"latency_p99_ns"`
	LatencyP999    int64   `parquet:"latency_p999_ns"`
	LatencyMax     int64   `parquet:"latency_max_ns"`
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
