package system

import (
	"github.com/plumbline-upf/plumbline/internal/histogram"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// together adds up what a meter has seen of several streams.
func together(streams []meter.Stream) meter.Stream {
	sum := streams[0]
	if len(streams) == 1 {
		return sum
	}
	sum.FromIntended = sum.FromIntended.Clone()
	for i := range streams[1:] {
		s := &streams[1+i]
		if s.Received > 0 && (sum.Received == 0 || s.LeastNs < sum.LeastNs) {
			sum.LeastNs = s.LeastNs
		}
		sum.MostNs = max(sum.MostNs, s.MostNs)
		sum.Received += s.Received
		sum.ReceivedOctets += s.ReceivedOctets
		sum.Duplicated += s.Duplicated
		sum.Reordered += s.Reordered
		sum.Stale += s.Stale
		for kind, n := range s.Misdelivered {
			sum.Misdelivered[kind] += n
		}
		for kind, n := range s.Unenforced {
			sum.Unenforced[kind] += n
		}
		sum.GapNs = max(sum.GapNs, s.GapNs)
		sum.Followed += s.Followed
		sum.VariationSumNs += s.VariationSumNs
		sum.FromIntended.Merge(s.FromIntended)
	}
	return sum
}

// ofStreams is what became of each stream; nil if there is but one.
func (p *pass) ofStreams() ([]report.StreamTrial, error) {
	if len(p.streams) < 2 {
		return nil, nil
	}
	var list []report.StreamTrial
	for i := range p.streams {
		sent, received := &p.sent.Streams[i], &p.streams[i]
		latencies, err := histogram.Encode(received.FromIntended)
		if err != nil {
			return nil, err
		}
		s := report.StreamTrial{
			Name: p.names[i], OfferedFrames: sent.Sent, ReceivedFrames: received.Received,
			OfferedPPS: p.perSecond(sent.Sent), ReceivedPPS: p.perSecond(received.Received), ReceivedBPS: 8 * p.perSecond(received.ReceivedOctets),
			Misdelivered: received.MisdeliveredTotal(), Duplicated: received.Duplicated, Reordered: received.Reordered + received.Stale,
			MisdeliveredBy: received.MisdeliveredBy(), UnenforcedBy: received.UnenforcedBy(), LatencyNS: latencyOf(received), LatencyHistogram: latencies,
		}
		s.LatencyNS.Variation = received.VariationNs()
		if sent.Sent > received.Received {
			s.LossRatio = float64(sent.Sent-received.Received) / float64(sent.Sent)
		}
		list = append(list, s)
	}
	return list, nil
}
