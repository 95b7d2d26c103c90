package export

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// histogramMetric is one metric with classic and native buckets.
type histogramMetric struct{ classic, native prometheus.Metric }

// Buckets of a histogram of seconds: classic ones at 1, 2 and 5 of each decade from 1 µs
// to 10 s; native ones 2^nativeSchema to an octave, that is, 4.4 % wide.
const (
	nativeSchema        = 4
	nativeZeroThreshold = 1e-9
	classicLowest       = 1e-6
	classicDecades      = 7
)

// newHistogram makes seconds of a histogram of nanoseconds. A bar of the latter is 0.8 %
// wide at most and counted whole in the bucket of its middle. The sum is of these middles.
func newHistogram(d *prometheus.Desc, h *hdrhistogram.Histogram, created time.Time, labels ...string) prometheus.Metric {
	labels = labelled(labels)
	classic, native := map[float64]uint64{}, map[int]int64{}
	bounds := classicBounds()
	count, zero, sum := uint64(0), uint64(0), 0.0
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		seconds := float64(bar.From+bar.To) / 2 / 1e9
		count += uint64(bar.Count)
		sum += seconds * float64(bar.Count)
		for _, bound := range bounds {
			if seconds <= bound {
				classic[bound] += uint64(bar.Count)
			}
		}
		if seconds <= nativeZeroThreshold {
			zero += uint64(bar.Count)
		} else {
			native[nativeBucket(seconds)] += bar.Count
		}
	}
	for _, bound := range bounds {
		classic[bound] += 0 // empty ones as well
	}
	return histogramMetric{
		prometheus.MustNewConstHistogramWithCreatedTimestamp(d, count, sum, classic, created, labels...),
		prometheus.MustNewConstNativeHistogram(d, count, sum, native, nil, zero, nativeSchema, nativeZeroThreshold, created, labels...),
	}
}

func classicBounds() []float64 {
	var bounds []float64
	for decade := range classicDecades {
		for _, step := range []float64{1, 2, 5} {
			bounds = append(bounds, step*math.Pow(10, float64(decade))*classicLowest)
		}
	}
	return append(bounds, math.Pow(10, classicDecades)*classicLowest)
}

// nativeBucket returns the index of the bucket that a value is in: bucket i ends with
// 2^(i * 2^-nativeSchema).
func nativeBucket(seconds float64) int {
	return int(math.Ceil(math.Log2(seconds) * (1 << nativeSchema)))
}

// Desc implements [prometheus.Metric].
func (h histogramMetric) Desc() *prometheus.Desc { return h.native.Desc() }

// Write implements [prometheus.Metric].
func (h histogramMetric) Write(out *dto.Metric) error {
	var classic dto.Metric
	if err := h.classic.Write(&classic); err != nil {
		return err
	}
	if err := h.native.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = classic.Histogram.Bucket
	return nil
}
