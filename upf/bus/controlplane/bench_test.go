package controlplane

import (
	"sync/atomic"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// BenchmarkApply is ns for each change that is accepted over Redis and an agent
// in the same process, with one under way at a time, and with many as N4 has.
func BenchmarkApply(b *testing.B) {
	for _, bc := range []struct {
		name  string
		ahead int // changes under way, for each CPU
	}{{"one", 0}, {"many", 128}} {
		b.Run(bc.name, func(b *testing.B) {
			bed := newBed(b)
			var n atomic.Uint64
			change := func() {
				i := n.Add(1)
				err := bed.upper.Apply(b.Context(), &api.Change{Seid: i%50_000 + 1, Session: testSession(i%50_000+1, uint32(i))})
				if err != nil {
					b.Error(err)
				}
			}
			b.ResetTimer()
			if bc.ahead == 0 {
				for range b.N {
					change()
				}
				return
			}
			b.SetParallelism(bc.ahead)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					change()
				}
			})
		})
	}
}
