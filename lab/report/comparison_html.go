package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed comparison.html
var comparisonHTML string

var comparisonTemplate = template.Must(pageTemplate.New("comparison").Parse(comparisonHTML))

// comparisonPage is what the template shows, in its order.
type comparisonPage struct {
	Title, Started string
	Style          template.CSS
	Plot           *comparisonPlot
	Rates          pageGrid
	Latency, Once  pageGrid
	Notes, Host    []note
	Command        string
	Paths          []Path
	Schema         string
}

// ComparisonHTML writes c as one page that loads nothing else.
func ComparisonHTML(w io.Writer, c *Comparison) error {
	err := comparisonTemplate.Execute(w, &comparisonPage{
		Title: c.title(), Started: c.Started.UTC().Format("2 January 2006, 15:04 UTC"), Style: template.CSS(pageCSS),
		Plot: newComparisonPlot(c), Rates: c.pathGrid().page(), Latency: c.latencyGrid().page(), Once: c.onceGrid().page(),
		Notes: c.notes(), Host: c.Host.notes(), Command: c.Host.CommandLine, Paths: c.Paths, Schema: c.Schema,
	})
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// latencyGrid has four percentiles at each load.
func (c *Comparison) latencyGrid() *grid {
	g := &grid{columns: []column{{"", "payload", left}, {"", "sessions", 0}, {"", "direction", left}, {"", "path", left}}}
	for _, load := range c.Setup.LoadsPercent {
		g.columns = append(g.columns, column{loadName(load), "p50", bar}, column{"", "p90", 0}, column{"", "p99", 0}, column{"", "p99.9", 0})
	}
	c.eachRow(func(row *PathRow, _ bool) {
		cells := []string{row.Payload, fmt.Sprint(row.Sessions), string(row.Direction), row.Path}
		for _, load := range c.Setup.LoadsPercent {
			cells = append(cells, latencyOf(row, load, func(l Latency) []int64 { return []int64{l.P50, l.P90, l.P99, l.P999} })...)
		}
		g.add(cells...)
	})
	return g
}
