package method

import (
	"time"
)

// estimate is how long things take. Nobody knows before how many rates a search will
// try, so turns of the same sort that were made say it.
type estimate struct {
	run     *run
	started time.Time
	turns   map[sort]*mean
}

// sort is what turns have in common that take about as long.
type sort struct{ method, load, system string }

type mean struct {
	sum time.Duration
	n   int
}

func (e *estimate) begin(r *run) {
	e.run, e.started, e.turns = r, time.Now(), map[sort]*mean{}
}

// took notes how long a turn was.
func (e *estimate) took(cell int, system string, d time.Duration) {
	key := e.sort(cell, system)
	if e.turns[key] == nil {
		e.turns[key] = &mean{}
	}
	e.turns[key].sum += d
	e.turns[key].n++
}

// turn is how long a turn will be.
func (e *estimate) turn(cell int, system string) time.Duration {
	if m := e.turns[e.sort(cell, system)]; m != nil {
		return m.sum / time.Duration(m.n)
	}
	c := e.run.lab.Plan.Cells[cell]
	return e.run.methods[c.Method].Expected(c)
}

func (e *estimate) sort(cell int, system string) sort {
	c := e.run.lab.Plan.Cells[cell]
	return sort{c.Method, c.Load, system}
}

// left is how long the rest of the run will be.
func (e *estimate) left() time.Duration {
	r, left := e.run, time.Duration(0)
	for i := range r.lab.Plan.Cells {
		for _, name := range r.names {
			for repeat := 1; repeat <= r.lab.Plan.Repeats && !r.out[name]; repeat++ {
				if r.pending(i, name, repeat) {
					left += e.turn(i, name)
				}
			}
		}
	}
	return left
}
