package method

import "github.com/plumbline-upf/plumbline/lab/report"

// loads are the highest rate to try, and that where to begin, in frames per second of one
// direction, given the result of the saturated trial. The highest is that of any turn so
// far, the bed's included: something may have held up the sender in this one. Where an
// earlier repeat had its throughput is the best place to begin.
func (t *Turn) loads(most []report.Trial) (highest, start uint64) {
	highest, start = bounds(most)
	directions := float64(len(most))
	for _, name := range []string{t.System.Name(), t.System.Bed()} {
		for _, f := range t.before(name, figureMax) {
			highest = max(highest, uint64(f/directions))
		}
	}
	for _, f := range t.before(t.System.Name(), FigureThroughput(0)) {
		start = uint64(f / directions)
	}
	return highest, min(max(leastPPS, start), highest)
}

// before returns what a system had for a figure of the throughput in earlier turns at this
// point, without those that are no more than a limit.
func (t *Turn) before(system, figure string) []float64 {
	var values []float64
	for _, turn := range t.Earlier(NameThroughput, system) {
		for _, f := range turn.Figures {
			if f.Name == figure && f.Value > 0 && f.Note == "" {
				values = append(values, f.Value)
			}
		}
	}
	return values
}
