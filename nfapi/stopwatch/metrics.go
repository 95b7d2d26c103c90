package stopwatch

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("nfapi_"+name, help, append([]string{"name"}, labels...), nil)
}

var (
	descRequests  = describe("requests_total", "Requests that came, by what became of them. Those unpaired are among those on time, those late by the clock or by waiting among those late.", "message", "verdict")
	descLead      = describe("lead_seconds", "How long before its slot a request came; negative: after it had begun.", "message")
	descWaited    = describe("waited_seconds", "How long messages were in the receiver's socket until they were read.", "message")
	descDelay     = describe("delay_seconds", "How long messages were under way until they were read, by their time stamps.", "message", "direction")
	descJitter    = describe("jitter_seconds", "Interarrival jitter of RFC 3550.", "message", "direction")
	descStep      = describe("step_seconds", "Execution time of a step for a message, or for a slot.", "step", "message")
	descHandled   = describe("handled_seconds", "From the sender's time stamp until the receiver had done with a message.", "message")
	descPart      = describe("part_handled_seconds", "The same for messages with a kind of PDU.", "part")
	descReceived  = describe("messages_total", "Messages that came, by sequence number.", "direction")
	descLost      = describe("lost_messages", "Sequence numbers that are missing; it sinks if one comes late.", "direction")
	descDuplicate = describe("duplicate_messages_total", "Messages that came again.", "direction")
	descReordered = describe("reordered_messages_total", "Messages that came after a newer one.", "direction")
	descSlots     = describe("slots_total", "Slots that the clock began.")
	descSkipped   = describe("skipped_slots_total", "Slots that the clock left out.")
	descLate      = describe("clock_late_seconds", "How late the clock began a slot.")
)

// Collect sends snapshots, which have different names, as metrics: times in seconds.
func Collect(ch chan<- prometheus.Metric, snapshots []*Snapshot) {
	for _, s := range snapshots {
		c := collector{ch, strconv.QuoteToGraphic(s.Name)}
		c.name = c.name[1 : len(c.name)-1] // names of others may be any octets
		c.snapshot(s)
	}
}

type collector struct {
	ch   chan<- prometheus.Metric
	name string
}

func (c collector) snapshot(s *Snapshot) {
	for i := range s.Messages {
		c.message(&s.Messages[i])
	}
	for _, p := range s.Parts {
		c.histogram(descPart, p.Handled, p.Name)
	}
	for d, n := range map[Direction]Sequences{ToPNF: s.ToPNF, ToVNF: s.ToVNF} {
		if n.Received > 0 {
			c.counter(descReceived, n.Received, d.String())
			c.gauge(descLost, float64(n.Lost), d.String())
			c.counter(descDuplicate, n.Duplicate, d.String())
			c.counter(descReordered, n.Reordered, d.String())
		}
	}
	if s.Clock.Slots > 0 {
		c.counter(descSlots, s.Clock.Slots)
		c.counter(descSkipped, s.Clock.Skipped)
		c.histogram(descLate, s.Clock.Late)
	}
}

func (c collector) message(m *Message) {
	if m.Counts.Came() > 0 {
		for v, n := range m.Counts.list() {
			c.counter(descRequests, *n, m.Name, Verdict(v).String())
		}
	}
	c.histogram(descLead, m.Lead, m.Name)
	c.histogram(descWaited, m.Waited, m.Name)
	c.histogram(descHandled, m.Handled, m.Name)
	for d, t := range map[Direction]*Transits{ToPNF: m.ToPNF, ToVNF: m.ToVNF} {
		if t != nil {
			c.histogram(descDelay, t.Delay, m.Name, d.String())
			c.gauge(descJitter, float64(t.JitterNS)/1e9, m.Name, d.String())
		}
	}
	for step, d := range m.Steps.list() {
		c.histogram(descStep, *d, Step(step).String(), m.Name)
	}
}

func (c collector) counter(d *prometheus.Desc, v uint64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{c.name}, labels...)...)
}

func (c collector) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{c.name}, labels...)...)
}

// histogram counts a value in the bucket of the middle of its own: it may be 0.4 % off.
func (c collector) histogram(desc *prometheus.Desc, d *Distribution, labels ...string) {
	if d.Total() == 0 {
		return
	}
	bounds := append([]float64{-1e-3, -1e-4, 0}, positiveBounds()...)
	if d.Min >= 0 {
		bounds = bounds[3:]
	}
	buckets := map[float64]uint64{}
	for _, bound := range bounds {
		buckets[bound] = 0
	}
	for _, b := range d.Buckets {
		middle := float64(b.Low+b.High-1) / 2 / 1e9
		for _, bound := range bounds {
			if middle <= bound {
				buckets[bound] += b.Count
			}
		}
	}
	c.ch <- prometheus.MustNewConstHistogram(desc, d.Count, float64(d.Sum)/1e9, buckets, append([]string{c.name}, labels...)...)
}

// positiveBounds are 1, 2 and 5 of each decade from 100 ns to 10 s.
func positiveBounds() []float64 {
	var bounds []float64
	for ns := 1e2; ns < 1e10; ns *= 10 {
		bounds = append(bounds, ns/1e9, 2*ns/1e9, 5*ns/1e9)
	}
	return append(bounds, 10)
}
