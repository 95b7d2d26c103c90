package split

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// Table writes r as text.
func Table(w io.Writer, r *Result) error {
	for i, s := range r.sheets() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := s.WriteText(w); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\n Floor: %s.\n Published: %s.\n", floorText, publishedSource)
	for _, line := range slices.Concat(r.limited(), r.starved(), r.allocations()) {
		fmt.Fprintf(w, " %s.\n", line)
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Failed != "" {
			fmt.Fprintf(w, " Failed: %s: %s\n", o.title(), o.Failed)
		}
	}
	return nil
}

// limited says which bounds are not those of the grid.
func (r *Result) limited() []string {
	var lines []string
	for _, o := range r.plain(func(o *Outcome) bool { return o.Bound.HARQLimited }) {
		lines = append(lines, fmt.Sprintf("%s: the bound is HARQ-limited: %d slots ahead, %d processes of a UE wait for feedback while slots are left", o.title(), o.SlotAhead, radio.MaxHARQ))
	}
	return lines
}

// allocations says what processes that only kept the slot have allocated.
func (r *Result) allocations() []string {
	var lines []string
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		for j := range o.Processes {
			if p := &o.Processes[j]; p.Mallocs != nil {
				lines = append(lines, fmt.Sprintf("%s: the %s allocated %.3f objects for each slot while nothing was sent", o.title(), p.Name, *p.Mallocs))
			}
		}
	}
	return lines
}

// sheets are the tables of r, without those that have no rows.
func (r *Result) sheets() []report.Sheet {
	var list []report.Sheet
	for _, s := range []report.Sheet{r.pingSheet(), r.rateSheet(), r.streamSheet(), r.lossSheet(), r.slotSheet(), r.messageSheet()} {
		if len(s.Rows) > 0 {
			list = append(list, s)
		}
	}
	return list
}

const published = "OpenAirInterface, 2024"

// plain are the outcomes that do not belong to the table of losses.
func (r *Result) plain(with func(*Outcome) bool) []*Outcome {
	var list []*Outcome
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; !o.Grid && with(o) {
			list = append(list, o)
		}
	}
	return list
}

func (r *Result) pingSheet() report.Sheet {
	s := report.Sheet{Title: "Round trip of ping, ms", Columns: []report.Column{
		{Name: "gNB", Text: true}, {Name: "ahead"}, {Name: "k2"}, {Name: "grant", Text: true},
		{Group: "floor of radio", Name: "min"}, {Name: "mean"}, {Name: "max"},
		{Group: "measured", Name: "min"}, {Name: "mean"}, {Name: "p50"}, {Name: "p99"}, {Name: "max"}, {Name: "lost"}, {Name: "over floor"},
	}}
	for _, o := range r.plain(func(o *Outcome) bool { return o.Ping != nil }) {
		row := []string{o.title(), fmt.Sprint(o.SlotAhead), fmt.Sprint(o.Radio.K2), o.Radio.grants()}
		if f := o.Floor; f != nil {
			row = append(row, millis(f.MinNS), millis(f.MeanNS), millis(f.MaxNS))
		} else {
			row = append(row, none, none, none)
		}
		p := o.Ping
		row = append(row, millis(p.MinNS), millis(p.MeanNS), millis(p.P50NS), millis(p.P99NS), millis(p.MaxNS), fmt.Sprint(p.Sent-p.Received), o.aboveFloor())
		s.Rows = append(s.Rows, row)
	}
	if len(s.Rows) > 0 {
		s.Rows = append(s.Rows,
			[]string{published, "6", "6", "by SR", none, none, none, none, fmt.Sprint(publishedPingMS), none, none, none, none, none},
			[]string{"  before its fixes", "6", "6", "by SR", none, none, none, none,
				fmt.Sprintf("%d-%d", publishedPingFirstMS, publishedPingLastMS), none, none, none, none, none})
	}
	return s
}

const none = "-"

func (r *Radio) grants() string {
	if r.StandingGrant {
		return "standing"
	}
	return "by SR"
}

