package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// LabTable writes l as text for a terminal: the figures of each method, what the
// systems are, and what the figures belong to.
func LabTable(w io.Writer, l *Lab) error {
	v := newLabView(l)
	var b strings.Builder
	writeTitle(&b, v.title())
	for _, m := range v.methods() {
		writeTitle(&b, m.title())
		if g := m.sides(); g != nil {
			g.fit(&b, g.nextBar(0))
		}
		for _, p := range m.parts() {
			g := p.grid(false)
			g.fit(&b, g.nextBar(0))
		}
	}
	v.systemsGrid().fit(&b, 1)
	if g := v.referencesGrid(); g != nil {
		b.WriteString(" published by others, measured elsewhere\n\n")
		g.fit(&b, g.nextBar(0))
	}
	for _, n := range v.notes() {
		writeNote(&b, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title says in one line who took part and how often.
func (v *labView) title() string {
	var names []string
	for _, s := range v.Systems {
		if !isBed(s.Name) && s.Missing == "" {
			names = append(names, s.Name)
		}
	}
	who := "the bed alone"
	if len(names) > 0 {
		who = strings.Join(names, ", ") + " in turn"
	}
	text := fmt.Sprintf("%s: %s", strings.Join(v.Plan.Methods, ", "), who)
	if v.Plan.DurationNS > 0 {
		text += fmt.Sprintf(", %d x %s", v.Plan.Repeats, duration(v.Plan.DurationNS))
	} else {
		text += ", " + count(uint64(v.Plan.Repeats), "repeat")
	}
	return text
}

// title is the method and what all its cells have in common.
func (m *methodView) title() string {
	if c := m.constants(); c != "" {
		return m.name + ": " + c
	}
	return m.name
}

// notes are what has no column, and what the figures belong to.
func (v *labView) notes() []note {
	notes := v.resultNotes()
	if text := v.sidesNote(); text != "" {
		notes = append(notes, note{"†", text})
	}
	for _, r := range v.publications() {
		notes = append(notes, note{"published", r})
	}
	h := &v.Host
	return append(notes, note{"arrangement", v.Plan.Arrangement},
		note{"host", fmt.Sprintf("%s, %s, Linux %s, plumb %s", h.CPUModel, count(uint64(h.CPUs), "CPU"), h.Kernel, strings.TrimSpace(h.Version+" "+h.Commit))})
}

func (v *labView) resultNotes() []note {
	var notes []note
	if v.Finished == nil {
		notes = append(notes, note{"unfinished", v.progress()})
	}
	for _, s := range v.Systems {
		if s.Missing != "" {
			notes = append(notes, note{s.Name, "missing: " + lastLine(s.Missing)})
		}
	}
	notes = append(notes, v.failureNotes()...)
	if text := v.correctness(); text != "" {
		notes = append(notes, note{"correctness", text})
	}
	if text := v.selfLimits(); text != "" {
		notes = append(notes, note{"beware", text})
	}
	for _, s := range v.Systems {
		if drops := v.trialsOf(s.Name).drops(); drops != "" {
			notes = append(notes, note{"dropped", s.Name + ": " + drops})
		}
	}
	notes = append(notes, v.figureNotes()...)
	notes = append(notes, v.outlierNotes()...)
	notes = append(notes, note{"intervals", v.intervalText()})
	if text := v.rankText(); text != "" {
		notes = append(notes, note{"place", text})
	}
	for _, name := range sortedKeys(v.Plan.Options) {
		notes = append(notes, note{name, v.Plan.Options[name]})
	}
	return notes
}

func (v *labView) intervalText() string {
	what := "what the method itself leaves open: of one repeat no more is known"
	if n := v.Plan.Repeats; n > 1 {
		interval := stats.MedianInterval(make([]float64, n), stats.Usual)
		what = fmt.Sprintf("where the median is, of %d repeats with a confidence of %.0f %%, together with what the method itself leaves open", n, 100*interval.Confidence)
	}
	return "low-high is " + what + "; of bed: by the bed's figure of the same repeat"
}

// rankText says what ranks mean, or why there are none where there could be some.
func (v *labView) rankText() string {
	const unknown = "intervals overlap, or there are fewer than three repeats"
	var by []string
	several := false
	for _, m := range v.methods() {
		for _, p := range m.parts() {
			ranked, rivals := p.ranked()
			if several = several || rivals; ranked {
				by = append(by, m.name+" by "+p.main().name)
			}
		}
	}
	switch {
	case len(by) > 0:
		return strings.Join(by, ", ") + ". 2 to 3 says that the order is not known: " + unknown
	case several:
		return "none: the order of the systems is not known: " + unknown
	}
	return ""
}

// ranked reports whether some system has a place in a cell, and whether two could.
func (m *methodView) ranked() (ranked, rivals bool) {
	for _, cell := range m.cells {
		places := m.placesOf(cell, m.systemsOf(cell))
		rivals = rivals || len(places) > 1
		for _, place := range places {
			ranked = ranked || place != ""
		}
	}
	return ranked, rivals
}

func (v *labView) progress() string {
	return fmt.Sprintf("%d of %d turns were made: the run was interrupted or goes on", len(v.Turns), v.planned())
}

// planned is how many turns the plan has, without those of systems that are missing.
func (v *labView) planned() int {
	systems := 0
	for _, s := range v.Systems {
		if s.Missing == "" {
			systems++
		}
	}
	return max(len(v.Turns), systems*len(v.Plan.Cells)*v.Plan.Repeats)
}

// failureNotes have one line for each system and reason, and where it happened first.
func (v *labView) failureNotes() []note {
	type key struct{ system, reason string }
	times, where := map[key]int{}, map[key]string{}
	var order []key
	for i := range v.Turns {
		t := &v.Turns[i]
		if t.Failed == "" {
			continue
		}
		k := key{t.System, t.Failed}
		if times[k]++; times[k] == 1 {
			order = append(order, k)
			c := &v.Plan.Cells[t.Cell]
			where[k] = strings.TrimSuffix(c.Method+", "+c.words(labAxes), ", ")
		}
	}
	var notes []note
	for _, k := range order {
		notes = append(notes, note{"failed", fmt.Sprintf("%s: %s (%s, first: %s)", k.system, lastLine(k.reason), count(uint64(times[k]), "turn"), where[k])})
	}
	return notes
}

// figureNotes say why figures are not what they were meant to be, each reason once.
func (v *labView) figureNotes() []note {
	var order []string
	systems := map[string][]string{}
	for i := range v.Turns {
		t := &v.Turns[i]
		for _, f := range t.Figures {
			if f.Note == "" {
				continue
			}
			text := f.Name + ": " + f.Note
			if systems[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(systems[text], t.System) {
				systems[text] = append(systems[text], t.System)
			}
		}
	}
	var notes []note
	for _, text := range order {
		notes = append(notes, note{"note", text + " (" + strings.Join(systems[text], ", ") + ")"})
	}
	return notes
}

// mostOutliers is how many are told of.
const mostOutliers = 12

// outlierNotes name repeats of main figures that stand apart from the others. They are in
// the medians and intervals all the same.
func (v *labView) outlierNotes() []note {
	var notes []note
	for _, m := range v.methods() {
		f := m.main()
		if f == nil {
			continue
		}
		for _, cell := range m.cells {
			for _, s := range v.Systems {
				values, repeats := v.valuesOf(cell, s.Name, f.name)
				for _, i := range stats.Outliers(values) {
					notes = append(notes, note{"outlier", join(", ", s.Name, m.cell(cell).words(m.axes)) + ": " +
						fmt.Sprintf("repeat %d has a %s of %s %s; it counts like the others", repeats[i], f.name, f.unit.text(values[i]), f.unit.name)})
				}
			}
		}
	}
	if more := len(notes) - mostOutliers; more > 0 {
		notes = append(notes[:mostOutliers], note{"outlier", fmt.Sprintf("and %d more", more)})
	}
	return notes
}

// valuesOf are a figure of a system in a cell, and the repeats that they are of.
func (v *labView) valuesOf(cell int, system, name string) (values []float64, repeats []int) {
	for _, t := range v.of(cell, system) {
		if f := t.Figure(name); f != nil {
			values, repeats = append(values, f.Value), append(repeats, t.Repeat)
		}
	}
	return values, repeats
}

// join puts what is not empty together.
func join(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// correctness is of all systems, and of those with wrong or unenforced frames each.
func (v *labView) correctness() string {
	all := v.trialsOf("")
	if len(all) == 0 {
		return ""
	}
	text := all.correctness()
	for _, s := range v.Systems {
		if own := v.trialsOf(s.Name); own.wrong() > 0 || own.unenforced() != "" {
			text += "; " + s.Name + ": " + own.correctness()
		}
	}
	return text
}

// trialsOf gathers the trials of a system, or of all.
func (v *labView) trialsOf(system string) (all trialList) {
	for i := range v.Turns {
		if system == "" || v.Turns[i].System == system {
			all = append(all, v.Turns[i].Trials...)
		}
	}
	return all
}

// selfLimited is the share of the intended frames above which a sender that did not
// send them is worth a word.
const selfLimited = 0.01

// selfLimits says how often the sender, not the system, was the limit, searches apart:
// there it is an answer like any other, and what was not sent counts as lost.
func (v *labView) selfLimits() string {
	trials, limited := 0, 0
	for i := range v.Turns {
		for _, t := range v.Turns[i].Trials {
			if t.IntendedPPS == 0 || t.Kind == Search {
				continue
			}
			trials++
			if t.OfferedPPS < t.IntendedPPS*(1-selfLimited) {
				limited++
			}
		}
	}
	if limited == 0 {
		return ""
	}
	return fmt.Sprintf("in %d of %d trials at a given rate the sender sent more than 1 %% less than intended: loss is of what it sent, at less than the rate", limited, trials)
}

// publications are where references come from, each once.
func (v *labView) publications() []string {
	var all []string
	for _, r := range v.References {
		text := r.Source
		if r.Conditions != "" {
			text += ": " + r.Conditions
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// took is how long the run took, empty if it is not over.
func (v *labView) took() string {
	if v.Finished == nil {
		return ""
	}
	return v.Finished.Sub(v.Started).Round(time.Second).String()
}
