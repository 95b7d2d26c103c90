package split

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// leastSent is how much of its datagrams iperf3 has to send, for the figure to be one of the
// cell.
const leastSent = 0.95

// ways are the streams of an outcome by direction.
func (o *Outcome) ways() [2]struct {
	name string
	tcp  *TCP
	udp  *UDP
} {
	return [2]struct {
		name string
		tcp  *TCP
		udp  *UDP
	}{{"downlink", o.DownlinkTCP, o.DownlinkUDP}, {"uplink", o.UplinkTCP, o.UplinkUDP}}
}

// streamSheet says what else than the cell may have bounded a stream: segments that TCP had
// to send again were lost on the way, datagrams that were not sent iperf3 had no CPU for.
func (r *Result) streamSheet() report.Sheet {
	s := report.Sheet{Title: "What became of the streams", Columns: []report.Column{
		{Name: "gNB", Text: true},
		{Group: "downlink", Name: "TCP again"}, {Name: "UDP wanted"}, {Name: "sent"}, {Name: "lost"},
		{Group: "uplink", Name: "TCP again"}, {Name: "UDP wanted"}, {Name: "sent"}, {Name: "lost"},
	}}
	for _, o := range r.plain(func(o *Outcome) bool { return o.DownlinkTCP != nil || o.DownlinkUDP != nil }) {
		row := []string{o.title()}
		for _, way := range o.ways() {
			again, wanted, sent, lost := none, none, none, none
			if way.tcp != nil {
				again = fmt.Sprint(way.tcp.Retransmits)
			}
			if u := way.udp; u != nil {
				wanted, sent, lost = fmt.Sprint(u.Wanted), fmt.Sprint(u.Packets), fmt.Sprint(u.Lost)
			}
			row = append(row, again, wanted, sent, lost)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// starved says of which streams iperf3 did not send what it was to.
func (r *Result) starved() []string {
	var lines []string
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		for _, way := range o.ways() {
			if u := way.udp; u != nil && float64(u.Packets) < leastSent*float64(u.Wanted) {
				lines = append(lines, fmt.Sprintf("%s: iperf3 sent %d of %d datagrams of the %s: it had too little of the CPUs, and its figure is not that of the cell",
					o.title(), u.Packets, u.Wanted, way.name))
			}
		}
	}
	return lines
}
