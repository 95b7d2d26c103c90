package bmv2

import (
	"fmt"
)

// step is a table, a condition or an action of a pipeline. What follows is -1 at the end.
type step struct {
	table   int // -1: not a table
	cond    *branch
	act     *body // if it is no condition
	yes, no int
}

// pipeline is ingress or egress.
type pipeline struct {
	code  []instr
	start int32
}

// run lets a packet through a pipeline.
func (c *ctx) run(p *pipeline) {
	if !c.exit && !c.dead {
		c.exec(p.code, p.start)
	}
}

// loadPipelines compiles ingress and egress.
func (l *loader) loadPipelines() error {
	l.tableByName = map[string]int{}
	l.p.ingress.start, l.p.egress.start = -1, -1
	seen := map[string]bool{}
	for i := range l.j.Pipelines {
		j := &l.j.Pipelines[i]
		to := &l.p.ingress
		switch {
		case seen[j.Name]:
			return fmt.Errorf("pipeline %q is there twice", j.Name)
		case j.Name == "egress":
			to = &l.p.egress
		case j.Name != "ingress":
			return fmt.Errorf("%w: pipeline %q", ErrUnsupported, j.Name)
		}
		seen[j.Name] = true
		if len(j.ActionProfiles) > 0 {
			return fmt.Errorf("pipeline %q: %w: action profile %q", j.Name, ErrUnsupported, j.ActionProfiles[0].Name)
		}
		if err := l.pipeline(to, j); err != nil {
			return fmt.Errorf("pipeline %q: %w", j.Name, err)
		}
	}
	for i := range l.p.counters {
		if l.j.CounterArrays[i].IsDirect && l.p.counters[i].Table < 0 {
			return fmt.Errorf("counter array %q: no table %q", l.p.counters[i].Name, l.j.CounterArrays[i].Binding)
		}
	}
	return nil
}

// stepNames numbers the steps of a pipeline: tables, then conditions, then actions.
func stepNames(j *jsonPipeline) (map[string]int, error) {
	var all []string
	for i := range j.Tables {
		all = append(all, j.Tables[i].Name)
	}
	for i := range j.Conditionals {
		all = append(all, j.Conditionals[i].Name)
	}
	for i := range j.ActionCalls {
		all = append(all, j.ActionCalls[i].Name)
	}
	byName := map[string]int{}
	for i, name := range all {
		if _, there := byName[name]; there || name == "" || i >= maxNodes {
			return nil, fmt.Errorf("step %q: the name is empty or there twice, or there are more than %d", name, maxNodes)
		}
		byName[name] = i
	}
	return byName, nil
}

func (l *loader) pipeline(to *pipeline, j *jsonPipeline) error {
	byName, err := stepNames(j)
	if err != nil {
		return err
	}
	next := func(name *string) (int, error) {
		if name == nil {
			return -1, nil
		}
		i, there := byName[*name]
		if !there {
			return 0, fmt.Errorf("no step %q", *name)
		}
		return i, nil
	}
	init, err := next(j.InitTable)
	if err != nil {
		return err
	}
	var steps []step
	after := make([][]int, 0, len(byName))
	for i := range j.Tables {
		t, follow, err := l.table(&j.Tables[i], next)
		if err != nil {
			return fmt.Errorf("table %q: %w", j.Tables[i].Name, err)
		}
		steps = append(steps, l.tableStep(t))
		after = append(after, follow)
	}
	for i := range j.Conditionals {
		s, err := l.conditional(&j.Conditionals[i], next)
		if err != nil {
			return fmt.Errorf("conditional %q: %w", j.Conditionals[i].Name, err)
		}
		steps = append(steps, s)
		after = append(after, []int{s.yes, s.no})
	}
	for i := range j.ActionCalls {
		c := &j.ActionCalls[i]
		a, there := l.actionByID[c.ActionID]
		s := step{table: -1}
		if s.yes, err = next(c.NextNode); err != nil || !there || len(l.p.adefs[a].params) > 0 {
			return fmt.Errorf("action call %q: no action %d without parameters, or no next step", c.Name, c.ActionID)
		}
		s.act = &l.p.adefs[a].body
		steps = append(steps, s)
		after = append(after, []int{s.yes})
	}
	if err := acyclic(after); err != nil {
		return err
	}
	l.compile(to, steps, init)
	return nil
}

// tableStep is a table; one that the compiler made of statements, and that always does the same, is an action.
func (l *loader) tableStep(t int) step {
	d := &l.p.tdefs[t]
	if len(d.keys)+len(d.entries) > 0 || !l.p.tables[t].ConstDefault || len(d.actions[d.defSlot].def.params) > 0 {
		return step{table: t}
	}
	a := &d.actions[d.defSlot]
	s := step{table: -1, act: &a.def.body, yes: a.next}
	if d.hitMiss {
		s.yes = d.missNext
	}
	return s
}

func (l *loader) conditional(j *jsonConditional, next func(*string) (int, error)) (step, error) {
	s := step{table: -1}
	n, err := l.value(&j.Expression, 0)
	if err != nil {
		return s, err
	}
	if n.kind == kindData {
		n = &node{op: "d2b", kind: kindBool, r: n}
	}
	if s.cond, err = l.branch(n); err != nil {
		return s, err
	}
	if s.yes, err = next(j.TrueNext); err != nil {
		return s, err
	}
	s.no, err = next(j.FalseNext)
	return s, err
}

// acyclic refuses steps from which one comes back to where one was.
func acyclic(after [][]int) error {
	const (
		open = 1
		done = 2
	)
	state := make([]uint8, len(after))
	type place struct{ at, i int }
	for start := range after {
		if state[start] != 0 {
			continue
		}
		stack := []place{{at: start}}
		state[start] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.i == len(after[top.at]) {
				state[top.at] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := after[top.at][top.i]
			top.i++
			if to < 0 || state[to] == done {
				continue
			}
			if state[to] == open {
				return fmt.Errorf("step %d follows upon itself", to)
			}
			state[to] = open
			stack = append(stack, place{at: to})
		}
	}
	return nil
}
