package analyze

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// Print writes the analysis as text.
func (a *Analysis) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "capture: %v, %d packets, %d messages, %d could not be decoded, %d with a wrong checksum\n",
		a.Duration().Round(time.Millisecond), a.Packets, a.Messages, a.Undecoded, a.WrongChecksums)
	if a.CutShort {
		b.WriteString("the capture ends within a packet\n")
	}
	if a.LeftOut > 0 {
		fmt.Fprintf(&b, "%d messages of further cells were left out\n", a.LeftOut)
	}
	for _, note := range a.Notes {
		b.WriteString(note + "\n")
	}
	if len(a.P5) > 0 {
		b.WriteString("P5: " + a.P5Text() + "\n")
	}
	for _, c := range a.Cells {
		b.WriteString("\n" + c.Headline() + "\n" + c.Text() + "\n")
		for _, t := range c.Tables() {
			b.WriteString("\n" + t.String())
		}
		c.printFindings(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// P5Text is how many messages of P5 came, in a line.
func (a *Analysis) P5Text() string {
	var parts []string
	for _, m := range a.P5 {
		name := m.Message
		if m.Error != "" {
			name += " (" + m.Error + ")"
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, m.Count))
	}
	return strings.Join(parts, ", ")
}

// Headline says which cell it is.
func (c *Cell) Headline() string {
	ahead := "how far ahead is not known: no lead (--slot-ahead)"
	if c.SlotAhead >= 0 {
		ahead = fmt.Sprintf("SLOT.indication %d slots ahead", c.SlotAhead)
	}
	if c.K1 > 0 {
		ahead += fmt.Sprintf(", HARQ feedback %d slots after its PDSCH at least", c.K1)
	}
	return fmt.Sprintf("VNF %s, PNF %s, PHY %d, %s, numerology %d, %s: %v", c.VNF, c.PNF, c.PHY, c.Profile, c.Numerology, ahead, c.Duration().Round(time.Millisecond))
}

// Text is the description of a cell outside the tables, in lines.
func (c *Cell) Text() string {
	t := &c.Ticks
	unknown := "" // what datagrams without a header were is not known
	if c.Unseen > 0 {
		unknown = " or cut off"
	}
	lines := []string{fmt.Sprintf("SLOT.indication: %d, %d missing%s, %d again, %d backwards; between them %s µs (min), %s (p50), %s (p99), %s (max)", t.Count, t.Missing, unknown,
		t.Repeated, t.Backwards, micros(t.Interval, 0), micros(t.Interval, 0.5), micros(t.Interval, 0.99), micros(t.Interval, 1))}
	if c.CutOff > 0 || c.Unseen > 0 {
		lines = append(lines, fmt.Sprintf("cut off: %d messages, of them %d SLOT.indications; so pairs, blocks and feedback that are missing are not told", c.CutOff, t.CutOff))
	}
	if c.First.Total() > 0 {
		lines = append(lines, fmt.Sprintf("requests of a slot after its SLOT.indication: first %s µs (p50), %s (p99); last %s (p50), %s (p99), %s (max)",
			micros(c.First, 0.5), micros(c.First, 0.99), micros(c.Last, 0.5), micros(c.Last, 0.99), micros(c.Last, 1)))
	}
	for _, d := range []struct {
		to string
		stopwatch.Sequences
	}{{"PNF", c.ToPNF}, {"VNF", c.ToVNF}} {
		if d.Received > 0 {
			lines = append(lines, fmt.Sprintf("to the %s: %d messages, %d lost%s, %d twice, %d out of order", d.to, d.Received, d.Lost, unknown, d.Duplicate, d.Reordered))
		}
	}
	if r := &c.Requested; r.Count > 0 {
		lines = append(lines, fmt.Sprintf("scheduling requests: %d, %d while one waited; to the grant %s µs (p50), %s (p99); to the CRC %s (p50), %s (p99), %s (max)",
			r.Count, r.Repeated, micros(r.ToGrant, 0.5), micros(r.ToGrant, 0.99), micros(r.ToCRC, 0.5), micros(r.ToCRC, 0.99), micros(r.ToCRC, 1)))
	}
	for _, one := range []struct {
		n    int
		text string
	}{
		{c.Broken.DLTTIWithoutTXData, "DL_TTI.request with PDSCH, without TX_DATA.request"}, {c.Broken.TXDataWithoutDLTTI, "TX_DATA.request without DL_TTI.request"},
		{c.Broken.PDSCHWithoutBlock, "PDSCH without its block"}, {c.Broken.PUSCHWithoutCRC, "PUSCH without CRC.indication"},
		{c.Broken.CRCWithoutPUSCH, "CRC without PUSCH"}, {c.Broken.GoodWithoutRXData, "good CRC without RX_DATA.indication"},
		{c.Broken.PUCCHWithoutUCI, "PUCCH without UCI.indication"},
	} {
		if one.n > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", one.text, one.n))
		}
	}
	return strings.Join(lines, "\n")
}

