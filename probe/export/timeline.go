package export

import (
	"cmp"
	"slices"
	"time"
)

// timeline collects columns, and keeps their number bounded.
type timeline struct {
	columns []*column
	merged  int // intervals that a column is of; 0: one
}

// column is some time.
type column struct {
	start, length time.Duration
	intervals     int
	cells         map[Key]*Cell
}

// begin returns the column that an interval belongs to.
func (t *timeline) begin(start, length time.Duration) *column {
	if last := len(t.columns) - 1; last >= 0 && t.columns[last].intervals < max(t.merged, 1) {
		c := t.columns[last]
		c.length += length
		c.intervals++
		return c
	}
	c := &column{start: start, length: length, intervals: 1, cells: map[Key]*Cell{}}
	t.columns = append(t.columns, c)
	return c
}

// bound makes one column of two where there are too many.
func (t *timeline) bound() {
	if len(t.columns) <= maxColumns {
		return
	}
	t.merged = 2 * max(t.merged, 1)
	half := make([]*column, 0, maxColumns)
	for pair := range slices.Chunk(t.columns, 2) {
		if len(pair) == 2 {
			pair[0].merge(pair[1])
		}
		half = append(half, pair[0])
	}
	t.columns = half
}

func (c *column) merge(next *column) {
	c.length += next.length
	c.intervals += next.intervals
	for k, cell := range next.cells {
		if mine := c.cells[k]; mine != nil {
			mine.merge(cell)
		} else {
			c.cells[k] = cell
		}
	}
}

// merge adds what came later. Percentiles are those of the bins then: of a bin's
// highest value.
func (c *Cell) merge(next *Cell) {
	c.In += next.In
	c.Matched += next.Matched
	c.Lost += next.Lost
	c.Ambiguous += next.Ambiguous
	c.Untimed += next.Untimed
	c.Bins = addBins(c.Bins, next.Bins)
	c.P50, c.P99 = percentileOf(c.Bins, 50), percentileOf(c.Bins, 99)
}

func percentileOf(bins [][2]uint64, percentile float64) int64 {
	total := uint64(0)
	for _, pair := range bins {
		total += pair[1]
	}
	seen := uint64(0)
	for _, pair := range bins {
		seen += pair[1]
		if float64(seen) >= percentile/100*float64(total) {
			_, high := BinBounds(int(pair[0]))
			return high - 1
		}
	}
	return 0
}

// add takes the last interval of a series.
func (c *column) add(k Key, t *track) {
	cell := Cell{
		In: t.now.In - t.before.In, Matched: t.now.Matched - t.before.Matched,
		Lost: t.now.Lost - t.before.Lost, Ambiguous: t.now.Ambiguous - t.before.Ambiguous,
		Untimed: t.now.Untimed - t.before.Untimed,
	}
	if cell.In|cell.Matched|cell.Lost|cell.Ambiguous == 0 {
		return
	}
	if t.step != nil {
		cell.P50, cell.P99 = t.step.ValueAtPercentile(50), t.step.ValueAtPercentile(99)
		cell.Bins = binsOf(t.step)
	}
	if mine := c.cells[k]; mine != nil {
		mine.merge(&cell)
	} else {
		c.cells[k] = &cell
	}
}

// export puts numbers for keys.
func (t *timeline) export(index map[Key]int) Timeline {
	var out Timeline
	for _, c := range t.columns {
		column := Column{StartNS: int64(c.start), DurationNS: int64(c.length), Cells: []Cell{}}
		for k, cell := range c.cells {
			numbered := *cell
			numbered.Series = index[k]
			column.Cells = append(column.Cells, numbered)
		}
		slices.SortFunc(column.Cells, func(a, b Cell) int { return cmp.Compare(a.Series, b.Series) })
		out.Columns = append(out.Columns, column)
		out.ColumnNS = max(out.ColumnNS, column.DurationNS)
	}
	return out
}
