package interop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

const (
	changePingEvery = 50 * time.Millisecond
	changeLead      = time.Second // under ping before the command
	changePatience  = 3 * time.Second
	wakeTime        = 10 * time.Second // until a UE that is paged answers
	releasePings    = 5
)

// flag is the name of the flag of a change.
func (c Change) flag() string {
	switch c {
	case SMFRestart:
		return "--smf-restart"
	case UPFRestart:
		return "--upf-restart"
	}
	return "--" + string(c)
}

// planChange plans what a command makes the core do: for each UE if the command names
// one, else for all of them at once.
func (b *bed) planChange(c Change) {
	command := b.Commands[c]
	if command == "" {
		b.untried(string(c), "", 0, "no command ("+c.flag()+")")
		return
	}
	if b.dn == nil && (c == Idle || c == Release) {
		b.untried(string(c), "", 0, whyNoDN)
		return
	}
	groups := [][]*ue{b.ues}
	if ofUE(command) {
		groups = slices.Collect(slices.Chunk(b.ues, 1))
	}
	for _, group := range groups {
		line, name := command, string(c)
		if ofUE(command) {
			line, name = group[0].fill(command), name+", "+group[0].name
		}
		b.planGroup(c, name, line, b.pathsOf(group))
	}
}

func (b *bed) pathsOf(group []*ue) []path {
	var list []path
	for _, u := range group {
		list = append(list, b.paths(u)...)
	}
	return list
}

// planGroup plans the change of some paths. A UE that one IP version has woken is not idle
// for the other: each has an idle UE of its own.
func (b *bed) planGroup(c Change, name, line string, paths []path) {
	expected := changeLead + b.Settle
	if c != Idle {
		b.tasks = append(b.tasks, task{name, expected, func(ctx context.Context) []report.InteropStep {
			if c == Release {
				return b.release(ctx, line, paths)
			}
			return b.change(ctx, c, line, paths)
		}})
		return
	}
	for _, version := range []int{4, 6} {
		of := slices.DeleteFunc(slices.Clone(paths), func(p path) bool { return p.version != version })
		if len(of) == 0 {
			continue
		}
		b.tasks = append(b.tasks, task{fmt.Sprintf("%s, IPv%d", name, version), expected, func(ctx context.Context) []report.InteropStep {
			return b.idle(ctx, line, of)
		}})
	}
}

// execute runs a command and waits until its effects have settled.
func (b *bed) execute(ctx context.Context, line string) *report.InteropCommand {
	c := execute(ctx, line, b.CommandTime)
	select {
	case <-time.After(b.Settle):
	case <-ctx.Done():
	}
	return c
}

// rows are one for each path.
func rows(c Change, paths []path) []report.InteropStep {
	list := make([]report.InteropStep, len(paths))
	for i, p := range paths {
		list[i] = p.row(string(c))
	}
	return list
}

// pingers is a series of each path at the same time.
type pingers []*pinger

