package vnf

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// arrivals is a TIMING_INFO with one type of request: the latest and the earliest, in us
// after the slot began.
func arrivals(latest, earliest int32) *nfapi.TimingInfo {
	return &nfapi.TimingInfo{TXDataRequestLatestDelay: latest, TXDataRequestEarliestArrival: earliest}
}

func TestLead(t *testing.T) {
	const us = time.Microsecond
	begin := time.Unix(1000, 0)
	for _, test := range []struct {
		name string
		do   func(l *lead)
		want time.Duration // begins with 2100 us
	}{
		{"nothing came", func(l *lead) { l.report(&nfapi.TimingInfo{}, begin.Add(time.Minute)) }, 2100 * us},
		{"late", func(l *lead) { l.report(arrivals(200, -500), begin) }, 2400 * us},
		{"late by much", func(l *lead) { l.report(arrivals(1500, -500), begin) }, 2600 * us},
		{"later than could be helped", func(l *lead) { l.report(arrivals(2500, -500), begin) }, 2100 * us},
		{"less than half of the margin left", func(l *lead) { l.report(arrivals(-40, -500), begin) }, 2160 * us},
		{"half of the margin left", func(l *lead) { l.report(arrivals(-50, -500), begin) }, 2100 * us},
		{"late twice at once", func(l *lead) {
			l.report(arrivals(200, 0), begin)
			l.report(arrivals(200, 0), begin.Add(6*time.Millisecond))
		}, 2400 * us},
		{"late again", func(l *lead) {
			l.report(arrivals(200, 0), begin)
			l.report(arrivals(200, 0), begin.Add(7*time.Millisecond))
		}, 2700 * us},
		{"the most", func(l *lead) {
			for i := range 100 {
				l.report(arrivals(1, 0), begin.Add(time.Duration(i)*time.Second))
			}
		}, 4100 * us},
		{"not calm for long enough", func(l *lead) { l.report(arrivals(-900, -1000), begin.Add(time.Second-1)) }, 2100 * us},
		{"calm", func(l *lead) { l.report(arrivals(-900, -1000), begin.Add(time.Second)) }, 1975 * us},
		{"calm, with little to spare", func(l *lead) { l.report(arrivals(-120, -1000), begin.Add(time.Second)) }, 2090 * us},
		{"calm, nothing to spare", func(l *lead) { l.report(arrivals(-90, -1000), begin.Add(time.Second)) }, 2100 * us},
		{"the least that was to spare counts", func(l *lead) {
			l.report(arrivals(-120, -1000), begin)
			l.report(arrivals(-900, -1000), begin.Add(time.Second))
		}, 2090 * us},
		{"the least", func(l *lead) {
			for i := range 100 {
				l.report(arrivals(-900, -1000), begin.Add(time.Duration(i)*time.Second))
			}
		}, 100 * us},
		{"a complaint", func(l *lead) { l.complaint(begin) }, 2600 * us},
		{"a complaint of what is known", func(l *lead) {
			l.report(arrivals(-900, -1000), begin)
			l.complaint(begin.Add(time.Millisecond))
		}, 2100 * us},
		{"an impossible value", func(l *lead) { l.report(arrivals(-1<<31, 1<<31-1), begin.Add(time.Second)) }, 1975 * us},
	} {
		l := lead{least: 100 * us, most: 4100 * us, margin: 100 * us, calm: time.Second}
		l.start(begin)
		if test.do(&l); l.now != test.want {
			t.Errorf("%s: %v, want %v", test.name, l.now, test.want)
		}
	}
}
