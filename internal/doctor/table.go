package doctor

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/wordwrap"
)

// columns is the width of the table: that of a terminal.
const columns = 80

// WriteTable writes the report for people: a row for each check, and under a
// row that is not ok what needs it, and what to do. The last line is the summary.
func (r *Report) WriteTable(w io.Writer) error {
	name := 0
	for _, c := range r.Checks {
		name = max(name, len(c.Name))
	}
	out := bufio.NewWriter(w)
	area := Area("")
	for _, c := range r.Checks {
		if c.Area != area {
			fmt.Fprintf(out, "%s\n", c.Area)
			area = c.Area
		}
		text := []string{c.Found}
		if c.Status != OK {
			text = append(text, "for: "+c.NeededFor, "> "+c.Advice)
		}
		writeRow(out, fmt.Sprintf("  %-7s  %-*s  ", c.Status, name, c.Name), text)
	}
	r.writeDatapaths(out)
	fmt.Fprintln(out)
	writeRow(out, "", []string{r.Summary()})
	return out.Flush()
}

// writeDatapaths writes which datapaths run here, the best first.
func (r *Report) writeDatapaths(out io.Writer) {
	if len(r.Datapaths) == 0 {
		return
	}
	fmt.Fprintln(out, "datapath")
	for _, d := range r.Datapaths {
		state := "no"
		if d.Runs {
			state = "runs"
		}
		text := []string{d.Found}
		if d.Advice != "" {
			text = append(text, "> "+d.Advice)
		}
		writeRow(out, fmt.Sprintf("  %-7s  %-5s  ", state, d.Name), text)
	}
}

// writeRow writes texts, each on lines of its own, behind a head that stands once.
func writeRow(out io.Writer, head string, texts []string) {
	for _, text := range texts {
		for _, line := range wordwrap.Lines(text, columns-len(head)) {
			fmt.Fprintf(out, "%s%s\n", head, line)
			head = strings.Repeat(" ", len(head))
		}
	}
}

// String returns the table.
func (r *Report) String() string {
	var text strings.Builder
	// A strings.Builder does not fail.
	_ = r.WriteTable(&text)
	return text.String()
}
