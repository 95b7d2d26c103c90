package report

import "github.com/HdrHistogram/hdrhistogram-go"

// curvePercentiles are closer to each other where latencies rise.
var curvePercentiles = []float64{
	10, 20, 30, 40, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97, 98, 99, 99.25, 99.5, 99.7, 99.8, 99.9,
	99.925, 99.95, 99.97, 99.98, 99.99, 99.9925, 99.995, 99.997, 99.998, 99.999, 99.9995, 99.9999,
}

// Curve returns the percentiles of a histogram of nanoseconds, with the last
// one that some value stands for, and the maximum. It is empty if h is.
func Curve(h *hdrhistogram.Histogram) []Percentile {
	if h.TotalCount() == 0 {
		return nil
	}
	points := []Percentile{{Percentile: 0, NS: h.Min()}}
	for _, p := range curvePercentiles {
		if float64(h.TotalCount())*(1-p/100) < 1 {
			break
		}
		points = append(points, Percentile{Percentile: p, NS: h.ValueAtPercentile(p)})
	}
	return append(points, Percentile{Percentile: 100, NS: h.Max()})
}
