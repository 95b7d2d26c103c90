package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// N4Table writes r as text for a terminal: what became of the requests of each
// phase, how long they took, and what the figures belong to.
func N4Table(w io.Writer, r *N4Result) error {
	var b strings.Builder
	writeTitle(&b, fmt.Sprintf("PFCP load on %s from %s, %s", r.Setup.UPFunction, count(uint64(len(r.Setup.CPFunctions)), "CP function"), r.Setup.Shape))
	for _, g := range []*grid{n4CountGrid(r), n4LatencyGrid(r), n4DUTGrid(r)} {
		if len(g.rows) > 0 {
			g.fit(&b, g.nextBar(0))
		}
	}
	for i := range r.Figures {
		writeNote(&b, note{"found", r.Figures[i].text()})
	}
	for _, n := range r.notes() {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func n4CountGrid(r *N4Result) *grid {
	g := &grid{columns: []column{
		{"", "phase", left}, {"", "requests", left}, {"", "held", 0},
		{"per second", "intended", bar}, {"", "accepted", 0},
		{"requests", "intended", bar}, {"", "sent", 0}, {"", "accepted", 0}, {"", "refused", 0}, {"", "lost", 0},
		{"also", "repeated", bar}, {"", "dup.", 0}, {"", "late", 0}, {"", "unsent", 0}, {"", "unasked", 0}, {"", "malformed", 0},
	}}
	for i := range r.Phases {
		p := &r.Phases[i]
		add := func(name, op string, rate string, c *N4Count) {
			g.add(name, op, grouped(uint64(p.Held)), rate, c.accepted(p.Rate == 0),
				fmt.Sprint(c.Intended), fmt.Sprint(c.Sent), fmt.Sprint(c.Accepted), fmt.Sprint(c.RefusedTotal()), fmt.Sprint(c.Lost),
				fmt.Sprint(c.Repeated), fmt.Sprint(c.Duplicates), fmt.Sprint(c.Late), fmt.Sprint(c.Unsent), ifAny(c.Unexpected), ifAny(c.Malformed))
		}
		add(p.Name, p.Operation, p.pace(), &p.Total)
		for _, op := range slices.Sorted(maps.Keys(p.Operations)) {
			c := p.Operations[op]
			add("", " "+op, "", &c)
		}
	}
	return g.withoutEmpty(len(g.columns) - 2)
}

// ifAny is a number, nothing for 0.
func ifAny(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// fewRequests are so few that in a closed loop, which ends with the last response, their rate
// is a response time.
const fewRequests = 10

// accepted is the rate of accepted requests.
func (c *N4Count) accepted(closed bool) string {
	if closed && c.Accepted < fewRequests {
		return ""
	}
	return perSecond(c.AcceptedPerSec)
}

// perSecond is a rate of requests; a low one with decimals.
func perSecond(rate float64) string {
	const low = 100
	if rate >= low || rate == math.Trunc(rate) {
		return grouped(uint64(math.Round(rate)))
	}
	return fmt.Sprintf("%.3g", rate)
}

// pace is the intended rate in words.
func (p *N4Phase) pace() string {
	switch {
	case p.Rate == 0:
		return fmt.Sprintf("window %d", p.Window)
	case p.Arrival == "burst":
		return fmt.Sprintf("%s x%d", perSecond(p.Rate), p.Burst)
	case p.Arrival == "poisson":
		return perSecond(p.Rate) + " rnd"
	}
	return perSecond(p.Rate)
}

func n4LatencyGrid(r *N4Result) *grid {
	g := &grid{columns: []column{
		{"", "phase", left}, {"", "requests", left},
		{"response time, µs", "p50", bar}, {"", "p90", 0}, {"", "p99", 0}, {"", "p99.9", 0}, {"", "p99.99", 0}, {"", "max", 0},
		{"sent late by, µs", "p50", bar}, {"", "p99", 0}, {"", "max", 0},
	}}
	for i := range r.Phases {
		p := &r.Phases[i]
		add := func(name, op string, c *N4Count) {
			l, d := c.LatencyNS, c.SendDelayNS
			g.add(name, op, micros(l.P50), micros(l.P90), micros(l.P99), micros(l.P999), micros(l.P9999), micros(l.Max),
				micros(d.P50), micros(d.P99), micros(d.Max))
		}
		add(p.Name, p.Operation, &p.Total)
		for _, op := range slices.Sorted(maps.Keys(p.Operations)) {
			c := p.Operations[op]
			add("", " "+op, &c)
		}
	}
	return g
}

func (r *N4Result) notes() []note {
	h := &r.Host
	notes := []note{{"latency", "from the intended send time; in a closed loop (window) from the first transmission, which says how " +
		"the UP function responds at that window, not at a given load"}}
	if r.Ended != "" {
		notes = append(notes, note{"unfinished", r.Ended})
	}
	notes = append(notes, r.refusals()...)
	notes = append(notes, r.limits()...)
	return append(notes,
		note{"generator", fmt.Sprintf("%s; %s; T1 %s, N1 %d", count(uint64(r.Setup.Threads), "thread"), r.Setup.Pacing,
			duration(r.Setup.T1NS), r.Setup.N1)},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, h.Commit)})
}

func (r *N4Result) refusals() []note {
	total := map[string]int{}
	for i := range r.Phases {
		for cause, n := range r.Phases[i].Total.Refused {
			total[cause] += n
		}
	}
	var notes []note
	for _, cause := range slices.Sorted(maps.Keys(total)) {
		notes = append(notes, note{"refused", fmt.Sprintf("%s: %s", cause, grouped(uint64(total[cause])))})
	}
	return notes
}

// limits says where the generator, not the UP function, made the figures.
func (r *N4Result) limits() []note {
	const bearable = 100_000 // ns
	var notes []note
	for i := range r.Phases {
		p := &r.Phases[i]
		c := &p.Total
		say := func(format string, args ...any) {
			notes = append(notes, note{"beware", p.Name + ": " + fmt.Sprintf(format, args...)})
		}
		if p.Rate > 0 && c.SendDelayNS.P99 > bearable {
			say("the generator was late: 1 %% of the requests went out %s µs or more after they should have; that is in the response times",
				micros(c.SendDelayNS.P99))
		}
		if c.Unsent > 0 {
			say("%s of %s requests were not sent: too many were in flight, or no session was left for them",
				grouped(uint64(c.Unsent)), grouped(uint64(c.Intended)))
		}
		if c.SendErrors > 0 {
			say("the socket did not take %s transmissions", grouped(uint64(c.SendErrors)))
		}
	}
	return notes
}

// n4DUTGrid is what the phases cost a UP function that the laboratory ran.
func n4DUTGrid(r *N4Result) *grid {
	g := &grid{columns: []column{
		{"", "phase", left}, {"", "requests", left}, {"", "held", 0}, {"UPF", "CPUs", bar}, {"", "store", left}, {"", "CPU µs/request", 0},
		{"", "octets/session", 0}, {"frames meanwhile", "kpps", bar}, {"", "of bed", 0}, {"", "loss %", 0},
	}}
	for i := range r.Phases {
		p := &r.Phases[i]
		d := p.DUT
		if d == nil {
			continue
		}
		octets, forwarded, share, loss := "", "", "", ""
		if d.OctetsPerSession > 0 {
			octets = fmt.Sprintf("%.0f", d.OctetsPerSession)
		}
		if d.BedPPS > 0 {
			forwarded, share, loss = kpps(d.ForwardedPPS), fmt.Sprintf("%.3f", d.ForwardedPPS/d.BedPPS), percent(d.FrameLossRatio)
		}
		g.add(p.Name, p.Operation, grouped(uint64(p.Held)), fmt.Sprint(d.CPUs), orNone(d.Store), fmt.Sprintf("%.2f", d.CPUNSPerRequest/1e3),
			octets, forwarded, share, loss)
	}
	return g
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