func (b *bed) startAll(ctx context.Context, paths []path, count int, shape func(path) series) (pingers, error) {
	var all pingers
	for _, p := range paths {
		one, err := shape(p).start(ctx, count)
		if err != nil {
			all.end(ctx)
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// wait returns when all requests are sent.
func (all pingers) wait() {
	for _, p := range all {
		p.sending.Wait()
	}
}

// end stops all of them before it waits for answers.
func (all pingers) end(ctx context.Context) []*report.InteropEcho {
	for _, p := range all {
		p.stop()
	}
	list := make([]*report.InteropEcho, len(all))
	for i, p := range all {
		list[i] = p.end(ctx)
	}
	return list
}

// change runs a command while the data network pings the UEs, or they it if its namespace
// is not known.
func (b *bed) change(ctx context.Context, c Change, line string, paths []path) []report.InteropStep {
	list := rows(c, paths)
	all, err := b.startAll(ctx, paths, 0, func(p path) series {
		s := p.uplink()
		if b.dn != nil {
			s = b.downlink(p)
		}
		s.interval, s.patience = changePingEvery, changePatience
		return s
	})
	if err != nil {
		return failAll(list, err)
	}
	select {
	case <-time.After(changeLead):
	case <-ctx.Done():
	}
	command := b.execute(ctx, line)
	for i, e := range all.end(ctx) {
		list[i].Command, list[i].Echo = command, e
		list[i].Result, list[i].Seen = b.judgeChange(e)
		judgeCommand(&list[i])
	}
	return list
}

// judgeChange wants no packet to be lost, or with [Config.Gap] answers to come again in time.
func (b *bed) judgeChange(e *report.InteropEcho) (report.Outcome, string) {
	seen := fmt.Sprintf("sent %d, lost %d, longest gap %s", e.Sent, e.Sent-e.Received, milliseconds(e.GapNS))
	ok := e.Received == e.Sent
	if b.Gap > 0 {
		ok = e.GapNS <= int64(b.Gap)
	}
	switch {
	case e.Received == 0:
		return report.Fail, seen + ": none was answered"
	case !e.Recovered:
		return report.Fail, seen + ": the last ones were not answered"
	case e.Damaged > 0:
		return report.Fail, fmt.Sprintf("%s, %d with other octets", seen, e.Damaged)
	case !ok:
		return report.Fail, seen
	}
	return report.Pass, seen
}

// judgeCommand fails a step whose command failed, regardless of the packets.
func judgeCommand(row *report.InteropStep) {
	if row.Command.Failed != "" {
		row.Result, row.Seen = report.Fail, fmt.Sprintf("%s; command: %s", row.Seen, row.Command.Failed)
	}
}

func failAll(list []report.InteropStep, err error) []report.InteropStep {
	for i := range list {
		fail(&list[i], err)
	}
	return list
}

// idle has a command release the radio, and then pings the UEs from the data network: all
// requests are answered, from the first on.
func (b *bed) idle(ctx context.Context, line string, paths []path) []report.InteropStep {
	list := rows(Idle, paths)
	command := b.execute(ctx, line)
	awake := b.awake(ctx, list)
	all, err := b.startAll(ctx, paths, pings, func(p path) series {
		s := b.downlink(p)
		s.patience = wakeTime
		return s
	})
	if err != nil {
		return failAll(list, err)
	}
	all.wait()
	for i, e := range all.end(ctx) {
		list[i].Command, list[i].Echo, list[i].Result = command, e, report.Fail
		list[i].Seen = echoText(e)
		if e.Received > 0 {
			list[i].Seen = fmt.Sprintf("sent %d, received %d, the first after %s", e.Sent, e.Received, milliseconds(e.FirstNS))
		}
		switch {
		case awake[i]:
			list[i].Seen += ": the UPF did not buffer, so the UE was not idle"
		case e.Received == e.Sent && e.Damaged == 0 && e.Duplicated == 0:
			list[i].Result = report.Pass
		}
		judgeCommand(&list[i])
	}
	return list
}

// release has a command release the PDU session: the UE's address answered before and
// does not any more.
func (b *bed) release(ctx context.Context, line string, paths []path) []report.InteropStep {
	list := rows(Release, paths)
	before, err := b.pingAll(ctx, paths)
	if err != nil {
		return failAll(list, err)
	}
	command := b.execute(ctx, line)
	after, err := b.pingAll(ctx, paths)
	if err != nil {
		return failAll(list, err)
	}
	for i, e := range after {
		list[i].Command, list[i].Echo, list[i].Result = command, e, report.Fail
		list[i].Seen = fmt.Sprintf("sent %d, received %d", e.Sent, e.Received)
		switch {
		case before[i].Received == 0:
			list[i].Seen = "the UE did not answer before the release either"
		case e.Unsent > 0:
			list[i].Seen = "the data network could not send: " + e.Error
		case e.Sent > 0 && e.Received == 0 && e.Damaged == 0:
			list[i].Result = report.Pass
		}
		judgeCommand(&list[i])
	}
	return list
}

// pingAll pings the UEs from the data network.
func (b *bed) pingAll(ctx context.Context, paths []path) ([]*report.InteropEcho, error) {
	all, err := b.startAll(ctx, paths, releasePings, b.downlink)
	if err != nil {
		return nil, err
	}
	all.wait()
	echoes := all.end(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return echoes, nil
}
