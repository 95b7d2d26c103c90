// Package export turns what a probe counts into what people and programs read.
//
//	probe.Snapshot ──► Recorder ─┬─► Live      what a screen shows: rates, percentiles of late
//	     once a second           ├─► interval log (HdrHistogram)
//	                             └─► Result    what is kept: JSON, and of it tables and pages
//	probe.Sample ────► Samples ────► CSV, the CSV of published traces, Parquet
//	probe.Snapshot ──► Metrics ────► Prometheus, OpenMetrics
//
// Delays are nanoseconds, octets are those of the user packets.
package export
