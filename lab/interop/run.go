package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// task is what makes one or several rows of the result.
type task struct {
	name     string
	expected time.Duration
	run      func(context.Context) []report.InteropStep
}

// Run tries what c says. Whether a step failed is in the result, and no error. It leaves
// no process, server or socket behind, whether it succeeds, fails, or ctx is done: then
// the result has the steps before, and the error says why.
func Run(ctx context.Context, c Config) (result *report.Interop, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &bed{Config: c, content: newContent(), result: &report.Interop{
		Schema: report.InteropSchema, Started: time.Now().UTC().Truncate(time.Second), Host: c.Host, Steps: []report.InteropStep{},
	}}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(); err != nil {
		return nil, err
	}
	if slices.Contains(c.Programs(), "iperf3") {
		if b.binds, err = iperfBinds(ctx); err != nil {
			return nil, err
		}
	}
	b.plan()
	return b.result, b.walk(ctx)
}

// walk runs the tasks.
func (b *bed) walk(ctx context.Context) error {
	var before, total time.Duration
	for _, t := range b.tasks {
		total += t.expected
	}
	for _, t := range b.tasks {
		if b.OnStep != nil && t.expected > 0 {
			b.OnStep(report.Step{Name: t.name, Expected: t.expected, Before: before, Total: total})
		}
		before += t.expected
		asked := b.ask(ctx)
		rows := t.run(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // what was seen of a step that was cut short says nothing
		}
		for i := range rows {
			if rows[i].Result == report.Fail {
				rows[i].UPF = b.explain(ctx, asked, rows[i])
			}
		}
		b.result.Steps = append(b.result.Steps, rows...)
	}
	return nil
}

// plan lists the tasks: each UE alone, then all of them, then the changes.
func (b *bed) plan() {
	for _, u := range b.ues {
		for _, a := range u.addresses {
			switch {
			case a.Is4() && !b.DN.IsValid():
				b.untried("all", u.name, 4, "no IPv4 address of the data network (--dn)")
			case a.Is6() && !b.DN6.IsValid():
				b.untried("all", u.name, 6, "no IPv6 address of the data network (--dn6)")
			}
		}
		for _, p := range b.paths(u) {
			b.planPath(p)
		}
	}
	b.planPairs()
	for _, c := range Changes {
		b.planChange(c)
	}
}

// add plans a step of a path.
func (b *bed) add(name string, p path, expected time.Duration, run func(context.Context, *report.InteropStep)) {
	b.tasks = append(b.tasks, task{fmt.Sprintf("%s, %s, IPv%d", name, p.name, p.version), expected, func(ctx context.Context) []report.InteropStep {
		row := p.row(name)
		run(ctx, &row)
		return []report.InteropStep{row}
	}})
}

func (p path) row(name string) report.InteropStep {
	return report.InteropStep{Step: name, UE: p.name, IPVersion: p.version}
}

// untried plans a row that says why a step is not tried.
func (b *bed) untried(name, ue string, version int, why string) {
	row := report.InteropStep{Step: name, UE: ue, IPVersion: version, Result: report.NotTried, Seen: why}
	b.tasks = append(b.tasks, task{name, 0, func(context.Context) []report.InteropStep { return []report.InteropStep{row} }})
}

// skips reports whether a part is not wanted.
func (b *bed) skips(p Part) bool { return slices.Contains(b.Skip, p) }

// Names of the steps.
const (
	stepPing, stepPingDown   = "ping", "ping from DN"
	stepMTU                  = "full MTU"
	stepTCPUp, stepTCPDown   = "TCP uplink", "TCP downlink"
	stepUDPUp, stepUDPDown   = "UDP uplink", "UDP downlink"
	stepHTTP                 = "HTTP"
	stepAMBRUp, stepAMBRDown = "AMBR uplink", "AMBR downlink"
	stepUEToUE               = "UE to UE"
)

// Reasons why a step is not tried.
const (
	whySkip  = "--skip"
	whyNoDN  = "the data network's namespace is not known (--dn-netns)"
	whyIperf = "no iperf3 server: neither --dn-netns nor --iperf"
	whyHTTP  = "no HTTP server: neither --dn-netns nor --http"
)

// planPath plans what a path of a UE has to do.
func (b *bed) planPath(p path) {
	b.choose(Ping, "", p, pingTime, ways{{stepPing, b.pingUp(p)}})
	b.choose(Ping, b.needsDN(), p, pingTime, ways{{stepPingDown, b.pingDown(p)}})
	b.choose(MTU, "", p, pingTime, ways{{stepMTU, b.fullMTU(p)}})
	b.choose(TCP, b.needsIperf(), p, tcpTime, ways{{stepTCPUp, b.tcp(p, false)}, {stepTCPDown, b.tcp(p, true)}})
	b.choose(UDP, b.needsIperf(), p, udpTime, ways{{stepUDPUp, b.udp(p, false)}, {stepUDPDown, b.udp(p, true)}})
	b.choose(HTTP, b.needsHTTP(p), p, httpTime, ways{{stepHTTP, b.http(p)}})
	if b.UplinkAMBR != 0 {
		b.choose(AMBR, b.needsIperf(), p, ambrTime, ways{{stepAMBRUp, b.ambr(p, false, b.UplinkAMBR)}})
	}
	if b.DownlinkAMBR != 0 {
		b.choose(AMBR, b.needsIperf(), p, ambrTime, ways{{stepAMBRDown, b.ambr(p, true, b.DownlinkAMBR)}})
	}
}

// ways are the steps of a part.
type ways []struct {
	name string
	run  func(context.Context, *report.InteropStep)
}

// choose plans the steps of a part, or says why they are not tried.
func (b *bed) choose(part Part, why string, p path, expected time.Duration, steps ways) {
	if b.skips(part) {
		why = whySkip
	}
	for _, s := range steps {
		if why != "" {
			b.untried(s.name, p.name, p.version, why)
			continue
		}
		b.add(s.name, p, expected, s.run)
	}
}

func (b *bed) needsDN() string {
	if b.dn == nil {
		return whyNoDN
	}
	return ""
}

func (b *bed) needsIperf() string {
	if b.dn == nil && b.IperfPort == 0 {
		return whyIperf
	}
	return ""
}

func (b *bed) needsHTTP(p path) string {
	switch {
	case b.URL == "" && b.dn == nil:
		return whyHTTP
	case b.URL != "" && !sameVersion(b.URL, p.version):
		return "the address of --http is of the other IP version"
	}
	return ""
}
