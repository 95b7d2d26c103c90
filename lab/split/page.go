package split

import (
	"fmt"
	"io"
	"slices"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// WriteHTML writes r as one page that loads nothing else.
func WriteHTML(w io.Writer, r *Result) error {
	d := &report.Document{
		Heading: "A gNB split by nFAPI, and in one piece",
		Title:   fmt.Sprintf("ping and iperf3 through UE, PNF, VNF, UPF and data network: %d gNBs", len(r.Outcomes)),
		When:    r.Started.UTC().Format("2 January 2006, 15:04 UTC"), Tiles: r.tiles(), Host: &r.Host, Command: r.Host.CommandLine, Schema: r.Schema,
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Failed != "" {
			d.Warnings = append(d.Warnings, o.title()+" failed: "+o.Failed)
		}
	}
	if r.Finished == nil {
		d.Warnings = append(d.Warnings, "The run was not finished.")
	}
	d.Sections = []report.Section{
		{
			Heading: "Round trip", Text: "The floor is " + floorText + ".",
			Charts: r.pingCharts(), Tables: only(r.pingSheet()),
		},
		{
			Heading: "Throughput", Text: "The bound is what the transport blocks of all slots can carry, headers of MAC, RLC, PDCP and SDAP included. TCP is payload, UDP is IP packets.",
			Charts: r.rateCharts(), Tables: only(r.rateSheet(), r.streamSheet(), r.lossSheet()),
		},
		{
			Heading: "The slot", Text: "A request is late that has not been read when its slot begins: it is lost, and HARQ or RLC repair it. By clock: SLOT.indication was late by as much. By waiting: it had come, and lay in the socket of the PNF. The rest VNF and network have to answer for.",
			Charts: r.slotCharts(), Tables: only(r.slotSheet(), r.messageSheet()),
			Notes: r.notes(),
		},
	}
	d.Sections = slices.DeleteFunc(d.Sections, func(s report.Section) bool { return len(s.Tables) == 0 })
	return d.WriteHTML(w)
}

func (r *Result) notes() []report.Note {
	notes := []report.Note{{Label: "published", Text: publishedSource}}
	for _, line := range r.starved() {
		notes = append(notes, report.Note{Label: "short of CPUs", Text: line})
	}
	for _, line := range r.limited() {
		notes = append(notes, report.Note{Label: "bound", Text: line})
	}
	for _, line := range r.allocations() {
		notes = append(notes, report.Note{Label: "memory", Text: line})
	}
	return notes
}

// only are the tables that have rows. Their titles are on the page.
func only(list ...report.Sheet) []report.Sheet {
	return slices.DeleteFunc(list, func(s report.Sheet) bool { return len(s.Rows) == 0 })
}

// tiles are the shortest round trip of a split gNB, its throughput, and late requests.
func (r *Result) tiles() []report.Tile {
	var tiles []report.Tile
	var best, fast *Outcome
	for _, o := range r.plain(func(o *Outcome) bool { return !o.OnePiece }) {
		if o.Ping != nil && o.Ping.Received > 0 && (best == nil || o.Ping.MeanNS < best.Ping.MeanNS) {
			best = o
		}
		if o.DownlinkTCP != nil && (fast == nil || o.DownlinkTCP.BPS > fast.DownlinkTCP.BPS) {
			fast = o
		}
	}
	if best != nil {
		more := best.Name
		if best.Floor != nil {
			more = fmt.Sprintf("%s; the floor is %s, OpenAirInterface had %g", best.Name, millis(best.Floor.MeanNS), publishedPingMS)
		}
		tiles = append(tiles, report.Tile{What: "ping through the split, mean", Figure: millis(best.Ping.MeanNS), Unit: "ms", More: more})
	}
	if fast != nil {
		more := fmt.Sprintf("%s; the radio's bound is %s", fast.Name, megabits(fast.Bound.DownlinkBPS))
		tiles = append(tiles, report.Tile{What: "TCP, downlink, through the split", Figure: megabits(fast.DownlinkTCP.BPS), Unit: "Mbit/s", More: more})
	}
	var came, late uint64
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; !o.OnePiece && o.slotKeeper() != nil {
			a := o.came()
			came, late = came+a.all, late+a.late
		}
	}
	if came > 0 {
		mood := report.Good
		if late > 0 {
			mood = report.Bad
		}
		tiles = append(tiles, report.Tile{What: "requests that came late", Figure: fmt.Sprint(late), More: fmt.Sprintf("of %d", came), Mood: mood})
	}
	return tiles
}