// micros is a quantile in µs, "-" of no values.
func micros(d *stopwatch.Distribution, q float64) string {
	if d.Total() == 0 {
		return "-"
	}
	return stopwatch.Micros(d.Quantile(q))
}

// Tables are those of a cell that have something in them: requests, ways, blocks, HARQ
// processes.
func (c *Cell) Tables() []stopwatch.Table {
	var tables []stopwatch.Table
	for _, t := range []stopwatch.Table{
		{
			Columns: []string{"requests", "Mbit/s", "on time", "late", "early", "twice", "invalid", "unpaired", "lead µs: min", "p1", "p50", "max", "after SLOT.indication µs: p50", "p99", "max"},
			Text:    1, Rows: c.requestRows(),
		},
		{Columns: []string{"under way", "to", "messages", "µs above the least: mean", "p50", "p99", "max", "jitter"}, Text: 2, Rows: c.wayRows()},
		{
			Columns: []string{
				"RNTI", "downlink: blocks", "Mbit/s", "again %", "ACK", "NACK", "DTX", "no PDSCH", "uplink: blocks", "Mbit/s", "again %", "good", "bad", "unknown", "SR",
			}, Text: 1, Rows: c.ueRows(),
		},
		{Columns: []string{"RNTI", "uplink HARQ process", "blocks", "again %", "good", "bad", "unknown"}, Text: 1, Rows: c.harqRows()},
	} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// rate is Mbit/s over the time of the cell.
func (c *Cell) rate(octets uint64) string {
	if c.Duration() <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", float64(octets)*8/c.Duration().Seconds()/1e6)
}

func (c *Cell) requestRows() [][]string {
	var rows [][]string
	for i := range c.Requests {
		r := &c.Requests[i]
		n := &r.Counts
		rows = append(rows, []string{
			r.Message, c.rate(r.Octets), fmt.Sprint(n.OnTime), fmt.Sprint(n.Late), fmt.Sprint(n.Early), fmt.Sprint(n.Duplicate), fmt.Sprint(n.Invalid), fmt.Sprint(n.Unpaired),
			micros(r.Lead, 0), micros(r.Lead, 0.01), micros(r.Lead, 0.5), micros(r.Lead, 1),
			micros(r.Response, 0.5), micros(r.Response, 0.99), micros(r.Response, 1),
		})
	}
	return rows
}

func (c *Cell) wayRows() [][]string {
	var rows [][]string
	for _, way := range c.Ways {
		rows = append(rows, []string{
			way.Message, way.To, fmt.Sprint(way.Delay.Total()), stopwatch.Micros(way.Delay.Mean()), micros(way.Delay, 0.5), micros(way.Delay, 0.99),
			micros(way.Delay, 1), stopwatch.Micros(time.Duration(way.JitterNS)),
		})
	}
	return rows
}

func (c *Cell) blockCells(b *Blocks) []string {
	return []string{fmt.Sprint(b.Blocks), c.rate(b.Octets), percent(b.Again, b.Blocks), fmt.Sprint(b.Good), fmt.Sprint(b.Bad), fmt.Sprint(b.Uncertain)}
}

func percent(part, all uint64) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", 100*float64(part)/float64(all))
}

// ueRows are those of UEs, and of all together if there are several.
func (c *Cell) ueRows() [][]string {
	var rows [][]string
	row := func(name string, down, up *Blocks, without uint64, requests int) {
		cells := append(append([]string{name}, c.blockCells(down)...), fmt.Sprint(without))
		rows = append(rows, append(append(cells, c.blockCells(up)...), fmt.Sprint(requests)))
	}
	for _, u := range c.UEs {
		row(fmt.Sprintf("%#04x", u.RNTI), &u.Downlink, &u.Uplink, u.BitsWithoutPDSCH, u.Requests)
	}
	if len(c.UEs) > 1 {
		row("all", &c.Downlink, &c.Uplink, c.BitsWithoutPDSCH, c.Requested.Count)
	}
	return rows
}

// harqRows are of a few UEs; of more they would be a long list that says little.
func (c *Cell) harqRows() [][]string {
	const most = 4
	if len(c.UEs) > most {
		return nil
	}
	var rows [][]string
	for _, u := range c.UEs {
		for id := range u.HARQ {
			if b := &u.HARQ[id]; *b != (Blocks{}) {
				rows = append(rows, []string{
					fmt.Sprintf("%#04x", u.RNTI), fmt.Sprint(id), fmt.Sprint(b.Blocks), percent(b.Again, b.Blocks), fmt.Sprint(b.Good), fmt.Sprint(b.Bad), fmt.Sprint(b.Uncertain),
				})
			}
		}
	}
	return rows
}

func (c *Cell) printFindings(b *strings.Builder) {
	if len(c.Findings) == 0 {
		return
	}
	b.WriteByte('\n')
	for _, f := range c.Findings {
		fmt.Fprintf(b, "%12.6f %s: %s\n", f.At.Sub(c.Started).Seconds(), f.Slot, f.Text)
	}
	if c.Further > 0 {
		fmt.Fprintf(b, "and %d more\n", c.Further)
	}
}
