package vector

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// BenchmarkSlow is what a packet costs, in ns, that the model treats: one for a NAT,
// either way, and one of an F-TEID that nobody has.
func BenchmarkSlow(b *testing.B) {
	up, down := userPackets()
	bed := openBed(b, func(bed *bed, c *Config) {
		c.Now = nil
		nat := conformance.DataNetworks.Networks[2]
		nat.MSSClamp = 0
		c.N6 = datapath.N6{Networks: []datapath.DataNetwork{nat}}
	})
	s := benchSession(0, limited{})
	if err := bed.Apply(b.Context(), &api.Change{Seid: 1, Session: s}); err != nil {
		b.Fatal(err)
	}
	back := newStream(down, false, 1)
	for name, s := range map[string]*stream{
		"NAT/uplink": newStream(up, true, 1), "nobody/uplink": newStream(up, true, 1000), "nobody/downlink": back,
	} {
		b.Run(name, func(b *testing.B) {
			w, took := bed.NewWorker(), uint64(0)
			take := s.take
			b.ReportAllocs()
			for at := 0; at < b.N; at += MaxVector {
				in := s.next(at)
				if s == back {
					for _, p := range in {
						p.Buf[Headroom+17] = 99
					}
				}
				begin := threadTime(b)
				w.Run(in, take)
				took += threadTime(b) - begin
			}
			b.ReportMetric(float64(took)/float64((b.N+MaxVector-1)/MaxVector*MaxVector), "ns/op")
		})
	}
}
