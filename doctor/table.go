package doctor

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteTable writes the report for people: a row for each check, and under a
// row that is not ok what to do. The last line is the summary.
func (r *Report) WriteTable(w io.Writer) error {
	name, found := r.widths()
	out := bufio.NewWriter(w)
	area := Area("")
	for _, c := range r.Checks {
		if c.Area != area {
			fmt.Fprintf(out, "%s\n", c.Area)
			area = c.Area
		}
		fmt.Fprintf(out, "  %-7s  %-*s  %-*s  %s\n", c.Status, name, c.Name, found, c.Found, c.NeededFor)
		if c.Advice != "" {
			fmt.Fprintf(out, "  %-7s  %-*s  > %s\n", "", name, "", c.Advice)
		}
	}
	r.writeDatapaths(out)
	fmt.Fprintf(out, "\n%s\n", r.Summary())
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
		fmt.Fprintf(out, "  %-7s  %-5s  %s\n", state, d.Name, d.Found)
		if d.Advice != "" {
			fmt.Fprintf(out, "  %-7s  %-5s  > %s\n", "", "", d.Advice)
		}
	}
}

// widths returns the widths of two columns. The second is capped, so that one
// long error does not push every row apart.
func (r *Report) widths() (name, found int) {
	const longest = 48
	for _, c := range r.Checks {
		name = max(name, len(c.Name))
		if len(c.Found) <= longest {
			found = max(found, len(c.Found))
		}
	}
	return name, found
}

// String returns the table.
func (r *Report) String() string {
	var text strings.Builder
	// A strings.Builder does not fail.
	_ = r.WriteTable(&text)
	return text.String()
}