// pingCharts are the distributions of the round trips, a chart for each radio.
func (r *Result) pingCharts() []report.Chart {
	var charts []report.Chart
	var names []string
	for _, o := range r.plain(func(o *Outcome) bool { return o.Ping != nil && len(o.Ping.RTTsNS) > 0 }) {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	for _, name := range names {
		c := report.Curves{Title: "Round trip, " + name, X: "ms", Y: "pings with no more, %", XScale: report.Logarithmic, YScale: report.Nines}
		for _, o := range r.plain(func(o *Outcome) bool { return o.Name == name && o.Ping != nil }) {
			c.Lines = append(c.Lines, report.Line{Name: o.form(), Points: distribution(o.Ping.RTTsNS)})
			if f := o.Floor; f != nil && len(c.Lines) == 1 {
				for _, at := range []int64{f.MinNS, f.MeanNS, f.MaxNS} {
					c.Sub += fmt.Sprintf(" %s", millis(at))
				}
				c.Sub = "floor, least, mean and most:" + c.Sub + " ms"
			}
		}
		charts = append(charts, c)
	}
	return charts
}

// distribution is the part of values that are no larger, in percent, over ms; of the largest
// half of its own part is left out, since it is not known that none can be larger.
func distribution(ns []int64) [][2]float64 {
	sorted := slices.Sorted(slices.Values(ns))
	var points [][2]float64
	for i, v := range sorted {
		points = append(points, [2]float64{float64(v) / 1e6, 100 * (float64(i) + 0.5) / float64(len(sorted))})
	}
	return points
}

func (r *Result) rateCharts() []report.Chart {
	var charts []report.Chart
	for _, way := range []struct {
		name  string
		bound func(*Outcome) float64
		tcp   func(*Outcome) *TCP
		udp   func(*Outcome) *UDP
		low   float64
		high  float64
	}{
		{"Downlink", func(o *Outcome) float64 { return o.Bound.DownlinkBPS }, func(o *Outcome) *TCP { return o.DownlinkTCP },
			func(o *Outcome) *UDP { return o.DownlinkUDP }, publishedDownlinkLow, publishedDownlink},
		{"Uplink", func(o *Outcome) float64 { return o.Bound.UplinkBPS }, func(o *Outcome) *TCP { return o.UplinkTCP },
			func(o *Outcome) *UDP { return o.UplinkUDP }, publishedUplinkLow, publishedUplink},
	} {
		c := report.Bars{Title: way.name, Sub: "beside what the transport blocks can carry", Axis: "Mbit/s", Unit: "Mbit/s"}
		for _, o := range r.plain(func(o *Outcome) bool { return o.DownlinkTCP != nil || o.DownlinkUDP != nil }) {
			g := report.BarGroup{Name: o.title(), Bars: []report.Bar{{Name: "bound", Value: way.bound(o) / 1e6}}}
			if t := way.tcp(o); t != nil {
				g.Bars = append(g.Bars, report.Bar{Name: "TCP", Value: t.BPS / 1e6, Colour: 1})
			}
			if u := way.udp(o); u != nil {
				g.Bars = append(g.Bars, report.Bar{Name: "UDP", Value: u.IPBPS / 1e6, Colour: 2})
			}
			c.Groups = append(c.Groups, g)
		}
		if len(c.Groups) == 0 {
			continue
		}
		c.Groups = append(c.Groups, report.BarGroup{Name: published, Bars: []report.Bar{{Name: "iperf3", Value: way.high, Low: way.low, High: way.high, Colour: 5}}})
		charts = append(charts, c)
	}
	return charts
}

// slotCharts are how long before their slots requests came.
func (r *Result) slotCharts() []report.Chart {
	c := report.Curves{Title: "How long before its slot a request came", Sub: "DL_TTI, UL_TTI, UL_DCI and TX_DATA of each split gNB", X: "us", Y: "requests with no more, %"}
	for _, o := range r.plain(func(o *Outcome) bool { return !o.OnePiece && o.slotKeeper() != nil }) {
		if points := cumulative(o.lead()); len(points) > 0 {
			c.Lines = append(c.Lines, report.Line{Name: o.Name, Points: points})
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	return []report.Chart{c}
}

// lead is how long before their slots all requests came.
func (o *Outcome) lead() *stopwatch.Distribution {
	var lead *stopwatch.Distribution
	for _, id := range requests {
		lead = lead.Merge(o.slotKeeper().Watch.Message(id).Lead)
	}
	return lead
}

func cumulative(d *stopwatch.Distribution) [][2]float64 {
	var points [][2]float64
	if d.Total() == 0 {
		return nil
	}
	var below uint64
	for _, b := range d.Buckets {
		below += b.Count
		points = append(points, [2]float64{float64(b.High) / 1e3, 100 * float64(below) / float64(d.Count)})
	}
	return points
}