func (o *Outcome) aboveFloor() string {
	if o.Floor == nil || o.Ping.Received == 0 {
		return none
	}
	return fmt.Sprintf("%+.2f", float64(o.Ping.MeanNS-o.Floor.MeanNS)/1e6)
}

func (r *Result) rateSheet() report.Sheet {
	s := report.Sheet{Title: "Throughput, Mbit/s", Columns: []report.Column{
		{Name: "gNB", Text: true}, {Name: "PRB"}, {Name: "layers"},
		{Group: "downlink", Name: "bound"}, {Name: "TCP"}, {Name: "UDP"}, {Name: "of bound"},
		{Group: "uplink", Name: "bound"}, {Name: "TCP"}, {Name: "UDP"}, {Name: "of bound"},
	}}
	for _, o := range r.plain(func(o *Outcome) bool { return o.DownlinkTCP != nil || o.DownlinkUDP != nil }) {
		s.Rows = append(s.Rows, append([]string{o.title(), fmt.Sprint(o.Radio.PRBs), fmt.Sprint(o.Radio.Layers)}, o.rates()...))
	}
	if len(s.Rows) > 0 {
		s.Rows = append(s.Rows, []string{published, "106", "1", none, fmt.Sprintf("%d-%d", publishedDownlinkLow, publishedDownlink), none, none,
			none, fmt.Sprintf("%d-%d", publishedUplinkLow, publishedUplink), none, none})
	}
	return s
}

// rates are bound, TCP's payload, UDP's IP packets, and what the better of the two is of
// the bound, in both directions.
func (o *Outcome) rates() []string {
	var row []string
	for _, way := range []struct {
		bound float64
		tcp   *TCP
		udp   *UDP
	}{{o.Bound.DownlinkBPS, o.DownlinkTCP, o.DownlinkUDP}, {o.Bound.UplinkBPS, o.UplinkTCP, o.UplinkUDP}} {
		tcp, udp, best := none, none, 0.0
		if way.tcp != nil {
			tcp, best = megabits(way.tcp.BPS), way.tcp.BPS
		}
		if way.udp != nil {
			udp, best = megabits(way.udp.IPBPS), max(best, way.udp.IPBPS)
		}
		of := none
		if way.bound > 0 && best > 0 {
			of = fmt.Sprintf("%.1f %%", 100*best/way.bound)
		}
		row = append(row, megabits(way.bound), tcp, udp, of)
	}
	return row
}

