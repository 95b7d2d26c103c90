package report

import "github.com/plumbline-upf/plumbline/internal/stats"

func medianOf[T any](all []T, of func(T) float64) float64 {
	v := make([]float64, len(all))
	for i := range all {
		v[i] = of(all[i])
	}
	return stats.Median(v)
}
