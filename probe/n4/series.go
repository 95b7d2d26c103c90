package n4

import (
	"cmp"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// maxDelayNs is the longest delay that a histogram has; a timeout is shorter.
const maxDelayNs = 1<<36 - 1

// newDelays returns an empty histogram of delays.
func newDelays() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxDelayNs, 2) }

type seriesKey struct {
	upf  int
	role Role
	kind pfcp.MessageType
}

// series is a [Series] that is counted into. There are as many as UPFs, roles and types
// of requests, at most.
type series struct {
	Account
	role   Role
	causes [256]uint64
	delay  *hdrhistogram.Histogram
}

// seriesOf returns what a request counts for.
func (p *pairing) seriesOf(d *datagram, h pfcp.Header, role Role) *series {
	key := seriesKey{d.tap.UPF, role, h.Type}
	s := p.series[key]
	if s == nil {
		s = &series{role: role, delay: newDelays()}
		p.series[key] = s
	}
	return s
}

func (s *series) record(delayNs uint64) {
	_ = s.delay.RecordValue(int64(min(delayNs, maxDelayNs))) // it has room for all of these
}

// snapshot copies all series.
func (p *pairing) snapshot(upfs []UPF) []Series {
	list := make([]Series, 0, len(p.series))
	for k, s := range p.series {
		out := Series{
			UPF: upfs[k.upf].Name, Role: k.role, Type: k.kind, Account: s.Account,
			Causes: map[pfcp.Cause]uint64{}, Delay: s.delay.Clone(),
		}
		for cause, n := range s.causes {
			if n > 0 {
				out.Causes[pfcp.Cause(cause)] = n
			}
		}
		list = append(list, out)
	}
	slices.SortFunc(list, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.UPF, b.UPF), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Type, b.Type))
	})
	return list
}