func (r *Result) lossSheet() report.Sheet {
	s := report.Sheet{Title: "With datagrams of P7 lost and transport blocks broken", Columns: []report.Column{
		{Name: "loss of P7"}, {Name: "CRC failures"},
		{Group: "ping, ms", Name: "mean"}, {Name: "p99"}, {Name: "lost"},
		{Group: "TCP, Mbit/s", Name: "downlink"}, {Name: "uplink"}, {Group: "UDP, Mbit/s", Name: "downlink"}, {Name: "uplink"},
	}}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		if !o.Grid {
			continue
		}
		row := []string{fmt.Sprint(o.Loss), fmt.Sprintf("%g %%", 100*o.CRCFailure), none, none, none, none, none, none, none}
		if o.Ping != nil {
			row[2], row[3], row[4] = millis(o.Ping.MeanNS), millis(o.Ping.P99NS), fmt.Sprint(o.Ping.Sent-o.Ping.Received)
		}
		for at, t := range map[int]*TCP{5: o.DownlinkTCP, 6: o.UplinkTCP} {
			if t != nil {
				row[at] = megabits(t.BPS)
			}
		}
		for at, u := range map[int]*UDP{7: o.DownlinkUDP, 8: o.UplinkUDP} {
			if u != nil {
				row[at] = megabits(u.IPBPS)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// requests are the messages of P7 that have a slot to meet.
var requests = []nfapi.MessageID{nfapi.MsgDLTTIRequest, nfapi.MsgULTTIRequest, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest}

func (r *Result) slotSheet() report.Sheet {
	s := report.Sheet{Title: "How the slot is kept", Columns: []report.Column{
		{Name: "gNB", Text: true}, {Name: "slots"}, {Name: "left out"},
		{Group: "clock late, us", Name: "p50"}, {Name: "p99"}, {Name: "max"},
		{Group: "requests", Name: "came"}, {Name: "late"}, {Name: "by clock"}, {Name: "by waiting"}, {Name: "lost"},
		{Group: "before their slot, us", Name: "least"}, {Name: "p1"}, {Name: "p50"},
		{Group: "CPU per slot, us", Name: "VNF"}, {Name: "PNF"},
	}}
	for i := range r.Outcomes {
		if row := r.Outcomes[i].slotRow(); row != nil {
			s.Rows = append(s.Rows, row)
		}
	}
	return s
}

func (o *Outcome) slotRow() []string {
	keeper := o.slotKeeper()
	if keeper == nil {
		return nil
	}
	w := keeper.Watch
	row := []string{o.title(), fmt.Sprint(w.Clock.Slots), fmt.Sprint(w.Clock.Skipped), micros(w.Clock.Late, 0.5), micros(w.Clock.Late, 0.99), micros(w.Clock.Late, 1)}
	if o.OnePiece {
		return append(row, none, none, none, none, none, none, none, none, keeper.perSlot(w.Clock.Slots), none)
	}
	c := o.came()
	lead := o.lead()
	return append(row, fmt.Sprint(c.all), fmt.Sprint(c.late), fmt.Sprint(c.byClock), fmt.Sprint(c.byWaiting), fmt.Sprint(w.ToPNF.Lost), micros(lead, 0), micros(lead, 0.01), micros(lead, 0.5),
		o.process(nameSplit[0]).perSlot(w.Clock.Slots), keeper.perSlot(w.Clock.Slots))
}

// arrivals is how many requests there were, how many of them late, and of those how many
// that would have been in time if the clock had been, and how many came in time and were
// not read.
type arrivals struct{ all, late, byClock, byWaiting uint64 }

func (o *Outcome) came() (a arrivals) {
	for _, id := range requests {
		c := o.slotKeeper().Watch.Message(id).Counts
		a.all, a.late = a.all+c.Came(), a.late+c.Late
		a.byClock, a.byWaiting = a.byClock+c.LateByClock, a.byWaiting+c.LateByWaiting
	}
	return a
}

// perSlot is the processor time of a slot.
func (p *Process) perSlot(slots uint64) string {
	if p == nil || slots == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(p.CPUNS)/float64(slots)/1e3)
}

// messageSheet sets the times of messages beside those that were published: of the first
// split radio that was measured.
func (r *Result) messageSheet() report.Sheet {
	s := report.Sheet{Title: "How long messages take, us", Columns: []report.Column{
		{Name: "message", Text: true}, {Name: "span", Text: true}, {Name: "count"}, {Name: "p50"}, {Name: "p99"}, {Name: "mean"}, {Name: published},
	}}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		vnf, pnf := o.process(nameSplit[0]), o.process(nameSplit[1])
		if vnf == nil || pnf == nil || vnf.Watch == nil || pnf.Watch == nil {
			continue
		}
		for _, row := range pnf.Watch.Merge(vnf.Watch).Study() {
			d := row.Here
			s.Rows = append(s.Rows, []string{row.Name, row.Span, fmt.Sprint(d.Total()), micros(d, 0.5), micros(d, 0.99), mean(d), fmt.Sprint(row.There.Microseconds())})
		}
		break
	}
	return s
}

func millis(ns int64) string {
	if ns == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", float64(ns)/1e6)
}

func megabits(bps float64) string {
	if bps >= 1e9 {
		return fmt.Sprintf("%.0f", bps/1e6)
	}
	return fmt.Sprintf("%.1f", bps/1e6)
}

func micros(d *stopwatch.Distribution, q float64) string {
	if d.Total() == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(d.Quantile(q))/float64(time.Microsecond))
}

func mean(d *stopwatch.Distribution) string {
	if d.Total() == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(d.Mean())/float64(time.Microsecond))
}
